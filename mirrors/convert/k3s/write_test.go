package k3s_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/k3s"
)

func TestWrite(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile("testdata/files/etc/ssl/k3s/" + name)
		require.NoError(t, err)
		return string(data)
	}
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"docker.io":         {SkipFallback: true, Endpoints: []mirrors.Endpoint{{URL: "https://h.example.com/v2/hub", OverridePath: true}, {URL: "https://m.example.com/p"}}},
			"ghcr.io":           {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}}},
			"quay.io":           {SkipFallback: true, Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com:8443/v2"}, {URL: "https://quay.io"}}},
			"empty.example.com": {},
		},
		Config: map[string]mirrors.HostConfig{
			"m.example.com:8443": {
				Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")},
				TLS: &mirrors.TLS{CA: mirrors.PEM(read("ca.crt")), ClientIdentity: &mirrors.ClientIdentity{
					Certificate: mirrors.PEM(read("client.crt")), Key: mirrors.NewSecret(read("client.key"))}},
			},
		},
	}
	files, report, err := k3s.Write(set, k3s.InFolder("/etc/rancher/rke2"))
	require.NoError(t, err)
	assert.Equal(t, []string{"registries.yaml", "tls/m.example.com:8443-ca.crt", "tls/m.example.com:8443-client.crt", "tls/m.example.com:8443-client.key"}, files.Names())
	assert.Equal(t, read("client.key"), string(files["tls/m.example.com:8443-client.key"]))
	assert.Equal(t, `mirrors:
  docker.io:
    endpoint:
      - https://h.example.com/v2/hub
      - https://m.example.com/p/v2
  ghcr.io:
    endpoint:
      - https://m.example.com
      - https://ghcr.io
  quay.io:
    endpoint:
      - https://m.example.com:8443
      - https://quay.io
configs:
  m.example.com:8443:
    auth:
      username: u
      password: made-up
    tls:
      ca_file: /etc/rancher/rke2/tls/m.example.com:8443-ca.crt
      cert_file: /etc/rancher/rke2/tls/m.example.com:8443-client.crt
      key_file: /etc/rancher/rke2/tls/m.example.com:8443-client.key
`, string(files["registries.yaml"]))
	assert.Equal(t, `decision: mirrors["docker.io"].skipFallback: k3s has it for a whole node (start the node with --disable-default-registry-endpoint)
loss: mirrors["empty.example.com"]: to k3s, a registry without endpoints is one that its embedded registry mirror serves (drop it, or name its endpoints)`, report.String())

	// Read on a node that has the files and the flag, the Set means the same.
	node := fstest.MapFS{}
	for _, name := range files.Names() {
		node["etc/rancher/rke2/"+name] = &fstest.MapFile{Data: files[name]}
	}
	src, report, err := k3s.Read(files["registries.yaml"], k3s.WithFiles(node), k3s.DisableDefaultRegistryEndpoint())
	require.NoError(t, err)
	assert.True(t, report.Lossless(), "%s", report)
	delete(set.Mirrors, "empty.example.com")
	assert.True(t, equivalent(src.Set, set), "%s", text(t, src.Set))

	_, report, err = k3s.Write(set, k3s.DisableDefaultRegistryEndpoint())
	require.NoError(t, err)
	assert.True(t, report.Lossless(), "%s", report)
}

// TestWriteFallback: where the flag of the node does not do what the Set says.
func TestWriteFallback(t *testing.T) {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"*":               {Endpoints: []mirrors.Endpoint{{URL: "https://all.example.com"}}},
			"reg.example.com": {SkipFallback: true, Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}}},
		},
		Config: map[string]mirrors.HostConfig{
			"reg.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}},
			"all.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}},
		},
	}
	_, report, err := k3s.Write(set)
	require.NoError(t, err)
	assert.Equal(t, `loss: mirrors["*"].skipFallback: with --disable-default-registry-endpoint, which other mirrors need, "*" has no fallback either (want skipFallback for all mirrors, or for none)
loss: mirrors["reg.example.com"].skipFallback: k3s goes to the registry itself when configs has an entry for it, and the Set has config["reg.example.com"] (drop that entry)
changed: config["all.example.com"].auth: k3s pulls the images of "all.example.com" from there, since it has an entry in configs; Talos pulls them through the mirrors of "*" (nothing, unless images have that name)`, report.String())
}

