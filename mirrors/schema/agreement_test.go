package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

// plain is a schema as encoding/json decodes it, which is what validators take.
func plain(t testing.TB, s map[string]any) map[string]any {
	t.Helper()
	text, err := schema.Encode(s)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	return v.(map[string]any)
}

func compile(t testing.TB, doc any, draft *jsonschema.Draft) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	require.NoError(t, c.AddResource("https://charts.example.com/values.schema.json", doc))
	s, err := c.Compile("https://charts.example.com/values.schema.json")
	require.NoError(t, err)
	return s
}

// part is the schema without what only the root of a document has.
func part(s map[string]any) map[string]any {
	delete(s, "$schema")
	delete(s, "$id")
	return s
}

// judges are the ways to ask the schema. They have to agree.
type judges struct {
	whole    *jsonschema.Schema // as it is
	embedded *jsonschema.Schema // as it is, below a property of a larger schema
	twice    *jsonschema.Schema // without $id, below two properties
	older    *jsonschema.Schema // the same, in draft-07
	mirrors  *jsonschema.Schema // its mirrors alone
	opts     []mirrors.CheckOption
}

func newJudges(t testing.TB, opts []schema.Option, check []mirrors.CheckOption) *judges {
	t.Helper()
	one := func() map[string]any { return plain(t, schema.JSONSchema(opts...)) }
	chart := func(properties map[string]any) map[string]any { return map[string]any{"properties": properties} }
	mirrorsAlone := one()["properties"].(map[string]any)["mirrors"]
	return &judges{
		whole:    compile(t, one(), jsonschema.Draft2020),
		embedded: compile(t, chart(map[string]any{"registries": one()}), jsonschema.Draft2020),
		twice:    compile(t, chart(map[string]any{"other": part(one()), "registries": part(one())}), jsonschema.Draft2020),
		older:    compile(t, chart(map[string]any{"registries": part(one())}), jsonschema.Draft7),
		mirrors:  compile(t, chart(map[string]any{"mirrors": mirrorsAlone}), jsonschema.Draft7),
		opts:     check,
	}
}

