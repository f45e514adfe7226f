package cozystack_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
)

const valuesFile = "../../../testdata/cozystack/values.yaml"

func TestReadValues(t *testing.T) {
	data, err := os.ReadFile(valuesFile)
	require.NoError(t, err)
	source, report, err := cozystack.Read(data)
	require.NoError(t, err)

	assert.Equal(t, mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"docker.io": {Endpoints: []mirrors.Endpoint{
			{URL: "http://registry-cache.cozy-registry.svc.cozy.local:5000"},
			{URL: "https://mirror.gcr.io"},
		}},
		"ghcr.io": {Endpoints: []mirrors.Endpoint{
			{URL: "https://harbor.example.com/v2/ghcr-proxy", OverridePath: true},
		}},
		"quay.io": {Endpoints: []mirrors.Endpoint{
			{URL: "https://quay.mirror.internal:8443"},
			{URL: "https://quay.mirror-b.internal:8443"},
		}},
		"registry.k8s.io": {
			Endpoints:    []mirrors.Endpoint{{URL: "https://k8s.mirror.internal/repository/registry-k8s-io/v2"}},
			SkipFallback: true,
		},
	}}, source.Set)
	for _, f := range source.Check(mirrors.ForTalos("v1.13")) {
		assert.Equal(t, mirrors.SeverityInfo, f.Severity, "%s", f)
	}

	// The path is the file's, the line that of the endpoint.
	at := source.Position(mirrors.Place{Section: "mirrors", Key: "ghcr.io", Field: "endpoints[0]"})
	assert.Equal(t, `talos.registryMirrors["ghcr.io"].endpoints[0]`, at.Path)
	lines := strings.Split(string(data), "\n")
	assert.Equal(t, "https://harbor.example.com/v2/ghcr-proxy", lines[at.Line-1][at.Column-1:])

	// The chart's other values are named, once, and are no loss.
	assert.True(t, report.Lossless())
	assert.Equal(t, []string{"storageClass", "version", "host", "nodeGroups", "talos.version", "talos.installer", "addons", "controlPlane"}, report.Ignored)
}

func TestRead(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want map[string]mirrors.Mirror
		errs []string // LINE:COLUMN path: message [rule], the fix left out
	}{
		{name: "no mirrors", in: "talos: {registryMirrors: {}}", want: map[string]mirrors.Mirror{}},
		{name: "JSON", in: `{"talos":{"registryMirrors":{"*":{"endpoints":["https://m.internal"],"skipFallback":true}}}}`,
			want: map[string]mirrors.Mirror{"*": {Endpoints: []mirrors.Endpoint{{URL: "https://m.internal"}}, SkipFallback: true}}},
		{name: "alias", in: "shared: &m {a.example.com: {endpoints: [https://m.internal]}}\ntalos: {registryMirrors: *m}",
			want: map[string]mirrors.Mirror{"a.example.com": {Endpoints: []mirrors.Endpoint{{URL: "https://m.internal"}}}}},
		{name: "alias of talos", in: "x: &t {registryMirrors: {}}\ntalos: *t",
			errs: []string{`1:1 x: registryMirrors under "x" [unknown-key]`}},

		{name: "empty", in: "", errs: []string{"0:0 the input is empty [syntax]"}},
		{name: "only a comment", in: "# nothing\n", errs: []string{"0:0 the input is empty [syntax]"}},
		{name: "text", in: "just words\n", errs: []string{"1:1 found a string [wrong-kind]"}},
		{name: "list", in: "- talos\n", errs: []string{"1:1 found a list [wrong-kind]"}},
		{name: "NUL", in: "talos:\n  \x00", errs: []string{"2:3 a NUL byte at offset 9: this is not a text file [syntax]"}},
		{name: "another kind of file", in: "mirrors:\n  ghcr.io:\n    endpoints: [https://m.internal]\n",
			errs: []string{"1:1 no talos.registryMirrors in the file [missing-key]"}},
		{name: "no registryMirrors", in: "a: 1\ntalos:\n  version: v1.13.0\n",
			errs: []string{"3:3 talos: no registryMirrors under talos [missing-key]"}},
		{name: "at the root", in: "registryMirrors:\n  ghcr.io: {endpoints: [https://m.internal]}\n",
			errs: []string{"1:1 registryMirrors: registryMirrors at the root of the values [unknown-key]"}},
		{name: "under a misspelt key", in: "Talos:\n  registryMirrors: {}\n",
			errs: []string{`1:1 Talos: registryMirrors under "Talos" [unknown-key]`}},
		{name: "misspelt", in: "talos:\n  registryMirror: {}\n", errs: []string{`2:3 talos: unknown key "registryMirror" [unknown-key]`}},
		{name: "misspelt at the root", in: "a: 1\nregistryMirror: {ghcr.io: {endpoints: [https://m.internal]}}\nRegistries: {}\n",
			errs: []string{`2:1 unknown key "registryMirror" [unknown-key]`, `3:1 unknown key "Registries" [unknown-key]`}},
		{name: "beside a misspelt one", in: "talos:\n  registryMirrors: {}\n  registry_mirrors: {}\n",
			errs: []string{`3:3 talos: unknown key "registry_mirrors" [unknown-key]`}},
		{name: "talos is a list", in: "talos: [a]\n", errs: []string{"1:8 talos: found a list [wrong-kind]"}},
		{name: "talos is null", in: "talos:\n", errs: []string{"1:7 talos: found null [wrong-kind]"}},
		{name: "null", in: "talos:\n  registryMirrors:\n", errs: []string{"2:3 talos.registryMirrors: found null [wrong-kind]"}},
		{name: "list of mirrors", in: "talos:\n  registryMirrors:\n    - ghcr.io\n",
			errs: []string{"3:5 talos.registryMirrors: found a list [wrong-kind]"}},
		{name: "merge key", in: "x: &x {version: v1.13.0}\ntalos:\n  <<: *x\n  registryMirrors: {}\n",
			errs: []string{"3:3 talos: a merge key [wrong-kind]"}},
		{name: "repeated far away", in: "addons:\n  a: 1\n  a: 2\ntalos: {registryMirrors: {}}\n",
			errs: []string{"3:3 addons.a: the key is there twice, first in line 2 [repeated-key]"}},
		{name: "all at once", in: `
talos:
  registryMirrors:
    ghcr.io:
      endpoint: [https://m.internal]
    ghcr.io:
      endpoints: [https://m.internal]
    quay.io:
      endpoints: https://q.internal
      skipFallback: "yes"
    docker.io: [https://d.internal]
    registry.k8s.io:
      endpoints: [ftp://k.internal]
`, errs: []string{
			`5:7 talos.registryMirrors["ghcr.io"]: unknown key "endpoint" [unknown-key]`,
			`6:5 talos.registryMirrors["ghcr.io"]: the key is there twice, first in line 4 [repeated-key]`,
			`9:18 talos.registryMirrors["quay.io"].endpoints: found a string [wrong-kind]`,
			`10:21 talos.registryMirrors["quay.io"].skipFallback: found a string [wrong-kind]`,
			`11:16 talos.registryMirrors["docker.io"]: found a list [wrong-kind]`,
			`13:19 talos.registryMirrors["registry.k8s.io"].endpoints[0]: unsupported scheme "ftp" [endpoint-scheme]`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source, report, err := cozystack.Read([]byte(tt.in))
			if tt.errs == nil {
				require.NoError(t, err)
				assert.True(t, report.Lossless())
				assert.Equal(t, tt.want, source.Set.Mirrors)
				assert.Nil(t, source.Set.Config)
				return
			}
			assert.Nil(t, source)
			assert.Equal(t, convert.Report{}, report)
			assert.Equal(t, tt.errs, lines(t, err))
		})
	}
}

