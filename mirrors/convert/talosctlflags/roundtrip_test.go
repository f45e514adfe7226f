package talosctlflags_test

import (
	"encoding/csv"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/talosctlflags"
)

// endpoints is what talosctl makes of arguments: host and URL, in order for each host.
func endpoints(t *testing.T, args []string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for i := 0; i < len(args); i++ {
		value, ok := strings.CutPrefix(args[i], "--registry-mirror=")
		if args[i] == "--registry-mirror" {
			i++
			value, ok = args[i], true
		}
		if !ok {
			continue
		}
		vs, err := csv.NewReader(strings.NewReader(value)).Read()
		require.NoError(t, err)
		for _, v := range vs {
			host, url, ok := strings.Cut(v, "=")
			require.True(t, ok, v)
			all[host] = append(all[host], url)
		}
	}
	return all
}

// words has a shell split a text into words.
func words(t *testing.T, text string) []string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", "set -f; printf '%s\\n' "+strings.ReplaceAll(text, "\n", " ")).Output()
	require.NoError(t, err, text)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// FuzzRoundTrip: the flags that Write makes are those that Read was given, to a
// shell and talosctl.
func FuzzRoundTrip(f *testing.F) {
	for i := range 60 {
		f.Add([]byte{byte(i), byte(i * 7), byte(i * i), byte(i * 3), byte(i * 5), byte(i + 2), byte(i * 11), byte(i * 13), byte(i), byte(i * 17)})
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := goldentest.Choices(choices)
		var args []string
		seen := map[string]bool{}
		for range c.Int(5) {
			var values []string
			for range 1 + c.Int(2) {
				v := c.Pick("docker.io", "*", "reg.example.com:5000") + "=" + c.Pick("http://", "https://") +
					c.Pick("a.example.com", "[fd00::1]:5000") + c.Pick("", "/p", "/a,b", "/it's", "/a=b", `/q"q`, "/$HOME", "/`id`", "/~;&|", "/#x y")
				if strings.ContainsAny(v, " \"#`") || seen[v] {
					continue // no URL that Check lets pass
				}
				seen[v] = true
				if strings.ContainsAny(v, ",") {
					v = `"` + v + `"`
				}
				values = append(values, v)
			}
			if len(values) == 0 {
				continue
			}
			if c.Bool(2) {
				args = append(args, "--registry-mirror="+strings.Join(values, ","))
			} else {
				args = append(args, "--registry-mirror", strings.Join(values, ","))
			}
		}
		src, report, err := talosctlflags.ReadArgs(args)
		require.NoError(t, err)
		require.True(t, report.Lossless())
		files, written, err := talosctlflags.Write(src.Set)
		if err != nil {
			require.Error(t, src.Check().Err())
			return
		}
		require.True(t, written.Lossless(), "%s", written)
		text := string(files["flags"])
		if text == "" {
			require.Empty(t, src.Set.Mirrors)
			return
		}
		assert.Equal(t, endpoints(t, args), endpoints(t, words(t, text)), "%q\n%s", args, text)
		back, _, err := talosctlflags.Read(files["flags"])
		require.NoError(t, err, text)
		assert.True(t, back.Set.Equal(src.Set), "%q\n%s", args, text)
	})
}