// refuse is what the schema says of an instance.
func (j *judges) refuse(t testing.TB, instance any) error {
	t.Helper()
	err := j.whole.Validate(instance)
	for name, s := range map[string]*jsonschema.Schema{"embedded": j.embedded, "twice": j.twice, "draft-07": j.older} {
		if other := s.Validate(map[string]any{"registries": instance}); (other == nil) != (err == nil) {
			t.Fatalf("%s says %v, the schema itself %v\n%s", name, other, err, encoded(t, instance))
		}
	}
	if o, ok := instance.(map[string]any); ok {
		alone, has := o["mirrors"]
		if !has {
			alone = map[string]any{}
		}
		if other := j.mirrors.Validate(map[string]any{"mirrors": alone}); other != nil && err == nil {
			t.Fatalf("the part mirrors says %v, the schema nothing\n%s", other, encoded(t, instance))
		}
	}
	return err
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// errorsOf is what Decode and Check refuse.
func errorsOf(t testing.TB, text string, opts []mirrors.CheckOption) (found mirrors.Findings) {
	t.Helper()
	src, err := mirrors.Decode([]byte(text))
	if err != nil {
		var e *mirrors.Error
		require.True(t, errors.As(err, &e), "%T", err)
		return e.Findings
	}
	for _, f := range src.Check(opts...) {
		if f.Severity == mirrors.SeverityError {
			found = append(found, f)
		}
	}
	return found
}

// tally counts what was compared, so that no direction is empty.
type tally struct {
	refused, accepted int
	byRule            map[string]int // instances with an error of the rule that the schema has to refuse
	missed            map[string]int // of rules that it states in part or not at all
}

var extents = func() map[string]schema.Extent {
	m := map[string]schema.Extent{}
	for _, c := range schema.Coverages() {
		m[c.Rule] = c.JSON.Extent
	}
	return m
}()

// statedPart reports whether an error of a rule that is stated in part is in the
// part. It may say no where it is, when the instance has what the note leaves out.
func statedPart(rule, text string) bool {
	switch rule {
	case mirrors.RuleWrongKind: // the instance is JSON
		return true
	case mirrors.RuleEndpointSyntax, mirrors.RuleConfigKey:
		return !strings.ContainsFunc(text, func(r rune) bool { return r > 0xffff })
	case mirrors.RuleEndpointPath, mirrors.RuleOverridePath:
		return !strings.ContainsAny(text, `%\`) && !strings.Contains(text, "/.")
	}
	return false
}

// compare judges one instance by the schema and by Decode and Check.
func (j *judges) compare(t testing.TB, instance any, n *tally) {
	t.Helper()
	text := encoded(t, instance)
	refused := j.refuse(t, instance)
	found := errorsOf(t, text, j.opts)
	if slices.ContainsFunc(found, func(f mirrors.Finding) bool { return f.Rule == mirrors.RuleSyntax || f.Rule == mirrors.RuleInputSize }) {
		return // a text that YAML does not read, such as a very long key: there is nothing to compare
	}
	if refused != nil && len(found) == 0 {
		t.Fatalf("the schema refuses what Check takes: %v\n%s", refused, text)
	}
	seen := map[string]bool{}
	for _, f := range found {
		if seen[f.Rule] {
			continue
		}
		seen[f.Rule] = true
		if extents[f.Rule] == schema.Whole || extents[f.Rule] == schema.Part && statedPart(f.Rule, text) {
			if refused == nil {
				t.Fatalf("the schema takes what Check refuses: %v [%s]\n%s", f, f.Rule, text)
			}
			n.byRule[f.Rule]++
		} else if refused == nil {
			n.missed[f.Rule]++
		}
	}
	if refused != nil {
		n.refused++
	} else {
		n.accepted++
	}
}

func newTally() *tally { return &tally{byRule: map[string]int{}, missed: map[string]int{}} }

// instanceOf is the value of a YAML text as JSON, if it has one.
func instanceOf(text string) (any, bool) {
	root, err := mirrors.ReadDocument([]byte(text))
	var v any
	if err != nil || root.Decode(&v) != nil {
		return nil, false
	}
	v, ok := jsonValue(v)
	if !ok {
		return nil, false
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	v, err = jsonschema.UnmarshalJSON(strings.NewReader(string(j)))
	return v, err == nil
}

// jsonValue makes keys strings, as the converters from YAML to JSON do.
func jsonValue(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			e, ok := jsonValue(e)
			if !ok {
				return nil, false
			}
			v[k] = e
		}
	case map[any]any:
		m := map[string]any{}
		for k, e := range v {
			e, ok := jsonValue(e)
			if !ok {
				return nil, false
			}
			m[fmt.Sprint(k)] = e
		}
		return m, true
	case []any:
		for i, e := range v {
			e, ok := jsonValue(e)
			if !ok {
				return nil, false
			}
			v[i] = e
		}
	case string:
		return v, utf8.ValidString(v)
	}
	return v, true
}

// inputs are those of the tests of package mirrors, the chart values, and the
// hostile corpus at the places where a text can stand.
func inputs(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/inputs.json")
	require.NoError(t, err)
	var all []string
	require.NoError(t, json.Unmarshal(text, &all))
	files, err := filepath.Glob("../../testdata/hostile/*")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		if s := string(b); utf8.ValidString(s) && len(s) < 4096 {
			all = append(all, s, at(t, "https://m.example.com/"+s, "ghcr.io", "m.example.com", "u"), at(t, s, "ghcr.io", "m.example.com", "u"),
				at(t, "https://m.example.com", s, "m.example.com", "u"), at(t, "https://m.example.com", "ghcr.io", s, "u"),
				at(t, "https://m.example.com", "ghcr.io", "m.example.com", s))
		}
	}
	return append(all, cozystack(t))
}

// at is a Set with texts at some of its places.
func at(t testing.TB, url, registry, host, username string) string {
	t.Helper()
	return encoded(t, map[string]any{
		"mirrors": map[string]any{registry: map[string]any{"endpoints": []any{url}}},
		"config":  map[string]any{host: map[string]any{"auth": map[string]any{"username": username, "password": "made-up"}}},
	})
}

// cozystack is the registryMirrors of a chart's values.
func cozystack(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../testdata/cozystack/values.yaml")
	require.NoError(t, err)
	var values struct {
		Talos struct {
			RegistryMirrors map[string]any `yaml:"registryMirrors"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &values))
	require.NotEmpty(t, values.Talos.RegistryMirrors)
	return encoded(t, map[string]any{"mirrors": values.Talos.RegistryMirrors})
}

// The schema refuses nothing that Check takes, and all that it says it refuses.
func TestAgreement(t *testing.T) {
	for name, opts := range map[string]struct {
		schema []schema.Option
		check  []mirrors.CheckOption
	}{
		"plain":       {},
		"image cache": {[]schema.Option{schema.WithImageCache()}, []mirrors.CheckOption{mirrors.WithImageCache()}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudges(t, opts.schema, opts.check)
			n := newTally()
			without := 0
			for _, text := range inputs(t) {
				instance, ok := instanceOf(text)
				if !ok {
					without++
					continue
				}
				j.compare(t, instance, n)
				// The text itself may have mistakes that its value no longer has.
				if err := j.whole.Validate(instance); err != nil && len(errorsOf(t, text, opts.check)) == 0 {
					t.Errorf("the schema refuses what Check takes: %v\n%s", err, text)
				}
			}
			t.Logf("inputs: %d refused, %d taken, %d that are no value of JSON", n.refused, n.accepted, without)
			assert.Greater(t, n.refused, 300)
			assert.Greater(t, n.accepted, 300)

			r := rand.New(rand.NewSource(1))
			for range 5_000 {
				j.compare(t, randomInput(r, nil), n)
			}
			for range 1_000 {
				address := randomIPv6(r)
				j.compare(t, map[string]any{"mirrors": map[string]any{address: map[string]any{}, "ghcr.io": map[string]any{"endpoints": []any{"https://" + address}}}}, n)
			}
			t.Logf("with generated ones: %d refused, %d taken", n.refused, n.accepted)
			assert.Greater(t, n.refused, 2_000)
			assert.Greater(t, n.accepted, 2_000)
			for _, c := range schema.Coverages() {
				if name != "plain" && c.Rule == mirrors.RuleSkipFallbackAlone {
					assert.Zero(t, n.byRule[c.Rule])
					continue
				}
				if c.JSON.Extent == schema.Whole {
					t.Logf("%s: %d", c.Rule, n.byRule[c.Rule])
					assert.Greater(t, n.byRule[c.Rule], 10, c.Rule)
				}
			}
			t.Logf("in part: %v", n.byRule)
			t.Logf("left to Check: %v", n.missed)
			assert.Positive(t, n.missed[mirrors.RuleTLSOnHttp])
		})
	}
}

