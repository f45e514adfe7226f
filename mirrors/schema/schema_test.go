package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

var update = flag.Bool("update", false, "write the golden files")

// The schemas in docs are what the functions return: an editor can take them from there.
func TestGolden(t *testing.T) {
	for file, s := range map[string]map[string]any{
		"registries.schema.json":  schema.JSONSchema(),
		"registries.openapi.json": schema.OpenAPI(),
	} {
		text, err := schema.Encode(s)
		require.NoError(t, err)
		for i, b := range text {
			require.True(t, b == '\n' || b >= ' ' && b < 0x7f, "%s: byte 0x%02x at offset %d", file, b, i)
		}
		path := filepath.Join("../../docs", file)
		if *update {
			require.NoError(t, os.WriteFile(path, text, 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(got), "run go test -run TestGolden -update")
	}
}

func TestEncode(t *testing.T) {
	text, err := schema.Encode(map[string]any{"pattern": "<\u00ad\u2028\U0001f600&\x7f", "$id": "x"})
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"$id\": \"x\",\n  \"pattern\": \"<\\u00ad\\u2028\\ud83d\\ude00&\\u007f\"\n}\n", string(text))
	_, err = schema.Encode(map[string]any{"x": func() {}})
	assert.ErrorContains(t, err, "schema: json: unsupported type")
}

func TestMaxima(t *testing.T) {
	limits := func(opts ...schema.Option) (l []any) {
		ms := schema.OpenAPI(opts...)["properties"].(map[string]any)["mirrors"].(map[string]any)
		es := ms["additionalProperties"].(map[string]any)["properties"].(map[string]any)["endpoints"].(map[string]any)
		return append(l, ms["maxProperties"], es["maxItems"], schema.OpenAPI(opts...)["properties"].(map[string]any)["config"].(map[string]any)["maxProperties"])
	}
	assert.Equal(t, []any{int64(schema.MaxMirrors), int64(schema.MaxEndpoints), int64(schema.MaxConfig)}, limits())
	assert.Equal(t, []any{int64(8), int64(4), int64(6)}, limits(schema.WithMaxima(8, 4, 6)))
	assert.Equal(t, []any{int64(schema.MaxMirrors), int64(4), int64(schema.MaxConfig)}, limits(schema.WithMaxima(0, 4, -1)))
	assert.Equal(t, schema.JSONSchema(), schema.JSONSchema(schema.WithMaxima(8, 4, 6)))
}

// What a caller changes in one schema is in no other.
func TestFresh(t *testing.T) {
	for _, make := range []func(...schema.Option) map[string]any{schema.JSONSchema, schema.OpenAPI} {
		before, err := schema.Encode(make())
		require.NoError(t, err)
		spoil(make())
		after, err := schema.Encode(make())
		require.NoError(t, err)
		assert.True(t, bytes.Equal(before, after))
	}
}

func spoil(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			spoil(e)
		}
		v["spoilt"] = true
	case []any:
		for i, e := range v {
			spoil(e)
			v[i] = "spoilt"
		}
	}
}

// Only what a deep copy of an unstructured object takes is in the trees, no
// keyword that draft-07 does not have or a CRD may not have, and no reference.
func TestKeywords(t *testing.T) {
	known := map[string][]string{
		"JSON": {"$schema", "$id", "$comment", "title", "description", "examples", "default", "type", "const", "anyOf", "not", "if", "then", "else",
			"properties", "patternProperties", "required", "additionalProperties", "items", "maxItems", "uniqueItems", "minLength", "pattern"},
		"OpenAPI": {"description", "type", "properties", "required", "additionalProperties", "items", "maxItems", "minLength", "maxLength", "maxProperties", "pattern",
			"x-kubernetes-validations", "x-kubernetes-map-type", "x-kubernetes-list-type"},
	}
	for name, s := range map[string]map[string]any{"JSON": schema.JSONSchema(), "OpenAPI": schema.OpenAPI()} {
		n := 0
		var walk func(v any, names bool)
		walk = func(v any, names bool) {
			switch v := v.(type) {
			case map[string]any:
				for k, e := range v {
					n++
					if !names {
						assert.Contains(t, known[name], k, name)
					}
					switch {
					case !names && slices.Contains([]string{"examples", "enum", "const", "default", "x-kubernetes-validations"}, k): // values
					case !names && (k == "properties" || k == "patternProperties"):
						walk(e, true)
					default:
						walk(e, false)
					}
					if name == "OpenAPI" && !names && k == "type" {
						switch e {
						case "string":
							assert.Contains(t, v, "maxLength")
						case "array":
							assert.Contains(t, v, "maxItems")
						}
						if v["additionalProperties"] != nil {
							assert.Contains(t, v, "maxProperties")
						}
					}
				}
			case []any:
				for _, e := range v {
					walk(e, false)
				}
			case string, bool, int64:
			default:
				t.Errorf("%T", v)
			}
		}
		walk(s, false)
		assert.Greater(t, n, 50)
	}
}

