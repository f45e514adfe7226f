// Command install builds the programs of package servers that are not in its
// cache yet. It is run in the folder of that package.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
)

// kubernetesMod stands in for a go.mod: a Kubernetes program cannot be built by
// its version alone, since its own go.mod replaces modules by folders.
const kubernetesMod = "kubernetes.mod"

func main() {
	if err := install(); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func install() error {
	cache, err := servers.Cache()
	if err != nil {
		return err
	}
	for _, p := range servers.Programs {
		to := p.In(cache)
		if _, err := exec.LookPath(to); err == nil {
			fmt.Printf("%s is there\n", to)
			continue
		}
		began := time.Now()
		if err := build(p, to); err != nil {
			return fmt.Errorf("%s %s: %w", p.Package, p.Version, err)
		}
		fmt.Printf("%s built in %s\n", to, time.Since(began).Round(time.Second))
	}
	return nil
}

// build puts the program in its place when it is whole.
func build(p servers.Program, to string) error {
	folder := filepath.Dir(to)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	cmd := exec.Command("go", "install", p.Package+"@"+p.Version)
	if strings.HasPrefix(p.Package, "k8s.io/kubernetes/") {
		if _, err := os.Stat(kubernetesMod); err != nil {
			return fmt.Errorf("run this in internal/e2e/servers: %w", err)
		}
		cmd = exec.Command("go", "install", "-modfile="+kubernetesMod, p.Package)
	}
	cmd.Env = append(os.Environ(), "GOBIN="+temporary)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(temporary, path.Base(p.Package)), to)
}
