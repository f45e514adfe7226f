package v1alpha1_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

var update = flag.Bool("update", false, "write config/crd.yaml anew")

type object = map[string]any

// crd is the CustomResourceDefinition. What it says of mirrors and config is
// what package schema says.
func crd() object {
	text := func(most int, more object) object {
		s := object{"type": "string", "maxLength": most}
		for key, value := range more {
			s[key] = value
		}
		return s
	}
	labelValues := object{"type": "array", "maxItems": 64, "items": text(63, nil), "x-kubernetes-list-type": "atomic"}

	spec := schema.OpenAPI()
	spec["description"] = "Which registries the nodes pull from, and the TalosConfigTemplates that say it to them."
	spec["required"] = []any{"talosVersion", "templates"}
	properties := spec["properties"].(object)
	properties["talosVersion"] = text(64, object{
		"description": "The version of the nodes, such as v1.13. For a template that names an older one, that counts.",
		"pattern":     `^v?\d{1,4}\.\d{1,4}(\.\d{1,4})?([-+][0-9A-Za-z.+-]+)?$`,
	})
	properties["form"] = object{"type": "string", "enum": []any{"legacy", "documents"}, "description": "The form of the registry configuration. By default the version decides."}
	properties["templates"] = object{
		"type":        "object",
		"description": "The TalosConfigTemplates of this namespace: by name, by label, or both. Either is enough.",
		"properties": object{
			"names": object{"type": "array", "maxItems": 64, "x-kubernetes-list-type": "set", "items": text(253, object{"minLength": 1})},
			"labels": object{
				"type": "object", "description": "A label selector. An empty one selects all.",
				"properties": object{
					"matchLabels": object{"type": "object", "maxProperties": 64, "additionalProperties": text(63, nil)},
					"matchExpressions": object{"type": "array", "maxItems": 64, "x-kubernetes-list-type": "atomic", "items": object{
						"type": "object", "required": []any{"key", "operator"},
						"properties": object{
							"key":      text(317, nil),
							"operator": object{"type": "string", "enum": []any{"In", "NotIn", "Exists", "DoesNotExist"}},
							"values":   labelValues,
						},
					}},
				},
			},
		},
		"x-kubernetes-validations": []any{object{"rule": "has(self.names) || has(self.labels)", "message": "selects no template (want names, labels, or both)"}},
	}

	condition := object{
		"type": "object", "required": []any{"type", "status", "lastTransitionTime", "reason", "message"},
		"properties": object{
			"type":               text(316, nil),
			"status":             object{"type": "string", "enum": []any{"True", "False", "Unknown"}},
			"observedGeneration": object{"type": "integer", "format": "int64", "minimum": 0},
			"lastTransitionTime": object{"type": "string", "format": "date-time"},
			"reason":             text(1024, object{"minLength": 1}),
			"message":            text(32768, nil),
		},
	}
	status := object{"type": "object", "properties": object{
		"observedGeneration": object{"type": "integer", "format": "int64"},
		"conditions":         object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"}, "items": condition},
	}}
	column := func(name, path string) object { return object{"name": name, "type": "string", "jsonPath": path} }
	of := func(condition, field string) string {
		return `.status.conditions[?(@.type=="` + condition + `")].` + field
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "registrymirrors." + v1alpha1.GroupVersion.Group},
		"spec": object{
			"group": v1alpha1.GroupVersion.Group, "scope": "Namespaced",
			"names": object{"kind": "RegistryMirrors", "listKind": "RegistryMirrorsList", "plural": "registrymirrors", "singular": "registrymirrors", "categories": []any{"cluster-api"}},
			"versions": []any{object{
				"name": v1alpha1.GroupVersion.Version, "served": true, "storage": true,
				"subresources": object{"status": object{}},
				"additionalPrinterColumns": []any{
					column("Valid", of(v1alpha1.Valid, "status")), column("Ready", of(v1alpha1.Ready, "status")), column("Reason", of(v1alpha1.Ready, "reason")),
					object{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
				},
				"schema": object{"openAPIV3Schema": object{
					"type": "object", "required": []any{"spec"},
					"description": "RegistryMirrors keeps the registries of TalosConfigTemplates as its spec has them.",
					"properties":  object{"apiVersion": object{"type": "string"}, "kind": object{"type": "string"}, "metadata": object{"type": "object"}, "spec": spec, "status": status},
				}},
			}},
		},
	}
}

// TestCRD keeps the manifest what package schema and this test make it.
func TestCRD(t *testing.T) {
	const file = "../../config/crd.yaml"
	text, err := yaml.Marshal(crd())
	require.NoError(t, err)
	want := "# Generated: go test ./api/v1alpha1 -run TestCRD -update\n" + string(text)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	if string(got) != want { // the difference would be long
		t.Error("config/crd.yaml is not what package schema makes it: go test ./api/v1alpha1 -run TestCRD -update")
	}
}
