//lint:file-ignore SA1019 Talos deprecates machine.registries, which is the legacy form.

package configpatch_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	talosconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/cri"
	"github.com/siderolabs/talos/pkg/machinery/config/types/meta"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// The property tests make Sets and configurations at random and let machinery
// judge. A failure names the case; -case runs it alone.
var (
	cases   = flag.Int("cases", 60, "number of generated configurations")
	oneCase = flag.Int("case", -1, "run this generated configuration alone")
)

// A maker makes the parts of one case.
type maker struct {
	*rand.Rand
	minor int // the newest Talos 1.x that has to load the configurations
}

func newMaker(n int) maker { return maker{rand.New(rand.NewPCG(uint64(n), 20)), 13} }

func pick[E any](m maker, list ...E) E { return list[m.IntN(len(list))] }

func (m maker) chance(percent int) bool { return m.IntN(100) < percent }

var (
	registries = []string{"*", "docker.io", "ghcr.io", "quay.io", "registry.k8s.io", "registry.example.com:5000", "[fd00::1]:5000", "10.0.0.1:5000", "[fd00::9]", "localhost:5000"}
	// Hosts of http endpoints must not have TLS settings.
	httpsHosts = []string{"a.example.com", "c.example.com", "harbor.example.com", "[fd00::2]:5000", "quay.io", "10.0.0.2:8443", "registry-1.docker.io", "direct.example.com"}
	httpHosts  = []string{"b.internal:5000", "[fd00::3]:80"}
	passwords  = []string{"made-up", "-", "made up: \"pass\" # word", "$patch: delete", "made-up\nsecond line\n", " lead", "trail ", "~", "null", "0x1F", "1e3", "- a", "? a", "\u00fcber\u2028\u202e", "\\", "'", "`id`", "$(BOOTSTRAP_TOKEN)", "{{ .Values.x }}", "\x00\x01\x7f\u0085\ufeff", "\U0001f511"}
)

func (m maker) endpoint() mirrors.Endpoint {
	return pick(m,
		mirrors.Endpoint{URL: "https://a.example.com"},
		mirrors.Endpoint{URL: "https://a.example.com/sub"},
		mirrors.Endpoint{URL: "http://b.internal:5000"},
		mirrors.Endpoint{URL: "http://[fd00::3]:80"},
		mirrors.Endpoint{URL: "https://c.example.com/v2"},
		mirrors.Endpoint{URL: "https://c.example.com/v2", OverridePath: true},
		mirrors.Endpoint{URL: "https://harbor.example.com/v2/proxy", OverridePath: true},
		mirrors.Endpoint{URL: "https://harbor.example.com/v2/other", OverridePath: true},
		mirrors.Endpoint{URL: "https://[fd00::2]:5000"},
		mirrors.Endpoint{URL: "https://10.0.0.2:8443"},
	)
}

// mirror makes one that the legacy form can say too, when uniform. What is in a
// configuration already may hold repeated endpoints.
func (m maker) mirror(uniform, repeats bool) mirrors.Mirror {
	var out mirrors.Mirror
	seen := map[string]bool{}
	for range m.IntN(5) {
		e := m.endpoint()
		if uniform && len(out.Endpoints) > 0 && e.OverridePath != out.Endpoints[0].OverridePath {
			continue
		}
		if seen[e.URL] && !repeats {
			continue
		}
		seen[e.URL] = true
		out.Endpoints = append(out.Endpoints, e)
	}
	out.SkipFallback = len(out.Endpoints) > 0 && m.chance(30)
	return out
}

func (m maker) auth() *mirrors.Auth {
	switch m.IntN(3) {
	case 0:
		return &mirrors.Auth{Username: pick(m, "user", "robot$a", "yes"), Password: mirrors.NewSecret(pick(m, passwords...))}
	case 1:
		return &mirrors.Auth{Auth: mirrors.NewSecret("bWFkZTp1cA==")}
	default:
		return &mirrors.Auth{IdentityToken: mirrors.NewSecret(pick(m, passwords[0], passwords[2], passwords[5]))}
	}
}

