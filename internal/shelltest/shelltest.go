// Package shelltest finds the shells and the hostile inputs that the tests of
// several packages run.
package shelltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Shell is a POSIX shell that is on this machine.
type Shell struct {
	Name string   // dash, bash, busybox, mksh, yash, zsh, posh, ksh93
	Args []string // the command, "-c" not included: ["busybox", "sh"]
}

var known = []Shell{
	{"dash", []string{"dash"}},
	{"bash", []string{"bash"}},
	{"busybox", []string{"busybox", "sh"}},
	{"mksh", []string{"mksh"}},
	{"yash", []string{"yash"}},
	{"zsh", []string{"zsh"}},
	{"posh", []string{"posh"}},
	{"ksh93", []string{"ksh93"}},
}

// Each runs f in a subtest for each shell: /bin/sh, which every machine has,
// and the known ones. One that is not installed is skipped, unless
// MIRRORPATCH_REQUIRE_SHELLS is 1, as in CI: then it is a failure.
func Each(t *testing.T, f func(t *testing.T, sh Shell)) {
	t.Helper()
	for _, sh := range append([]Shell{{"sh", []string{"/bin/sh"}}}, known...) {
		t.Run(sh.Name, func(t *testing.T) {
			if _, err := exec.LookPath(sh.Args[0]); err != nil {
				if os.Getenv("MIRRORPATCH_REQUIRE_SHELLS") == "1" {
					t.Fatalf("%s is not installed: %v", sh.Name, err)
				}
				t.Skipf("%s is not installed", sh.Name)
			}
			f(t, sh)
		})
	}
}

// Case is one hostile input.
type Case struct {
	Name string
	Data []byte
}

// Hostile returns the byte strings of testdata/hostile, in the order of their names.
func Hostile(t testing.TB) []Case {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(here), "..", "..", "testdata", "hostile")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	for _, e := range entries {
		if e.Name() == "README.txt" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, Case{e.Name(), data})
	}
	if len(cases) < 100 {
		t.Fatalf("%s holds %d cases; are they all there?", dir, len(cases))
	}
	return cases
}
