package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// badInput is a bad file.
type badInput struct {
	name, file string
	want       string // in the message, for registries and cozystack
}

// badInputs makes each kind of bad file below dir.
func badInputs(t *testing.T, dir string) []badInput {
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	loop := filepath.Join(dir, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

	return []badInput{
		{name: "empty", file: file("empty.yaml", ""), want: "empty"},
		{name: "a comment", file: file("comment.yaml", "# nothing here\n"), want: "empty"},
		{name: "text", file: file("text.yaml", "once upon a time\n"), want: "found a string"},
		{name: "list", file: file("list.yaml", "- mirrors\n- talos\n"), want: "found a list"},
		{name: "number", file: file("number.yaml", "42\n"), want: "want a mapping"},
		{name: "another kind", file: file("other.yaml", "kind: Service\napiVersion: v1\nmetadata: {name: x}\n"), want: ""},
		{name: "list for a map", file: file("wrongkind.yaml", "mirrors: [a]\ntalos: {registryMirrors: [a]}\n"), want: "found a list"},
		{name: "repeated", file: file("repeated.yaml", "mirrors: {}\nmirrors: {}\ntalos: {registryMirrors: {}}\ntalos: {registryMirrors: {}}\n"), want: "repeated-key"},
		{name: "misspelt", file: file("misspelt.yaml", "mirrors: {ghcr.io: {endpoint: []}}\ntalos: {registryMirrors: {ghcr.io: {endpoint: []}}}\n"), want: `did you mean "endpoints"?`},
		{name: "not YAML", file: file("broken.yaml", "mirrors: {\n"), want: "not YAML"},
		{name: "tabs", file: file("tabs.yaml", "mirrors:\n\tghcr.io: {}\n"), want: "not YAML"},
		{name: "two documents", file: file("two.yaml", "mirrors: {}\n---\nmirrors: {}\n"), want: "second document"},
		{name: "binary", file: file("binary.yaml", png), want: "[syntax]"},
		{name: "UTF-16", file: file("utf16.yaml", "\xff\xfem\x00i\x00"), want: "UTF-16"},
		{name: "50 MB", file: file("large.yaml", "mirrors: {}\n#"+strings.Repeat("x", 50_000_000)), want: "[input-size]"},
		{name: "alias bomb", file: file("bomb.yaml", bomb()), want: ""},
		{name: "missing", file: filepath.Join(dir, "missing.yaml"), want: "no such file"},
		{name: "directory", file: dir, want: "is a directory"},
		{name: "loop", file: loop, want: "symbolic links"},
		{name: "below a file", file: filepath.Join(dir, "empty.yaml", "x"), want: "not a directory"},
	}
}

// TestBadInput gives each command each kind of bad file: exit 1, the problem on
// standard error, nothing on standard output but what check finds.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	for _, in := range badInputs(t, dir) {
		for _, from := range []string{"registries", "cozystack"} {
			for _, command := range [][]string{
				{"check"}, {"check", "-o", "json"},
				{"patch", "--talos-version", "v1.13"}, {"patch", "--talos-version", "v1.13", "--out", filepath.Join(dir, "out")},
				{"script"}, {"job"},
			} {
				t.Run(strings.Join(append([]string{in.name, from}, command[:1]...), "/"), func(t *testing.T) {
					code, stdout, stderr := mirrorctl("", append(slices.Clone(command), "--from", from, "-f", in.file)...)
					assert.Equal(t, exitInput, code)
					said := stderr
					if command[0] == "check" {
						assert.Empty(t, stderr)
						said = stdout
					} else {
						assert.Empty(t, stdout)
					}
					assert.NoDirExists(t, filepath.Join(dir, "out"))
					assert.Less(t, len(said), 20_000)
					assert.NotContains(t, said, "goroutine ")
					if len(command) == 3 && command[1] == "-o" {
						assert.Contains(t, said, `"severity": "error"`)
						return
					}
					assert.Contains(t, said, in.want)
					for line := range strings.Lines(said) {
						assert.Regexp(t, findingLine, strings.TrimSuffix(line, "\n"))
					}
				})
			}
		}
	}
}

