// Package schema_test gives the OpenAPI form of package schema to the code of a
// real API server, and the JSON Schema to Helm.
package schema_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

// crd is a CustomResourceDefinition whose spec is the OpenAPI form.
func crd(opts ...schema.Option) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "registries.mirrors.example.com"},
		"spec": map[string]any{
			"group": "mirrors.example.com", "scope": "Cluster",
			"names": map[string]any{"plural": "registries", "singular": "registries", "kind": "Registries", "listKind": "RegistriesList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type":       "object",
					"properties": map[string]any{"spec": schema.OpenAPI(opts...)},
				}},
			}},
		},
	}
}

// internal converts a CRD to the types that the API server judges.
func internal(t *testing.T, crd map[string]any) *apiextensions.CustomResourceDefinition {
	t.Helper()
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &v1); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	var out apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &out, nil); err != nil {
		t.Fatal(err)
	}
	out.Status.StoredVersions = []string{"v1"}
	return &out
}

// The API server's own validation takes the CRD, and its estimate of what the
// rules cost has room on both sides of the limits.
func TestCost(t *testing.T) {
	rules, most := 0, 0.0
	for name, opts := range map[string][]schema.Option{"plain": nil, "image cache": {schema.WithImageCache()}} {
		t.Run(name, func(t *testing.T) {
			c := internal(t, crd(opts...))
			for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), c) {
				t.Error(err)
			}
			root := c.Spec.Validation.OpenAPIV3Schema
			var found costs
			found.walk(t, validation.RootCELContext(root), root, "")
			if len(found) < 15 {
				t.Fatalf("%d rules", len(found))
			}
			sort.Slice(found, func(i, j int) bool { return found[i].cost > found[j].cost })
			total := uint64(0)
			for _, f := range found {
				total += f.cost
			}
			const each, all = validation.StaticEstimatedCostLimit, validation.StaticEstimatedCRDCostLimit
			for _, f := range found {
				t.Logf("%5.1f%%  %9d  %s", 100*float64(f.cost)/each, f.cost, f.at)
			}
			t.Logf("all rules: %d of %d, %.1f%%", total, all, 100*float64(total)/all)
			// The page about the schemas says so.
			if says := fmt.Sprintf("%.1f million for the costliest rule", float64(found[0].cost)/1e6); !strings.Contains(page(t), says) {
				t.Errorf("docs/schemas.md does not say %q", says)
			}
			if says := fmt.Sprintf("%.0f million for all", float64(total)/1e6); !strings.Contains(page(t), says) {
				t.Errorf("docs/schemas.md does not say %q", says)
			}
			if found[0].cost > each/2 || total > all/2 {
				t.Errorf("less than half of a limit is left: %d of %d for one, %d of %d for all", found[0].cost, each, total, all)
			}
			rules += len(found)
			most = max(most, 100*float64(found[0].cost)/each, 100*float64(total)/all)
		})
	}
	verdict.Proved(t, "the API server's validation takes the CRD, plain and with the image cache; of the limits of cost, %d rules and messages take %.0f%% at most", rules, most)
}

// Below a list or a mapping the API server counts the cost of the rules for each entry.
func TestPools(t *testing.T) {
	for _, c := range []struct {
		pools int
		opts  []schema.Option
		taken bool
	}{
		{2, nil, true},
		{3, nil, false},
		{10, []schema.Option{schema.WithMaxima(8, 4, 8)}, true},
	} {
		pool := map[string]any{"type": "object", "properties": map[string]any{"registries": schema.OpenAPI(c.opts...)}}
		for name, pools := range map[string]map[string]any{
			"list":    {"type": "array", "maxItems": int64(c.pools), "items": pool},
			"mapping": {"type": "object", "maxProperties": int64(c.pools), "additionalProperties": pool},
		} {
			object := crd()
			version := object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
			version["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "properties": map[string]any{"pools": pools}},
			}}}
			errs := validation.ValidateCustomResourceDefinition(context.Background(), internal(t, object))
			if (len(errs) == 0) != c.taken {
				t.Errorf("a %s of %d, with %d options: %v", name, c.pools, len(c.opts), errs)
			}
			for _, err := range errs {
				if !strings.Contains(err.Error(), "cost") {
					t.Errorf("a %s of %d: %v", name, c.pools, err)
				}
			}
		}
	}
	verdict.Proved(t, "the API server's validation takes a list of 10 with smaller maxima, of 2 with those as they are, and not of 3")
}

// page is docs/schemas.md in one line.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/schemas.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

type costs []struct {
	at   string
	cost uint64
}

// walk does what the validation does, and keeps the estimates.
func (c *costs) walk(t *testing.T, ctx *validation.CELSchemaContext, s *apiextensions.JSONSchemaProps, at string) {
	t.Helper()
	if len(s.XValidations) > 0 {
		info, err := ctx.TypeInfo()
		if err != nil || info == nil {
			t.Fatalf("%s: %v", at, err)
		}
		base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
		results, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		for i, r := range results {
			if r.Error != nil || r.MessageExpressionError != nil {
				t.Errorf("%s: %v %v", at, r.Error, r.MessageExpressionError)
			}
			n := r.MaxCardinality
			if ctx.MaxCardinality != nil {
				n = *ctx.MaxCardinality
			}
			*c = append(*c, struct {
				at   string
				cost uint64
			}{fmt.Sprintf("%s[%d] %.60s", at, i, s.XValidations[i].Rule), r.MaxCost * n})
			if r.MessageExpression != nil {
				*c = append(*c, struct {
					at   string
					cost uint64
				}{fmt.Sprintf("%s[%d] message", at, i), r.MessageExpressionMaxCost})
			}
		}
	}
	for name, p := range s.Properties {
		c.walk(t, ctx.ChildPropertyContext(&p, name), &p, at+"."+name)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		c.walk(t, ctx.ChildAdditionalPropertiesContext(s.AdditionalProperties.Schema), s.AdditionalProperties.Schema, at+"{}")
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.walk(t, ctx.ChildItemsContext(s.Items.Schema), s.Items.Schema, at+"[]")
	}
}
