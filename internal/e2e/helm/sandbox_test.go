package helm_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/sandbox"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// TestChartOnNode runs the Job of the chart as a node would: what its values say
// is what kubectl gets, and no more.
func TestChartOnNode(t *testing.T) {
	sandbox.Needed(t)
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "http://cache.internal:5000"}}}},
		Config: map[string]mirrors.HostConfig{"cache.internal:5000": {Auth: &mirrors.Auth{
			Username: "robot$(BOOTSTRAP_TOKEN)", Password: mirrors.NewSecret("`id` ${BOOTSTRAP_TOKEN} \\$(BOOTSTRAP_TOKEN)\nEOF\nid\n")}}},
	}
	version, err := configpatch.ParseVersion("1.13")
	if err != nil {
		t.Fatal(err)
	}
	patch, err := configpatch.Merge(set, version)
	if err != nil {
		t.Fatal(err)
	}
	const note = "<no value>{{ .Values.secret }}$(BOOTSTRAP_TOKEN)\nEOF\nid\n\"': é"
	out, err := renderChart(loadChart(t), map[string]any{"apply": map[string]any{"note": note, "patch": string(patch.Bytes())}})
	if err != nil {
		t.Fatal(err)
	}
	pod, files := sandbox.Manifests(t, []byte(out["apply.yaml"]))
	const secret = "boots0.0123456789abcdef"
	cluster := sandbox.Cluster{Secrets: map[string]string{"tenant-a bootstrap-token": secret}}
	shells := 0
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		r := cluster.Start(t, pod, files, sh.Args)
		var applied struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct {
				Template struct {
					Spec struct {
						StrategicPatches []string `yaml:"strategicPatches"`
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(r.Applied), &applied); err != nil || r.Exit != 0 {
			t.Fatalf("exit code %d, %v, standard error:\n%s\napplied:\n%s", r.Exit, err, r.Stderr, r.Applied)
		}
		patches := applied.Spec.Template.Spec.StrategicPatches
		if len(patches) != 1 || patches[0] != string(patch.Bytes()) || applied.Metadata.Annotations["example.com/note"] != note {
			t.Errorf("applied\n%s", r.Applied)
		}
		if strings.Contains(r.Applied+r.Stderr, secret) {
			t.Error("the secret of the environment came out")
		}
		shells++
	})
	verdict.Proved(t, "the Job that Helm 3.22.0 rendered applies its values in %d shells, under a read-only root file system", shells)
}