// TestBadInputOfFormats gives the readers of the other formats the same files,
// and containerd's directory with each of them in it.
func TestBadInputOfFormats(t *testing.T) {
	dir := t.TempDir()
	// What is no mistake in a format, and what its program would read.
	legal := map[string]string{
		"registries-conf/empty": "empty-set", "registries-conf/a comment": "empty-set", // TOML of nothing
		"hosts/empty": "", "hosts/a comment": "", // a registry without hosts
		"k3s/another kind": "k3s does not know this key", "k3s/misspelt": "embedded registry mirror", // told as a loss
	}
	for _, in := range badInputs(t, dir) {
		for _, from := range formats {
			if from == "registries" || from == "cozystack" {
				continue
			}
			t.Run(from+"/"+in.name, func(t *testing.T) {
				file := in.file
				if info, err := os.Stat(file); from == "hosts" && err == nil {
					if info.IsDir() {
						t.Skip("what a directory is for")
					}
					file = filepath.Join(t.TempDir(), "certs.d")
					require.NoError(t, os.MkdirAll(filepath.Join(file, "ghcr.io"), 0o700))
					require.NoError(t, os.Link(in.file, filepath.Join(file, "ghcr.io", "hosts.toml")))
				}
				code, stdout, stderr := mirrorctl("", "check", "--from", from, "-f", file)
				if want, ok := legal[from+"/"+in.name]; ok {
					assert.Zero(t, code)
					assert.Contains(t, stdout+stderr, want)
					return
				}
				assert.Equal(t, exitInput, code)
				assert.Empty(t, stderr)
				require.NotEmpty(t, stdout)
				assert.Less(t, len(stdout), 20_000)
				for line := range strings.Lines(stdout) {
					assert.Regexp(t, findingLine, strings.TrimSuffix(line, "\n"))
				}
				if in.name == "50 MB" {
					assert.Contains(t, stdout, "[input-size]")
				}

				// The others say the same on standard error, and nothing else.
				for _, args := range [][]string{{"patch", "--talos-version", "v1.13", "-f"}, {"convert", "--to", "registries"}, {"explain", "ghcr.io/a", "-f"}} {
					code, printed, said := mirrorctl("", append(args, file, "--from", from)...)
					assert.Equal(t, exitInput, code)
					assert.Empty(t, printed)
					assert.Equal(t, stdout, said, "%s", args[0])
				}
			})
		}
	}
}

// findingLine is how each finding is printed.
var findingLine = regexp.MustCompile(`^[^\n:]+:\d+:\d+: (error|warning|info): .+ \[[a-z0-9-]+\]$`)

// bomb is 10^9 values in a few lines.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: {endpoints: [https://m.internal]}}\n")
	for i := 1; i < 10; i++ {
		prev := string(rune('0' + i - 1))
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " {<<: [" + strings.Repeat("*a"+prev+", ", 9) + "*a" + prev + "]}\n")
	}
	b.WriteString("mirrors: *a9\ntalos: {registryMirrors: *a9}\nregistryMirrors: *a9\n")
	return b.String()
}