func (m maker) tls() *mirrors.TLS {
	cert, key := identity()
	tls := mirrors.TLS{InsecureSkipVerify: m.chance(50)}
	if m.chance(40) {
		tls.CA = pick(m, cert, mirrors.PEM(strings.TrimSuffix(string(cert), "\n")), cert+cert)
	}
	if m.chance(30) {
		tls.ClientIdentity = &mirrors.ClientIdentity{Certificate: cert, Key: key}
	}
	if tls == (mirrors.TLS{}) {
		tls.InsecureSkipVerify = true
	}
	return &tls
}

func (m maker) set(uniform, repeats bool, percent int) mirrors.Set {
	s := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for _, name := range registries {
		if m.chance(percent) {
			s.Mirrors[name] = m.mirror(uniform, repeats)
		}
	}
	for _, host := range slices.Concat(httpsHosts, httpHosts) {
		if !m.chance(percent) {
			continue
		}
		var c mirrors.HostConfig
		if m.chance(60) {
			c.Auth = m.auth()
		}
		if m.chance(60) && slices.Contains(httpsHosts, host) {
			c.TLS = m.tls()
		}
		s.Config[host] = c
	}
	return s
}

// near changes some of a Set, as the next version of an input does.
func (m maker) near(s mirrors.Set, uniform bool) mirrors.Set {
	s = s.DeepCopy()
	for _, name := range slices.Sorted(maps.Keys(s.Mirrors)) {
		x := s.Mirrors[name]
		switch m.IntN(8) {
		case 0:
			delete(s.Mirrors, name)
			continue
		case 1:
			x.SkipFallback = !x.SkipFallback
		case 2:
			m.Shuffle(len(x.Endpoints), func(i, j int) { x.Endpoints[i], x.Endpoints[j] = x.Endpoints[j], x.Endpoints[i] })
		case 3:
			if n := len(x.Endpoints); n > 0 {
				i := m.IntN(n)
				x.Endpoints = slices.Delete(x.Endpoints, i, i+1)
			}
		case 4:
			x.Endpoints = append(x.Endpoints, m.endpoint())
		case 5:
			x = m.mirror(uniform, false)
		}
		// The result has to be a Set without errors.
		var clean []mirrors.Endpoint
		for _, e := range x.Endpoints {
			dup := slices.ContainsFunc(clean, func(c mirrors.Endpoint) bool { return c.URL == e.URL })
			if !dup && (!uniform || len(clean) == 0 || clean[0].OverridePath == e.OverridePath) {
				clean = append(clean, e)
			}
		}
		x.Endpoints = clean
		x.SkipFallback = x.SkipFallback && len(clean) > 0
		s.Mirrors[name] = x
	}
	for _, host := range slices.Sorted(maps.Keys(s.Config)) {
		c := s.Config[host]
		switch m.IntN(8) {
		case 0:
			delete(s.Config, host)
			continue
		case 1:
			c.Auth = m.auth()
		case 2:
			c.Auth = nil
		case 3:
			if c.TLS != nil {
				c.TLS = m.tls()
			}
		case 4:
			c.TLS = nil
		}
		s.Config[host] = c
	}
	return s
}

// A base is a configuration and what it says, computed without this package.
type base struct {
	data      []byte
	legacy    bool // it has a v1alpha1 document
	documents bool // it has registry documents
}

var generated = sync.OnceValue(func() (out [][]byte) {
	bundle, err := secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_13) // its RSA key takes long
	if err != nil {
		panic(err)
	}
	for _, version := range []string{"1.10", "1.11", "1.12", "1.13"} {
		contract, err := config.ParseContractFromVersion(version)
		if err != nil {
			panic(err)
		}
		in, err := generate.NewInput("cluster", "https://192.0.2.1:6443", "1.33.0", generate.WithVersionContract(contract), generate.WithInstallDisk("/dev/sda"), generate.WithSecretsBundle(bundle))
		if err != nil {
			panic(err)
		}
		for _, kind := range []machine.Type{machine.TypeControlPlane, machine.TypeWorker} {
			cfg, err := in.Config(kind)
			if err != nil {
				panic(err)
			}
			data, err := cfg.EncodeBytes(encoder.WithComments(encoder.CommentsAll))
			if err != nil {
				panic(err)
			}
			out = append(out, data)
		}
	}
	return out
})

