package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProbeInterrupted: a signal ends probe at once, with what is known.
func TestProbeInterrupted(t *testing.T) {
	asked := make(chan struct{}, 2)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer silent.Close()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	}))
	defer registry.Close()
	// One after the other: the registry has answered when the silent one is asked.
	file := write(t, "registries.yaml", fmt.Sprintf("mirrors: {ghcr.io: {endpoints: [%q, %q, %q]}}\n", registry.URL, silent.URL, silent.URL+"/second"))

	for _, tt := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := exec.Command("mirrorctl", "probe", "-f", file, "--timeout", "10m", "--concurrency", "1")
			cmd.Stdout, cmd.Stderr = &out, &errs
			require.NoError(t, cmd.Start())
			<-asked
			require.NoError(t, cmd.Process.Signal(tt.signal))
			cmd.Wait()
			assert.Equal(t, tt.code, cmd.ProcessState.ExitCode())
			assert.Empty(t, errs.String())
			lines := strings.Split(out.String(), "\n")
			require.Len(t, lines, 4, "%s", out.String())
			assert.Regexp(t, `^yes      `+registry.URL+`/v2/: `, lines[0])
			assert.Regexp(t, `^unknown  `+silent.URL+`/v2/: `, lines[1])
			assert.Regexp(t, `^unknown  `+silent.URL+`/second/v2/: `, lines[2])
		})
	}
}
