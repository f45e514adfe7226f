package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the command lines of testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: standInServers,
		Condition: func(name string) (bool, error) {
			if name != "required" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return os.Getenv("MIRRORPATCH_REQUIRE_SHELLS") == "1", nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"wrong": wrong,
			"code":  code,
			"fill":  fill,
		},
	})
}

// standInServers starts a registry, a web site, a server that is broken, a
// registry that wants a login and takes robot, one that does not know who that is,
// and one that never answers.
// Their addresses are in the environment: $REGISTRY, $SITE and so on.
func standInServers(env *testscript.Env) error {
	api := func(w http.ResponseWriter) { w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0") }
	login := func(accepts bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			api(w)
			if user, _, _ := r.BasicAuth(); user != "robot" || !accepts {
				w.Header().Set("WWW-Authenticate", `Basic realm="stand-in"`)
				w.WriteHeader(http.StatusUnauthorized)
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"REGISTRY": func(w http.ResponseWriter, _ *http.Request) { api(w) },
		"SITE":     func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"BROKEN":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"PRIVATE":  login(true),
		"STRANGER": login(false),
		"SILENT":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		server := httptest.NewServer(handler)
		env.Defer(server.Close)
		env.Setenv(name, server.Listener.Addr().String())
	}
	// No proxy of the machine stands between.
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		env.Setenv(name, "")
	}
	env.Setenv("TERM", "xterm")
	return nil
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

// fill FILE… puts the values of $NAME into files.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(os.Expand(ts.ReadFile(name), ts.Getenv)), 0o600))
	}
}