// TestDisableDefault: the flag is skipFallback, but for a registry in configs.
func TestDisableDefault(t *testing.T) {
	data := []byte("mirrors:\n  docker.io: {endpoint: [m.example.com]}\n  ghcr.io: {endpoint: [m.example.com]}\n  '*': {endpoint: [n.example.com]}\n  none.example.com:\nconfigs:\n  ghcr.io: {auth: {username: u, password: made-up}}\n")
	src, report, err := k3s.Read(data, k3s.DisableDefaultRegistryEndpoint())
	require.NoError(t, err)
	assert.True(t, src.Set.Mirrors["docker.io"].SkipFallback)
	assert.True(t, src.Set.Mirrors["*"].SkipFallback)
	assert.False(t, src.Set.Mirrors["ghcr.io"].SkipFallback)
	assert.Equal(t, `line 3, column 3: decision: mirrors["ghcr.io"]: k3s keeps the default endpoint of a registry that has an entry in configs, the flag notwithstanding; so does the result (write mirrors["ghcr.io"].skipFallback: true when it should not be used)
line 5, column 3: loss: mirrors["none.example.com"]: without endpoints and without the default endpoint only the embedded registry mirror of k3s serves it; Talos has none (name the endpoints, or let it go upstream)`, report.String())

	src, report, err = k3s.Read(data)
	require.NoError(t, err)
	for key, m := range src.Set.Mirrors {
		assert.False(t, m.SkipFallback, key)
	}
	assert.Len(t, report.Entries, 1)
}

// TestDefaultEndpoint: rewrites are not for the registry itself, when it is the
// last endpoint and k3s has a default endpoint.
func TestDefaultEndpoint(t *testing.T) {
	const data = "mirrors:\n  docker.io: {endpoint: [m.example.com, 'https://registry-1.docker.io'], rewrite: {'^(.*)$': 'p/$1'}}\n" +
		"  ghcr.io: {endpoint: [ghcr.io, m.example.com], rewrite: {'^(.*)$': 'p/$1'}}\n"
	urls := func(opts ...k3s.Option) map[string][]string {
		src, report, err := k3s.Read([]byte(data), opts...)
		require.NoError(t, err)
		assert.True(t, report.Lossless(), "%s", report)
		got := map[string][]string{}
		for key, m := range src.Set.Mirrors {
			for _, e := range m.Endpoints {
				got[key] = append(got[key], e.URL)
			}
		}
		return got
	}
	want := map[string][]string{
		"docker.io": {"https://m.example.com/v2/p", "https://registry-1.docker.io"},
		"ghcr.io":   {"https://ghcr.io/v2/p", "https://m.example.com/v2/p"},
	}
	assert.Equal(t, want, urls())
	want["docker.io"][1] = "https://registry-1.docker.io/v2/p"
	assert.Equal(t, want, urls(k3s.DisableDefaultRegistryEndpoint()))
}

// TestStandardPort: settings under the standard port are not those of the host.
func TestStandardPort(t *testing.T) {
	data := []byte("mirrors:\n  ghcr.io: {endpoint: [m.example.com, 'n.example.com:443', 'http://p.example.com']}\nconfigs:\n" +
		"  m.example.com:443: {auth: {username: u, password: made-up}}\n  n.example.com:443: {auth: {username: u, password: made-up}}\n" +
		"  p.example.com:80: {auth: {username: u, password: made-up}}\n  q.example.com:443: {auth: {username: u, password: made-up}}\n  ghcr.io:443: {tls: {insecure_skip_verify: true}}\n")
	_, report, err := k3s.Read(data)
	require.NoError(t, err)
	const reason = " has no port: only k3s's pulls of its own images look here for its settings, containerd does not, and Talos does not "
	assert.Equal(t, `line 4, column 3: decision: configs["m.example.com:443"]: the endpoint "https://m.example.com"`+reason+`(write them under "m.example.com", if the endpoint needs them)
line 6, column 3: decision: configs["p.example.com:80"]: the endpoint "http://p.example.com"`+reason+`(write them under "p.example.com", if the endpoint needs them)
line 8, column 3: decision: configs["ghcr.io:443"]: the endpoint "https://ghcr.io"`+reason+`(write them under "ghcr.io", if the endpoint needs them)`, report.String())
}

func TestWriteRepeated(t *testing.T) {
	files, report, err := k3s.Write(mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}, {URL: "https://m.example.com/v2"}}}}})
	require.NoError(t, err)
	assert.True(t, report.Lossless(), "%s", report)
	assert.Equal(t, "mirrors:\n  ghcr.io:\n    endpoint:\n      - https://m.example.com\n", string(files["registries.yaml"]))
}

func TestWithoutFiles(t *testing.T) {
	data := []byte("configs:\n  h.example.com:\n    auth: {username: u, password: made-up}\n    tls: {ca_file: /etc/ca.crt, cert_file: /c, key_file: /k}\n")
	src, report, err := k3s.Read(data)
	require.NoError(t, err)
	assert.Nil(t, src.Set.Config["h.example.com"].TLS)
	assert.Equal(t, `line 4, column 20: loss: configs["h.example.com"].tls.ca_file: the content of the file "/etc/ca.crt" is not known here (write its content into the result by hand, or give the files)
line 4, column 44: loss: configs["h.example.com"].tls.cert_file: the content of the file "/c" is not known here (write its content into the result by hand, or give the files)
line 4, column 58: loss: configs["h.example.com"].tls.key_file: the content of the file "/k" is not known here (write its content into the result by hand, or give the files)`, report.String())
}