// sample is an entry of testdata/samples.yaml.
type sample struct {
	Name    string
	Rule    string
	Input   any
	Message string
}

func samples(t testing.TB) (all []sample) {
	t.Helper()
	text, err := os.ReadFile("testdata/samples.yaml")
	require.NoError(t, err)
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	require.NoError(t, dec.Decode(&all))
	require.Greater(t, len(all), 50)
	return all
}

func TestSamples(t *testing.T) {
	j := newJudges(t, nil, nil)
	n := newTally()
	seen := map[string]bool{}
	for _, s := range samples(t) {
		instance, ok := instanceOf(encoded(t, s.Input))
		require.True(t, ok)
		j.compare(t, instance, n)
		refused := j.refuse(t, instance)
		found := errorsOf(t, encoded(t, instance), nil)
		if s.Rule == "" {
			assert.NoError(t, refused, s.Name)
			assert.Empty(t, found, s.Name)
			continue
		}
		seen[s.Rule] = true
		assert.True(t, slices.ContainsFunc(found, func(f mirrors.Finding) bool { return f.Rule == s.Rule }), "%s: %v", s.Name, found)
		if extents[s.Rule] == schema.None {
			assert.NoError(t, refused, s.Name)
		} else {
			assert.Error(t, refused, s.Name)
		}
	}
	for _, c := range schema.Coverages() {
		if c.JSON.Extent != schema.None || c.OpenAPI.Extent != schema.None {
			assert.Equal(t, c.Rule != mirrors.RuleEndpointCanonical, seen[c.Rule], "a sample for %s", c.Rule) // a warning without a form
		}
	}
}

// What a validator says of a mistake has no value of the instance: it may be a secret,
// also where it stands at a wrong place. It says the rule instead.
func TestMessages(t *testing.T) {
	j := newJudges(t, nil, nil)
	secrets := 0
	for _, s := range append(samples(t),
		// With a mistake below the key, which is in the place of that.
		sample{Name: "a registry with credentials", Input: map[string]any{"mirrors": map[string]any{"user:made-up@ghcr.io": map[string]any{"endpoints": 5}}}},
		sample{Name: "a host with credentials", Input: map[string]any{"config": map[string]any{"user:made-up@m": map[string]any{"auth": "made-up"}}}},
	) {
		instance, ok := instanceOf(encoded(t, s.Input))
		require.True(t, ok)
		for name, v := range map[string]*jsonschema.Schema{"2020-12": j.twice, "draft-07": j.older} {
			err := v.Validate(map[string]any{"registries": instance})
			if err == nil {
				assert.True(t, s.Rule == "" || extents[s.Rule] == schema.None, s.Name)
				continue
			}
			if strings.Contains(encoded(t, s.Input), "made-up") {
				secrets++
			}
			assert.NotContains(t, err.Error(), "made-up", "%s, %s", s.Name, name)
			for _, line := range strings.Split(err.Error(), "\n")[1:] { // the first names the schema
				assert.Regexp(t, `value must be '.*'$|got \w+, want |missing property|additional properties|are equal|validation failed`, line, "%s, %s", s.Name, name)
			}
		}
	}
	assert.Greater(t, secrets, 20)
}

// A keyword of which a validator shows the value, or nothing that can be understood,
// stands in conditions only, whose failures are not said.
func TestConditions(t *testing.T) {
	n := 0
	var walk func(v any, names bool)
	walk = func(v any, names bool) {
		s, ok := v.(map[string]any)
		if !ok {
			return
		}
		for k, e := range s {
			switch {
			case names:
				walk(e, false)
			case k == "if":
				n++
			case k == "not":
				assert.Equal(t, map[string]any{"const": s["const"]}, e)
			default:
				assert.NotContains(t, []string{"pattern", "propertyNames", "enum", "anyOf", "allOf", "oneOf", "minLength", "maxItems", "format"}, k)
				walk(e, k == "properties" || k == "patternProperties")
			}
		}
	}
	walk(schema.JSONSchema(), false)
	assert.Greater(t, n, 10)
}