// Every path of up to three of these segments, with and without overridePath.
func TestPaths(t *testing.T) {
	j := newJudges(t, nil, nil)
	n := newTally()
	segments := []string{"v2", "v2x", "v", "x", ".v2", "..", "", "%76"}
	paths := []string{""}
	for from := 0; len(paths) < 1+8+64+512; {
		to := len(paths)
		for _, p := range paths[from:to] {
			for _, s := range segments {
				paths = append(paths, p+"/"+s)
			}
		}
		from = to
	}
	for _, p := range paths {
		url := "https://m.example.com" + p
		for _, m := range []map[string]any{
			{"endpoints": []any{url}},
			{"endpoints": []any{url}, "overridePath": true},
			{"endpoints": []any{map[string]any{"url": url, "overridePath": true}}},
			{"endpoints": []any{map[string]any{"url": url}}, "overridePath": false},
		} {
			j.compare(t, map[string]any{"mirrors": map[string]any{"ghcr.io": m}}, n)
		}
	}
	t.Logf("%d refused, %d taken, of which Check refuses %v", n.refused, n.accepted, n.missed)
	assert.Greater(t, n.byRule[mirrors.RuleEndpointPath], 30)
	assert.Greater(t, n.byRule[mirrors.RuleOverridePath], 30)
	assert.Greater(t, n.accepted, 1000)
}

