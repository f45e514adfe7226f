package schema_test

import (
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

// A chart whose value talos.registryMirrors has the mirrors alone.
func ExampleJSONSchema() {
	registries := schema.JSONSchema()["properties"].(map[string]any)
	values := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"properties": map[string]any{
			"talos": map[string]any{"properties": map[string]any{"registryMirrors": registries["mirrors"]}},
		},
	}
	text, err := schema.Encode(values) // the chart's values.schema.json
	fmt.Println(len(text) > 1000, err)
	// Output: true <nil>
}

// A CustomResourceDefinition whose spec has the registries, and a field of its own.
func ExampleOpenAPI() {
	spec := schema.OpenAPI()
	properties := spec["properties"].(map[string]any)
	properties["paused"] = map[string]any{"type": "boolean"}
	version := map[string]any{
		"name": "v1alpha1", "served": true, "storage": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type":       "object",
			"properties": map[string]any{"spec": spec},
		}},
	}
	_, err := schema.Encode(version)
	fmt.Println(len(properties), err)
	// Output: 3 <nil>
}

func ExampleCoverages() {
	for _, c := range schema.Coverages() {
		if c.Rule == mirrors.RuleTLSOnHttp {
			fmt.Printf("%s: %v (%s), %v\n", c.Rule, c.JSON.Extent, c.JSON.Note, c.OpenAPI.Extent)
		}
	}
	// Output: tls-on-http: no (a JSON Schema cannot compare a key with a URL), whole
}
