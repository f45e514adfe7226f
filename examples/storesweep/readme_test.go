package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the commands of the README, in the folder in which a person would, and the
// script on a node that is in a folder of the test.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	n := newNode(t, "store")
	script := n.file("start-node")
	do := func(block string) string {
		cmd := exec.Command("/bin/sh", "-ec", strings.ReplaceAll(block, "/tmp/start-node", script))
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CTL="+n.file("ctl"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", block, err, out)
		}
		return string(out)
	}
	do(blocks[0][1])
	made, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	node := strings.NewReplacer("'/run/", "'"+n.dir+"/", "'/var/lib/", "'"+n.dir+"/").Replace(string(made))
	if err := os.WriteFile(script, []byte(node), 0o644); err != nil { // the mode stays
		t.Fatal(err)
	}
	if got, want := do(blocks[1][1]), "k3s server --node-name a\n"; !strings.HasSuffix(got, want) {
		t.Errorf("it ended with %q, want %q", got, want)
	}
}