// A text that the schema wants in its messages is no way to be taken.
func TestWantedTexts(t *testing.T) {
	j := newJudges(t, nil, nil)
	n := newTally()
	var texts []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if s, ok := v["const"].(string); ok {
				texts = append(texts, s)
			}
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(schema.JSONSchema())
	require.Greater(t, len(texts), 20)
	rules := mirrors.Rules()
	for _, text := range texts {
		_, names, ok := strings.Cut(strings.TrimSuffix(text, "]"), " [")
		require.True(t, ok, text)
		for _, name := range strings.Split(names, ", ") {
			assert.True(t, slices.ContainsFunc(rules, func(r mirrors.Rule) bool { return r.Name == name }), text)
		}
		host := map[string]any{"tls": map[string]any{"ca": text}}
		for _, instance := range []any{
			text,
			map[string]any{"mirrors": text}, map[string]any{"config": text},
			map[string]any{"mirrors": map[string]any{"ghcr.io": text}}, map[string]any{"mirrors": map[string]any{"hub.docker.com": text}},
			map[string]any{"mirrors": map[string]any{"x": text}}, map[string]any{"mirrors": map[string]any{"ghcr.io": map[string]any{"endpoints": text}}},
			map[string]any{"mirrors": map[string]any{"ghcr.io": map[string]any{"endpoints": []any{text}}}},
			map[string]any{"mirrors": map[string]any{"ghcr.io": map[string]any{"endpoints": []any{text}, "overridePath": true}}},
			map[string]any{"mirrors": map[string]any{"ghcr.io": map[string]any{"endpoints": []any{map[string]any{"url": text}}}}},
			map[string]any{"mirrors": map[string]any{"ghcr.io": map[string]any{"overridePath": text}}},
			map[string]any{"mirrors": map[string]any{"ghcr.io": map[string]any{"skipFallback": text}}},
			map[string]any{"config": map[string]any{"m": text}}, map[string]any{"config": map[string]any{"*": text}}, map[string]any{"config": map[string]any{"m": map[string]any{"auth": text}}},
			map[string]any{"config": map[string]any{"m": map[string]any{"auth": map[string]any{"auth": text}}}},
			map[string]any{"config": map[string]any{"m": host}},
			map[string]any{"config": map[string]any{"m": map[string]any{"tls": map[string]any{"clientIdentity": map[string]any{"crt": "-----BEGIN x", "key": text}}}}},
		} {
			j.compare(t, instance, n)
		}
	}
	assert.Zero(t, n.accepted)
	assert.Greater(t, n.refused, 300)
}

// The examples of the rules: what is an error of a rule that the schema states
// is refused, what is to be written instead is taken.
func TestRuleExamples(t *testing.T) {
	j := newJudges(t, nil, nil)
	refused := 0
	for _, r := range mirrors.Rules() {
		if instance, ok := instanceOf(r.Good); ok {
			assert.NoError(t, j.refuse(t, instance), r.Name)
		}
		instance, ok := instanceOf(r.Bad)
		if !ok || instance == nil {
			continue
		}
		if extents[r.Name] == schema.None {
			assert.NoError(t, j.refuse(t, instance), r.Name)
			continue
		}
		refused++
		assert.Error(t, j.refuse(t, instance), r.Name)
	}
	assert.Greater(t, refused, 15)
}

// Coverages has each rule, and says of each that has errors why it is not whole.
func TestCoverages(t *testing.T) {
	all := schema.Coverages()
	rules := mirrors.Rules()
	require.Len(t, all, len(rules))
	for i, c := range all {
		assert.Equal(t, rules[i].Name, c.Rule)
		onlyWarns := !strings.HasPrefix(rules[i].Severity, "error")
		for _, s := range []schema.Statement{c.JSON, c.OpenAPI} {
			assert.Equal(t, onlyWarns, s.Note == "not an error", c.Rule)
			if s.Extent != schema.Whole {
				assert.NotEmpty(t, s.Note, c.Rule)
			}
			if onlyWarns {
				assert.Equal(t, schema.None, s.Extent, c.Rule)
			}
		}
	}
	assert.Equal(t, "no, in part, whole", fmt.Sprintf("%v, %v, %v", schema.None, schema.Part, schema.Whole))
}