// randomInput makes a value that is near to one that Decode takes.
func randomInput(r *rand.Rand, texts []string) any {
	rarely := func() bool { return r.Intn(40) == 0 }
	text := func(good, bad []string) string {
		switch {
		case len(texts) > 0 && r.Intn(8) == 0:
			return texts[r.Intn(len(texts))]
		case r.Intn(12) == 0:
			return bad[r.Intn(len(bad))]
		}
		return good[r.Intn(len(good))]
	}
	// other is a value of another kind, or null.
	other := func() any {
		return []any{nil, true, json.Number("5"), "text", "", []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": nil}}[r.Intn(9)]
	}
	value := func(v any) any {
		if rarely() {
			return other()
		}
		return v
	}
	object := func(fields map[string]func() any) map[string]any {
		m := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(fields)) { // the same from the same seed
			if r.Intn(2) == 0 {
				m[name] = value(fields[name]())
			}
		}
		if rarely() {
			m[[]string{"x", "endpoint", "cert", "Url", ""}[r.Intn(5)]] = other()
		}
		return m
	}
	boolean := func() any { return r.Intn(2) == 0 }
	url := func() any { return text(goodURLs, badURLs) }
	endpoint := func() any {
		if r.Intn(2) == 0 {
			return url()
		}
		m := map[string]any{"url": value(url())}
		if r.Intn(2) == 0 {
			m["overridePath"] = value(boolean())
		}
		if rarely() {
			delete(m, "url")
		}
		return m
	}
	mirror := func() any {
		return object(map[string]func() any{
			"endpoints": func() any {
				es := []any{}
				for range r.Intn(4) {
					es = append(es, value(endpoint()))
				}
				return es
			},
			"overridePath": func() any { return r.Intn(3) == 0 },
			"skipFallback": boolean,
		})
	}
	one := func(good ...string) func() any {
		return func() any { return text(good, []string{"", "made up", "\x00"}) }
	}
	host := func() any {
		return object(map[string]func() any{
			"auth": func() any {
				whole := []map[string]any{{"username": "u", "password": "made-up"}, {"identityToken": "made-up"}, {"auth": "dTptYWRlLXVw"}}[r.Intn(3)]
				more := object(map[string]func() any{"username": one("u"), "password": one("made-up"), "auth": one("dTptYWRlLXVw", "dTpt\nYWRlLXVw"), "identityToken": one("made-up")})
				for _, name := range slices.Sorted(maps.Keys(more)) {
					if r.Intn(4) == 0 {
						whole[name] = more[name]
					}
				}
				if r.Intn(6) == 0 {
					delete(whole, []string{"username", "password", "identityToken", "auth"}[r.Intn(4)])
				}
				return whole
			},
			"tls": func() any {
				return object(map[string]func() any{
					"ca": one(exampleCA, "-----BEGIN made-up", "made-up", ""),
					"clientIdentity": func() any {
						return object(map[string]func() any{"crt": one(exampleCA), "key": one("-----BEGIN made-up")})
					},
					"insecureSkipVerify": boolean,
				})
			},
		})
	}
	root := map[string]any{}
	if r.Intn(8) > 0 {
		ms := map[string]any{}
		for range r.Intn(4) {
			ms[text(goodRegistries, badRegistries)] = value(mirror())
		}
		root["mirrors"] = value(ms)
	}
	if r.Intn(3) > 0 {
		cs := map[string]any{}
		for range r.Intn(3) {
			cs[text(goodHosts, badHosts)] = value(host())
		}
		root["config"] = value(cs)
	}
	if rarely() {
		root["configs"] = other()
	}
	return root
}

// randomIPv6 is near to an IPv6 address in brackets.
func randomIPv6(r *rand.Rand) string {
	parts := make([]string, 5+r.Intn(5))
	for i := range parts {
		parts[i] = strconv.FormatInt(int64(i), 16)
	}
	for range r.Intn(4) {
		parts[r.Intn(len(parts))] = []string{"", "", "0", "ffff", "Ab", "12345", "192.0.2.1", "256.0.0.1", "g"}[r.Intn(9)]
	}
	if r.Intn(4) == 0 {
		parts[len(parts)-1] = "192.0.2.1"
	}
	return "[" + strings.Join(parts, ":") + "]"
}

// exampleCA is base64 of a certificate of nobody, valid until 2120.
var exampleCA = func() string {
	for _, r := range mirrors.Rules() {
		if r.Name == mirrors.RuleTLSOnHttp {
			_, ca, _ := strings.Cut(r.Good, "ca: ")
			return strings.TrimSuffix(ca, "}\n")
		}
	}
	panic("no example has a certificate")
}()

