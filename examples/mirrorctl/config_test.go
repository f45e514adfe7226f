package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestConfigurationPlaces: every problem of a configuration is told, each at its
// place and with its own remedy.
func TestConfigurationPlaces(t *testing.T) {
	for _, tt := range []struct {
		name, command, config string
		want                  []string // behind the file's name
	}{
		{"nulls", "read", "machine:\n  registries:\n    mirrors:\n      b.example.com: null\n      a: null\n    config:\n      c.example.com:\n", []string{
			`:4:7: error: machine.registries.mirrors["b.example.com"]: null, which Talos refuses (want endpoints) [configuration]`,
			`:5:7: error: machine.registries.mirrors["a"]: null, which Talos refuses (want endpoints) [configuration]`,
			`:7:7: error: machine.registries.config["c.example.com"]: null, which Talos refuses (want auth or tls) [configuration]`,
		}},
		{"empty URLs", "migrate", "machine: {}\n---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a.example.com\nendpoints:\n  - url: \"\"\n  - {}\n", []string{
			`:7:5: error: RegistryMirrorConfig "a.example.com": endpoints[0].url: empty (want an http or https URL) [configuration]`,
			`:8:5: error: RegistryMirrorConfig "a.example.com": endpoints[1].url: empty (want an http or https URL) [configuration]`,
		}},
		{"what no document can say", "migrate", "machine:\n  registries:\n    mirrors:\n      b: {endpoints: [x]}\n      a.example.com:\n        endpoints: [\"https://m.internal\", \"oci://x\"]\n", []string{
			`:4:23: error: machine.registries.mirrors["b"].endpoints[0]: a registry document cannot hold this endpoint (want an absolute http or https URL) [configuration]`,
			`:6:43: error: machine.registries.mirrors["a.example.com"].endpoints[1]: a registry document cannot hold this endpoint (want an absolute http or https URL) [configuration]`,
		}},
		{"in several documents", "read", "machine:\n  registries:\n    mirrors:\n      a: null\n---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: b\nendpoints: [{}]\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostnme: x\n", []string{
			`:4:7: error: machine.registries.mirrors["a"]: null, which Talos refuses (want endpoints) [configuration]`,
			`:9:13: error: RegistryMirrorConfig "b": endpoints[0].url: empty (want an http or https URL) [configuration]`,
			`:13:1: error: hostnme: unknown key (want a key that Talos 1.13.9 knows) [unknown-key]`,
		}},
		{"what Talos would refuse", "migrate", "version: v1alpha1\nmachine:\n  type: worker\n  registries:\n    config:\n      a.internal: {tls: {ca: bm8gUEVN}}\n      b.internal:5000:\n        tls:\n          ca: bm8gUEVN\ncluster: {}\n", []string{
			`:6:20: error: machine.registries.config["a.internal"].tls: Talos would refuse the result: RegistryTLSConfig/a.internal: ca must be a valid PEM-encoded certificate [configuration]`,
			`:8:9: error: machine.registries.config["b.internal:5000"].tls: Talos would refuse the result: RegistryTLSConfig/b.internal:5000: ca must be a valid PEM-encoded certificate [configuration]`,
		}},
		{"a name that is not shown", "read", "machine:\n  registries:\n    mirrors:\n      https://u:hunter2@m.internal: null\n", []string{
			`:4:0: error: machine.registries.mirrors["https://[redacted]@m.internal"]: null, which Talos refuses (want endpoints) [configuration]`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := write(t, "config.yaml", tt.config)
			code, stdout, stderr := mirrorctl("", tt.command, file)
			assert.Equal(t, exitInput, code)
			assert.Empty(t, stdout)
			assert.Equal(t, file+strings.Join(tt.want, "\n"+file)+"\n", stderr)
		})
	}
}

// TestInFlags: the remedies of the library in the words of the command line.
func TestInFlags(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"its name in Own", "its name in --own"},
		{"WithSection, Converge, or the documents form", "--section, mirrorctl plan, or the documents form"},
		{"WithForm(Legacy)", "--form legacy"},
		{"1.8 or later, or Merge for a configuration that has none of these keys", "1.8 or later, or --mode merge for a configuration that has none of these keys"},
		{"Owner, Merged, DocumentsOnly", "Owner, Merged, --documents-only"},
	} {
		assert.Equal(t, tt.want, inFlags(tt.in))
	}
}
