package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the commands of the README.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		for _, line := range strings.Split(strings.TrimSpace(b[1]), "\n") {
			rest, fails := strings.CutPrefix(line, "! ")
			rest, ok := strings.CutPrefix(rest, "go run ./examples/airgap ")
			if !ok {
				t.Fatalf("%q", line)
			}
			rest = strings.NewReplacer("examples/airgap/testdata", "testdata", "/tmp/airgap", t.TempDir()+"/out").Replace(rest)
			code, _, stderr := call("", strings.Fields(rest)...)
			if want := map[bool]int{false: 0, true: 1}[fails]; code != want {
				t.Errorf("%s: exit code %d, want %d\n%s", line, code, want, stderr)
			}
		}
	}
}