// base makes a configuration: v1alpha1 part, entries in both forms, other documents.
func (m maker) base(t require.TestingT, legacy, documents mirrors.Set) base {
	var (
		b   base
		doc *v1alpha1.Config
		out []talosconfig.Document
	)
	switch n := m.IntN(40); {
	case n < 4: // documents only
		if m.minor < 12 {
			documents = mirrors.Set{}
		}
	case n < 7:
		doc = &v1alpha1.Config{ConfigVersion: "v1alpha1"} // no machine
	case n < 9: // a whole one, which costs as much as ten others
		cfg, err := configloader.NewFromBytes(pick(m, generated()[:2*(m.minor-9)]...))
		require.NoError(t, err)
		doc = cfg.RawV1Alpha1()
		for _, d := range cfg.Documents() {
			if _, ok := d.(*v1alpha1.Config); !ok {
				out = append(out, d)
			}
		}
	default:
		doc = &v1alpha1.Config{ConfigVersion: "v1alpha1", MachineConfig: &v1alpha1.MachineConfig{MachineType: "worker"}, ClusterConfig: &v1alpha1.ClusterConfig{}}
	}
	if doc != nil {
		b.legacy = true
		if len(legacy.Mirrors)+len(legacy.Config) > 0 && m.chance(75) {
			if doc.MachineConfig == nil {
				doc.MachineConfig = &v1alpha1.MachineConfig{}
			}
			doc.MachineConfig.MachineRegistries = m.section(legacy)
		}
		out = slices.Insert(out, 0, talosconfig.Document(doc))
	}
	if doc == nil || m.minor >= 12 && m.chance(60) {
		list := m.documentsOf(t, documents)
		b.documents = len(list) > 0
		m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		out = append(out, list...)
	}
	var text []byte
	for _, d := range out {
		if len(text) > 0 {
			text = append(text, "---\n"...)
		}
		options := encoder.WithComments(pick(m, encoder.CommentsDisabled, encoder.CommentsAll))
		data, err := encoder.NewEncoder(d, options).Encode()
		require.NoError(t, err)
		text = append(text, data...)
	}
	if len(text) == 0 || m.chance(30) {
		if len(text) > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, "# another document\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: remote-log\nurl: tcp://192.0.2.9:3478/\n"...)
	}
	b.data = text
	return b
}

func (m maker) flag(v bool) *bool {
	if !v && m.chance(60) {
		return nil
	}
	return &v
}

func (m maker) section(s mirrors.Set) v1alpha1.RegistriesConfig {
	r := v1alpha1.RegistriesConfig{RegistryMirrors: map[string]*v1alpha1.RegistryMirrorConfig{}, RegistryConfig: map[string]*v1alpha1.RegistryConfig{}}
	for _, name := range slices.Sorted(maps.Keys(s.Mirrors)) {
		x := s.Mirrors[name]
		out := &v1alpha1.RegistryMirrorConfig{MirrorSkipFallback: m.flag(x.SkipFallback), MirrorOverridePath: m.flag(len(x.Endpoints) > 0 && x.Endpoints[0].OverridePath)}
		for _, e := range x.Endpoints {
			out.MirrorEndpoints = append(out.MirrorEndpoints, e.URL)
		}
		r.RegistryMirrors[name] = out
	}
	for _, host := range slices.Sorted(maps.Keys(s.Config)) {
		c := s.Config[host]
		out := &v1alpha1.RegistryConfig{}
		if a := c.Auth; a != nil {
			out.RegistryAuth = &v1alpha1.RegistryAuthConfig{RegistryUsername: a.Username, RegistryPassword: a.Password.Reveal(), RegistryAuth: a.Auth.Reveal(), RegistryIdentityToken: a.IdentityToken.Reveal()}
		}
		if tls := c.TLS; tls != nil {
			out.RegistryTLS = &v1alpha1.RegistryTLSConfig{TLSCA: v1alpha1.Base64Bytes(tls.CA), TLSInsecureSkipVerify: m.flag(tls.InsecureSkipVerify)}
			if id := tls.ClientIdentity; id != nil {
				out.RegistryTLS.TLSClientIdentity = &x509.PEMEncodedCertificateAndKey{Crt: []byte(id.Certificate), Key: []byte(id.Key.Reveal())}
			}
		}
		r.RegistryConfig[host] = out
	}
	return r
}

