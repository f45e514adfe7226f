package configpatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Each shape that a change can take, as a golden file: the configuration's
// entries, the Set, and the patch between them.
func TestConvergeGolden(t *testing.T) {
	legacyBase := func(entries string) string { return "version: v1alpha1\nmachine:\n  registries:\n" + entries }
	mirror := func(name string, m mirrors.Mirror) mirrors.Set {
		return mirrors.Set{Mirrors: map[string]mirrors.Mirror{name: m}}
	}
	auth := func(host string, a mirrors.Auth) mirrors.Set {
		return mirrors.Set{Config: map[string]mirrors.HostConfig{host: {Auth: &a}}}
	}
	document := func(kind, name, rest string) string {
		return fmt.Sprintf("version: v1alpha1\nmachine: {}\n---\napiVersion: v1alpha1\nkind: %s\nname: %q\n%s", kind, name, rest)
	}
	harbor := map[string]mirrors.HostConfig{"harbor.example.com": fullSet(t).Config["harbor.example.com"]}
	whole := func(set mirrors.Set, form configpatch.Form) []byte {
		patch, err := configpatch.Merge(set, version(t, "1.13"), configpatch.WithForm(form))
		require.NoError(t, err)
		return patch.Bytes()
	}
	fullDocuments := whole(fullSet(t), configpatch.Documents)
	withHost := fullSet(t)
	withHost.Config["[fd00::4]:5000"] = mirrors.HostConfig{Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}}
	fullLegacy := whole(withHost, configpatch.Legacy)

	// In both forms, with the documents as they are to be.
	const bothForms = `version: v1alpha1
machine:
  registries:
    mirrors:
      ghcr.io: {endpoints: [https://old.example.com]}
      quay.io: {endpoints: [https://q.example.com]}
    config:
      m.example.com: {auth: {auth: b2xkOm1hZGUtdXA=}, tls: {insecureSkipVerify: true}}
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: ghcr.io
endpoints: [{url: 'https://m.example.com'}]
---
apiVersion: v1alpha1
kind: RegistryAuthConfig
name: m.example.com
username: u
password: made-up
---
apiVersion: v1alpha1
kind: RegistryTLSConfig
name: m.example.com
insecureSkipVerify: true
`
	agreed := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: urls("https://m.example.com")}},
		Config:  map[string]mirrors.HostConfig{"m.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}}},
	}
	abc := urls("https://a.example.com", "https://b.example.com", "https://c.example.com")
	for _, tt := range []struct {
		name    string
		config  string
		set     mirrors.Set
		version string
		opts    []configpatch.Option
		changes string
		reboot  bool
	}{
		{name: "legacy-add", config: legacyBase("    mirrors: {quay.io: {endpoints: [https://q.example.com]}}\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc}),
			version: "1.11.6", opts: []configpatch.Option{configpatch.Own("ghcr.io")}, changes: "mirror ghcr.io: added"},
		{name: "legacy-append", config: legacyBase("    mirrors: {ghcr.io: {endpoints: [https://a.example.com, https://b.example.com]}}\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc}),
			version: "1.11.6", changes: "mirror ghcr.io: changed"},
		{name: "legacy-reorder", config: legacyBase("    mirrors: {ghcr.io: {endpoints: [https://b.example.com, https://a.example.com], skipFallback: true}}\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc[:2]}),
			version: "1.11.6", changes: "mirror ghcr.io: changed"},
		{name: "legacy-flags", config: legacyBase("    mirrors: {ghcr.io: {endpoints: [https://a.example.com/v2], overridePath: true}}\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: urls("https://a.example.com/v2"), SkipFallback: true}),
			version: "1.11.6", changes: "mirror ghcr.io: changed"},
		{name: "legacy-remove", config: legacyBase("    mirrors: {ghcr.io: {endpoints: [https://a.example.com]}, quay.io: {endpoints: []}}\n    config: {a.example.com: {auth: {username: u, password: made-up}}}\n"),
			version: "1.11.6", opts: []configpatch.Option{configpatch.Own("ghcr.io", "a.example.com")}, changes: "mirror ghcr.io: removed, auth a.example.com: removed", reboot: true},
		{name: "legacy-brackets", config: legacyBase("    mirrors: {'[fd00::1]:5000': {endpoints: [https://a.example.com]}, quay.io: {endpoints: [https://q.example.com], overridePath: false}}\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc[:1]}),
			version: "1.11.6", opts: []configpatch.Option{configpatch.Own("[fd00::1]:5000", "ghcr.io")}, changes: "mirror [fd00::1]:5000: removed, mirror ghcr.io: added"},
		{name: "legacy-auth-to-username", config: legacyBase("    config: {a.example.com: {auth: {auth: bWFkZTp1cA==}, tls: {insecureSkipVerify: true}}}\n"),
			set:     mirrors.Set{Config: map[string]mirrors.HostConfig{"a.example.com": {Auth: &mirrors.Auth{Username: "user", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}}}},
			version: "1.11.6", changes: "auth a.example.com: changed", reboot: true},
		{name: "legacy-tls", config: legacyBase("    config: {a.example.com: {tls: {insecureSkipVerify: true, ca: bm90IFBFTQ==}}}\n"),
			set:     mirrors.Set{Config: map[string]mirrors.HostConfig{"a.example.com": {TLS: &mirrors.TLS{CA: fullSet(t).Config["harbor.example.com"].TLS.CA}}}},
			version: "1.11.6", changes: "tls a.example.com: changed"},
		{name: "legacy-to-documents", config: legacyBase("    mirrors: {ghcr.io: {endpoints: [https://a.example.com]}}\n    config: {a.example.com: {auth: {username: u, password: made-up}, tls: {insecureSkipVerify: true}}}\n"),
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: abc[:2]}},
				Config:  map[string]mirrors.HostConfig{"a.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up-two")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}}},
			},
			version: "1.13", changes: "mirror ghcr.io: changed, auth a.example.com: changed", reboot: true},
		{name: "moved-to-documents", config: legacyBase("    mirrors: {ghcr.io: {endpoints: [https://a.example.com]}}\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc[:1]}),
			version: "1.13", opts: []configpatch.Option{configpatch.WithForm(configpatch.Documents)}, changes: "mirror ghcr.io: moved"},
		{name: "moved-to-legacy", config: document("RegistryMirrorConfig", "ghcr.io", "endpoints: [{url: 'https://a.example.com'}]\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc[:1]}),
			version: "1.13", opts: []configpatch.Option{configpatch.WithForm(configpatch.Legacy)}, changes: "mirror ghcr.io: moved"},
		{name: "hidden-legacy", config: bothForms, set: agreed, version: "1.13", opts: []configpatch.Option{configpatch.Own("ghcr.io", "m.example.com")},
			changes: "mirror ghcr.io: moved, auth m.example.com: moved, tls m.example.com: moved"},
		{name: "hidden-legacy-1.12.1", config: bothForms, set: agreed, version: "1.12.1",
			changes: "mirror ghcr.io: moved, mirror quay.io: removed, auth m.example.com: moved, tls m.example.com: moved"},
		{name: "documents-append", config: document("RegistryMirrorConfig", "ghcr.io", "endpoints: [{url: 'https://a.example.com'}]\n"), set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc}),
			version: "1.13", changes: "mirror ghcr.io: changed"},
		{name: "documents-middle", config: document("RegistryMirrorConfig", "*", "endpoints: [{url: 'https://a.example.com'}, {url: 'https://b.example.com'}, {url: 'https://c.example.com'}]\nskipFallback: true\n"),
			set: mirror("*", mirrors.Mirror{Endpoints: urls("https://a.example.com", "https://c.example.com", "https://d.example.com")}), version: "1.13", changes: "mirror *: changed"},
		{name: "documents-middle-1.12.4", config: document("RegistryMirrorConfig", "ghcr.io", "endpoints: [{url: 'https://a.example.com'}, {url: 'https://b.example.com'}]\n"),
			set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc[:1]}), version: "1.12.4", changes: "mirror ghcr.io: changed"},
		{name: "documents-override", config: document("RegistryMirrorConfig", "ghcr.io", "endpoints: [{url: 'https://a.example.com/v2'}]\n"),
			set: mirror("ghcr.io", mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com/v2", OverridePath: true}}}), version: "1.13", changes: "mirror ghcr.io: changed"},
		{name: "documents-auth-to-username", config: document("RegistryAuthConfig", "a.example.com", "auth: bWFkZTp1cA==\n"), set: auth("a.example.com", mirrors.Auth{Username: "user", Password: mirrors.NewSecret("made-up")}),
			version: "1.13", changes: "auth a.example.com: changed", reboot: true},
		{name: "documents-auth-1.14", config: document("RegistryAuthConfig", "a.example.com", "auth: bWFkZTp1cA==\n"), set: auth("a.example.com", mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up")}),
			version: "1.14", changes: "auth a.example.com: changed"},
		{name: "documents-remove", config: document("RegistryTLSConfig", "a.example.com", "insecureSkipVerify: true\n"), version: "1.13", changes: "tls a.example.com: removed"},
		{name: "documents-beside", config: document("RegistryMirrorConfig", "quay.io", "endpoints: [{url: 'https://q.example.com'}]\n"),
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: abc[:1], SkipFallback: true}},
				Config:  map[string]mirrors.HostConfig{"a.example.com": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up")}, TLS: fullSet(t).Config["harbor.example.com"].TLS}},
			},
			version: "1.13", opts: []configpatch.Option{configpatch.Own("ghcr.io", "a.example.com")},
			changes: "mirror ghcr.io: added, auth a.example.com: added, tls a.example.com: added", reboot: true},
		{name: "documents-endpoints-deleted", config: document("RegistryMirrorConfig", "ghcr.io", "endpoints: [{url: 'https://a.example.com'}]\nskipFallback: true\n"),
			set: mirror("ghcr.io", mirrors.Mirror{}), version: "1.13", changes: "mirror ghcr.io: changed"},
		{name: "documents-skip-fallback", config: document("RegistryMirrorConfig", "ghcr.io", "endpoints: [{url: 'https://a.example.com'}]\n"),
			set: mirror("ghcr.io", mirrors.Mirror{Endpoints: abc[:1], SkipFallback: true}), version: "1.13", changes: "mirror ghcr.io: changed"},
		{name: "documents-tls-deleted", config: "version: v1alpha1\nmachine: {}\n---\n" + string(fullDocuments),
			set:     mirrors.Set{Config: map[string]mirrors.HostConfig{"harbor.example.com": {Auth: fullSet(t).Config["harbor.example.com"].Auth, TLS: &mirrors.TLS{InsecureSkipVerify: true}}}},
			version: "1.13", opts: []configpatch.Option{configpatch.Own("harbor.example.com")}, changes: "tls harbor.example.com: changed"},
		{name: "documents-config-removed", config: "version: v1alpha1\nmachine: {}\n---\n" + string(fullDocuments),
			version: "1.13", opts: []configpatch.Option{configpatch.Own("harbor.example.com")}, changes: "auth harbor.example.com: removed, tls harbor.example.com: removed", reboot: true},
		{name: "moved-config-to-documents", config: string(fullLegacy), set: mirrors.Set{Config: harbor}, version: "1.13",
			opts:    []configpatch.Option{configpatch.WithForm(configpatch.Documents), configpatch.Own("harbor.example.com")},
			changes: "auth harbor.example.com: moved, tls harbor.example.com: moved"},
		{name: "moved-config-to-legacy", config: "version: v1alpha1\nmachine: {}\n---\n" + string(fullDocuments), set: mirrors.Set{Config: harbor}, version: "1.13",
			opts:    []configpatch.Option{configpatch.WithForm(configpatch.Legacy), configpatch.Own("harbor.example.com")},
			changes: "auth harbor.example.com: moved, tls harbor.example.com: moved"},
		{name: "legacy-brackets-config", config: string(fullLegacy),
			set:     mirrors.Set{Config: map[string]mirrors.HostConfig{"[fd00::4]:5000": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up")}}}},
			version: "1.11.6", opts: []configpatch.Option{configpatch.Own("[fd00::4]:5000")}, changes: "auth [fd00::4]:5000: changed, tls [fd00::4]:5000: removed", reboot: true},
		{name: "legacy-override", config: legacyBase("    mirrors: {ghcr.io: {endpoints: [https://a.example.com/v2]}}\n"),
			set:     mirror("ghcr.io", mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com/v2", OverridePath: true}}}),
			version: "1.11.6", changes: "mirror ghcr.io: changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := configpatch.Converge([]byte(tt.config), tt.set, version(t, tt.version), tt.opts...)
			require.NoError(t, err)
			require.NotNil(t, plan.Patch)
			golden(t, "converge/"+tt.name+".yaml", plan.Patch.Bytes())
			var changes []string
			for _, c := range plan.Changes {
				changes = append(changes, c.String())
			}
			assert.Equal(t, tt.changes, strings.Join(changes, ", "))
			assert.Equal(t, tt.reboot, plan.Reboot)
			again, err := configpatch.Converge(plan.Result(), tt.set, version(t, tt.version), tt.opts...)
			require.NoError(t, err)
			assert.Nil(t, again.Patch)
		})
	}
}

func TestConvergeNothing(t *testing.T) {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: urls("https://a.example.com")}}}
	for name, config := range map[string]string{
		"legacy":    "machine: {registries: {mirrors: {ghcr.io: {endpoints: ['https://a.example.com']}}}} # as it is\n",
		"documents": "machine: {} # as it is\n---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: ghcr.io\nendpoints: [{url: 'https://a.example.com'}]\n",
	} {
		plan, err := configpatch.Converge([]byte(config), set, version(t, "1.13"))
		require.NoError(t, err, name)
		assert.Nil(t, plan.Patch)
		assert.Empty(t, plan.Changes)
		assert.Equal(t, config, string(plan.Result()))
	}
}

