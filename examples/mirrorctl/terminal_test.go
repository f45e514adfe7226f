package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChooseColours: what says whether there are colours, and what wins.
func TestChooseColours(t *testing.T) {
	for _, tt := range []struct {
		word, noColor, term string
		terminal, want      bool
	}{
		{"auto", "", "xterm", true, true},
		{"auto", "", "xterm", false, false},
		{"auto", "1", "xterm", true, false},
		{"auto", "", "dumb", true, false},
		{"auto", "", "", true, true},
		{"always", "1", "dumb", false, true},
		{"never", "", "xterm", true, false},
	} {
		t.Setenv("NO_COLOR", tt.noColor)
		t.Setenv("TERM", tt.term)
		out := &tool{terminal: tt.terminal}
		out.chooseColours(tt.word)
		assert.Equal(t, [2]bool{tt.want, tt.word == "always"}, [2]bool{out.colour, out.personColour}, "%+v", tt)
		errs := &tool{person: tt.terminal}
		errs.chooseColours(tt.word)
		assert.Equal(t, [2]bool{tt.word == "always", tt.want}, [2]bool{errs.colour, errs.personColour}, "%+v", tt)
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "",
		"a\tb\nc é 漢":       "a\tb\nc é 漢",
		"\x1b[31mred":       `\x1b[31mred`,
		"\a\b\r\x00\x7f":    `\a\b\r\x00\x7f`,
		"\u009b31m":         `\u009b31m`,
		"\xff\xc3":          `\xff\xc3`,
		"\ufffd'":           "\ufffd'",
		"\u202e\u2066":      `\u202e\u2066`,
		"\U000e0001\u2028'": `\U000e0001\u2028'`,
	} {
		assert.Equal(t, want, visible(in), "%q", in)
	}
	assert.Equal(t, `a\nb`, visibleLine("a\nb"))
	assert.Equal(t, "\x1b[31ma\\x1b[0m\x1b[0m", paint(true, red, "a\x1b[0m"))
	assert.Equal(t, "a", paint(false, red, "a"))
	assert.Equal(t, "", paint(true, red, ""))
}