func (m maker) documentsOf(t require.TestingT, s mirrors.Set) (out []talosconfig.Document) {
	for _, name := range slices.Sorted(maps.Keys(s.Mirrors)) {
		d := cri.NewRegistryMirrorConfigV1Alpha1(name)
		d.RegistrySkipFallback = m.flag(s.Mirrors[name].SkipFallback)
		for _, e := range s.Mirrors[name].Endpoints {
			u, err := url.Parse(e.URL)
			require.NoError(t, err)
			d.RegistryEndpoints = append(d.RegistryEndpoints, cri.RegistryEndpoint{EndpointURL: meta.URL{URL: u}, EndpointOverridePath: m.flag(e.OverridePath)})
		}
		out = append(out, d)
	}
	for _, host := range slices.Sorted(maps.Keys(s.Config)) {
		if a := s.Config[host].Auth; a != nil {
			d := cri.NewRegistryAuthConfigV1Alpha1(host)
			d.RegistryUsername, d.RegistryPassword, d.RegistryAuth, d.RegistryIdentityToken = a.Username, a.Password.Reveal(), a.Auth.Reveal(), a.IdentityToken.Reveal()
			out = append(out, d)
		}
		if tls := s.Config[host].TLS; tls != nil {
			d := cri.NewRegistryTLSConfigV1Alpha1(host)
			d.TLSCA, d.TLSInsecureSkipVerify = string(tls.CA), m.flag(tls.InsecureSkipVerify)
			if id := tls.ClientIdentity; id != nil {
				d.TLSClientIdentity = &meta.CertificateAndKey{Cert: string(id.Certificate), Key: id.Key.Reveal()}
			}
			out = append(out, d)
		}
	}
	return out
}

// effective is what a configuration says, by machinery's own accessors.
func effective(t require.TestingT, data []byte) mirrors.Set {
	cfg, err := configloader.NewFromBytes(data)
	require.NoError(t, err, string(data))
	s := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for name, m := range cfg.RegistryMirrorConfigs() {
		out := mirrors.Mirror{SkipFallback: m.SkipFallback()}
		for _, e := range m.Endpoints() {
			out.Endpoints = append(out.Endpoints, mirrors.Endpoint{URL: e.Endpoint(), OverridePath: e.OverridePath()})
		}
		s.Mirrors[name] = out
	}
	for host, a := range cfg.RegistryAuthConfigs() {
		c := s.Config[host]
		c.Auth = &mirrors.Auth{Username: a.Username(), Password: mirrors.NewSecret(a.Password()), Auth: mirrors.NewSecret(a.Auth()), IdentityToken: mirrors.NewSecret(a.IdentityToken())}
		s.Config[host] = c
	}
	for host, x := range cfg.RegistryTLSConfigs() {
		c := s.Config[host]
		c.TLS = &mirrors.TLS{CA: mirrors.PEM(x.CA()), InsecureSkipVerify: x.InsecureSkipVerify()}
		if id := x.ClientIdentity(); id != nil {
			c.TLS.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(id.Crt), Key: mirrors.NewSecret(string(id.Key))}
		}
		s.Config[host] = c
	}
	return s
}