// The characters that endpoint-syntax refuses are in the pattern, up to U+FFFF.
func TestInvisibleCharacters(t *testing.T) {
	j := newJudges(t, nil, nil)
	refused := 0
	for r := rune(0); r <= 0xffff; r++ {
		if !utf8.ValidRune(r) || r >= 0x100 && !unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) && r%997 != 0 {
			continue
		}
		instance := map[string]any{"mirrors": map[string]any{"ghcr.io": map[string]any{"endpoints": []any{"https://m.example.com/" + string(r) + "x"}}},
			"config": map[string]any{"m" + string(r): map[string]any{}}}
		found := len(errorsOf(t, encoded(t, instance), nil)) > 0
		if got := j.whole.Validate(instance) != nil; got != found {
			t.Errorf("%U: refused %t, found %t", r, got, found)
		} else if got {
			refused++
		}
	}
	assert.Greater(t, refused, 80)
}

// patterns are all of the JSON Schema, each once.
func patterns(v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if s, ok := e.(string); ok && k == "pattern" {
				all = append(all, s)
			}
			if keys, ok := e.(map[string]any); ok && k == "patternProperties" {
				all = slices.AppendSeq(all, maps.Keys(keys))
			}
			all = append(all, patterns(e)...)
		}
	case []any:
		for _, e := range v {
			all = append(all, patterns(e)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A pattern has only what ECMA-262 and RE2 read alike.
func TestPatterns(t *testing.T) {
	all := patterns(schema.JSONSchema())
	require.Greater(t, len(all), 8)
	escape := regexp.MustCompile(`\\(?:x[0-9a-f]{2}|[\\^$.*+?()\[\]{}|\-trn])`)
	for _, p := range all {
		_, err := regexp.Compile(p)
		require.NoError(t, err)
		rest := escape.ReplaceAllString(p, "x")
		assert.NotContains(t, rest, `\`, p)
		assert.NotContains(t, strings.ReplaceAll(rest, "(?:", ""), "(?", p)
		assert.NotContains(t, rest, "[[", p)
		assert.NotRegexp(t, `[*+?}][?+]`, rest, p)
		assert.False(t, strings.ContainsFunc(p, func(r rune) bool { return r > 0xffff }), p)
	}
}

// JavaScript's own engine matches what Go's does, with and without the u flag.
func TestPatternsInNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not on PATH: JavaScript's engine cannot be asked")
	}
	texts := slices.Concat(goodURLs, badURLs, goodRegistries, badRegistries, goodHosts, badHosts,
		[]string{exampleCA, "-----BEGIN x", "made-up", "made up", "dTpt\r\nYWRl\n", "dTp=", "dT==\n", "dT=\n=", "dT=", "d"})
	for _, text := range inputs(t) {
		if len(text) < 200 {
			texts = append(texts, text, "https://"+text, "https://m.example.com/"+text)
		}
	}
	for r := rune(0); r < 0x3100; r++ {
		if r >= 0x100 && !unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) && r%97 != 0 {
			continue
		}
		texts = append(texts, "https://m.example.com/"+string(r), "m"+string(r), "AA"+string(r)+"==")
	}
	// Without the u flag a text has surrogates instead of characters beyond U+FFFF: the patterns name none.
	texts = slices.DeleteFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
	all := patterns(schema.JSONSchema())
	var want [][]int
	matched := 0
	for _, p := range all {
		re := regexp.MustCompile(p)
		var is []int
		for i, text := range texts {
			if re.MatchString(text) {
				is = append(is, i)
			}
		}
		matched += len(is)
		want = append(want, is)
	}
	cmd := exec.Command(node, "-e", `
const {patterns, texts} = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(["", "u"].map(flags => patterns.map(p => {
  const re = new RegExp(p, flags);
  return texts.map((t, i) => re.test(t) ? i : -1).filter(i => i >= 0);
}))));`)
	cmd.Stdin = strings.NewReader(encoded(t, map[string]any{"patterns": all, "texts": texts}))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var got [][][]int
	require.NoError(t, json.Unmarshal(out, &got))
	for f, flags := range []string{"", "u"} {
		for i, p := range all {
			differ := map[int]int{}
			for _, k := range append(slices.Clone(want[i]), got[f][i]...) {
				differ[k]++
			}
			for k, n := range differ {
				if n != 2 {
					t.Errorf("flags %q: %q and %q", flags, p, texts[k])
				}
			}
		}
	}
	t.Logf("%d patterns, %d texts, %d matches", len(all), len(texts), matched)
	assert.Greater(t, matched, 1000)
}
