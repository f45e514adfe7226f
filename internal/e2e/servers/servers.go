// Package servers has the programs that the tests of the second tier run:
// containerd, ctr, crictl, kube-apiserver and kubectl, built from their own sources,
// and etcd as Debian packages it. [StartCluster] starts an API server, [Start]
// any server, [Path] finds a program.
//
//	go run ./install
//
// builds them, in this folder, into a folder for each version below [Cache]. A
// test that wants one which is not there is skipped, with the reason; where
// MIRRORPATCH_REQUIRE_SERVERS is 1, as in CI, it fails.
//
// It is a module of its own and needs the standard library only, so that a
// module whose tests want an API server gets nothing else.
package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Program is one that [Path] finds and the command install builds.
type Program struct {
	Name    string
	Package string // with its main function
	Version string // of the module that has the package
}

const kubernetes = "v1.36.3" // as in kubernetes.mod

// Programs are all of them.
var Programs = []Program{
	{"containerd", "github.com/containerd/containerd/v2/cmd/containerd", "v2.4.2"},
	{"ctr", "github.com/containerd/containerd/v2/cmd/ctr", "v2.4.2"},
	{"crictl", "sigs.k8s.io/cri-tools/cmd/crictl", "v1.37.0"},
	{"kubectl", "k8s.io/kubernetes/cmd/kubectl", kubernetes},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", kubernetes},
}

// Cache is the folder of the programs: $MIRRORPATCH_SERVERS, else
// mirrorpatch-e2e in the user's cache folder.
func Cache() (string, error) {
	if dir := os.Getenv("MIRRORPATCH_SERVERS"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "mirrorpatch-e2e"), nil
}

// In returns the program's path in a cache.
func (p Program) In(cache string) string {
	return filepath.Join(cache, p.Name+"-"+p.Version, p.Name)
}

// find returns the path of a program that install builds, or of another on
// PATH. That it is not there is a [MissingError].
func find(name string) (string, error) {
	i := slices.IndexFunc(Programs, func(p Program) bool { return p.Name == name })
	if i < 0 {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", &MissingError{fmt.Sprintf("%v (Debian's package etcd-server has etcd)", err)}
		}
		return path, nil
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	path := Programs[i].In(cache)
	if _, err := exec.LookPath(path); err != nil {
		return "", &MissingError{fmt.Sprintf("%v (go run ./install, in internal/e2e/servers, builds it)", err)}
	}
	return path, nil
}

// Path returns the path of a program that install builds, or of etcd, and ends
// the test where it is not there.
func Path(t testing.TB, name string) string {
	t.Helper()
	path, err := find(name)
	if err != nil {
		End(t, err)
	}
	return path
}