// lines writes each finding of err as the table has it, and sees that each says what is wanted.
func lines(t *testing.T, err error) []string {
	t.Helper()
	var wrong *mirrors.Error
	require.True(t, errors.As(err, &wrong), "%T: %v", err, err)
	var got []string
	for _, f := range wrong.Findings {
		assert.NotEmpty(t, f.Fix, "%s", f)
		assert.Equal(t, mirrors.SeverityError, f.Severity)
		path := f.Path
		if path != "" {
			path += ": "
		}
		got = append(got, fmt.Sprintf("%d:%d %s%s [%s]", f.Line, f.Column, path, f.Message, f.Rule))
	}
	return got
}

func TestReadLarge(t *testing.T) {
	data := append([]byte("talos: {registryMirrors: {}}\n#"), bytes.Repeat([]byte("x"), 50<<20)...)
	_, _, err := cozystack.Read(data)
	got := lines(t, err)
	require.Len(t, got, 1)
	assert.Contains(t, got[0], "[input-size]")
}

// FuzzRead: whatever the input, there is a Source or an error with findings, and
// what was read is what the same map means as machine.registries.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"talos: {registryMirrors: {}}", "talos:\n  registryMirrors:\n    ghcr.io: {endpoints: [https://m.internal]}\n",
		"talos: &a {registryMirrors: *a}", "talos: {registryMirrors: {<<: {a: {}}}}", "registries: {}", "talos: {? [a] : b}",
	} {
		f.Add([]byte(seed))
	}
	for _, c := range shelltest.Hostile(f) {
		if len(c.Data) < 4096 {
			f.Add(append([]byte("talos:\n  registryMirrors: "), c.Data...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		source, _, err := cozystack.Read(data)
		if err != nil {
			if source != nil {
				t.Fatal("a source beside an error")
			}
			var wrong *mirrors.Error
			if !errors.As(err, &wrong) || len(wrong.Findings) == 0 {
				t.Fatalf("%T without findings: %v", err, err)
			}
			return
		}
		for _, finding := range source.Check() {
			if !strings.HasPrefix(finding.Path, "talos.registryMirrors") && !strings.HasPrefix(finding.Path, "registries") {
				t.Errorf("path %q", finding.Path)
			}
		}
	})
}