// TestControlCharacters gives each command every text that it may print with
// characters that would change a terminal in it. None reaches standard error, or
// a result that is for a person.
func TestControlCharacters(t *testing.T) {
	const bad = "x\x1b[2J\u009b1m\u202e"
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"set.yaml":    `mirrors: {"gh\e[2J": {endpoints: ["https://\e[31m.internal", "ftp://\x9B1m", "https://m.internal/\u202e?\e"], "over\e[2J": true}}` + "\n" + `config: {"m\e": {auth: {username: "\e", password: "\e"}}}`,
		"quiet.yaml":  `mirrors: {"a.internal": {endpoints: ["http://127.0.0.1:1/\u202e/v2/x"]}}`,
		"right.yaml":  "mirrors: {ghcr.io: {endpoints: [https://m.internal]}}",
		"list.txt":    "nginx" + bad + "\n",
		"values.yaml": `talos: {version: "v1.2\e", registryMirrors: {"ghcr.io": {endpoints: ["https://m.internal/\u202e"]}}, "\e": 1}`,
		"more.yaml":   `talos: {registryMirrors: {"ghcr.io": {endpoints: ["https://m.internal"]}}, "\e": 1}` + "\n" + `"b\e[2J": 1`,
		"k3s.yaml":    `mirrors: {"ghcr.io": {endpoint: ["https://m.internal"], rewrite: {"\e": "\e"}, "\e[2J": 1}}` + "\n" + `"c\e[2J": 1`,
		"daemon.json": `{"registry-mirrors": ["http://m\u001b[2J"], "insecure-registries": ["m\u202e:50"], "\u001b[2J": 1}`,
		"config.yaml": "machine:\n  \"typ\\e[2J\": worker\n  registries: {mirrors: {\"gh\\e[2Jcr\": {endpoints: [\"https://\\e.internal\"]}}}\n",
		"worker.yaml": "machine:\n  type: worker\n  registries: {mirrors: {\"gh\u202ecr.io\": {endpoints: [\"https://m.internal/\u202e\"]}}}\n",
		"skel.yaml":   "machine:\n  type: worker\n  token: \"${A}\u202e\"\n  x\u202e: 1\n",
		"hosts.toml":  "server = \"ftp://\\u001b[2J\"\n\"\\u001b\" = 1\n",
		bad:           "mirrors: [a]\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text+"\n"), 0o600))
	}
	require.NoError(t, os.MkdirAll(filepath.Join("certs.d", "gh\u202ecr.io"), 0o700))
	require.NoError(t, os.Rename("hosts.toml", filepath.Join("certs.d", "gh\u202ecr.io", "hosts.toml")))

	inputs := [][]string{{"-f", "set.yaml"}, {"-f", "quiet.yaml"}, {"-f", bad}, {"-f", "missing" + bad}, {"-f", "values.yaml", "--from", "cozystack"},
		{"-f", "daemon.json", "--from", "docker-daemon"}, {"-f", "config.yaml", "--from", "talos"}, {"-f", "worker.yaml", "--from", "talos"},
		{"-f", "certs.d", "--from", "hosts"}, {"-f", "set.yaml", "--from", bad}}
	rest := map[string][][]string{
		"check":   {{}, {"--talos-version", bad}, {"--talos-version", "v1.14.0-" + bad}, {"-o", bad}},
		"explain": {{"nginx" + bad}, {"ghcr.io/a", "gh\u202ecr.io/a"}, {"--images", "list.txt"}, {"--images", bad}},
		"probe":   {{"--timeout", "1s"}, {"--timeout", bad}, {"--concurrency", bad}},
		"patch":   {{"--talos-version", "v1.13"}, {"--talos-version", "v1.13", "--mode", "replace", "--out", bad}, {"--talos-version", "v1.13", "--out", bad + "/" + bad}, {"--talos-version", "v1.13", "--form", bad}},
		"plan":    {{"--talos-version", "v1.13", "--config", "worker.yaml"}, {"--talos-version", "v1.13", "--config", "config.yaml"}, {"--talos-version", "v1.13", "--config", bad}, {"--talos-version", "v1.13", "--config", "worker.yaml", "--own", bad}},
		"apply":   {{"--talos-version", "v1.13", "--config", "worker.yaml"}, {"--talos-version", "v1.13", "--config", "config.yaml"}},
		"script":  {{}, {"--name", bad}, {"--label", bad + "=" + bad}, {"--annotation", "a=" + bad}, {"--data", "skel.yaml", "--input", "A:token=value:x"}, {"--data", "skel.yaml", "--input", bad}, {"--data", bad}},
		"job":     {{"--namespace", bad}, {"--image", bad}, {"--service-account", bad}, {"--run-id", bad}, {"--ttl", bad}, {"--data", "worker.yaml"}},
	}
	var calls [][]string
	for command, more := range rest {
		for _, input := range inputs {
			for _, args := range more {
				calls = append(calls, append(append([]string{command}, input...), args...))
			}
		}
	}
	for _, to := range formats {
		for _, path := range []string{"set.yaml", "quiet.yaml", bad} {
			calls = append(calls, []string{"convert", "--from", "registries", "--to", to, path}, []string{"convert", "--from", "registries", "--to", to, path, "--out", bad})
		}
		calls = append(calls, []string{"convert", "--from", "docker-daemon", "--to", to, "daemon.json"}, []string{"convert", "--from", "hosts", "--to", to, "certs.d"},
			[]string{"convert", "--from", "cozystack", "--to", to, "more.yaml"}, []string{"convert", "--from", "k3s", "--to", to, "k3s.yaml"},
			[]string{"convert", "--from", "talos", "--to", to, "worker.yaml"}, []string{"convert", "--from", "cozystack", "--to", to, "values.yaml", "--secret", bad, "--to-folder", bad})
	}
	for _, file := range []string{"config.yaml", "worker.yaml", bad, "missing" + bad} {
		calls = append(calls, []string{"read", file}, []string{"migrate", file})
	}
	calls = append(calls, []string{bad}, []string{"--" + bad}, []string{"rules", bad}, []string{"help", bad}, []string{"completion", bad}, []string{"escape", "--place", bad}, []string{"helm-helper", bad}, []string{"--color", bad})
	// Each command also with an argument and a flag that it does not know.
	commands(func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		calls = append(calls, append(path[:len(path):len(path)], bad), append(path[:len(path):len(path)], "--"+bad), append(path[:len(path):len(path)], "-"+bad))
	})

	for _, args := range calls {
		code, stdout, stderr := mirrorctl("\x1b[2J", args...)
		assert.Equal(t, visible(stderr), stderr, "%q", args)
		switch args[0] {
		case "check", "explain", "probe", "rules":
			assert.Equal(t, visible(stdout), stdout, "%q", args)
		default:
			if code != exitDone {
				assert.Empty(t, stdout, "%q", args)
			}
		}
	}

	// To a terminal, a person is told more.
	var out, errs strings.Builder
	(&tool{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, person: true, terminal: true}).run(
		[]string{"plan", "-f", "right.yaml", "--config", "worker.yaml", "--talos-version", "v1.13"})
	assert.Contains(t, errs.String(), "removed")
	assert.Equal(t, visible(errs.String()), errs.String())
	assert.Equal(t, visible(out.String()), out.String())
}
