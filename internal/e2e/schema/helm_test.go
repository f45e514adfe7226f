package schema_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

var update = flag.Bool("update", false, "write the golden file")

// What Helm says of each bad sample is in a file, for reading. No value is in it.
func TestHelmSays(t *testing.T) {
	text := valuesSchema(t, "")
	var all strings.Builder
	n := 0
	for _, s := range samples(t) {
		err := install(t, text, map[string]any{"registries": s.Input})
		if err == nil {
			continue
		}
		n++
		_, problem, ok := strings.Cut(err.Error(), "nodes:\n")
		if !ok {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(problem), "\n")
		if strings.Contains(problem, "\n ") {
			t.Errorf("%s: an alternative is shown with its parts: %s", s.Name, problem)
		}
		slices.Sort(lines) // Helm goes through mappings in no order
		fmt.Fprintf(&all, "%s\n%s\n\n", s.Name, strings.Join(lines, "\n"))
		if strings.Contains(problem, "made-up") {
			t.Errorf("%s: a secret is in %s", s.Name, problem)
		}
	}
	if n < 45 {
		t.Errorf("%d refused", n)
	}
	const file = "testdata/helm.golden"
	if *update {
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(golden) != all.String() {
		t.Errorf("run go test -run TestHelmSays -update, and read the difference:\n%s", all.String())
	}
	verdict.Proved(t, "what Helm 3.22.0 says of %d bad samples is that of the golden file, without a value", n)
}

// valuesSchema is that of a chart with the registries, and with mirrors alone.
func valuesSchema(t *testing.T, draft string) []byte {
	t.Helper()
	part := schema.JSONSchema()
	delete(part, "$schema")
	delete(part, "$id")
	root := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"registries": part,
			"talos": map[string]any{"type": "object", "properties": map[string]any{
				"registryMirrors": schema.JSONSchema()["properties"].(map[string]any)["mirrors"],
			}},
		},
	}
	if draft != "" {
		root["$schema"] = draft
	}
	text, err := schema.Encode(root)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// install is what helm install and helm template do with values before they render.
func install(t *testing.T, valuesSchema []byte, values map[string]any) error {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	read, err := chartutil.ReadValues(text) // as from a file of -f
	if err != nil {
		t.Fatal(err)
	}
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "nodes", Version: "0.1.0"}, Schema: valuesSchema}
	_, err = chartutil.ToRenderValues(c, read, chartutil.ReleaseOptions{Name: "r", Namespace: "n"}, nil)
	return err
}

// Helm takes the good samples and refuses the bad ones, by the values.schema.json of a
// chart, whatever draft it names.
func TestHelm(t *testing.T) {
	takenByAll, refusedByAll := 0, 0
	extents := map[string]schema.Extent{}
	for _, c := range schema.Coverages() {
		extents[c.Rule] = c.JSON.Extent
	}
	for name, text := range map[string][]byte{
		"no draft": valuesSchema(t, ""),
		"2020-12":  valuesSchema(t, "https://json-schema.org/draft/2020-12/schema"),
		"draft-07": valuesSchema(t, "http://json-schema.org/draft-07/schema#"),
		// $id and $schema left where they are, at one place.
		"whole": func() []byte {
			text, err := schema.Encode(map[string]any{"properties": map[string]any{"registries": schema.JSONSchema()}})
			if err != nil {
				t.Fatal(err)
			}
			return text
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			taken, refused := 0, 0
			for _, s := range samples(t) {
				err := install(t, text, map[string]any{"registries": s.Input})
				if want := extents[s.Rule] != schema.None; (err != nil) != (s.Rule != "" && want) {
					t.Errorf("%s: %v", s.Name, err)
				} else if err == nil {
					taken++
				} else {
					refused++
					if !strings.Contains(err.Error(), "registries") {
						t.Errorf("%s: %v", s.Name, err)
					}
				}
			}
			if taken < 10 || refused < 40 {
				t.Errorf("%d taken, %d refused", taken, refused)
			}
			takenByAll, refusedByAll = takenByAll+taken, refusedByAll+refused
		})
	}

	text := valuesSchema(t, "")
	mirrors := func(m string) map[string]any {
		var v any
		if err := sigsyaml.Unmarshal([]byte(m), &v); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"talos": map[string]any{"registryMirrors": v}}
	}
	if err := install(t, text, mirrors(`{ghcr.io: {endpoints: ["https://cache.example.com"]}}`)); err != nil {
		t.Error(err)
	}
	err := install(t, text, mirrors(`{ghcr.io: {endpoints: ["cache.example.com:5000"]}}`))
	if err == nil || !strings.Contains(err.Error(), "'/talos/registryMirrors/ghcr.io/endpoints/0'") {
		t.Errorf("%v", err)
	}
	if _, problem, _ := strings.Cut(fmt.Sprint(err), "nodes:"); !strings.Contains(page(t), strings.TrimSpace(problem)) {
		t.Errorf("docs/schemas.md does not say %v", err)
	}

	// A value that stands in no YAML file, but comes from --set-json.
	var sample map[string]any
	if err := json.Unmarshal([]byte(`{"registries":{"mirrors":{"ghcr.io":{"endpoints":["https://m\u0000"]}}}}`), &sample); err != nil {
		t.Fatal(err)
	}
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "nodes", Version: "0.1.0"}, Schema: text}
	if err := chartutil.ValidateAgainstSchema(c, sample); err == nil {
		t.Error("a NUL is taken")
	}
	verdict.Proved(t, "in four values.schema.json, Helm 3.22.0 takes %d samples and refuses %d, each as the coverage of its rule states", takenByAll, refusedByAll)
}