// FuzzRead: the words are those of a shell, where no shell expands anything.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"--registry-mirror a=b", "--registry-mirror='a=b' # c", "a\\\n b 'c\nd' \"e\\\"f\"", "--registry-mirror \"a=$x\"", "'", "\\", "--registry-mirror", "-- - -x=1", "a;b|c&d"} {
		f.Add([]byte(s))
	}
	for _, c := range shelltest.Hostile(f) {
		if len(c.Data) < 4096 {
			f.Add(append([]byte("--registry-mirror docker.io="), c.Data...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src, report, err := talosctlflags.Read(data)
		goldentest.Invariants(t, data, src, report, err)
		if err == nil {
			if files, _, err := talosctlflags.Write(src.Set, talosctlflags.ForClusterCreate()); err == nil && len(files["flags"]) > 0 {
				if _, _, err := talosctlflags.Read(files["flags"]); err != nil {
					t.Errorf("what was written is refused: %v\n%q\n%s", err, data, files["flags"])
				}
			}
		}
	})
}

func TestWords(t *testing.T) {
	text := `--registry-mirror a.example.com=https://m.example.com/'it'"'"'s' --registry-mirror "b.example.com=https://m.example.com/\\x\$y" --registry-mirror c.example.com=https://m\&n/\'`
	src, _, err := talosctlflags.Read([]byte(text))
	require.NoError(t, err)
	got := map[string][]string{}
	for r, m := range src.Set.Mirrors {
		for _, e := range m.Endpoints {
			got[r] = append(got[r], e.URL)
		}
	}
	args := words(t, text)
	want := map[string][]string{}
	for i := 1; i < len(args); i += 2 {
		host, url, _ := strings.Cut(args[i], "=")
		want[host] = append(want[host], url)
	}
	assert.Equal(t, want, got)
	assert.Equal(t, []string{`https://m.example.com/\x$y`}, got["b.example.com"])
}

func TestLimits(t *testing.T) {
	read := func(data []byte) error { _, _, err := talosctlflags.Read(data); return err }
	goldentest.Limits(t, "", "--registry-mirror a=b ", "", read)
	goldentest.ManyMistakes(t, "", "--registry-mirror a ", "", read)
}

func TestWrite(t *testing.T) {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"*":       {Endpoints: []mirrors.Endpoint{{URL: "https://all.example.com"}, {URL: "https://all.example.com/a,b"}}},
			"ghcr.io": {SkipFallback: true, Endpoints: []mirrors.Endpoint{{URL: "https://h.example.com/v2/ghcr", OverridePath: true}, {URL: "https://n.example.com/v2", OverridePath: true}}},
		},
		Config: map[string]mirrors.HostConfig{
			"n.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		},
	}
	files, report, err := talosctlflags.Write(set)
	require.NoError(t, err)
	assert.Equal(t, convert.Files{"flags": []byte("--registry-mirror '*=https://all.example.com'\n--registry-mirror '\"*=https://all.example.com/a,b\"'\n--registry-mirror ghcr.io=https://n.example.com/v2\n")}, files)
	assert.Equal(t, `loss: mirrors["ghcr.io"].endpoints[0].overridePath: there is no flag for it; without it the node appends /v2 to the path (patch the configuration instead)
loss: mirrors["ghcr.io"].skipFallback: there is no flag for it (patch the configuration instead)
loss: config["n.example.com"].auth: there is no flag for credentials (patch the configuration instead)
loss: config["n.example.com"].tls.insecureSkipVerify: talosctl gen config has no flag for it (patch the configuration instead)`, report.String())

	files, report, err = talosctlflags.Write(set, talosctlflags.ForClusterCreate())
	require.NoError(t, err)
	assert.Contains(t, string(files["flags"]), "--registry-insecure-skip-verify n.example.com\n")
	assert.NotContains(t, report.String(), "insecureSkipVerify")
}

func TestMany(t *testing.T) {
	read := func(data []byte) error { _, _, err := talosctlflags.Read(data); return err }
	goldentest.Many(t, "", func(i int) string { return fmt.Sprintf("--registry-mirror r=https://m%d --x%d ", i, i) }, "", read)
	goldentest.Many(t, "--registry-mirror r=a", func(i int) string { return fmt.Sprintf(",r=https://m%d", i) }, "", read)
}

