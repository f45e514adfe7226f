package main

import (
	"errors"
	"os/exec"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command lines of testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"wrong": wrong,
		},
	})
}

// wrong REGEXP ARGS… runs mirrorctl ARGS…, which is a wrong call: exit 2, the
// regexp on standard error, nothing on standard output.
func wrong(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: wrong REGEXP ARGS…")
	}
	err := ts.Exec("mirrorctl", args[1:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitCall {
		ts.Fatalf("%v, want exit code %d", err, exitCall)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output is not empty")
	}
	text := ts.ReadFile("stderr")
	if !regexp.MustCompile(`(?m)^mirrorctl: `).MatchString(text) || !regexp.MustCompile(`(?m)`+args[0]).MatchString(text) {
		ts.Fatalf("no match for %q", args[0])
	}
}