// rest is a configuration without what it says about registries, encoded.
func rest(t require.TestingT, data []byte) string {
	cfg, err := configloader.NewFromBytes(data)
	require.NoError(t, err)
	var out strings.Builder
	for _, d := range cfg.Documents() {
		switch d := d.(type) {
		case *cri.RegistryMirrorConfigV1Alpha1, *cri.RegistryAuthConfigV1Alpha1, *cri.RegistryTLSConfigV1Alpha1:
			continue
		case *v1alpha1.Config:
			if d.MachineConfig == nil {
				d.MachineConfig = &v1alpha1.MachineConfig{}
			}
			d.MachineConfig.MachineRegistries = v1alpha1.RegistriesConfig{}
		}
		text, err := encoder.NewEncoder(d, encoder.WithComments(encoder.CommentsDisabled)).Encode()
		require.NoError(t, err)
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.String()
}

func applyPatches(t require.TestingT, data []byte, texts ...string) []byte {
	patches, err := configpatcher.LoadPatches(texts)
	require.NoError(t, err)
	out, err := configpatcher.Apply(configpatcher.WithBytes(bytes.Clone(data)), patches)
	require.NoError(t, err, strings.Join(texts, "=====\n"))
	result, err := out.Bytes()
	require.NoError(t, err)
	return result
}

type metalMode struct{}

func (metalMode) String() string        { return "metal" }
func (metalMode) RequiresInstall() bool { return true }
func (metalMode) InContainer() bool     { return false }

func valid(t require.TestingT, data []byte) bool {
	cfg, err := configloader.NewFromBytes(data)
	require.NoError(t, err)
	_, err = cfg.Validate(metalMode{})
	return err == nil
}

// over is what is left of one Set when another one has the last word about the
// keys that match.
func over(have, want mirrors.Set, match func(section, key string) bool) mirrors.Set {
	out := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for k, v := range have.Mirrors {
		if !match("mirrors", k) {
			out.Mirrors[k] = v
		}
	}
	for k, v := range have.Config {
		if !match("config", k) {
			out.Config[k] = v
		}
	}
	maps.Copy(out.Mirrors, want.Mirrors)
	for k, v := range want.Config {
		if v.Auth != nil || v.TLS != nil {
			out.Config[k] = v
		}
	}
	return out
}

func sameSet(t require.TestingT, want, got mirrors.Set, msg ...any) {
	if !want.Equal(got) {
		require.Equal(t, plain(want), plain(got), msg...)
		require.Fail(t, "sets differ", msg...)
	}
}

// plain shows what Secret hides, in a failing test.
func plain(s mirrors.Set) map[string]any {
	out := map[string]any{}
	for k, m := range s.Mirrors {
		out["mirror "+k] = fmt.Sprint(m)
	}
	for k, c := range s.Config {
		if a := c.Auth; a != nil {
			out["auth "+k] = fmt.Sprintf("%q %q %q %q", a.Username, a.Password.Reveal(), a.Auth.Reveal(), a.IdentityToken.Reveal())
		}
		if x := c.TLS; x != nil {
			out["tls "+k] = fmt.Sprint(x.CA, x.InsecureSkipVerify, x.ClientIdentity)
		}
		if c == (mirrors.HostConfig{}) {
			out["nothing "+k] = true
		}
	}
	return out
}

func eachCase(t *testing.T, f func(t *testing.T, m maker)) {
	t.Parallel()
	first, last := 0, *cases
	if *oneCase >= 0 {
		first, last = *oneCase, *oneCase+1
	}
	for n := first; n < last; n++ {
		if !t.Run(fmt.Sprint("case ", n), func(t *testing.T) { f(t, newMaker(n)) }) {
			t.Fatalf("case %d fails", n)
		}
	}
}

// replaceCase makes a Set and a configuration for Replace.
func (m maker) replaceCase(t require.TestingT, form configpatch.Form) (mirrors.Set, base) {
	set := m.set(form == configpatch.Legacy, false, pick(m, 10, 30, 60))
	legacy := m.set(true, true, 30)
	documents := m.set(false, true, 30)
	if m.chance(50) { // an older version of the same input
		legacy, documents = m.near(over(legacy, set, has(set)), true), m.near(set, false)
		for k, x := range legacy.Mirrors { // the legacy form has one flag
			for i := range x.Endpoints {
				x.Endpoints[i].OverridePath = x.Endpoints[0].OverridePath
			}
			legacy.Mirrors[k] = x
		}
	}
	return set, m.base(t, legacy, documents)
}

func TestReplaceProperties(t *testing.T) {
	eachCase(t, func(t *testing.T, m maker) {
		form := pick(m, configpatch.Legacy, configpatch.Documents)
		set, b := m.replaceCase(t, form)
		opts := []configpatch.Option{configpatch.WithForm(form)}
		section := form == configpatch.Legacy && m.chance(30)
		switch {
		case section:
			opts = append(opts, configpatch.WithSection())
		case !b.legacy && form == configpatch.Documents:
			opts = append(opts, configpatch.DocumentsOnly())
		case !b.legacy:
			return // the legacy form is not for such a configuration
		}
		bracket := func(s mirrors.Set) bool {
			starts := func(k string) bool { return strings.HasPrefix(k, "[") }
			return slices.ContainsFunc(slices.Collect(maps.Keys(s.Mirrors)), starts) || slices.ContainsFunc(slices.Collect(maps.Keys(s.Config)), starts)
		}
		r, err := configpatch.Replace(set, version(t, "1.13.9"), opts...)
		if form == configpatch.Legacy && !section && bracket(set) {
			require.ErrorContains(t, err, `begins with "["`)
			return
		}
		if len(set.Mirrors)+len(set.Config) == 0 && !section {
			require.ErrorContains(t, err, "no entry")
			return
		}
		require.NoError(t, err)
		assert.Equal(t, form == configpatch.Documents && bracket(set) && b.legacy, slices.ContainsFunc(r.Warnings, func(f mirrors.Finding) bool { return strings.Contains(f.Message, `"["`) }))

		patches := r.Patches.Strings()
		before := effective(t, b.data)
		match := has(set)
		if section {
			if !b.legacy {
				return
			}
			cfg, err := configloader.NewFromBytes(b.data)
			require.NoError(t, err)
			// The whole section is replaced; documents that the Set does not name stay.
			var others []talosconfig.Document
			for _, d := range cfg.Documents() {
				if _, ok := d.(*v1alpha1.Config); !ok {
					others = append(others, d)
				}
			}
			before = documentsSay(others)
		}
		want := over(before, set, match)
		if form == configpatch.Documents { // the one limit, which is reported
			leftOver(b.data, set, &want)
		}

		once := applyPatches(t, b.data, patches...)
		sameSet(t, want, effective(t, once))
		read, err := configpatch.Read(once)
		require.NoError(t, err)
		sameSet(t, want, read.Set)
		assert.Equal(t, rest(t, b.data), rest(t, once), "the rest")
		if valid(t, b.data) {
			assert.True(t, valid(t, once), "the result validates, as the base did")
		}
		twice := applyPatches(t, once, patches...)
		assert.Equal(t, string(once), string(twice), "applied twice")
		for cut := 1; cut < len(patches); cut++ { // cut off and started again
			half := applyPatches(t, b.data, patches[:cut]...)
			if len(half) == 0 {
				continue // nothing but these documents was there, and Talos loads no empty configuration
			}
			sameSet(t, want, effective(t, applyPatches(t, half, patches...)), "cut after", cut)
		}
	})
}

func has(s mirrors.Set) func(section, key string) bool {
	return func(section, key string) bool {
		if section == "mirrors" {
			_, ok := s.Mirrors[key]
			return ok
		}
		_, ok := s.Config[key]
		return ok
	}
}

func documentsSay(docs []talosconfig.Document) mirrors.Set {
	s := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for _, d := range docs {
		switch d := d.(type) {
		case *cri.RegistryMirrorConfigV1Alpha1:
			m := mirrors.Mirror{SkipFallback: d.SkipFallback()}
			for _, e := range d.Endpoints() {
				m.Endpoints = append(m.Endpoints, mirrors.Endpoint{URL: e.Endpoint(), OverridePath: e.OverridePath()})
			}
			s.Mirrors[d.Name()] = m
		case *cri.RegistryAuthConfigV1Alpha1:
			c := s.Config[d.Name()]
			c.Auth = &mirrors.Auth{Username: d.Username(), Password: mirrors.NewSecret(d.Password()), Auth: mirrors.NewSecret(d.Auth()), IdentityToken: mirrors.NewSecret(d.IdentityToken())}
			s.Config[d.Name()] = c
		case *cri.RegistryTLSConfigV1Alpha1:
			c := s.Config[d.Name()]
			c.TLS = &mirrors.TLS{CA: mirrors.PEM(d.CA()), InsecureSkipVerify: d.InsecureSkipVerify()}
			if id := d.ClientIdentity(); id != nil {
				c.TLS.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(id.Crt), Key: mirrors.NewSecret(string(id.Key))}
			}
			s.Config[d.Name()] = c
		}
	}
	return s
}

