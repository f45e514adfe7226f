package dockerconfig_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerconfig"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
)

type config struct {
	Auths map[string]map[string]string `json:"auths"`
}

// credentials is what Docker sends to a host: the text before and after the
// first colon of auth, or the two fields; or the token.
func (c config) credentials(host string) string {
	for key, a := range c.Auths {
		h := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(key, "https://"), "/"), "/v1")
		if h == "index.docker.io" || h == "docker.io" {
			h = "registry-1.docker.io"
		}
		if h != host {
			continue
		}
		if a["identitytoken"] != "" {
			return "token " + a["identitytoken"]
		}
		if a["auth"] != "" {
			text, _ := base64.StdEncoding.DecodeString(a["auth"])
			return string(text)
		}
		return a["username"] + ":" + a["password"]
	}
	return ""
}

func FuzzRoundTrip(f *testing.F) {
	for i := range 100 {
		f.Add([]byte{byte(i), byte(i * 7), byte(i * i), byte(i * 3), byte(i * 5), byte(i + 2), byte(i * 11), byte(i * 13), byte(i)}, []string{"pa:ss\x00 wörd\n\"", ":starts::with colons:"}[i%2])
	}
	f.Fuzz(func(t *testing.T, choices []byte, password string) {
		if password == "" || strings.Trim(password, "\x00") != password || strings.ToValidUTF8(password, "") != password {
			return // Docker drops NUL at the ends; JSON is UTF-8
		}
		c := goldentest.Choices(choices)
		before := config{map[string]map[string]string{}}
		hosts := []string{"a.example.com", "b.example.com:5000", "[fd00::1]:5000", "registry-1.docker.io"}
		for _, host := range hosts {
			key := host
			if host == "registry-1.docker.io" {
				key = c.Pick("https://index.docker.io/v1/", "docker.io", "index.docker.io")
			} else {
				key = c.Pick("", "https://") + key + c.Pick("", "/", "/v1/")
			}
			switch c.Int(5) {
			case 0:
				before.Auths[key] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte("user:" + password))}
			case 1:
				before.Auths[key] = map[string]string{"username": "user", "password": password}
			case 2:
				before.Auths[key] = map[string]string{"identitytoken": password}
			case 3:
				before.Auths[key] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte("<token>:")), "identitytoken": password}
			}
		}
		data, err := json.Marshal(before)
		require.NoError(t, err)
		src, report, err := dockerconfig.Read(data)
		goldentest.Invariants(t, data, src, report, err)
		require.NoError(t, err)
		require.True(t, report.Lossless(), "%s", report)

		for _, opts := range [][]dockerconfig.Option{nil, {dockerconfig.AsSecret("default", "pull")}} {
			files, written, err := dockerconfig.Write(src.Set, opts...)
			if err != nil {
				require.Error(t, src.Check().Err())
				return
			}
			assert.True(t, written.Lossless(), "%s", written)
			text := files["config.json"]
			if opts != nil {
				var secret struct {
					Kind, Type string
					Data       map[string]string
				}
				require.NoError(t, yaml.Unmarshal(files["secret.yaml"], &secret))
				assert.Equal(t, "Secret kubernetes.io/dockerconfigjson", secret.Kind+" "+secret.Type)
				text, err = base64.StdEncoding.DecodeString(secret.Data[".dockerconfigjson"])
				require.NoError(t, err)
			}
			var after config
			require.NoError(t, json.Unmarshal(text, &after))
			for _, host := range hosts {
				assert.Equal(t, before.credentials(host), after.credentials(host), "%s: %s", host, data)
			}
			whole := text
			if opts != nil {
				whole = files["secret.yaml"]
			}
			if back, _, err := dockerconfig.Read(whole); assert.NoError(t, err) {
				assert.True(t, back.Set.Equal(src.Set))
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"auths": {"a": {"auth": "dTpw"}}}`, `{"auths": []}`, "kind: Secret\ndata: {.dockerconfigjson: e30=}\n", "kind: Secret\nstringData: {.dockerconfigjson: '{\"auths\": {\"a\": null}}'}\n",
		"kind: List", "a: b", `{"kind": 5}`, `{"auths": {"https://u:p@a/": {"auth": "dTpw"}}}`, "kind: &a [*a]", `{"auths": {"": {}}}`} {
		f.Add([]byte(s))
	}
	for _, c := range shelltest.Hostile(f) {
		if len(c.Data) < 4096 {
			f.Add(append([]byte("kind: Secret\nstringData:\n  .dockerconfigjson: "), c.Data...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src, report, err := dockerconfig.Read(data)
		goldentest.Invariants(t, data, src, report, err)
		if err == nil {
			if files, _, err := dockerconfig.Write(src.Set); err == nil {
				if _, _, err := dockerconfig.Read(files["config.json"]); err != nil {
					t.Errorf("what was written is refused: %v\n%q\n%s", err, data, files["config.json"])
				}
			}
		}
	})
}

func TestLimits(t *testing.T) {
	read := func(data []byte) error { _, _, err := dockerconfig.Read(data); return err }
	goldentest.Limits(t, `{"auths": {`, `"a.example.com": {},`, `"b": {}}}`, read)
	goldentest.Limits(t, "kind: Secret\nstringData:\n", "  a: b\n", "", read)
	goldentest.Bomb(t, "kind: Secret\ndata: ", "\n", read)
	goldentest.FlatBomb(t, "{x: [", "]}", "kind: Secret\nstringData", read)
	goldentest.MergeBomb(t, "kind: Secret\ndata: ", "\n", read)
}

func TestWriteReports(t *testing.T) {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "https://m.example.com"}}}},
		Config: map[string]mirrors.HostConfig{
			"m.example.com": {Auth: &mirrors.Auth{Auth: mirrors.NewSecret("dTptYWRlLXVw")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
			// Docker looks for the credentials of Docker Hub under this key only.
			"registry-1.docker.io": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up")}},
		},
	}
	files, report, err := dockerconfig.Write(set)
	require.NoError(t, err)
	assert.Equal(t, convert.Files{"config.json": []byte(`{
  "auths": {
    "https://index.docker.io/v1/": {
      "identitytoken": "made-up"
    },
    "m.example.com": {
      "auth": "dTptYWRlLXVw"
    }
  }
}
`)}, files)
	assert.Equal(t, `loss: mirrors["docker.io"]: the format has credentials only (write the mirrors in another format)
loss: config["m.example.com"].tls: the format has credentials only (write the TLS settings in another format)`, report.String())
}

func TestMany(t *testing.T) {
	read := func(data []byte) error { _, _, err := dockerconfig.Read(data); return err }
	goldentest.Many(t, `{"auths":{`, func(i int) string { return fmt.Sprintf(`"m%d":{"auth":"dTpw","email":"x"},`, i) }, `"z":{}}}`, read)
}

func TestSecrets(t *testing.T) {
	const secret = "Zw9KqLx7Yb3NmT5v"
	for _, input := range []string{
		`{"auths": {"m.example.com": {"username": "u", "password": "` + secret + `"}}}`,
		`{"auths": {"m.example.com": {"auth": "dTp` + secret + `"}}}`,
		"kind: Secret\nstringData:\n  .dockerconfigjson: '{\"auths\": {\"m.example.com\": {\"identitytoken\": \"" + secret + "\"}}}'\n",
	} {
		goldentest.Secrets(t, input, secret, dockerconfig.Read)
	}
}

// TestWriteRefuses: encoding/json would put other characters in the place of a
// byte that is not UTF-8.
func TestWriteRefuses(t *testing.T) {
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{"m.example.com": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up\xff")}}}}
	_, _, err := dockerconfig.Write(set)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "made-up")
}

// TestWriteColon: to Docker, auth has the user name before the first colon.
func TestWriteColon(t *testing.T) {
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{
		"a.example.com": {Auth: &mirrors.Auth{Username: "a:b", Password: mirrors.NewSecret("made-up")}},
		"b.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up\x00")}},
		"c.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made:up")}},
	}}
	files, report, err := dockerconfig.Write(set)
	require.NoError(t, err)
	const reason = "the user name has a colon, or the password a NUL byte at an end: written as username and password, which Podman does not read (nothing, if the file is for Docker or Kubernetes)"
	assert.Equal(t, `changed: config["a.example.com"].auth: `+reason+"\n"+`changed: config["b.example.com"].auth: `+reason, report.String())
	back, _, err := dockerconfig.Read(files["config.json"])
	require.NoError(t, err)
	assert.True(t, back.Set.Equal(set), "%s", files["config.json"])

	set.Config["a.example.com"].Auth.Username = "a:\xff"
	_, _, err = dockerconfig.Write(set)
	require.Error(t, err)
}
