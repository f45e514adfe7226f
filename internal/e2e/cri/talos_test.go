package cri_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/pelletier/go-toml/v2"
	mergemaps "github.com/siderolabs/talos/pkg/machinery/config/merge"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// criPart is what the part that comes with Talos 1.13.9 says about images.
const criPart = `version = 3
[plugins."io.containerd.cri.v1.images"]
discard_unpacked_layers = true
use_local_image_pull = true
`

// registriesPart is the part that Talos 1.13.9 writes for a Set: the path of the
// hosts directory, and the credentials, under the name of the host that serves
// the registry. Of two entries for one host the later in order wins.
func registriesPart(t *testing.T, set mirrors.Set, folder string) []byte {
	t.Helper()
	type auth struct {
		Username      string `toml:"username"`
		Password      string `toml:"password"`
		Auth          string `toml:"auth"`
		IdentityToken string `toml:"identitytoken"`
	}
	type host struct {
		Auth auth `toml:"auth"`
	}
	type registry struct {
		ConfigPath string          `toml:"config_path"`
		Configs    map[string]host `toml:"configs"`
	}
	configs := map[string]host{}
	for _, name := range slices.Sorted(maps.Keys(set.Config)) {
		a := set.Config[name].Auth
		if a == nil {
			continue
		}
		serving, err := docker.DefaultHost(name)
		if err != nil {
			t.Fatal(err)
		}
		configs[serving] = host{auth{a.Username, a.Password.Reveal(), a.Auth.Reveal(), a.IdentityToken.Reveal()}}
	}
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).SetIndentTables(true).Encode(map[string]any{"plugins": map[string]any{
		"io.containerd.cri.v1.images": map[string]any{"registry": registry{folder, configs}},
	}}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// merged makes one file of the parts, by the code with which Talos does.
func merged(t *testing.T, parts ...string) []byte {
	t.Helper()
	all := map[string]any{}
	for _, part := range parts {
		var one map[string]any
		if err := toml.Unmarshal([]byte(part), &one); err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		if err := mergemaps.Merge(all, one); err != nil {
			t.Fatal(err)
		}
	}
	out, err := toml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// hostsFile is the hosts.toml that Talos 1.13.9 writes for a mirror without
// overridePath and TLS settings, repeated endpoints and all. Package hosts
// writes the same, but refuses what is repeated.
func hostsFile(m mirrors.Mirror) string {
	const capabilities = "capabilities = ['pull', 'resolve']\n"
	var b strings.Builder
	urls := m.Endpoints
	if m.SkipFallback {
		fmt.Fprintf(&b, "server = '%s'\n%s", urls[len(urls)-1].URL, capabilities)
		urls = urls[:len(urls)-1]
	}
	for i, e := range urls {
		if i == 0 {
			b.WriteString("[host]\n")
		}
		fmt.Fprintf(&b, "  [host.'%s']\n    %s", e.URL, capabilities)
	}
	return b.String()
}

// TestRegistriesPart proves the part written here: testdata/registries.toml was
// written by the code of Talos 1.13.9 for the same credentials.
func TestRegistriesPart(t *testing.T) {
	auth := func(user, password string) mirrors.HostConfig {
		return mirrors.HostConfig{Auth: &mirrors.Auth{Username: user, Password: mirrors.NewSecret(password)}}
	}
	got := registriesPart(t, mirrors.Set{Config: map[string]mirrors.HostConfig{
		"mirror.internal:5000": auth("robot$acme", password),
		"192.0.2.7:5000":       {Auth: &mirrors.Auth{Auth: mirrors.NewSecret("cm9ib3Q6bWFkZS11cA==")}},
		"[fd00::1]:5000":       {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up-identity-token")}},
		"docker.io":            auth("first", "made-up"),
		"registry-1.docker.io": auth("second", "made-up"),
		"tls.internal":         {TLS: &mirrors.TLS{InsecureSkipVerify: true}},
	}}, "/etc/cri/conf.d/hosts")
	want, err := os.ReadFile(filepath.Join("testdata", "registries.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nTalos writes\n%s", got, want)
	}
	verdict.Proved(t, "the credentials stand in containerd's configuration here as Talos 1.13.9 writes them, byte for byte")
}

// TestHostsOfDuplicates proves the writer of hosts.toml by the corpus, which has
// what Talos 1.13.9 wrote: of a mirror with each endpoint twice, for one.
func TestHostsOfDuplicates(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "pull-order.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Config string
		HostsToml    map[string]string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cases {
		if c.Name != "dup endpoints" && c.Name != "dup endpoints skip=true (a,b,a,b)" {
			continue
		}
		n++
		for registry, m := range read(t, []byte(c.Config)).Mirrors {
			if got, want := hostsFile(m), c.HostsToml[registry]; got != want || len(m.Endpoints) < 2 {
				t.Errorf("%s: got\n%s\nTalos writes\n%s", c.Name, got, want)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d cases of repeated endpoints in the corpus, want 2", n)
	}
	verdict.Proved(t, "hosts.toml with repeated endpoints is here what Talos 1.13.9 writes, in both cases of the corpus")
}