// leftOver adds what shows through from a legacy entry whose key begins with "[".
func leftOver(data []byte, set mirrors.Set, want *mirrors.Set) {
	cfg, err := configloader.NewFromBytes(data)
	if err != nil || cfg.RawV1Alpha1() == nil || cfg.RawV1Alpha1().MachineConfig == nil {
		return
	}
	for host, c := range cfg.RawV1Alpha1().MachineConfig.MachineRegistries.RegistryConfig {
		if _, named := set.Config[host]; !named || !strings.HasPrefix(host, "[") {
			continue
		}
		only := cfg.RawV1Alpha1().DeepCopy()
		only.MachineConfig.MachineRegistries = v1alpha1.RegistriesConfig{RegistryConfig: map[string]*v1alpha1.RegistryConfig{host: c}}
		w := want.Config[host]
		if a, ok := only.RegistryAuthConfigs()[host]; ok && w.Auth == nil {
			w.Auth = &mirrors.Auth{Username: a.Username(), Password: mirrors.NewSecret(a.Password()), Auth: mirrors.NewSecret(a.Auth()), IdentityToken: mirrors.NewSecret(a.IdentityToken())}
		}
		if x, ok := only.RegistryTLSConfigs()[host]; ok && w.TLS == nil {
			w.TLS = &mirrors.TLS{CA: mirrors.PEM(x.CA()), InsecureSkipVerify: x.InsecureSkipVerify()}
			if id := x.ClientIdentity(); id != nil {
				w.TLS.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(id.Crt), Key: mirrors.NewSecret(string(id.Key))}
			}
		}
		if w != (mirrors.HostConfig{}) {
			want.Config[host] = w
		}
	}
}