// TestMissed: flags that talosctl gets, or that somebody meant, are never passed
// over in silence.
func TestMissed(t *testing.T) {
	const unknown = "line 1, column 33: decision: a shell expands \"$\", and what comes out is not known here; it may be flags of registries (write those flags out, if there are any)"
	tests := []struct{ in, err, report string }{
		{in: "FLAGS=\"--registry-mirror docker.io=https://m.example.com\"; talosctl gen config c https://x $FLAGS",
			err: "line 1, column 1: a flag of registries inside another word (want the flag as a word of its own, as talosctl gets it)"},
		{in: "talosctl gen config c https://x $FLAGS", report: unknown},
		{in: "talosctl gen config c https://x \"$@\" ${MIRRORS[@]}", report: strings.Replace(unknown, "column 33", "column 34", 1) + "\n" + strings.Replace(unknown, "column 33", "column 38", 1)},
		{in: "talosctl gen config c https://x --output=$OUT", report: "ignored: --output"},
		{in: "FOO=$BAR talosctl gen config c https://x; cd $HOME && talosctl apply-config -n $IP -f x", report: "ignored: -n, -f"},
		{in: "talosctl $ARGS", report: strings.Replace(unknown, "column 33", "column 10", 1)},
		{in: "talosctl gen config $CLUSTER \"$EP\" -o \"$OUT/x\" --with-secrets $S > $OUT/log", report: "ignored: -o, --with-secrets"},
		{in: "talosctl gen config $NAME \"$EP\" --force \"${FLAGS[@]}\"", report: strings.Replace(unknown, "column 33", "column 42", 1) + "\nignored: --force"},
		{in: "talosctl gen config \"$NAME\" \"$EP\" --x $FLAGS", report: strings.Replace(unknown, "column 33", "column 39", 1) + "\nignored: --x"},
		{in: "talosctl gen config \"$NAME\" \"$EP\" \"$F\"", report: strings.Replace(unknown, "column 33", "column 22", 1) + "\n" + strings.Replace(unknown, "column 33", "column 30", 1) + "\n" + strings.Replace(unknown, "column 33", "column 36", 1)},
		{in: "talosctl cluster create --wait $F -o \"$@\"", report: strings.Replace(unknown, "column 33", "column 32", 1) + "\n" + strings.Replace(unknown, "column 33", "column 39", 1) + "\nignored: --wait, -o"},
		{in: "talosctl gen secrets -o $OUT; talosctl gen --x config a b", report: "ignored: -o, --x"},
		{in: "set -- --registry-mirror a.example.com=https://m $MORE; talosctl gen config", report: strings.Replace(unknown, "column 33", "column 50", 1)},
		{in: "mise exec -- talosctl gen config --registry-mirror a.example.com=https://m.example.com"},
		{in: "mirrors:\n  docker.io:\n    endpoints: [https://m.example.com]\n", err: "line 1, column 1: neither talosctl nor a flag of registries is in the input (want flags, such as --registry-mirror docker.io=https://m.example.com)"},
		{in: "talosctl gen config --registrymirror a=https://m --Registry-Mirror a=b --mirror=c",
			err: "line 1, column 21: --registrymirror: unknown flag \"--registrymirror\" (want --registry-mirror or --registry-insecure-skip-verify)\n" +
				"line 1, column 50: an unknown flag about registries (want --registry-mirror or --registry-insecure-skip-verify)\n" +
				"line 1, column 72: --mirror: unknown flag \"--mirror\" (want --registry-mirror or --registry-insecure-skip-verify)"},
		{in: "talosctl gen config -- --registry-mirror a.example.com=https://m.example.com", err: "line 1, column 24: --registry-mirror: the flag stands after --, where talosctl takes it for an argument (want it before the --)"},
		{in: "--registry-mirror=a.example.com=https://m.example.com--registry-mirror=b.example.com=https://m.example.com",
			err: "line 1, column 1: --registry-mirror[0]: a flag of registries inside the value of another (want a space between the two, and each quoted by itself)"},
		{in: "curl -sSf --data x -uadmin:made-up -H'Authorization: Bearer made-up' --Made-Up https://x; talosctl gen config", report: "ignored: -s, --data, -u, -H"},
	}
	for _, test := range tests {
		_, report, err := talosctlflags.Read([]byte(test.in))
		said := ""
		if err != nil {
			said = err.Error()
		}
		assert.Equal(t, test.err, said, "%s", test.in)
		assert.Equal(t, test.report, report.String(), "%s", test.in)
	}
}

func TestSecrets(t *testing.T) {
	const secret = "Zw9KqLx7Yb3NmT5v"
	for _, input := range []string{
		"curl -uadmin:" + secret + " -H\"Authorization: Bearer " + secret + "\" --user " + secret + " https://x.example.com\ntalosctl gen config c https://x --registry-mirror docker.io=https://m.example.com\n",
		"--registry-mirror docker.io=https://u:" + secret + "@m.example.com --registry-insecure-skip-verify u:" + secret + "@m.example.com\n",
		"TOKEN=" + secret + " talosctl gen config c https://x --token=" + secret + " --registry-mirror docker.io=https://m.example.com\n",
	} {
		goldentest.Secrets(t, input, secret, talosctlflags.Read)
		goldentest.Secrets(t, input, secret, func(data []byte) (*mirrors.Source, convert.Report, error) {
			return talosctlflags.ReadArgs(strings.Fields(string(data)))
		})
	}
}
