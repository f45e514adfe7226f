package hosts_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
)

// withCertificates is a Set with a private CA and a client certificate.
func withCertificates(t testing.TB) (set mirrors.Set, ca, cert, key string) {
	t.Helper()
	dir := archive(t, "testdata/talos.txtar")
	ca = string(dir["docker.io/m.example.com:5000-ca.crt"].Data)
	cert = string(dir["docker.io/m.example.com:5000-client.crt"].Data)
	key = string(dir["docker.io/m.example.com:5000-client.key"].Data)
	return mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"docker.io": {SkipFallback: true, Endpoints: []mirrors.Endpoint{
				{URL: "https://m.example.com:5000"}, {URL: "https://harbor.example.com/v2/hub", OverridePath: true}, {URL: "https://last.example.com"}}},
			"*":       {Endpoints: []mirrors.Endpoint{{URL: "https://everything.example.com"}}},
			"ghcr.io": {},
		},
		Config: map[string]mirrors.HostConfig{
			"m.example.com:5000": {TLS: &mirrors.TLS{CA: mirrors.PEM(ca), ClientIdentity: &mirrors.ClientIdentity{Certificate: mirrors.PEM(cert), Key: mirrors.NewSecret(key)}}},
		},
	}, ca, cert, key
}

// TestWriteCertificates: the directory in testdata is what Talos's generator
// makes of this Set: its text, the names of the files, and their places.
func TestWriteCertificates(t *testing.T) {
	set, ca, cert, key := withCertificates(t)
	files, report, err := hosts.Write(set)
	require.NoError(t, err)
	assert.True(t, report.Lossless(), "%s", report)
	want := convert.Files{}
	for name, f := range archive(t, "testdata/talos.txtar") {
		want[name] = f.Data
	}
	assert.Equal(t, want.Names(), files.Names())
	for name := range want {
		assert.Equal(t, string(want[name]), string(files[name]), name)
	}
	roundTrip(t, set, files, report)

	// Elsewhere, and relative.
	files, _, err = hosts.Write(set, hosts.InFolder("/etc/containerd/certs.d"))
	require.NoError(t, err)
	assert.Contains(t, string(files["docker.io/hosts.toml"]), "ca = '/etc/containerd/certs.d/docker.io/m.example.com:5000-ca.crt'\n")
	files, report, err = hosts.Write(set, hosts.InFolder(""))
	require.NoError(t, err)
	assert.Contains(t, string(files["docker.io/hosts.toml"]), "ca = 'm.example.com:5000-ca.crt'\n")
	roundTrip(t, set, files, report)

	// A node's files, given from its root.
	node := fstest.MapFS{"etc/pki/x/ca.pem": {Data: []byte(ca)}, "etc/pki/c.pem": {Data: []byte(cert)}, "etc/pki/k.pem": {Data: []byte(key)}}
	dir := fstest.MapFS{"ghcr.io/hosts.toml": {Data: []byte("[host.'https://m.example.com']\nca = '/etc/pki/x/ca.pem'\nclient = [['/etc/pki/c.pem', '/etc/pki/k.pem']]\n")}}
	src, report, err := hosts.Read(dir, hosts.WithFiles(node))
	require.NoError(t, err)
	assert.True(t, report.Lossless(), "%s", report)
	assert.Equal(t, set.Config["m.example.com:5000"], src.Set.Config["m.example.com"])
	_, report, err = hosts.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, 3, len(report.Entries), "%s", report)
}

func TestWriteReports(t *testing.T) {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"reg.example.com": {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}}}},
		Config: map[string]mirrors.HostConfig{
			"m.example.com":   {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}},
			"reg.example.com": {TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		},
	}
	files, report, err := hosts.Write(set)
	require.NoError(t, err)
	assert.Equal(t, []string{"reg.example.com/hosts.toml"}, files.Names())
	assert.Equal(t, `loss: config["m.example.com"].auth: hosts.toml has no credentials; Talos gives them to containerd in its configuration of the CRI plugin (configure them there, plugins.'io.containerd.cri.v1.images'.registry.configs)
loss: config["reg.example.com"].tls: the registry has mirrors and is not one of their endpoints; containerd does not apply TLS settings to the fallback, so Talos does not write them (want https://reg.example.com as the last endpoint of its mirror)`, report.String())
}

// TestWriteRefuses: no file is made of a Set with errors, nor outside of the directory.
func TestWriteRefuses(t *testing.T) {
	for _, key := range []string{"../etc", "a/b", "..", ""} {
		files, _, err := hosts.Write(mirrors.Set{Mirrors: map[string]mirrors.Mirror{key: {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}}}}})
		assert.Error(t, err, "%q", key)
		assert.Nil(t, files)
	}
	_, _, err := hosts.Write(mirrors.Set{Mirrors: map[string]mirrors.Mirror{"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "https://u:made-up@m.example.com"}, {URL: "m.example.com"}}}}})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "endpoints[0]")
	assert.Contains(t, err.Error(), "endpoints[1]")
	assert.NotContains(t, err.Error(), "made-up")
}

// TestFolders: names of folders as containerd makes them, and back.
func TestFolders(t *testing.T) {
	for registry, folder := range map[string]string{
		"docker.io": "docker.io", "*": "_default", "reg:5000": "reg_5000_", "[fd00::1]:5000": "[fd00::1]_5000_", "[fd00::1]": "[fd00:_1]_",
	} {
		set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{registry: {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}}}}}
		files, _, err := hosts.Write(set)
		require.NoError(t, err)
		assert.Equal(t, []string{folder + "/hosts.toml"}, files.Names())
		src, _, err := hosts.Read(asFS(files))
		require.NoError(t, err)
		assert.True(t, src.Set.Equal(set), registry)
	}
	// containerd looks for the name with a colon too.
	src, _, err := hosts.Read(fstest.MapFS{"reg:5000/hosts.toml": {Data: []byte("server = 'https://m.example.com'\n")}})
	require.NoError(t, err)
	assert.Contains(t, src.Set.Mirrors, "reg:5000")
}

func TestReadNothing(t *testing.T) {
	_, _, err := hosts.Read(os.DirFS("testdata/none"))
	assert.ErrorContains(t, err, "there is no such file")
	_, _, err = hosts.Read(fstest.MapFS{"hosts.toml": {}})
	assert.EqualError(t, err, "no folder of a registry is in the directory (want a certs.d directory, such as /etc/containerd/certs.d, which has a folder for each registry)")
}