func TestConvergeProperties(t *testing.T) {
	eachCase(t, func(t *testing.T, m maker) {
		form := pick(m, configpatch.Legacy, configpatch.Documents)
		uniform := form == configpatch.Legacy
		legacy := m.set(true, true, 30)
		documents := m.set(false, true, 20)
		b := m.base(t, legacy, documents)
		before := effective(t, b.data)
		var set mirrors.Set
		if m.chance(70) {
			set = m.near(before, true)
		} else {
			set = m.set(uniform, false, 30)
		}
		owned := func(string, string) bool { return true }
		var opts []configpatch.Option
		v := version(t, "1.13.9")
		if m.chance(50) {
			opts = append(opts, configpatch.WithForm(form))
		} else if uniform {
			v = version(t, "1.11.6")
			if b.documents {
				v = version(t, "1.12.0")
			}
		}
		byURL := true // Talos deletes one endpoint of a document by its URL from 1.12.5 on
		if v == version(t, "1.13.9") && m.chance(50) {
			v, byURL = version(t, "1.12.4"), false
		}
		if m.chance(50) {
			names := map[string]bool{}
			for _, k := range slices.Concat(registries, httpsHosts, httpHosts) {
				if m.chance(40) {
					names[k] = true
				}
			}
			for k := range set.Mirrors {
				if !names[k] {
					delete(set.Mirrors, k)
				}
			}
			for k := range set.Config {
				if !names[k] {
					delete(set.Config, k)
				}
			}
			owned = func(_, key string) bool { return names[key] }
			opts = append(opts, configpatch.Own(slices.Collect(maps.Keys(names))...))
		}
		if set.Check().Err() != nil {
			return // near keeps a repeated endpoint now and then
		}
		plan, err := configpatch.Converge(b.data, set, v, opts...)
		if err != nil && !b.legacy {
			none := form == configpatch.Legacy && strings.Contains(err.Error(), "no v1alpha1 document")
			empty := len(set.Mirrors) == 0 && strings.Contains(err.Error(), "nothing is left")
			require.True(t, none || empty, "%v", err)
			return
		}
		require.NoError(t, err)
		want := over(before, set, owned)
		for _, e := range plan.After.Entries {
			assert.False(t, e.Origin == configpatch.OriginBoth && owned("", e.Name), "%s %s is hidden", e.Kind, e.Name)
		}
		if plan.Patch == nil {
			assert.Equal(t, string(b.data), string(plan.Result()))
			assert.Empty(t, plan.Changes)
			sameSet(t, want, before, "no patch, and yet a difference")
			return
		}
		text := string(plan.Patch.Bytes())
		if !byURL {
			assert.NotContains(t, text, "\n      $patch: delete", "of an endpoint")
		}
		after := applyPatches(t, b.data, text)
		assert.Equal(t, string(after), string(plan.Result()))
		sameSet(t, want, effective(t, after), text)
		assert.Equal(t, rest(t, b.data), rest(t, after), "the rest")
		if valid(t, b.data) {
			assert.True(t, valid(t, after), "the result validates, as the base did")
		}
		assert.NotEmpty(t, plan.Changes)
		again, err := configpatch.Converge(after, set, v, opts...)
		require.NoError(t, err)
		assert.Nil(t, again.Patch, "a second time: %s", again.Changes)
		authChanged := false
		for _, host := range slices.Concat(httpsHosts, httpHosts) {
			x, y := before.Config[host].Auth, want.Config[host].Auth
			authChanged = authChanged || (x == nil) != (y == nil) || x != nil && *x != *y
		}
		assert.Equal(t, authChanged, plan.Reboot, "reboot")
	})
}

