// Package mirrorpatch_test keeps the promises that concern the module as a whole.
package mirrorpatch_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	module    = "github.com/mirrorpatch/mirrorpatch"
	machinery = "github.com/siderolabs/talos/pkg/machinery"
)

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string // its own, without those of its tests
	Deps       []string // all that it needs
}

// TestImports keeps the imports going one way, so that whoever embeds escape or
// mirrors gets no Talos machinery with it.
func TestImports(t *testing.T) {
	packages := list(t)
	standard := map[string]bool{}
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
	}

	// What a folder of this module may need beyond the standard library and
	// itself, dependencies of dependencies included.
	allowed := []struct {
		folder string
		needs  []string
	}{
		{"escape", nil},
		{"mirrors", []string{"gopkg.in/yaml.v3", "github.com/distribution/reference", "github.com/opencontainers/go-digest"}},
		{"mirrors/accesslog", []string{"github.com/distribution/reference", "github.com/opencontainers/go-digest"}},
		{"configpatch/reconcile", []string{module + "/escape", "gopkg.in/yaml.v3"}},
	}
	for _, rule := range allowed {
		p := find(t, packages, module+"/"+rule.folder)
		for _, dep := range p.Deps {
			if standard[dep] || slices.Contains(rule.needs, dep) || strings.HasPrefix(dep, p.ImportPath+"/internal/") {
				continue
			}
			t.Errorf("%s needs %s, which it may not", rule.folder, dep)
		}
	}

	for _, p := range packages {
		if !within(p.ImportPath, module) {
			continue
		}
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, imported := range p.Imports {
			other := strings.TrimPrefix(imported, module+"/")
			switch {
			case (within(imported, machinery) || imported == "github.com/siderolabs/go-pointer") && folder != "configpatch":
				t.Errorf("%s imports %s; only configpatch may", folder, imported)
			case within(other, "examples"):
				t.Errorf("%s imports the example %s", folder, other)
			case strings.HasPrefix(other, "internal/") && !strings.HasPrefix(folder, "internal/"): // test support, all of it
				t.Errorf("%s imports %s outside of a test", folder, other)
			case within(folder, "mirrors") && (within(other, "configpatch") || within(other, "escape")),
				within(folder, "escape") && (within(other, "configpatch") || within(other, "mirrors")):
				t.Errorf("%s imports %s, against the direction", folder, other)
			}
		}
	}
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func find(t *testing.T, packages []pkg, path string) pkg {
	t.Helper()
	i := slices.IndexFunc(packages, func(p pkg) bool { return p.ImportPath == path })
	if i < 0 {
		t.Fatalf("go list does not know %s", path)
	}
	return packages[i]
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
