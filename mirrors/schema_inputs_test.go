package mirrors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The inputs of this package's tests are those of the schemas' tests, too, which
// are in another package and in another module: so they stand in a file.
func TestSchemaInputs(t *testing.T) {
	var inputs []string
	add := func(text string) {
		if len(text) < 1<<16 && utf8.ValidString(text) { // JSON holds no other text
			inputs = append(inputs, text)
		}
	}
	for _, c := range endpointCases {
		if !utf8.ValidString(c.url) {
			continue
		}
		for _, override := range []bool{false, true} {
			j, err := json.Marshal(Set{Mirrors: map[string]Mirror{"ghcr.io": {Endpoints: []Endpoint{{c.url, override}}}}})
			require.NoError(t, err)
			add(string(j))
		}
	}
	for _, c := range ruleCases {
		add(c.in)
	}
	for _, c := range decodeCases {
		add(c.in)
	}
	for _, text := range careful {
		add(text)
	}
	for _, r := range Rules() {
		add(r.Bad)
		add(r.Good)
	}
	want, err := json.MarshalIndent(inputs, "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	file := filepath.Join("schema", "testdata", "inputs.json")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, string(want) == string(got), "run go test -run TestSchemaInputs -update")
}
