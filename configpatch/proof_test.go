package configpatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// The proof has to find what a wrong patch does.
func TestProve(t *testing.T) {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com"}}}}}
	v := Version{major: 1, minor: 13}
	right := string(render(set, Legacy))
	filled := replaceWitness(set, v, options{form: Legacy}, true)
	for _, tt := range []struct {
		name    string
		witness witness
		patch   string
		err     string
	}{
		{"right", emptyWitness(), right, ""},
		{"right, beside others", foreignWitness(set, v), right, ""},
		{"another endpoint", emptyWitness(), "machine: {registries: {mirrors: {ghcr.io: {endpoints: ['https://b.example.com']}}}}", `mirrors["ghcr.io"]: not as it should be`},
		{"one key too many", emptyWitness(), right + "---\napiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: a.example.com\n", `config["a.example.com"]: not as it should be`},
		{"removes what others have", foreignWitness(set, v), "machine: {registries: {$patch: delete}}\n---\n" + right, `mirrors["legacy.other.example.com"]: not as it should be`},
		{"changes the machine", emptyWitness(), right + "    network: {hostname: made-up}\n", "the patch changes something else"},
		{"changes the machine, beside others", foreignWitness(set, v), right + "    network: {hostname: made-up}\n", "the patch changes something else"},
		{"removes another document", foreignWitness(set, v), right + "---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: witness\n$patch: delete\n", "the patch changes something else"},
		{"appends", filled, right, `mirrors["ghcr.io"]: not as it should be`},
		{"fails", emptyWitness(), "machine: {registries: {mirrors: {ghcr.io: {$patch: delete}}}}", "lookup failed"},
		{"a JSON 6902 patch", emptyWitness(), `[{"op": "add", "path": "/machine/registries", "value": {}}]`, "JSON 6902"},
		{"an empty patch", emptyWitness(), "", "JSON 6902"},
		{"a delete of a missing document", emptyWitness(), "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: x\n$patch: delete\n", "machinery panics"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := prove(tt.witness, set, Patch{data: []byte(tt.patch)})
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
		})
	}
}

func TestProveValidates(t *testing.T) {
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{"a.example.com": {TLS: &mirrors.TLS{CA: "no PEM"}}}}
	err := prove(emptyWitness(), set, Patch{data: render(set, Documents)})
	require.EqualError(t, err, "Talos would refuse the result: RegistryTLSConfig/a.example.com: ca must be a valid PEM-encoded certificate")
}

func TestRestUnchanged(t *testing.T) {
	base := "version: v1alpha1\nmachine: {type: worker, registries: {mirrors: {a: {endpoints: []}, b: {endpoints: []}}, config: {h: {auth: {username: u}, tls: {}}}}}\n---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: x\n---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: k\nurl: tcp://192.0.2.1:1/\n"
	touched := []Change{{Kind: KindMirror, Name: "a"}, {Kind: KindAuth, Name: "h"}, {Kind: KindTLS, Name: "x"}}
	for patch, same := range map[string]bool{
		"machine: {registries: {mirrors: {a: {skipFallback: true}}}}":                                         true,
		"machine: {registries: {mirrors: {b: {skipFallback: true}}}}":                                         false,
		"machine: {registries: {mirrors: {b: {skipFallback: false}}}}":                                        false,
		"machine: {registries: {config: {h: {auth: {username: v}}}}}":                                         true,
		"machine: {registries: {config: {h: {tls: {insecureSkipVerify: true}}}}}":                             false,
		"machine: {type: controlplane}":                                                                       false,
		"apiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: x\ninsecureSkipVerify: true":                    true,
		"apiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: y":                                              false,
		"apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: k\nurl: tcp://192.0.2.2:1/":                         false,
		"apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: k\n$patch: delete":                                  false,
		"apiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: x\n$patch: delete\n---\ncluster: {id: made-up}": false,
	} {
		before, err := load([]byte(base))
		require.NoError(t, err)
		after, _, err := apply([]byte(base), Patch{data: []byte(patch)})
		require.NoError(t, err, patch)
		err = restUnchanged(before, after, touched)
		assert.Equal(t, same, err == nil, patch)
	}
}
