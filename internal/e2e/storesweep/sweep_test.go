// Package storesweep_test runs the script of examples/storesweep on a store that a
// real containerd left when it was killed, with the real containerd and ctr.
package storesweep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// node is a machine with containerd as k3s has it.
type node struct {
	dir, containerd, ctr string
}

func (n node) file(name string) string { return filepath.Join(n.dir, name) }

func newNode(t *testing.T) node {
	t.Helper()
	n := node{containerd: servers.Path(t, "containerd"), ctr: servers.Path(t, "ctr")}
	dir, err := os.MkdirTemp("", "sweep-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	n.dir = dir
	// In the way of what k3s writes: root, state and address, which the script gives in its call too.
	config := fmt.Sprintf("version = 3\nroot = %q\nstate = %q\n[grpc]\naddress = %q\n[plugins.'io.containerd.cri.v1.images']\nsnapshotter = \"native\"\n",
		n.file("agent/a store"), n.file("state"), n.file("state/c.sock"))
	if err := errors.Join(
		os.MkdirAll(n.file("agent"), 0o755), os.MkdirAll(n.file("state"), 0o755),
		os.WriteFile(n.file("config.toml"), []byte(config), 0o644),
		os.WriteFile(n.file("hosts"), []byte("127.0.0.1 localhost\n"), 0o644),
		os.WriteFile(n.file("entry"), []byte("#!/bin/sh\necho \"$*\" >>\"$0.d\"\n"), 0o755),
	); err != nil {
		t.Fatal(err)
	}
	return n
}

// do calls ctr, as the entry point's containerd is called.
func (n node) do(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(n.ctr, append([]string{"--address", n.file("state/c.sock"), "--namespace", "k8s.io"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ctr %q: %v\n%s%s", args, err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// during starts containerd as the entry point would, calls f and kills it, as a power cut does.
func (n node) during(t *testing.T, f func()) {
	t.Helper()
	argv := servers.Alone(n.file("hosts"), n.containerd, "-c", n.file("config.toml"))
	cmd := exec.Command(argv[0], argv[1:]...)
	p, err := servers.Start("containerd", n.file("containerd.log"), cmd, func(ctx context.Context) error {
		return exec.CommandContext(ctx, n.ctr, "--address", n.file("state/c.sock"), "version").Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		p.Stop()
	}()
	f()
}

// start runs the script, for a boot that is told by its number.
func (n node) start(t *testing.T, sh []string) string {
	t.Helper()
	script, err := exec.Command("go", "run", "github.com/mirrorpatch/mirrorpatch/examples/storesweep",
		"-store", n.file("agent/a store"), "-state", n.file("state"), "-socket", n.file("state/c.sock"), "-config", n.file("config.toml"), "-run", n.file("run"),
		"-containerd", n.containerd, "-ctr", n.ctr, "-ready", "5m", "-call", "5m", "-stop", "5m", "--", n.file("entry"), "server").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(n.file("script"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	argv := servers.Alone(n.file("hosts"), append(slices.Clone(sh), n.file("script"), "--flag")...)
	r := servers.Run(os.Environ(), nil, argv[0], argv[1:]...)
	if r.Exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
	}
	return r.Stdout + r.Stderr
}

// reference is that of the image.
const reference = "registry.example.com/team/app:v1"

// leave fills the store with what a node has that runs: an image, containers with
// snapshots, sandboxes, a lease.
func (n node) leave(t *testing.T) {
	t.Helper()
	img, err := random.Image(512, 1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(n.file("image.tar"), tag, img); err != nil {
		t.Fatal(err)
	}
	n.do(t, "images", "import", "--local", "--snapshotter", "native", n.file("image.tar"))
	for _, c := range []string{"c1", "c2"} {
		n.do(t, "containers", "create", "--snapshotter", "native", reference, c)
	}
	n.do(t, "leases", "create", "--id", "of-a-dead-pull")
	cmd := exec.Command("go", "run", ".", n.file("state/c.sock"), "k8s.io", "s1", "s2")
	cmd.Dir = "sandboxes"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("sandboxes: %v\n%s", err, out)
	}
}

// count says how many of each are there.
func (n node) count(t *testing.T) string {
	t.Helper()
	lines := func(s string) int {
		if s == "" {
			return 0
		}
		return strings.Count(s, "\n") + 1
	}
	return fmt.Sprintf("image %t, containers %d, sandboxes %d, leases %d, active snapshots %d",
		slices.Contains(strings.Fields(n.do(t, "images", "ls", "-q")), reference), lines(n.do(t, "containers", "ls", "-q")), lines(n.do(t, "sandboxes", "ls"))-1, lines(n.do(t, "leases", "ls", "-q")),
		strings.Count(n.do(t, "snapshots", "--snapshotter", "native", "ls"), "Active"))
}

func TestSweep(t *testing.T) {
	servers.NeedsMounts(t)
	shells := 0
	for _, sh := range [][]string{{"dash"}, {"busybox", "sh"}} {
		t.Run(sh[0], func(t *testing.T) {
			if _, err := exec.LookPath(sh[0]); err != nil {
				servers.Missing(t, err.Error())
			}
			n := newNode(t)
			n.during(t, func() {
				n.leave(t)
				if got, want := n.count(t), "image true, containers 2, sandboxes 2, leases 1, active snapshots 2"; got != want {
					t.Fatalf("the node has %s, want %s", got, want)
				}
			})
			said := n.start(t, sh)
			for _, want := range []string{": 2 containers\n", ": 2 sandboxes\n", ": 1 leases\n"} {
				if !strings.Contains(said, want) {
					t.Errorf("it did not say %q", want)
				}
			}
			n.during(t, func() {
				if got, want := n.count(t), "image true, containers 0, sandboxes 0, leases 0, active snapshots 0"; got != want {
					t.Fatalf("after the sweep the node has %s, want %s\n%s", got, want, said)
				}
				n.do(t, "containers", "create", "--snapshotter", "native", reference, "c1")
			})

			// The same boot: nothing is touched.
			n.start(t, sh)
			n.during(t, func() {
				if got, want := n.count(t), "image true, containers 1, sandboxes 0, leases 0, active snapshots 1"; got != want {
					t.Errorf("after a second start the node has %s, want %s", got, want)
				}
			})

			// The next boot, and a database that containerd cannot open.
			db := n.file("agent/a store/io.containerd.metadata.v1.bolt/meta.db")
			if err := errors.Join(os.Remove(n.file("run/boot")), os.WriteFile(db, []byte(strings.Repeat("no database\n", 1000)), 0o600)); err != nil {
				t.Fatal(err)
			}
			said = n.start(t, sh)
			if !strings.Contains(said, "throwing the whole store away") {
				t.Errorf("it said\n%s", said)
			}
			n.during(t, func() {
				if got, want := n.count(t), "image false, containers 0, sandboxes 0, leases 0, active snapshots 0"; got != want {
					t.Errorf("the thrown away store has %s, want %s", got, want)
				}
			})
			if got, err := os.ReadFile(n.file("entry.d")); err != nil || string(got) != strings.Repeat("server --flag\n", 3) {
				t.Errorf("the entry point was called with %q, %v", got, err)
			}
			shells++
		})
	}
	verdict.Proved(t, "by the script in %d shells, 2 containers, 2 sandboxes and a lease that a killed containerd left are gone, and the image is there; a store whose database is broken is thrown away", shells)
}
