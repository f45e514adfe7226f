package registriesconf_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/registriesconf"
)

func last(urls ...string) mirrors.Mirror {
	m := mirrors.Mirror{SkipFallback: true}
	for _, u := range urls {
		m.Endpoints = append(m.Endpoints, mirrors.Endpoint{URL: u})
	}
	return m
}

// TestWriteLocations: what is written has each location once, and is what Podman takes.
func TestWriteLocations(t *testing.T) {
	insecure := map[string]mirrors.HostConfig{"m.example.com": {TLS: &mirrors.TLS{InsecureSkipVerify: true}}}
	tests := []struct {
		name   string
		set    mirrors.Set
		conf   string
		report []string // how its lines begin
	}{
		{"http and https of a host", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": last("https://m.example.com"), "quay.io": last("https://n.example.com", "http://m.example.com")}}, `[[registry]]
prefix = 'ghcr.io'
location = 'm.example.com'

[[registry]]
location = 'quay.io'

[[registry.mirror]]
location = 'n.example.com'

[[registry.mirror]]
location = 'm.example.com'
insecure = true
`, []string{`changed: mirrors["quay.io"].endpoints[1]: `, `loss: mirrors["quay.io"].skipFallback: Podman refuses the location "m.example.com" with insecure in one place and without in another`}},
		{"the registry itself", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"a.example.com": last("http://ghcr.io"), "ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://n.example.com"}}}}}, `[[registry]]
location = 'a.example.com'

[[registry.mirror]]
location = 'ghcr.io'
insecure = true

[[registry]]
location = 'ghcr.io'

[[registry.mirror]]
location = 'n.example.com'
`, []string{`changed: mirrors["a.example.com"].endpoints[0]: `, `loss: mirrors["a.example.com"].skipFallback: `}},
		{"both insecure", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": last("https://m.example.com"), "quay.io": last("https://m.example.com/v2")}, Config: insecure}, `[[registry]]
prefix = 'ghcr.io'
location = 'm.example.com'
insecure = true

[[registry]]
prefix = 'quay.io'
location = 'm.example.com'
insecure = true
`, []string{`changed: config["m.example.com"].tls.insecureSkipVerify: `}},
		{"equal endpoints", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}, {URL: "https://m.example.com/v2"}, {URL: "https://m.example.com/"}}}}}, `[[registry]]
location = 'ghcr.io'

[[registry.mirror]]
location = 'm.example.com'
`, nil},
		{"nothing but a lost endpoint", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com/repository/x/v2"}}}}}, "",
			[]string{`loss: mirrors["ghcr.io"].endpoints[0]: `}},
		{"two names of Docker Hub", mirrors.Set{Config: map[string]mirrors.HostConfig{"docker.io": insecure["m.example.com"], "registry-1.docker.io": insecure["m.example.com"]}}, `[[registry]]
location = 'docker.io'
insecure = true
`, []string{`changed: config["docker.io"].`, `changed: config["registry-1.docker.io"].`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files, report, err := registriesconf.Write(test.set)
			require.NoError(t, err)
			assert.Equal(t, test.conf, string(files["registries.conf"]))
			require.Len(t, report.Entries, len(test.report), "%s", report)
			for i, want := range test.report {
				assert.Equal(t, want, report.Entries[i].String()[:min(len(want), len(report.Entries[i].String()))])
			}
			_, _, err = registriesconf.Read(files["registries.conf"])
			assert.NoError(t, err, "Podman refuses what was written")
		})
	}
}

// TestWriteCertificates: containers/image looks for those of Docker Hub in docker.io.
func TestWriteCertificates(t *testing.T) {
	ca := mirrors.HostConfig{TLS: &mirrors.TLS{CA: certificate}}
	tests := []struct {
		name  string
		set   mirrors.Set
		files []string
		loss  string
	}{
		{"Docker Hub", mirrors.Set{Config: map[string]mirrors.HostConfig{"registry-1.docker.io": ca, "m.example.com:5000": ca}},
			[]string{"certs.d/docker.io/ca.crt", "certs.d/m.example.com:5000/ca.crt", "registries.conf"}, ""},
		{"Docker Hub as a mirror of another", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://registry-1.docker.io"}}}},
			Config: map[string]mirrors.HostConfig{"registry-1.docker.io": ca}},
			[]string{"certs.d/docker.io/ca.crt", "certs.d/registry-1.docker.io/ca.crt", "registries.conf"}, ""},
		{"both names", mirrors.Set{Config: map[string]mirrors.HostConfig{"docker.io": ca, "registry-1.docker.io": ca}},
			[]string{"certs.d/docker.io/ca.crt", "registries.conf"}, ""},
		{"both names, and they differ", mirrors.Set{Config: map[string]mirrors.HostConfig{"docker.io": ca, "registry-1.docker.io": {TLS: &mirrors.TLS{CA: certificate + certificate}}}},
			[]string{"certs.d/docker.io/ca.crt", "registries.conf"}, `loss: config["docker.io"].tls: `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files, report, err := registriesconf.Write(test.set)
			require.NoError(t, err)
			assert.Equal(t, test.files, files.Names())
			if test.loss == "" {
				assert.True(t, report.Lossless(), "%s", report)
			} else {
				assert.Contains(t, report.String(), test.loss)
			}
			hub := test.set.Config["registry-1.docker.io"].TLS.CA
			assert.Equal(t, string(hub), string(files["certs.d/docker.io/ca.crt"]))
		})
	}
}

// FuzzWrite: what is written of any Set is what Podman takes, asks the places that
// the Set names in their order, and what differs is in the report.
func FuzzWrite(f *testing.F) {
	for i := range 200 {
		seed := make([]byte, 40)
		for j := range seed {
			seed[j] = byte(i*31 + j*j*7 + j*i)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := goldentest.Choices(choices)
		hosts := []string{"m.example.com", "ghcr.io", "docker.io", "registry-1.docker.io", "n.example.com:5000"}
		set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
		plain := map[string]bool{}
		for _, r := range []string{"docker.io", "ghcr.io", "m.example.com", "quay.io"} {
			if c.Bool(3) {
				continue
			}
			var m mirrors.Mirror
			for range c.Int(4) {
				scheme, host := c.Pick("https://", "http://"), c.Pick("m.example.com", "ghcr.io", "registry-1.docker.io", "n.example.com:5000")
				e := mirrors.Endpoint{URL: scheme + host + c.Pick("", "", "/v2", "/v2/p", "/p/v2")}
				e.OverridePath = strings.HasSuffix(e.URL, "/v2/p")
				if slices.Contains(m.Endpoints, e) {
					continue // an error, as TLS settings of http:// are
				}
				plain[host] = plain[host] || scheme == "http://"
				m.Endpoints = append(m.Endpoints, e)
			}
			m.SkipFallback = len(m.Endpoints) > 0 && c.Bool(2)
			set.Mirrors[r] = m
		}
		for _, h := range hosts {
			if c.Bool(3) && !plain[h] {
				set.Config[h] = mirrors.HostConfig{TLS: &mirrors.TLS{InsecureSkipVerify: true}}
			}
		}
		files, report, err := registriesconf.Write(set)
		if err != nil {
			require.Error(t, set.Check().Err())
			return
		}
		text := files["registries.conf"]
		_, _, err = registriesconf.Read(text)
		require.NoError(t, err, "Podman refuses what was written:\n%s", text)
		var after conf
		require.NoError(t, toml.Unmarshal(text, &after))
		told := report.String()
		for r, m := range set.Mirrors {
			var want []string
			for i, e := range m.Endpoints {
				if strings.Contains(told, fmt.Sprintf("loss: mirrors[%q].endpoints[%d]", r, i)) {
					continue
				}
				rest, plain := strings.CutPrefix(e.URL, "http://")
				rest = strings.TrimPrefix(rest, "https://")
				host, _, _ := strings.Cut(rest, "/")
				tls := set.Config[host].TLS
				location := host + strings.TrimPrefix(strings.TrimPrefix(rest, host), "/v2")
				if host == "registry-1.docker.io" {
					location = "docker.io" + strings.TrimPrefix(location, host)
				}
				want = appendNew(want, fmt.Sprint(location, " ", plain || tls != nil && tls.InsecureSkipVerify))
			}
			if !m.SkipFallback || strings.Contains(told, fmt.Sprintf("loss: mirrors[%q].skipFallback", r)) {
				want = appendNew(want, r+" false")
			}
			assert.Equal(t, want, after.sources(r), "%s\n%s\n%s", r, text, told)
		}
	})
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// TestSecrets: there are none in this format, but people write them into URLs.
func TestSecrets(t *testing.T) {
	const secret = "Zw9KqLx7Yb3NmT5v"
	for _, input := range []string{
		"[[registry]]\nlocation = 'ghcr.io'\n[[registry.mirror]]\nlocation = 'u:" + secret + "@m.example.com'\n[[registry.mirror]]\nlocation = 'https://u:" + secret + "@m.example.com/p'\n",
		"[[registry]]\nprefix = 'u:" + secret + "@ghcr.io'\nlocation = 'm.example.com'\n",
	} {
		for _, part := range []string{input, strings.ReplaceAll(input, "'", `"`)} {
			_, report, err := registriesconf.Read([]byte(part))
			assert.NotContains(t, fmt.Sprint(report, err), secret)
			assert.Error(t, err)
		}
	}
}

