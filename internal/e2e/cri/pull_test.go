package cri_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
)

const machineConfig = `version: v1alpha1
machine:
  type: worker
  token: made-up.0123456789abcdef
cluster:
  controlPlane:
    endpoint: https://192.0.2.1:6443
`

var forms = []configpatch.Form{configpatch.Legacy, configpatch.Documents}

func needsRoot(t *testing.T) {
	t.Helper()
	servers.Path(t, "containerd")
	servers.Path(t, "crictl")
	servers.NeedsMounts(t)
}

// apply has machinery apply the patches to a configuration, all in one call.
func apply(t *testing.T, config []byte, patches configpatch.Patches) []byte {
	t.Helper()
	loaded, err := patches.Load()
	if err != nil {
		t.Fatal(err)
	}
	out, err := configpatcher.Apply(configpatcher.WithBytes(config), loaded)
	if err != nil {
		t.Fatal(err)
	}
	text, err := out.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func read(t *testing.T, config []byte) mirrors.Set {
	t.Helper()
	effective, err := configpatch.Read(config)
	if err != nil {
		t.Fatal(err)
	}
	return effective.Set
}

func merge(t *testing.T, s mirrors.Set, form configpatch.Form) configpatch.Patches {
	t.Helper()
	p, err := configpatch.Merge(s, version(t), configpatch.WithForm(form))
	if err != nil {
		t.Fatal(err)
	}
	return configpatch.Patches{p}
}

func replace(t *testing.T, s mirrors.Set, form configpatch.Form) configpatch.Patches {
	t.Helper()
	r, err := configpatch.Replace(s, version(t), configpatch.WithForm(form))
	if err != nil {
		t.Fatal(err)
	}
	return r.Patches
}

func version(t *testing.T) configpatch.Version {
	t.Helper()
	v, err := configpatch.ParseVersion("1.13")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func written(t *testing.T, s mirrors.Set, folder string) convert.Files {
	t.Helper()
	files, _, err := hosts.Write(s, hosts.InFolder(folder))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func endpoints(urls ...string) (es []mirrors.Endpoint) {
	for _, u := range urls {
		es = append(es, mirrors.Endpoint{URL: u})
	}
	return es
}

// whole is what a registry is asked for the whole of an image: its name, the
// path of the repository, and the query.
func whole(host, repository, query string) []string {
	path := host + ": GET /v2/" + repository
	return []string{
		path + "/blobs/CONFIG" + query,
		path + "/blobs/LAYER" + query,
		path + "/manifests/MANIFEST" + query,
		host + ": HEAD /v2/" + repository + "/manifests/v1" + query,
	}
}

const (
	ref = "ghcr.io/acme/app:v1"
	ns  = "?ns=ghcr.io"
	has = "acme/app:v1"
)

// TestPull pulls through the CRI, by configurations of both forms.
func TestPull(t *testing.T) {
	needsRoot(t)
	pulls, fail, lines := 0, 0, 0
	for _, tt := range []struct {
		name     string
		upstream server
		mirror   server
		second   *server
		skip     bool
		project  string // of a registry with projects, by overridePath
		key      string // of the mirror, ghcr.io when empty
		want     []string
		fails    string
	}{
		{name: "a mirror, and an upstream without the image", upstream: server{}, mirror: server{image: has, plain: true}, want: whole("mirror.internal", "acme/app", ns)},
		{name: "a mirror, and an upstream that is down", upstream: server{down: true}, mirror: server{image: has, plain: true}, want: whole("mirror.internal", "acme/app", ns)},
		{name: "a mirror without fallback", upstream: server{image: has}, mirror: server{image: has, plain: true}, skip: true, want: whole("mirror.internal", "acme/app", ns)},
		{name: "a mirror without the image, and the upstream", upstream: server{image: has}, mirror: server{plain: true}, want: append(whole("ghcr.io", "acme/app", ""), whole("mirror.internal", "acme/app", ns)...)},
		{name: "a mirror that is down, and the upstream", upstream: server{image: has}, mirror: server{plain: true, down: true}, want: whole("ghcr.io", "acme/app", "")},
		{name: "a mirror without the image, without fallback", upstream: server{image: has}, mirror: server{plain: true}, skip: true,
			want: []string{"mirror.internal: HEAD /v2/acme/app/manifests/v1" + ns}, fails: "not found"},
		{name: "a mirror that is down, without fallback", upstream: server{image: has}, mirror: server{plain: true, down: true}, skip: true, fails: "connection refused"},
		{name: "the second mirror", upstream: server{image: has}, mirror: server{plain: true, down: true}, second: &server{image: has, plain: true}, skip: true, want: whole("second.internal", "acme/app", ns)},
		{name: "TLS by a private authority, and a project's path", upstream: server{image: has}, mirror: server{image: "ghcr/acme/app:v1"}, project: "/v2/ghcr", want: whole("mirror.internal", "ghcr/acme/app", ns)},
		{name: "the * mirror", upstream: server{image: has}, mirror: server{image: has}, key: "*", want: whole("mirror.internal", "acme/app", ns)},
	} {
		for _, form := range forms {
			t.Run(tt.name+", "+form.String(), func(t *testing.T) {
				n := newNode(t)
				n.upstream(t, "ghcr.io", tt.upstream)
				hostport, ca := n.mirror(t, "mirror.internal", tt.mirror)
				set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}}
				m := mirrors.Mirror{Endpoints: endpoints("http://" + hostport + tt.project), SkipFallback: tt.skip}
				if !tt.mirror.plain {
					m.Endpoints[0].URL = "https://" + hostport + tt.project
					set.Config = map[string]mirrors.HostConfig{hostport: {TLS: &mirrors.TLS{CA: mirrors.PEM(ca)}}}
				}
				m.Endpoints[0].OverridePath = tt.project != ""
				if tt.second != nil {
					second, _ := n.mirror(t, "second.internal", *tt.second)
					m.Endpoints = append(m.Endpoints, endpoints("http://"+second)...)
				}
				key := "ghcr.io"
				if tt.key != "" {
					key = tt.key
				}
				set.Mirrors[key] = m

				lines += n.pulls(t, set, form, ref, tt.want, tt.fails)
				if tt.fails != "" {
					fail++
				}
				pulls++
			})
		}
	}
	if pulls == 0 {
		t.Skip("no pull could be made")
	}
	verdict.Proved(t, "crictl pulls %s through containerd 2.4.2 by the hosts directory of %d Talos configurations; %d of the pulls must fail and do; the registries get %d requests, and these are all", ref, pulls, fail, lines)
}

// pulls takes the Set the whole way, into a Talos configuration of that form, out
// of it and onto the node, and pulls. It wants the registries to be asked that
// and no more, as often and in any order, and returns how many requests that is.
func (n *node) pulls(t *testing.T, set mirrors.Set, form configpatch.Form, ref string, want []string, fails string) int {
	t.Helper()
	got := read(t, apply(t, []byte(machineConfig), merge(t, set, form)))
	folder := n.file("certs.d")
	write(t, folder, written(t, got, folder))
	asked, failure, logged := n.pull(t, got, folder, ref)
	if !slices.Equal(asked, sorted(want)) {
		t.Errorf("the registries were asked\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(sorted(want), "\n"))
	}
	if (failure == "") != (fails == "") || !strings.Contains(failure, fails) {
		t.Errorf("crictl says %q, want %q\n%s", failure, fails, logged)
	}
	return len(asked)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// TestAppliedTwice applies a patch to a node that has it already. A merge
// patch doubles the endpoints; Talos then writes a hosts.toml that containerd
// cannot decode, and containerd goes to the upstream, which was forbidden. The
// patches of Replace leave the node as it was.
func TestAppliedTwice(t *testing.T) {
	needsRoot(t)
	for _, form := range forms {
		for _, tt := range []struct {
			name    string
			patches func(*testing.T, mirrors.Set, configpatch.Form) configpatch.Patches
			times   int
			breaks  bool
		}{
			{"Merge once", merge, 1, false},
			{"Merge twice", merge, 2, true},
			{"Replace once", replace, 1, false},
			{"Replace twice", replace, 2, false},
			{"Replace over Merge twice", nil, 0, false},
		} {
			t.Run(tt.name+", "+form.String(), func(t *testing.T) {
				n := newNode(t)
				n.upstream(t, "ghcr.io", server{image: has})
				first, _ := n.mirror(t, "mirror.internal", server{image: has, plain: true})
				second, _ := n.mirror(t, "second.internal", server{image: has, plain: true})
				set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{
					"ghcr.io": {Endpoints: endpoints("http://"+first, "http://"+second), SkipFallback: true},
				}}
				config := []byte(machineConfig)
				if tt.patches == nil {
					config = apply(t, apply(t, apply(t, config, merge(t, set, form)), merge(t, set, form)), replace(t, set, form))
				}
				for range tt.times {
					config = apply(t, config, tt.patches(t, set, form))
				}
				got := read(t, config)
				folder := n.file("certs.d")
				wantAsked := whole("mirror.internal", "acme/app", ns)
				if tt.breaks {
					urls := got.Mirrors["ghcr.io"].Endpoints
					if !slices.Equal(urls, endpoints("http://"+first, "http://"+second, "http://"+first, "http://"+second)) {
						t.Fatalf("the node has %v", urls)
					}
					if _, _, err := hosts.Write(got); err == nil || !strings.Contains(err.Error(), "is endpoints[0] as well") {
						t.Errorf("package hosts says of that: %v", err)
					}
					wantAsked = whole("ghcr.io", "acme/app", "")
				} else if !got.Equal(set) {
					t.Fatalf("the node has %+v, want %+v", got, set)
				} else if text := string(written(t, got, folder)["ghcr.io/hosts.toml"]); text != hostsFile(got.Mirrors["ghcr.io"]) {
					t.Fatalf("package hosts writes\n%s\nand Talos\n%s", text, hostsFile(got.Mirrors["ghcr.io"]))
				}
				write(t, folder, convert.Files{"ghcr.io/hosts.toml": []byte(hostsFile(got.Mirrors["ghcr.io"]))})
				asked, failure, logged := n.pull(t, got, folder, ref)
				if failure != "" {
					t.Fatalf("%s\n%s", failure, logged)
				}
				if !slices.Equal(asked, sorted(wantAsked)) {
					t.Errorf("the registries were asked\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(sorted(wantAsked), "\n"))
				}
				if tt.breaks {
					if !strings.Contains(logged, "failed to decode") || !strings.Contains(logged, "already exists") {
						t.Errorf("containerd does not say why:\n%s", logged)
					}
				}
			})
		}
	}
	verdict.Proved(t, "a merge patch applied twice doubles the endpoints, containerd ignores hosts.toml and asks the upstream that skipFallback forbids; with Replace, applied once, twice or over that, it asks the first mirror alone")
}
