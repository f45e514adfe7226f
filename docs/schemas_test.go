package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

var block = regexp.MustCompile("(?s)```(sh|yaml)\n(.*?)```")

// The commands of schemas.md run, and what they write is what the page says.
func TestSchemasPage(t *testing.T) {
	page, err := os.ReadFile("schemas.md")
	require.NoError(t, err)
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not on PATH")
	}
	dir := t.TempDir()
	tool := filepath.Join(dir, "mirrorctl")
	out, err := exec.Command("go", "build", "-o", tool, "../examples/mirrorctl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	commands, files := 0, []string{}
	for _, m := range block.FindAllStringSubmatch(string(page), -1) {
		if m[1] == "yaml" {
			files = append(files, m[2])
			continue
		}
		commands++
		sh := exec.Command("/bin/sh", "-euc", m[2])
		sh.Dir = dir
		sh.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := sh.CombinedOutput()
		require.NoError(t, err, "%s%s", m[2], out)
	}
	assert.Equal(t, 4, commands)
	require.Len(t, files, 2)

	c := jsonschema.NewCompiler()
	validate := func(file string, value any) error {
		s, err := c.Compile(filepath.Join(dir, file))
		require.NoError(t, err)
		return s.Validate(value)
	}
	var registries any
	require.NoError(t, yaml.Unmarshal([]byte(files[0]), &registries))
	require.NotNil(t, registries)
	assert.NoError(t, validate("registries.schema.json", registries))
	assert.NoError(t, validate("values.schema.json", map[string]any{"registries": registries}))
	mirrors := registries.(map[string]any)["mirrors"]
	assert.NoError(t, validate("mirrors.schema.json", map[string]any{"talos": map[string]any{"registryMirrors": mirrors}}))

	ghcr := mirrors.(map[string]any)["ghcr.io"].(map[string]any)
	ghcr["endpoints"] = []any{"cache.example.com:5000"}
	assert.Error(t, validate("registries.schema.json", registries))
	assert.Error(t, validate("values.schema.json", map[string]any{"registries": registries}))
	assert.ErrorContains(t, validate("mirrors.schema.json", map[string]any{"talos": map[string]any{"registryMirrors": mirrors}}),
		`at '/talos/registryMirrors/ghcr.io/endpoints/0': value must be 'a URL that begins with http:// or https:// [endpoint-scheme]'`)
	text, err := os.ReadFile(filepath.Join(dir, "registries.openapi.yaml"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), "description: "))
}
