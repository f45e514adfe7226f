// Command install builds the programs of package servers that are not in its
// cache yet, or are there of another version, for another machine, or by an
// older Go than this. It is run in the folder of that package.
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
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
		if err := fits(p, to, runtime.GOOS, runtime.GOARCH, runtime.Version()); err == nil {
			fmt.Printf("%s is there\n", to)
			continue
		} else if !errors.Is(err, os.ErrNotExist) {
			fmt.Printf("%s is built anew: %v\n", to, err)
		}
		began := time.Now()
		if err := build(p, to); err != nil {
			return fmt.Errorf("%s %s: %w", p.Package, p.Version, err)
		}
		fmt.Printf("%s built in %s\n", to, time.Since(began).Round(time.Second))
	}
	return nil
}

// fits wants the file to be the program in its version, built for this machine
// by this Go or a later one: that is what the go command writes into it.
func fits(p servers.Program, file, goos, goarch, goVersion string) error {
	if _, err := exec.LookPath(file); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	is := info.Path + "@" + info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH":
			is += " " + s.Key + "=" + s.Value
		}
	}
	if want := p.Package + "@" + p.Version + " GOARCH=" + goarch + " GOOS=" + goos; is != want {
		return fmt.Errorf("it is %s, want %s", is, want)
	}
	if version.Compare(info.GoVersion, goVersion) < 0 {
		return fmt.Errorf("it was built by %s, this is %s", info.GoVersion, goVersion)
	}
	return nil
}

// build puts the program in its place when it is whole.
func build(p servers.Program, to string) error {
	folder := filepath.Dir(to)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	// What a build left that was cut off; another may be under way now.
	left, err := filepath.Glob(filepath.Join(folder, "build-*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(dir)
		}
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
