package dockerdaemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerdaemon"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
)

type daemon struct {
	Mirrors  []string `json:"registry-mirrors,omitempty"`
	Insecure []string `json:"insecure-registries,omitempty"`
}

// normal is what the Docker daemon makes of it: mirrors with one slash at the
// end and without the repeated ones, hosts without a scheme, no loopback.
func (d daemon) normal(reports ...convert.Report) daemon {
	var n daemon
	for _, m := range d.Mirrors {
		if m = strings.TrimRight(m, "/") + "/"; !slices.Contains(n.Mirrors, m) {
			n.Mirrors = append(n.Mirrors, m)
		}
	}
	for _, h := range d.Insecure {
		if _, rest, ok := strings.Cut(h, "://"); ok {
			h = rest
		}
		mirrored := slices.Contains(n.Mirrors, "http://"+h+"/") // said by the mirror; the report tells it
		if h == "127.0.0.0/8" || strings.Contains(h, "/") || mirrored || slices.Contains(n.Insecure, h) {
			continue
		}
		n.Insecure = append(n.Insecure, h)
	}
	slices.Sort(n.Insecure)
	return n
}

func FuzzRoundTrip(f *testing.F) {
	for i := range 100 {
		f.Add([]byte{byte(i), byte(i * 7), byte(i * i), byte(i * 3), byte(i * 5), byte(i + 2), byte(i * 11), byte(i * 13), byte(i)})
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := goldentest.Choices(choices)
		var before daemon
		for range c.Int(4) {
			before.Mirrors = append(before.Mirrors, c.Pick("https://", "http://")+c.Pick("a.example.com", "b.example.com:5000", "[fd00::1]:5000")+c.Pick("", "/", "/p", "/p/v2/", "/v2"))
		}
		for range c.Int(4) {
			before.Insecure = append(before.Insecure, c.Pick("", "", "http://", "https://")+c.Pick("a.example.com", "b.example.com:5000", "127.0.0.0/8", "10.0.0.0/8", "c.example.com"))
		}
		data, err := json.Marshal(before)
		require.NoError(t, err)
		src, read, err := dockerdaemon.Read(data)
		goldentest.Invariants(t, data, src, read, err)
		require.NoError(t, err)
		files, _, err := dockerdaemon.Write(src.Set)
		if err != nil {
			require.Error(t, src.Check().Err())
			return
		}
		var after daemon
		require.NoError(t, json.Unmarshal(files["daemon.json"], &after))
		want, got := before.normal(), after.normal()
		assert.Equal(t, want.Mirrors, got.Mirrors, "%s", data)
		for _, h := range want.Insecure {
			if !slices.Contains(got.Insecure, h) && !strings.Contains(read.String(), "http:// endpoints only") && !goldentest.Listed(h, read) {
				t.Errorf("%s is no longer insecure: %s, %s", h, data, files["daemon.json"])
			}
		}
		for _, h := range got.Insecure {
			assert.Contains(t, want.Insecure, h)
		}
		if back, _, err := dockerdaemon.Read(files["daemon.json"]); assert.NoError(t, err) {
			assert.True(t, back.Set.Equal(src.Set), "%s\n%s", data, files["daemon.json"])
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"registry-mirrors": ["https://a"]}`, `[]`, `{"insecure-registries": ["1.2.3.4/99", "a:0", "::/0"]}`, `{"a": {"a": [1e999, "\ud800"]}}`, "{\"a\":1}\n\n x", `null`, `"x"`} {
		f.Add([]byte(s))
	}
	for _, c := range shelltest.Hostile(f) {
		if len(c.Data) < 4096 {
			f.Add(append([]byte(`{"registry-mirrors": ["`), c.Data...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src, report, err := dockerdaemon.Read(data)
		goldentest.Invariants(t, data, src, report, err)
		if err == nil {
			if files, _, err := dockerdaemon.Write(src.Set); err == nil {
				if _, _, err := dockerdaemon.Read(files["daemon.json"]); err != nil {
					t.Errorf("what was written is refused: %v\n%q\n%s", err, data, files["daemon.json"])
				}
			}
		}
	})
}

func TestLimits(t *testing.T) {
	read := func(data []byte) error { _, _, err := dockerdaemon.Read(data); return err }
	goldentest.Limits(t, `{"registry-mirrors": [`, `"https://a",`, `"https://a"]}`, read)
	goldentest.Limits(t, "", "[", "", read)
	goldentest.ManyMistakes(t, `{"registry-mirrors": [`, "[],", `"https://a"]}`, read)
}

func TestWrite(t *testing.T) {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"docker.io": {SkipFallback: true, Endpoints: []mirrors.Endpoint{
				{URL: "https://m.example.com"}, {URL: "https://n.example.com/repository/hub/v2"}, {URL: "https://h.example.com/v2/hub", OverridePath: true}}},
			"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://g.example.com"}}},
		},
		Config: map[string]mirrors.HostConfig{
			"m.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		},
	}
	files, report, err := dockerdaemon.Write(set)
	require.NoError(t, err)
	assert.Equal(t, convert.Files{"daemon.json": []byte(`{
  "registry-mirrors": [
    "https://m.example.com",
    "https://n.example.com/repository/hub"
  ],
  "insecure-registries": [
    "m.example.com"
  ]
}
`)}, files)
	assert.Equal(t, `loss: mirrors["docker.io"].skipFallback: Docker always falls back to Docker Hub (block Docker Hub in the network)
changed: mirrors["docker.io"].endpoints[1]: versions of Docker differ in what they make of a path in a mirror's URL (check that pulls go through the mirror)
loss: mirrors["docker.io"].endpoints[2]: Docker appends /v2 to the URL of a mirror (want an endpoint whose path ends in /v2)
loss: mirrors["ghcr.io"]: Docker has mirrors for docker.io only (pull by the mirror's own name)
loss: config["m.example.com"].auth: daemon.json has no credentials (write them to config.json, the format docker-config)
changed: config["m.example.com"].tls.insecureSkipVerify: Docker asks an insecure registry with plain http as well (give Docker the CA of the registry instead)`, report.String())
	assert.NotContains(t, report.String(), "made-up")
}