// pipe is a file system with a pipe that nobody writes to.
type pipe struct{ fstest.MapFS }

func (p pipe) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "pipe.conf") {
		panic("opened a pipe, which waits for a writer")
	}
	return p.MapFS.Open(name)
}

func TestReadPipe(t *testing.T) {
	dir := pipe{fstest.MapFS{"registries.conf.d/pipe.conf": {Mode: fs.ModeNamedPipe | 0o644}}}
	_, _, err := registriesconf.Read(nil, registriesconf.WithDropIns(dir))
	assert.EqualError(t, err, "registries.conf.d/pipe.conf: it cannot be read (want a file that can be read)")
}

const certificate = `-----BEGIN CERTIFICATE-----
MIIBTDCB86ADAgECAgEBMAoGCCqGSM49BAMCMBUxEzARBgNVBAMTCkV4YW1wbGUg
Y2EwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBUxEzARBgNVBAMT
CkV4YW1wbGUgY2EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASSpXzMWhGatVyG
pYAUQh4G5EocDVoXgfIcOJfnZ3bgRv57eRhw4ZPZEtNljfkReZ2sMOQCpNvEawzR
7oe9gO+YozIwMDAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBT0vxKHNntbyD0H
8b1KAVFbmQ5MKTAKBggqhkjOPQQDAgNIADBFAiEAq/DvuKSknnSXQ88vPYM8nOeU
hfQZ5EROXlZ6r8/VHy0CIAKpkmuf1HTtsYY9C1Qrr0XNyWC4Rb9Qdrb/ebaHR7Pl
-----END CERTIFICATE-----
`
