package main

import (
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command lines of testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"wrong": wrong,
			"code":  code,
		},
	})
}

// wrong REGEXP ARGS… runs mirrorctl ARGS…, which is a wrong call: exit 2, the
// regexp on standard error, nothing on standard output.
func wrong(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: wrong REGEXP ARGS…")
	}
	code(ts, false, append([]string{strconv.Itoa(exitCall)}, args[1:]...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output is not empty")
	}
	text := ts.ReadFile("stderr")
	if !regexp.MustCompile(`(?m)^mirrorctl: `).MatchString(text) || !regexp.MustCompile(`(?m)`+args[0]).MatchString(text) {
		ts.Fatalf("no match for %q", args[0])
	}
}

// code N ARGS… runs mirrorctl ARGS…, which exits with N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: code N ARGS…")
	}
	got := 0
	err := ts.Exec("mirrorctl", args[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}