func TestConvergeRefuses(t *testing.T) {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: urls("https://a.example.com")}}}
	const old = "machine: {registries: {mirrors: {ghcr.io: {endpoints: ['https://b.example.com']}}}}\n"

	_, err := configpatch.Converge([]byte(old), set, version(t, "1.13"), configpatch.Own("quay.io"))
	require.ErrorIs(t, err, configpatch.ErrNotOwned)
	require.EqualError(t, err, `mirrors["ghcr.io"]: not owned by the caller (want its name in Own)`)

	_, err = configpatch.Converge([]byte(old), set, version(t, "1.7.7"))
	require.EqualError(t, err, "version: the change removes something, and a client of Talos 1.7.7 does not know $patch: delete (want 1.8 or later)")

	_, err = configpatch.Converge([]byte("machine: {}\n---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: ghcr.io\n"), set, version(t, "1.11.6"))
	require.EqualError(t, err, "version: the change concerns registry documents, which Talos 1.11.6 does not know (want 1.12.0 or later)")

	_, err = configpatch.Converge([]byte("apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: x\nurl: tcp://192.0.2.1:1/\n"), set, version(t, "1.13"), configpatch.WithForm(configpatch.Legacy))
	require.EqualError(t, err, "the configuration has no v1alpha1 document for the legacy form (want the documents form (Talos 1.12.0 and later))")

	_, err = configpatch.Converge([]byte("apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: ghcr.io\n"), mirrors.Set{}, version(t, "1.13"))
	require.ErrorContains(t, err, "nothing is left of the configuration")

	// Everything at once: the Set, the configuration and the ownership.
	set.Mirrors["quay.io"] = mirrors.Mirror{Endpoints: urls("ftp://a.example.com")}
	_, err = configpatch.Converge([]byte("- a\n"), set, version(t, "1.13"), configpatch.Own("quay.io"))
	for _, text := range []string{`"ftp"`, "not owned", "cannot load"} {
		require.ErrorContains(t, err, text)
	}
}

// A configuration that is not a whole machine's is changed all the same.
func TestConvergeWithoutMachine(t *testing.T) {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: urls("https://a.example.com")}}}
	for _, form := range []configpatch.Form{configpatch.Legacy, configpatch.Documents} {
		plan, err := configpatch.Converge([]byte("cluster: {}\n"), set, version(t, "1.13"), configpatch.WithForm(form))
		require.NoError(t, err)
		sameSet(t, set, effective(t, plan.Result()))
	}
}