func TestMigrateProperties(t *testing.T) {
	eachCase(t, func(t *testing.T, m maker) {
		b := m.base(t, m.set(true, true, 30), m.set(false, true, 20))
		after, err := configpatch.Migrate(b.data)
		require.NoError(t, err)
		sameSet(t, effective(t, b.data), effective(t, after))
		assert.Equal(t, rest(t, b.data), rest(t, after))
		if valid(t, b.data) {
			assert.True(t, valid(t, after))
		}
		read, err := configpatch.Read(after)
		require.NoError(t, err)
		for _, e := range read.Entries {
			assert.Equal(t, configpatch.OriginDocument, e.Origin, e.Name)
		}
		again, err := configpatch.Migrate(after)
		require.NoError(t, err)
		assert.Equal(t, string(after), string(again))
	})
}

func TestReadProperties(t *testing.T) {
	eachCase(t, func(t *testing.T, m maker) {
		b := m.base(t, m.set(true, true, 30), m.set(false, true, 30))
		read, err := configpatch.Read(b.data)
		require.NoError(t, err)
		sameSet(t, effective(t, b.data), read.Set)
		// YAML 1.1 counts three more characters as line breaks.
		lines := strings.Split(strings.NewReplacer("\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(b.data)), "\n")
		for _, e := range read.Entries {
			require.Positive(t, e.Line, e)
			near := strings.Join(lines[e.Line-1:min(len(lines), e.Line+3)], "\n")
			switch {
			case e.Origin != configpatch.OriginLegacy:
				assert.Contains(t, near, "apiVersion: v1alpha1\nkind: Registry")
			case e.Kind == configpatch.KindMirror:
				assert.Contains(t, near, e.Name)
			default:
				assert.Contains(t, near, e.Kind.String()+":")
			}
			assert.Equal(t, e.Origin == configpatch.OriginBoth, e.Hidden > 0, e)
		}
	})
}