// TestWriteHub: Docker has the TLS settings of Docker Hub under one name, and not
// with each of its image stores.
func TestWriteHub(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile("../k3s/testdata/files/etc/ssl/k3s/" + name)
		require.NoError(t, err)
		return string(data)
	}
	tls := &mirrors.TLS{InsecureSkipVerify: true, CA: mirrors.PEM(read("ca.crt")),
		ClientIdentity: &mirrors.ClientIdentity{Certificate: mirrors.PEM(read("client.crt")), Key: mirrors.NewSecret(read("client.key"))}}
	all := []string{"certs.d/docker.io/ca.crt", "certs.d/docker.io/client.cert", "certs.d/docker.io/client.key", "daemon.json"}
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{"registry-1.docker.io": {TLS: tls}}}
	files, report, err := dockerdaemon.Write(set)
	require.NoError(t, err)
	assert.Equal(t, all, files.Names())
	assert.Equal(t, `loss: config["registry-1.docker.io"].tls.insecureSkipVerify: to Docker, Docker Hub is never insecure (add the CA of what answers for it to those of the system)
changed: config["registry-1.docker.io"].tls: for Docker Hub, Docker reads certs.d/docker.io with the containerd image store only, which a new Docker 29 has and one that was upgraded may not have (add the CA to those of the system where the image store is an older one)`, report.String())

	set.Config["docker.io"] = mirrors.HostConfig{TLS: &mirrors.TLS{CA: mirrors.PEM(read("client.crt"))}}
	files, report, err = dockerdaemon.Write(set)
	require.NoError(t, err)
	assert.Equal(t, all, files.Names())
	assert.Equal(t, read("ca.crt"), string(files["certs.d/docker.io/ca.crt"]))
	assert.Contains(t, report.String(), `loss: config["docker.io"].tls: Docker has one folder for Docker Hub, and "registry-1.docker.io" has other settings`)

	set.Config["docker.io"] = mirrors.HostConfig{TLS: tls}
	_, report, err = dockerdaemon.Write(set)
	require.NoError(t, err)
	assert.NotContains(t, report.String(), "one folder")
}

func TestMany(t *testing.T) {
	read := func(data []byte) error { _, _, err := dockerdaemon.Read(data); return err }
	goldentest.Many(t, "{", func(i int) string { return fmt.Sprintf(`"k%d":1,`, i) }, `"z":1}`, read)
	goldentest.Many(t, `{"registry-mirrors":[`, func(i int) string { return fmt.Sprintf(`"http://m%d",`, i) }, `"http://m"]}`, read)
	goldentest.Many(t, `{"insecure-registries":[`, func(i int) string { return fmt.Sprintf(`"m%d",`, i) }, `"m"],"registry-mirrors":["http://m"]}`, read)
}

func TestSecrets(t *testing.T) {
	const secret = "Zw9KqLx7Yb3NmT5v"
	goldentest.Secrets(t, `{"registry-mirrors": ["https://m.example.com", "https://u:`+secret+`@m.example.com"]}`, secret, dockerdaemon.Read)
}