// TestLargeInput: what is read of a file that never ends is bounded.
func TestLargeInput(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out, errs bytes.Buffer
	code := run([]string{"check", "-f", "-"}, endless{}, &out, &errs)
	runtime.ReadMemStats(&after)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, out.String(), "[input-size]")
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestSkeleton: what is wrong with --data.
func TestSkeleton(t *testing.T) {
	good, err := os.ReadFile(workerFile)
	require.NoError(t, err)
	for _, tt := range []struct {
		name, skeleton string
		want           []string
	}{
		{"empty", "", []string{`:0:0: error: the input is empty .*\[syntax\]`}},
		{"a comment", "# nothing\n---\n", []string{`:0:0: error: the input is empty .*\[syntax\]`}},
		{"text", "no configuration\n", []string{`:1:1: error: a document that is no mapping .*\[wrong-kind\]`}},
		{"binary", "a: \x00\xff", []string{`:1:4: error: .*\[syntax\]`}},
		{"not UTF-8", "a: b\nc: \xff", []string{`:2:4: error: .*\[syntax\]`}},
		{"an anchor that is none", "machine:\n  token: *hunter2\n", []string{`:2:\d+: error: .*\[syntax\]`}},
		{"not a configuration", "kind: Service\napiVersion: v1\n", []string{`:1:0: error: .*\[configuration\]`}},
		{"repeated keys", "machine: {type: worker, type: hunter2}\nmachine: {}\n", []string{`:1:25: error: machine.type: .*\[repeated-key\]`, `:2:1: error: machine: .*\[repeated-key\]`}},
		{"all at once", "machine:\n  install: [hunter2]\n  ca: {crt: hunter2 hunter2}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostnme: hunter2\n", []string{
			`:2:3: error: machine.install: .*\[configuration\]`, `:3:3: error: machine.ca: .*\[configuration\]`, `:7:1: error: hostnme: unknown key .*\[unknown-key\]`}},
		{"an input that is not used", strings.ReplaceAll(string(good), "${TALOS_CA}", "c2FtcGxl"), []string{`:0:0: error: .*TALOS_CA.*\[skeleton\]`}},
		{"registries", string(good) + "---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: ghcr.io\nendpoints: [{url: https://m.internal}]\n",
			[]string{`:\d+:0: error: the skeleton has registries of its own: mirror "ghcr.io" .*\[own-registries\]`}},
		{"large", string(good) + "#" + strings.Repeat("x", 1<<20) + "\n", []string{`:0:0: error: more than 1048576 bytes .*\[input-size\]`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, "worker.yaml", tt.skeleton)
			for _, command := range []string{"job", "script"} {
				args := shape(t, true)
				args[0] = command
				args[slices.Index(args, workerFile)] = file
				code, stdout, stderr := mirrorctl("", args...)
				assert.Equal(t, exitInput, code)
				assert.Empty(t, stdout)
				assert.NotContains(t, stderr, "hunter2")
				lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
				require.Len(t, lines, len(tt.want), "%s", stderr)
				for i, line := range lines {
					assert.Regexp(t, findingLine, line)
					assert.Regexp(t, "^"+regexp.QuoteMeta(file)+tt.want[i]+"$", line)
				}
			}
		})
	}

	// A name that is no input is likely a mistake, and may be none.
	file := write(t, "worker.yaml", strings.Replace(string(good), "clusterName: dev", "clusterName: ${CLUSTER}", 1))
	args := shape(t, true)
	args[slices.Index(args, workerFile)] = file
	code, _, stderr := mirrorctl("", args...)
	assert.Zero(t, code)
	assert.Contains(t, stderr, ":43:16: warning: ${CLUSTER} is no --input and stays as it is")
}

// TestFileName: a file's name does not break the line that it stands in.
func TestFileName(t *testing.T) {
	for _, command := range []string{"check", "job"} {
		_, stdout, stderr := mirrorctl("", command, "-f", "a\nb\x1b[2J\xff.yaml")
		assert.Equal(t, `"a\nb\x1b[2J\xff.yaml":0:0: error: no such file or directory (want a file that can be read) [unreadable]`+"\n", stdout+stderr)
	}
}

// TestOutputFails: a full disk or a closed pipe is not exit 0.
func TestOutputFails(t *testing.T) {
	var errs bytes.Buffer
	code := run([]string{"job", "--from", "cozystack", "-f", valuesFile}, strings.NewReader(""), full{}, &errs)
	assert.Equal(t, exitInput, code)
	assert.Equal(t, "mirrorctl: standard output: no space left\n", errs.String())
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")
