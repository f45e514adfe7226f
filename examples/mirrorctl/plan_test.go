package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPlanShowsChangedSecrets: the diff for a person shows that a secret changes,
// and not what it is.
func TestPlanShowsChangedSecrets(t *testing.T) {
	config := write(t, "config.yaml", `machine:
  registries:
    config:
      a.internal: {auth: {username: robot, password: made-up-1}}
      b.internal: {auth: {username: robot, password: made-up-2}}
      c.internal: {auth: {username: robot, password: made-up-3}}
cluster: {}
---
apiVersion: v1alpha1
kind: RegistryAuthConfig
name: d.internal
identityToken: made-up-4
`)
	file := write(t, "registries.yaml", `config:
  a.internal: {auth: {username: robot, password: made-up-5}}
  b.internal: {auth: {username: robot, password: made-up-2}}
  c.internal: {auth: {username: other, password: made-up-3}}
  d.internal: {auth: {identityToken: made-up-6}}
`)
	var out, errs bytes.Buffer
	code := (&tool{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, person: true}).run(
		[]string{"plan", "-f", file, "--config", config, "--talos-version", "v1.13", "--form", "documents"})
	assert.Zero(t, code)
	assert.NotContains(t, errs.String(), "made-up")
	var changed []string
	for line := range strings.Lines(errs.String()) {
		if strings.HasPrefix(line, "+ ") || strings.HasPrefix(line, "- ") {
			if !strings.Contains(line, "#") { // in which form it is
				changed = append(changed, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	assert.Equal(t, []string{
		"- password: '[redacted]'", "+ password: '[redacted, changed]'",
		"- username: robot", "+ username: other",
		"- identityToken: '[redacted]'", "+ identityToken: '[redacted, changed]'",
	}, changed, "%s", errs.String())
}
