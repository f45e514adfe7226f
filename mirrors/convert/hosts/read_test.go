package hosts_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
)

// TestReadPaths: which file a path in hosts.toml stands for, and what is said about it.
func TestReadPaths(t *testing.T) {
	dir := archive(t, "testdata/hand.txtar")
	one, two := dir["quay.io/ca.pem"].Data, dir["quay.io/ca2.pem"].Data
	node := hosts.WithFiles(fstest.MapFS{
		"etc/docker/certs.d/ghcr.io/ca.crt": {Data: two}, "srv/pki/ca.crt": {Data: two}, "srv/certs.d/ghcr.io/ca.crt": {Data: two},
	})
	tests := []struct {
		path   string
		opts   []hosts.Option
		want   []byte
		report string // without the place
	}{
		{"ca.crt", nil, one, ""},
		{"../quay.io/ca.crt", nil, two, ""},
		{"/etc/containerd/certs.d/ghcr.io/ca.crt", nil, one, ""},
		{"/etc/cri/conf.d/hosts/quay.io/ca.crt", nil, two, ""},
		{"/var/lib/rancher/rke2/agent/etc/containerd/certs.d/ghcr.io/../ghcr.io/ca.crt", nil, one, ""},
		{"/srv/certs.d/ghcr.io/ca.crt", []hosts.Option{hosts.InFolder("/srv/certs.d/")}, one, ""},
		{"/etc/docker/certs.d/ghcr.io/ca.crt", nil, one, `decision: host["https://m.example.com"].ca: the file "/etc/docker/certs.d/ghcr.io/ca.crt" is taken from the directory that is read, which has one of this name in the folder (nothing, if it is that file; else give the files)`},
		{"/etc/docker/certs.d/ghcr.io/other.crt", nil, nil, `loss: host["https://m.example.com"].ca: the content of the file "/etc/docker/certs.d/ghcr.io/other.crt" is not known here (write its content into the result by hand, or give the files)`},
		{"/etc/docker/certs.d/ghcr.io/ca.crt", []hosts.Option{node}, two, ""},
		{"../../pki/ca.crt", nil, nil, `loss: host["https://m.example.com"].ca: the file "../../pki/ca.crt" lies outside of the directory and is not known here (write its content into the result by hand, or give the files and say where the directory lies)`},
		{"../../pki/ca.crt", []hosts.Option{node, hosts.InFolder("/srv/certs.d")}, two, ""},
		{"gone.crt", nil, nil, `loss: host["https://m.example.com"].ca: the file "gone.crt": there is no such file; containerd then cannot use the registry (want the file, or no such line)`},
		{"pipe", nil, nil, `loss: host["https://m.example.com"].ca: the file "pipe": it cannot be read; containerd then cannot use the registry (want the file, or no such line)`},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			fsys := pipes{fstest.MapFS{
				"ghcr.io/hosts.toml": {Data: []byte("[host.'https://m.example.com']\nca = '" + test.path + "'\n")},
				"ghcr.io/ca.crt":     {Data: one}, "quay.io/ca.crt": {Data: two}, "ghcr.io/pipe": {Mode: fs.ModeNamedPipe | 0o644},
			}}
			src, report, err := hosts.Read(fsys, test.opts...)
			require.NoError(t, err)
			said := strings.TrimPrefix(report.String(), "ghcr.io/hosts.toml: line 2, column 6: ")
			assert.Equal(t, test.report, said)
			var got string
			if tls := src.Set.Config["m.example.com"].TLS; tls != nil {
				got = string(tls.CA)
			}
			assert.Equal(t, string(test.want), got)
		})
	}
}

// pipes is a file system in which a pipe has no writer.
type pipes struct{ fstest.MapFS }

func (p pipes) Open(name string) (fs.File, error) {
	if info, err := p.MapFS.Stat(name); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		panic("opened a pipe, which waits for a writer")
	}
	return p.MapFS.Open(name)
}

func TestReadPipe(t *testing.T) {
	_, _, err := hosts.Read(pipes{fstest.MapFS{"ghcr.io/hosts.toml": {Mode: fs.ModeNamedPipe | 0o644}}})
	assert.EqualError(t, err, "ghcr.io: hosts.toml: it cannot be read (want a file that can be read)")
}

// TestReadDockerHub: TLS settings of Docker Hub alone stay what Talos writes them
// from; that the other puller needs the other name, Check says.
func TestReadDockerHub(t *testing.T) {
	for _, folder := range []string{"docker.io", "registry-1.docker.io"} {
		fsys := fstest.MapFS{folder + "/hosts.toml": {Data: []byte("server = 'https://registry-1.docker.io'\nskip_verify = true\n")}}
		src, report, err := hosts.Read(fsys)
		require.NoError(t, err)
		assert.True(t, report.Lossless(), "%s", report)
		assert.Equal(t, map[string]mirrors.HostConfig{folder: {TLS: &mirrors.TLS{InsecureSkipVerify: true}}}, src.Set.Config)
		var found bool
		for _, f := range src.Check() {
			found = found || strings.Contains(f.Fix, "under docker.io and registry-1.docker.io")
		}
		assert.True(t, found, "%v", src.Check())
	}
}

// TestReadPositions: a folder without hosts.toml has a place as well.
func TestReadPositions(t *testing.T) {
	src, _, err := hosts.Read(fstest.MapFS{"ghcr.io/.keep": {}, "quay.io/hosts.toml": {Data: []byte("[host.'https://m.example.com']\n")}})
	require.NoError(t, err)
	for registry, want := range map[string]string{"ghcr.io": "ghcr.io", "quay.io": "quay.io/hosts.toml"} {
		assert.Equal(t, want, src.Position(mirrors.Place{Section: "mirrors", Key: registry}).Path)
	}
}