var (
	goodURLs = []string{"https://m.example.com", "http://m.example.com:5000", "http://m.example.com:5000", "http://m.example.com:5000", "https://m.example.com/", "https://m.example.com/v2", "https://m.example.com/v2/x", "https://m.example.com/v2/x/",
		"https://m.example.com/x", "https://m.example.com/x/v2/y", "https://m.example.com/v2/..", "https://m.example.com/v2/./x", "https://m.example.com//v2//x", "https://m.example.com/v2/x/v2", "https://m.example.com/v2/v2x",
		"https://m.example.com/%76%32/x", "https://m.example.com/v2/%2e%2e", "https://[fd00::1]:5000", "https://[::]", "https://[::ffff:192.0.2.1]", "https://[1:2:3:4:5:6:7:8]", "https://[1:2:3:4:5:6:192.0.2.1]", "https://[64:ff9b::192.0.2.1]/v2",
		"HTTP://m.example.com", "https://m_1", "https://m.", "https://M.example.com/a@b", "https://m:00080", "https://m:65535/v2/a/b", "https://\u00fc.example.com/\u00fc", "https://m.example.com/{x}",
		"https://m.example.com/...", "https://m.example.com/v2/..a", "https://m.example.com/.v2/x", "https://m.example.com/v2x", "https://m.example.com/x/v2"}
	badURLs = []string{"", " ", "m.example.com", "m.example.com:5000", "ftp://m.example.com", "https:/m", "https:m", "http:5000", "://m", "https://", "https:///v2", "https://u:made-up@m.example.com", "https://@m", "https://m?x", "https://m/#", "https://m/?x=@",
		"https://m:0", "https://m:65536", "https://m:", "https://m:x", "https://m:+80", "https://[fd00::1", "https://[fd00::1]x", "https://fd00::1", "https://[192.0.2.1]", "https://[::1::2]", "https://[1:2:3:4:5:6:7:8:9]", "https://[1:2:3:4:5:6:7]",
		"https://[12345::]", "https://[1::2:3:4:5:6:7:8]", "https://[1:2:3:4:5:6:7::8]", "https://[:::]", "https://[:1]", "https://[1:]", "https://[::1.2.3]", "https://[::256.0.0.1]", "https://[::01.2.3.4]", "https://[1:2:3:4:5:6:7:192.0.2.1]", "https://[fe80::1%eth0]", "https://[fe80::1%25eth0]:5000", "https://[fe80::1%25a%2Db]", "https://[fe80::1%2525eth0]", "https://[fe80::1%25]", "https://[fe80::1%25^]",
		"https://[fe80::1%25%41%zz]", "https://[fe80::1%25%23]", "https://[fe80::1%25%5e]", "https://[]", "https://m..x", "https://.m", "https://m/%", "https://m/%2", "https://m/%zz", "https://m/\u200b", "https://m/ ", "https://m\n", "https://m/\u00a0", "https://m/\ufffd", "https://m/\U000e0001", "https://a b", "https://$(id)", "https://m,x", "https://m\\x", "https://m^"}
	goodRegistries = []string{"ghcr.io", "docker.io", "*", "localhost", "cache:5000", "quay.io:443", "[fd00::1]:5000", "[::]", "[1:2:3:4:5:6:7:8]", "[64:ff9b::192.0.2.1]", "a-b.example.com", "192.0.2.1", "index.docker.io:443", "a.b:00080"}
	badRegistries  = []string{"", "cache", "GHCR.io", "https://ghcr.io", "ghcr.io/x", "*.gcr.io", "**", "index.docker.io", "registry-1.docker.io", "hub.docker.com", "a..b", ".a", "a.", "-a.b", "a-.b", "a_b.c", "a.b:", "a.b:0", "a.b:70000", "a.b:x", "fd00::1", "[fd00::1",
		"[FD00::1]", "[::ffff:192.0.2.1]", "[0:0::0:ffff:192.0.2.1]", "[::FFFF:192.0.2.1]", "[192.0.2.1]", "[fe80::1%25eth0]", "[::1]x", "u@h", "u:p@h:80", "a b.c", "\u00e4.example.com", "a.b\n", "_default", ":5000", "*:5000"}
	goodHosts = []string{"m.example.com", "m.example.com:5000", "m.example.com:5000", "m.example.com:5000", "ghcr.io", "registry-1.docker.io", "docker.io", "[fd00::1]:5000", "a b"[:1], "*x", "a%b", "\u00e4", "m.", "M", "[", "index.docker.io"}
	badHosts  = []string{"", "*", "*", "*", "https://m.example.com", "m/x", "u:p@m", "m?", "m#", "a b", "m\n", "\u200b", "\u00a0m", "m\x7f", "\ufffd", "\U000e0001"}
)

// Any text, at any place, by any draft.
func FuzzSchema(f *testing.F) {
	j := newJudges(f, nil, nil)
	for i, text := range append(append(slices.Clone(badURLs), badRegistries...), badHosts...) {
		f.Add(int64(i), text)
	}
	for i, text := range append(append(slices.Clone(goodURLs), goodRegistries...), goodHosts...) {
		f.Add(int64(i), text)
	}
	f.Fuzz(func(t *testing.T, seed int64, text string) {
		if !utf8.ValidString(text) {
			return // JSON has no such text
		}
		n := newTally()
		r := rand.New(rand.NewSource(seed))
		for range 4 {
			j.compare(t, randomInput(r, []string{text, "https://" + text, "https://m.example.com/" + text, "https://[" + text + "]", "[" + text + "]", "v2/" + text}), n)
		}
		for _, in := range []string{at(t, text, "ghcr.io", "m.example.com", "u"), at(t, "https://m.example.com/v2/x", text, "m", "u"), at(t, "https://m.example.com", "ghcr.io", text, text), text} {
			if instance, ok := instanceOf(in); ok {
				j.compare(t, instance, n)
			}
		}
	})
}
