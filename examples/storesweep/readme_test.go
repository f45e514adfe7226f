package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the commands of the README, in the folder in which a person would.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	script := filepath.Join(t.TempDir(), "start-node")
	for _, b := range blocks {
		cmd := exec.Command("/bin/sh", "-ec", strings.ReplaceAll(b[1], "/tmp/start-node", script))
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", b[1], err, out)
		}
	}
}
