package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExplainCorpus asks explain about each configuration of the corpus, for
// which containerd 2.3.3 and Talos 1.13.9 were asked: the URLs and errors are the same.
func TestExplainCorpus(t *testing.T) {
	data, err := os.ReadFile("../../testdata/pull-order.json")
	require.NoError(t, err)
	var cases []struct {
		Name, Config, HostsError, DecodeError string
		Outcomes                              []struct {
			Registry             string
			Containerd, Machined []string
			MachinedError        string
		}
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			args := []string{"explain", "--from", "talos", "-f", "-", "-o", "json"}
			for _, o := range c.Outcomes {
				args = append(args, o.Registry+"/project/image:v1")
			}
			code, stdout, stderr := mirrorctl(c.Config, args...)
			require.Zero(t, code, "%s", stderr)
			assert.Empty(t, stderr)
			var got []struct {
				Image, Registry string
				Containerd      []struct{ URL string }
				ContainerdError *string
				Machined        []struct{ URL string }
				MachinedError   *string
				Differs         *bool
				Why             *string
			}
			dec := json.NewDecoder(strings.NewReader(stdout))
			require.NoError(t, dec.Decode(&got))
			require.Len(t, got, len(c.Outcomes))
			decodeErrors := 0
			for i, o := range c.Outcomes {
				g := got[i]
				require.NotNil(t, g.Differs)
				assert.Equal(t, o.Registry, g.Registry)
				assert.Equal(t, o.Containerd, urls(g.Containerd), "containerd, %s", o.Registry)
				assert.Equal(t, o.Machined, urls(g.Machined), "machined, %s", o.Registry)
				assert.Equal(t, o.MachinedError, *g.MachinedError)
				if c.HostsError != "" {
					assert.Equal(t, c.HostsError, *g.ContainerdError)
				} else if c.DecodeError != "" && c.DecodeError == *g.ContainerdError {
					decodeErrors++
				}
				assert.Equal(t, *g.Differs, *g.Why != "")
			}
			assert.Equal(t, c.DecodeError != "", decodeErrors > 0)

			// The text tells each error and each reason, too.
			args[5], args[6] = "-o", "text"
			code, text, stderr := mirrorctl(c.Config, args...)
			require.Zero(t, code, "%s", stderr)
			for _, g := range got {
				for _, part := range []string{*g.ContainerdError, *g.MachinedError, *g.Why} {
					assert.Contains(t, text, visible(part))
				}
			}
		})
	}
}

func urls(attempts []struct{ URL string }) []string {
	got := []string{}
	for _, a := range attempts {
		got = append(got, a.URL)
	}
	return got
}

// TestColour: there is colour where a terminal wants it, and nowhere else.
func TestColour(t *testing.T) {
	for _, on := range []bool{true, false} {
		var out, errs bytes.Buffer
		tool := &tool{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, colour: on, person: true, personColour: on}
		require.Zero(t, tool.run([]string{"explain", "--from", "cozystack", "-f", valuesFile, "nginx"}), "%s", errs.String())
		assert.Equal(t, on, strings.Contains(out.String(), "\x1b["))
	}
	// What a file says does not reach the terminal as a command to it.
	assert.Equal(t, `a\x1b[2Jb`, paint(false, red, "a\x1b[2Jb"))
}

// TestNoColor: a terminal gets colours, unless NO_COLOR is set and not empty.
func TestNoColor(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	defer terminal.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()

	for _, tt := range []struct {
		noColor                      string
		stdout, stderr               io.Writer
		colour, person, personColour bool
	}{
		{"", terminal, terminal, true, true, true},
		{"1", terminal, terminal, false, true, false},
		{"", file, terminal, false, true, true},
		{"", terminal, file, true, false, false},
		{"", null, &bytes.Buffer{}, false, false, false},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("TERM", "xterm")
		got := newTool(nil, tt.stdout, tt.stderr)
		assert.Equal(t, [3]bool{tt.colour, tt.person, tt.personColour}, [3]bool{got.colour, got.person, got.personColour}, "%+v", tt)
	}
}

// TestPlanForAPerson: on a terminal plan tells what it does, without secrets.
func TestPlanForAPerson(t *testing.T) {
	config := "version: v1alpha1\nmachine:\n  registries:\n    mirrors: {quay.io: {endpoints: [https://q.internal]}}\n" +
		"    config: {m.internal: {auth: {username: robot, password: made-up-old}}}\n"
	file := write(t, "registries.yaml", "mirrors: {ghcr.io: {endpoints: [https://m.internal]}}\nconfig: {m.internal: {auth: {username: robot, password: made-up-new}}}\n")
	for _, colour := range []bool{true, false} {
		var out, errs bytes.Buffer
		tool := &tool{stdin: strings.NewReader(config), stdout: &out, stderr: &errs, person: true, personColour: colour}
		require.Zero(t, tool.run([]string{"plan", "-f", file, "--config", "-", "--talos-version", "v1.13"}), "%s", errs.String())
		said := errs.String()
		for _, want := range []string{"mirror ghcr.io: added", "mirror quay.io: removed", "auth m.internal: changed", "-            - https://q.internal", "+            - https://m.internal", "reboot"} {
			assert.Contains(t, said, want)
		}
		assert.NotContains(t, said, "made-up")
		assert.Equal(t, colour, strings.Contains(said, "\x1b["))
		assert.Contains(t, out.String(), "made-up-new")
	}
	// Without a terminal, only what one must know.
	code, stdout, stderr := mirrorctl(config, "plan", "-f", file, "--config", "-", "--talos-version", "v1.13")
	assert.Zero(t, code)
	assert.NotEmpty(t, stdout)
	assert.Equal(t, 1, strings.Count(stderr, "\n"), "%s", stderr)
	assert.Contains(t, stderr, "reboot")
}
