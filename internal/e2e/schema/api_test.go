package schema_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

// server is an API server that has the CRD.
type server struct {
	cluster *servers.Cluster
	client  *http.Client
	url     string
}

var (
	once    sync.Once
	shared  *server
	problem error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.cluster.Stop()
	}
	os.Exit(code)
}

// start returns the server, for all tests.
func start(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	once.Do(func() {
		c, err := servers.StartCluster()
		if err != nil {
			problem = err
			return
		}
		shared = &server{cluster: c, client: c.Client(c.Token), url: c.URL + "/apis/mirrors.example.com/v1/registries?dryRun=All&fieldValidation=Strict"}
		file := filepath.Join(dir, "crd.json")
		text, err := json.Marshal(crd())
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err == nil {
			err = c.Install(file)
		}
		problem = err
	})
	if problem != nil {
		servers.End(t, problem)
	}
	return shared
}

// create asks the server to take an object with the spec, which it does not keep,
// and returns why it does not take it.
func (s *server) create(t *testing.T, spec any) (refusal string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"apiVersion": "mirrors.example.com/v1", "kind": "Registries", "metadata": map[string]any{"name": "sample"}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Post(s.url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	switch response.StatusCode {
	case http.StatusCreated:
		return ""
	case http.StatusUnprocessableEntity, http.StatusBadRequest: // of validation; of strict decoding
		var status struct{ Message string }
		if err := json.Unmarshal(text, &status); err != nil || status.Message == "" {
			t.Fatalf("%v: %s", err, text)
		}
		return status.Message
	}
	t.Fatalf("%s: %s", response.Status, text)
	return ""
}

// form is an input of mirrors.Decode in the form that the CRD has; false where that
// has no such thing. What Decode takes for absent is absent.
func form(input any) (any, bool) {
	root, ok := input.(map[string]any)
	if !ok {
		return input, true
	}
	root = present(root)
	ok = true
	if ms, is := root["mirrors"].(map[string]any); is {
		for name, v := range ms {
			m, is := v.(map[string]any)
			if !is {
				continue
			}
			m = present(m)
			ms[name] = m
			override, said := m["overridePath"].(bool)
			if _, other := m["overridePath"]; other && !said {
				ok = false
			}
			delete(m, "overridePath")
			es, _ := m["endpoints"].([]any)
			if override && len(es) == 0 {
				ok = false
			}
			for i, e := range es {
				if url, is := e.(string); is {
					e = map[string]any{"url": url}
				}
				o, is := e.(map[string]any)
				if !is {
					continue
				}
				o = present(o)
				es[i] = o
				if own, has := o["overridePath"]; said && has && own != override {
					ok = false
				} else if said && !has {
					o["overridePath"] = override
				}
			}
		}
	}
	reference := func(m map[string]any, field string) {
		if s, is := m[field].(map[string]any); is && len(present(s)) > 0 {
			m[field] = map[string]any{"secretRef": map[string]any{"name": "credentials"}}
		}
	}
	if cs, is := root["config"].(map[string]any); is {
		for name, v := range cs {
			h, is := v.(map[string]any)
			if !is {
				continue
			}
			h = present(h)
			cs[name] = h
			reference(h, "auth")
			tls, is := h["tls"].(map[string]any)
			if !is {
				continue
			}
			tls = present(tls)
			h["tls"] = tls
			reference(tls, "clientIdentity")
		}
	}
	return root, ok
}

// present is a mapping without the fields that are null.
func present(m map[string]any) map[string]any {
	p := map[string]any{}
	for k, v := range m {
		if v != nil {
			p[k] = v
		}
	}
	return p
}

// copied is a value of its own, as encoding/json decodes it.
func copied(t *testing.T, v any) (c any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

type sample struct {
	Name    string
	Rule    string
	Input   any
	Message string
}

func samples(t *testing.T) (all []sample) {
	t.Helper()
	text, err := os.ReadFile("../../../mirrors/schema/testdata/samples.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &all); err != nil || len(all) < 50 {
		t.Fatalf("%d samples, %v", len(all), err)
	}
	return all
}

// byItself matches what the server says of kinds and lengths, without our rules.
var byItself = regexp.MustCompile(`must be of type|Required value|unknown field|should be at least`)

// The server takes each good sample, and refuses each bad one with its message.
func TestSamples(t *testing.T) {
	s := start(t)
	taken, refused := 0, 0
	for _, c := range samples(t) {
		if c.Rule != "" && c.Message == "" {
			continue // the form cannot hold the mistake
		}
		spec, ok := form(copied(t, c.Input))
		if !ok {
			t.Errorf("%s: the form cannot hold it", c.Name)
			continue
		}
		said := s.create(t, spec)
		if c.Rule == "" && said == "" {
			taken++
		} else if c.Rule != "" && strings.Contains(said, c.Message) {
			refused++
			t.Logf("%s: %s", c.Name, said)
			if named := strings.Contains(said, " ["+c.Rule) || strings.Contains(said, ", "+c.Rule+"]"); !named && !byItself.MatchString(said) {
				t.Errorf("%s: the rule %s is not named in %q", c.Name, c.Rule, said)
			}
		} else {
			t.Errorf("%s: %q, want %q", c.Name, said, c.Message)
		}
		if strings.Contains(said, "made-up") {
			t.Errorf("%s: a secret is in %q", c.Name, said)
		}
		if _, problem, _ := strings.Cut(said, " is invalid: "); c.Name == "a project without overridePath" && !strings.Contains(page(t), problem) {
			t.Errorf("docs/schemas.md does not say %q", problem)
		}
	}
	if taken < 8 || refused < 35 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
	verdict.Proved(t, "kube-apiserver 1.36.3 takes %d good samples, and refuses %d bad ones with their message", taken, refused)
}

// The server shows the value of a string that a rule or a pattern refuses. So what may
// be a secret, in a wrong place, is judged where no value is shown.
func TestNoSecretIsShown(t *testing.T) {
	s := start(t)
	refused := 0
	for _, spec := range []any{
		one("ghcr.io", "https://user:made-up@cache.example.com/ /%zz?x", "m"),
		one("ghcr.io", "user:made-up", "m"),
		one("ghcr.io", "https://user:made-up", "m"),
		map[string]any{"config": map[string]any{"user:made-up@m": map[string]any{}, "m": map[string]any{"tls": map[string]any{"ca": "-----BEGIN PRIVATE KEY-----\nmade-up"}}}},
		map[string]any{"mirrors": map[string]any{"user:made-up@m": map[string]any{}}},
		map[string]any{"config": map[string]any{"m": map[string]any{"auth": map[string]any{"username": "user", "password": "made-up"}}}},
		map[string]any{"config": map[string]any{"m": map[string]any{"tls": map[string]any{"clientIdentity": map[string]any{"key": "made-up"}}}}},
	} {
		switch said := s.create(t, spec); {
		case said == "":
			t.Errorf("%v is taken", spec)
		case strings.Contains(said, "made-up"):
			t.Errorf("a secret is in %q", said)
		default:
			refused++
		}
	}
	verdict.Proved(t, "kube-apiserver 1.36.3 refuses %d objects with a secret where it does not belong, and shows none", refused)
}

// largest is an object at all of the maxima, made so that the rules have the most to do.
func largest(t *testing.T) (spec map[string]any) {
	t.Helper()
	certificate := ""
	for _, r := range mirrors.Rules() {
		if r.Name == mirrors.RuleTLSOnHttp {
			_, certificate, _ = strings.Cut(r.Good, "ca: ")
		}
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(certificate, "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	pem := strings.Repeat(string(text), schema.MaxPEM/len(text)+1)
	pem = strings.Repeat("#", schema.MaxPEM-len(pem)+len(text)) + pem[len(text):] // its certificate comes last
	ms, cs := map[string]any{}, map[string]any{}
	fill := func(s, with, end string, size int) string {
		return s + strings.Repeat(with, (size-len(s)-len(end))/len(with))[:] + end
	}
	for i := range schema.MaxMirrors {
		var es []any
		for j := range schema.MaxEndpoints {
			url := fmt.Sprintf("https://[1:2:3:4:5:%x:192.0.2.%d]:65535/v2/", i, j)
			if i%2 == 0 {
				url = fmt.Sprintf("http://a%d-%d.example.com:65535/v2/", i, j)
			}
			url = fill(url, "a/", "", schema.MaxURL-4) + "/bcd"
			url = url + strings.Repeat("x", schema.MaxURL-len(url))
			es = append(es, map[string]any{"url": url, "overridePath": true})
		}
		ms[fill(fmt.Sprintf("m%d.", i), "a.", "example.com:65535", schema.MaxKey-1)] = map[string]any{"endpoints": es, "skipFallback": true}
	}
	for i := range schema.MaxConfig {
		cs[fill(fmt.Sprintf("h%d.", i), "a.", "example.com:65535", schema.MaxKey-1)] = map[string]any{
			"auth": map[string]any{"secretRef": map[string]any{"name": strings.Repeat("a", schema.MaxName)}},
			"tls":  map[string]any{"ca": pem, "clientIdentity": map[string]any{"secretRef": map[string]any{"name": "a.b"}}, "insecureSkipVerify": true},
		}
	}
	return map[string]any{"mirrors": ms, "config": cs}
}

// An object at the maxima is taken, and each that is above one is not.
func TestMaxima(t *testing.T) {
	s := start(t)
	if said := s.create(t, largest(t)); said != "" {
		t.Fatalf("%.3000s", said)
	}
	first := func(m any) (string, map[string]any) {
		key := slices.Sorted(maps.Keys(m.(map[string]any)))[0]
		v, _ := m.(map[string]any)[key].(map[string]any)
		return key, v
	}
	above := 0
	for name, change := range map[string]struct {
		do   func(spec map[string]any)
		said string
	}{
		"mirrors": {func(spec map[string]any) { spec["mirrors"].(map[string]any)["one.more"] = map[string]any{} }, "must have at most 32 items"},
		"config":  {func(spec map[string]any) { spec["config"].(map[string]any)["one.more"] = map[string]any{} }, "must have at most 32 items"},
		"endpoints": {func(spec map[string]any) {
			_, m := first(spec["mirrors"])
			m["endpoints"] = append(m["endpoints"].([]any), map[string]any{"url": "https://one.more"})
		}, "must have at most 10 items"},
		"url": {func(spec map[string]any) {
			_, m := first(spec["mirrors"])
			e := m["endpoints"].([]any)[0].(map[string]any)
			e["url"] = e["url"].(string) + "x"
		}, "may not be more than 512 bytes"},
		"ca": {func(spec map[string]any) {
			_, h := first(spec["config"])
			tls := h["tls"].(map[string]any)
			tls["ca"] = tls["ca"].(string) + "\n"
		}, "may not be more than 32768 bytes"},
		"key": {func(spec map[string]any) {
			key, m := first(spec["mirrors"])
			delete(spec["mirrors"].(map[string]any), key)
			spec["mirrors"].(map[string]any)["aaa"+key] = m
		}, "a key has 259 characters at most"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := largest(t)
			change.do(spec)
			if said := s.create(t, spec); !strings.Contains(said, change.said) {
				t.Errorf("%.3000s", said)
			}
			above++
		})
	}
	verdict.Proved(t, "kube-apiserver 1.36.3 takes an object at all of the maxima, and refuses %d that are above one", above)
}

// errorsOf is what a controller finds wrong with the object.
func errorsOf(t *testing.T, spec any) (found map[string]bool) {
	t.Helper()
	var object struct {
		Mirrors map[string]*mirrors.Mirror `json:"mirrors"`
		Config  map[string]*struct {
			Auth *reference `json:"auth"`
			TLS  *struct {
				CA                 mirrors.PEM `json:"ca"`
				ClientIdentity     *reference  `json:"clientIdentity"`
				InsecureSkipVerify bool        `json:"insecureSkipVerify"`
			} `json:"tls"`
		} `json:"config"`
	}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	found = map[string]bool{}
	if err := dec.Decode(&object); err != nil {
		found[mirrors.RuleWrongKind] = true
		return found
	}
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for name, m := range object.Mirrors {
		if m != nil { // the server drops what is null
			set.Mirrors[name] = *m
		}
	}
	for name, c := range object.Config {
		if c == nil {
			continue
		}
		var h mirrors.HostConfig
		if c.Auth != nil {
			if c.Auth.SecretRef.Name == "" {
				found[mirrors.RuleAuthIncomplete] = true
			}
			h.Auth = &mirrors.Auth{Username: "user", Password: mirrors.NewSecret("made-up")}
		}
		if c.TLS != nil {
			h.TLS = &mirrors.TLS{CA: c.TLS.CA, InsecureSkipVerify: c.TLS.InsecureSkipVerify}
			if id := c.TLS.ClientIdentity; id != nil && id.SecretRef.Name == "" {
				found[mirrors.RuleClientIdentity] = true
			}
		}
		set.Config[name] = h
	}
	for _, f := range set.Check(mirrors.InForm("documents")) {
		if f.Severity == mirrors.SeverityError {
			found[f.Rule] = true
		}
	}
	return found
}

type reference struct {
	SecretRef struct {
		Name string `json:"name"`
	} `json:"secretRef"`
}

// tooLarge reports whether a text in the object is longer than any may be.
func tooLarge(v any) bool {
	switch v := v.(type) {
	case string:
		return len(v) > schema.MaxURL && !strings.Contains(v, "-----BEGIN ") // a ca has more room
	case map[string]any:
		if len(v) > schema.MaxMirrors {
			return true
		}
		for k, e := range v {
			if len(k) > schema.MaxKey || tooLarge(e) {
				return true
			}
		}
	case []any:
		if len(v) > schema.MaxEndpoints {
			return true
		}
		return slices.ContainsFunc(v, tooLarge)
	}
	return false
}

// The server refuses nothing that Check takes, and all that the form says it refuses.
func TestAgreement(t *testing.T) {
	s := start(t)
	stated := map[string]schema.Extent{}
	for _, c := range schema.Coverages() {
		stated[c.Rule] = c.OpenAPI.Extent
	}
	taken, refused, large := 0, 0, 0
	byRule, left := map[string]int{}, map[string]int{}
	compare := func(spec any) {
		t.Helper()
		said := s.create(t, spec)
		found := errorsOf(t, spec)
		text, _ := json.Marshal(spec)
		switch {
		case said == "":
			taken++
		case len(found) > 0:
			refused++
		case tooLarge(spec):
			large++
		case spec == nil: // a field of its own that is null
		default:
			t.Errorf("the server refuses what Check takes: %.2000s\n%s", said, text)
		}
		for rule := range found {
			must := stated[rule] == schema.Whole || rule == mirrors.RuleWrongKind
			if rule == mirrors.RuleEndpointPath || rule == mirrors.RuleOverridePath {
				must = !bytes.ContainsAny(text, `%\`) && !bytes.Contains(text, []byte("/."))
			}
			switch {
			case said != "":
				byRule[rule]++
			case must:
				t.Errorf("the server takes what Check refuses: %s\n%s", rule, text)
			default:
				left[rule]++
			}
		}
	}

	text, err := os.ReadFile("../../../mirrors/schema/testdata/inputs.json")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	if err := json.Unmarshal(text, &inputs); err != nil {
		t.Fatal(err)
	}
	var urls, names, hosts []string // those of the inputs
	for _, in := range inputs {
		root, err := mirrors.ReadDocument([]byte(in))
		var v map[string]any
		if err != nil || root.Decode(&v) != nil {
			continue
		}
		if _, err := json.Marshal(v); err != nil || v == nil {
			continue // keys that are no strings
		}
		if src, err := mirrors.Decode([]byte(in)); err == nil {
			for name, m := range src.Set.Mirrors {
				names = append(names, name)
				for _, e := range m.Endpoints {
					urls = append(urls, e.URL)
				}
			}
			hosts = slices.AppendSeq(hosts, maps.Keys(src.Set.Config))
		}
		if spec, ok := form(copied(t, v)); ok {
			compare(spec)
		}
	}
	files, err := filepath.Glob("../../../testdata/hostile/*")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d hostile texts, %v", len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(b); utf8.Valid(b) && len(b) < 4096 {
			for _, spec := range []any{
				one("ghcr.io", "https://m.example.com/"+text, "m"), one("ghcr.io", text, "m"), one(text, "https://m.example.com", "m"), one("ghcr.io", "https://m.example.com", text),
			} {
				compare(spec)
			}
		}
	}
	t.Logf("inputs: %d taken, %d refused, %d too large", taken, refused, large)

	slices.Sort(urls) // what Set is read first is not what a map gives first
	slices.Sort(names)
	slices.Sort(hosts)
	r := rand.New(rand.NewSource(1))
	pick := func(from []string) string { return from[r.Intn(len(from))] }
	for range 1500 {
		ms, cs := map[string]any{}, map[string]any{}
		for range r.Intn(3) {
			m := map[string]any{}
			var es []any
			for range r.Intn(4) {
				e := map[string]any{"url": pick(urls)}
				if r.Intn(2) == 0 {
					e["overridePath"] = r.Intn(2) == 0
				}
				es = append(es, e)
			}
			if es != nil {
				m["endpoints"] = es
			}
			if r.Intn(3) == 0 {
				m["skipFallback"] = r.Intn(2) == 0
			}
			ms[pick(names)] = m
		}
		for range r.Intn(3) {
			h := map[string]any{}
			if r.Intn(2) == 0 {
				h["auth"] = map[string]any{"secretRef": map[string]any{"name": "credentials"}}
			}
			if r.Intn(2) == 0 {
				h["tls"] = map[string]any{"insecureSkipVerify": true}
			}
			cs[pick(hosts)] = h
		}
		compare(map[string]any{"mirrors": ms, "config": cs})
	}
	for range 1000 {
		parts := make([]string, 5+r.Intn(5)) // nearly an IPv6 address
		for i := range parts {
			parts[i] = fmt.Sprintf("%x", i)
		}
		for range r.Intn(4) {
			parts[r.Intn(len(parts))] = pick([]string{"", "", "0", "ffff", "Ab", "12345", "192.0.2.1", "256.0.0.1", "g"})
		}
		if r.Intn(4) == 0 {
			parts[len(parts)-1] = "192.0.2.1"
		}
		address := "[" + strings.Join(parts, ":") + "]"
		compare(one("ghcr.io", "https://"+address, "m"))
		compare(one(address, "https://m.example.com", "m"))
	}
	t.Logf("with generated ones: %d taken, %d refused, %d too large", taken, refused, large)
	t.Logf("refused: %v", byRule)
	t.Logf("left to Check: %v", left)
	if taken < 500 || refused < 500 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
	for rule, extent := range stated {
		if extent == schema.Whole && rule != mirrors.RuleOverrideConflict && byRule[rule] == 0 {
			t.Errorf("%s was found %d times", rule, byRule[rule])
		}
	}
	verdict.Proved(t, "of the inputs of Decode, the hostile texts and generated objects, kube-apiserver 1.36.3 takes %d and refuses %d in which Check finds an error, and %d that are too large", taken, refused, large)
}

func one(registry, url, host string) any {
	return map[string]any{
		"mirrors": map[string]any{registry: map[string]any{"endpoints": []any{map[string]any{"url": url}}}},
		"config":  map[string]any{host: map[string]any{"auth": map[string]any{"secretRef": map[string]any{"name": "credentials"}}}},
	}
}
