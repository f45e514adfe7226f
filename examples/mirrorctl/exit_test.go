package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exits has, for each command, a call for each exit code that it can have. The
// files are those of testdata/examples; bad.yaml is no input for anything. A
// command whose input is never wrong is printed to a full disk for 1.
var exits = map[string]map[int]string{
	"check":   {exitDone: "-f registries.yaml", exitInput: "-f bad.yaml", exitCall: "-f registries.yaml --from k4s"},
	"explain": {exitDone: "-f registries.yaml nginx", exitInput: "-f registries.yaml A", exitCall: "-f registries.yaml"},
	"probe": {exitDone: "-f yes.yaml", exitInput: "-f bad.yaml", exitUnknown: "-f unknown.yaml", exitNo: "-f no.yaml",
		exitCall: "-f yes.yaml --concurrency 0"},
	"served": {exitDone: "--image ghcr.io/siderolabs/kubelet -f access.log", exitInput: "--image A -f access.log", exitUnknown: "--image nginx",
		exitNo: "--image nginx -f access.log", exitCall: "--image nginx --client node1"},
	"read":    {exitDone: "worker.yaml", exitInput: "bad.yaml", exitCall: "worker.yaml worker.yaml"},
	"rules":   {exitDone: "", exitInput: "full", exitCall: "endpoint-pat"},
	"patch":   {exitDone: "-f registries.yaml --talos-version v1.13", exitInput: "-f bad.yaml --talos-version v1.13", exitCall: "-f registries.yaml"},
	"plan":    {exitDone: "-f registries.yaml --config worker.yaml --talos-version v1.13", exitInput: "-f registries.yaml --config bad.yaml --talos-version v1.13", exitCall: "-f - --config - --talos-version v1.13"},
	"apply":   {exitDone: "-f registries.yaml --config worker.yaml --talos-version v1.13", exitInput: "-f bad.yaml --config worker.yaml --talos-version v1.13", exitCall: "-f registries.yaml --config worker.yaml --talos-version v1.13 --own ghcr.io"},
	"migrate": {exitDone: "worker.yaml", exitInput: "bad.yaml", exitCall: ""},
	"convert": {exitDone: "--from registries --to k3s registries.yaml", exitInput: "--from registries --to k3s bad.yaml", exitCall: "--from registries registries.yaml",
		exitLoss: "--from docker-daemon --to registries daemon.json"},
	"script":      {exitDone: "-f registries.yaml", exitInput: "-f bad.yaml", exitCall: "-f registries.yaml --name A"},
	"job":         {exitDone: "-f registries.yaml", exitInput: "-f bad.yaml", exitCall: "-f registries.yaml --ttl 0"},
	"escape":      {exitDone: "--place word", exitInput: "--place heredoc", exitCall: "--place json"},
	"helm-helper": {exitDone: "", exitInput: "full", exitCall: "x"},
	"schema":      {exitDone: "", exitInput: "full", exitCall: "--for x"},
	"completion":  {exitDone: "bash", exitInput: "bash full", exitCall: ""},
	"help":        {exitDone: "check", exitInput: "check full", exitCall: "nonsense"},
}

// TestExitCodes: each command has each code that is documented, with its result
// on standard output and what is wrong on standard error.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/examples")))
	file := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, handler := range map[string]http.HandlerFunc{
		"yes": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		},
		"no":      http.NotFound,
		"unknown": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
	} {
		server := httptest.NewServer(handler)
		defer server.Close()
		file(name+".yaml", fmt.Sprintf("mirrors: {ghcr.io: {endpoints: [%s]}}\n", server.URL))
	}
	file("bad.yaml", "mirrors: [a]\n")
	t.Chdir(dir)

	commands(func(cmd *cobra.Command) {
		if !cmd.HasParent() || cmd.Parent().HasParent() {
			return
		}
		require.Contains(t, exits, cmd.Name(), "it has no calls here")
		for _, code := range []int{exitDone, exitInput, exitCall} {
			require.Contains(t, exits[cmd.Name()], code, "%s", cmd.Name())
		}
		for want, call := range exits[cmd.Name()] {
			t.Run(fmt.Sprintf("%s/%d", cmd.Name(), want), func(t *testing.T) {
				var out, errs bytes.Buffer
				var stdout io.Writer = &out
				args := append([]string{cmd.Name()}, strings.Fields(call)...)
				if last := len(args) - 1; args[last] == "full" {
					args, stdout = args[:last], full{}
				}
				code := run(args, strings.NewReader("no newline"), stdout, &errs)
				assert.Equal(t, want, code, "%s%s", out.String(), errs.String())
				said := cmd.Name() == "check" || want == exitNo || want == exitUnknown // on standard output, what is wrong too
				if want != exitDone && !(said && want != exitCall) {
					assert.Empty(t, out.String())
					assert.NotEmpty(t, errs.String())
				}
				if want == exitDone && cmd.Name() != "check" {
					assert.NotEmpty(t, out.String())
				}
				if want == exitDone {
					assert.NotContains(t, errs.String(), "error")
				}
			})
		}
	})
}

// TestBrokenPipe: a pipe that nobody reads ends a command without a word, as it ends
// any program, also where the signal was ignored when it began.
func TestBrokenPipe(t *testing.T) {
	for _, how := range []string{"", "trap '' PIPE; "} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		var errs bytes.Buffer
		cmd := exec.Command("sh", "-c", how+"exec mirrorctl rules")
		cmd.Stdout, cmd.Stderr = w, &errs
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Run(), &exit)
		require.NoError(t, w.Close())
		assert.Equal(t, syscall.SIGPIPE, exit.Sys().(syscall.WaitStatus).Signal())
		assert.Empty(t, errs.String())
	}
}
