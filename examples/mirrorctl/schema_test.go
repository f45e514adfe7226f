package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// The schemas are those that docs has, and the same in YAML.
func TestSchema(t *testing.T) {
	for kind, file := range map[string]string{"json-schema": "registries.schema.json", "crd": "registries.openapi.json"} {
		want, err := os.ReadFile("../../docs/" + file)
		require.NoError(t, err)
		code, stdout, stderr := mirrorctl("", "schema", "--for", kind)
		require.Zero(t, code, "%s", stderr)
		assert.Equal(t, string(want), stdout)

		code, stdout, stderr = mirrorctl("", "schema", "--for", kind, "-o", "yaml")
		require.Zero(t, code, "%s", stderr)
		var a, b any
		require.NoError(t, json.Unmarshal(want, &a))
		require.NoError(t, yaml.Unmarshal([]byte(stdout), &b))
		j, err := json.Marshal(b)
		require.NoError(t, err)
		assert.JSONEq(t, string(want), string(j))
	}
}
