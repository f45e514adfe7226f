package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
)

// TestMain lets the test binary stand in for mirrorctl in scripts.
func TestMain(m *testing.M) {
	testscript.Main(running{m}, map[string]func(){"mirrorctl": main})
}

type running struct{ *testing.M }

func (r running) Run() int {
	defer os.RemoveAll(binDir())
	return r.M.Run()
}

// standInKubectl makes kubectl answer get and store what is applied, once.
// It is strict: a call that it does not expect fails.
func (c cluster) standInKubectl(t *testing.T, dir string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("case \"$*\" in\n")
	for i, query := range slices.Sorted(maps.Keys(c.answers)) {
		answer := filepath.Join(dir, fmt.Sprintf("answer-%d", i))
		require.NoError(t, os.WriteFile(answer, []byte(c.answers[query]), 0o600))
		part := strings.SplitN(query, " ", 4)
		call := fmt.Sprintf("get %s %s -n %s -o jsonpath=%s", part[0], part[2], part[1], part[3])
		fmt.Fprintf(&b, "%s*) cat %s ;;\n", escape.AppendWord(nil, call), escape.AppendWord(nil, answer))
	}
	applied := escape.AppendWord(nil, filepath.Join(dir, "applied.yaml"))
	// For a large template the script leaves kubectl's own annotation in a call of its own.
	fmt.Fprintf(&b, "'apply --server-side --force-conflicts --field-manager=mirrorpatch-last-applied '*' -f -') [ -e %s ] || exit 1; cat >/dev/null ;;\n", applied)
	fmt.Fprintf(&b, "'apply '*' -f -') [ ! -e %s ] || exit 1; cat > %[1]s ;;\n", applied)
	b.WriteString("*) echo \"kubectl: unexpected call: $*\" >&2; exit 1 ;;\nesac\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "calls.sh"), []byte(b.String()), 0o600))
}

// binDir has the one kubectl of all tests. A program that was just written
// cannot be started while another goroutine's child still holds it open.
var binDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "mirrorctl-test-*")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\n. \"$STAND_IN/calls.sh\"\n"), 0o700)
	}
	if err != nil {
		panic(err)
	}
	return dir
})

// mirrorctl runs the command line in this process.
func mirrorctl(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// cluster is what the Job finds.
type cluster struct {
	secrets map[string]map[string]string // namespace/name, key, value
	answers map[string]string            // resource namespace name path: what kubectl get prints
	extra   map[string]string            // further variables of the container
}

// job is a printed Job: what there is of it for a kubelet.
type job struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		Template struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct {
				ServiceAccountName string `yaml:"serviceAccountName"`

				Containers []struct {
					Image   string
					Command []string
					Env     []struct {
						Name, Value string
						ValueFrom   struct {
							SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
					Secret    struct {
						SecretName string `yaml:"secretName"`
					}
				}
			}
		}
	}
}

// manifests are the printed documents by kind.
func manifests(t *testing.T, stream string) map[string][]yaml.Node {
	t.Helper()
	found := map[string][]yaml.Node{}
	dec := yaml.NewDecoder(strings.NewReader(stream))
	for {
		var node yaml.Node
		err := dec.Decode(&node)
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		var head struct{ Kind string }
		require.NoError(t, node.Decode(&head))
		found[head.Kind] = append(found[head.Kind], node)
	}
}

// theJob is the one Job of a stream.
func theJob(t *testing.T, stream string) job {
	t.Helper()
	found := manifests(t, stream)
	require.Len(t, found["Job"], 1)
	var j job
	require.NoError(t, found["Job"][0].Decode(&j))
	require.Len(t, j.Spec.Template.Spec.Containers, 1)
	return j
}

// runJob does what a node does with the printed Job: it makes the container's
// environment and files, expands $(NAME) in both, and runs the command with
// sh in place of /bin/sh. It returns what was applied.
func (c cluster) runJob(t *testing.T, stream string, sh []string) (applied string, err error) {
	t.Helper()
	j := theJob(t, stream)
	container := j.Spec.Template.Spec.Containers[0]
	dir := t.TempDir()

	env := map[string]string{}
	var environ []string
	for name, value := range c.extra {
		env[name] = value
		environ = append(environ, name+"="+value)
	}
	for _, e := range container.Env {
		value := kubelettest.Expand(e.Value, env)
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
			var ok bool
			value, ok = c.secrets[j.Metadata.Namespace+"/"+ref.Name][ref.Key]
			require.True(t, ok, "no key %q in Secret %q", ref.Key, ref.Name)
		}
		env[e.Name] = value
		environ = append(environ, e.Name+"="+value)
	}

	command := slices.Clone(container.Command)
	require.Equal(t, "/bin/sh", command[0])
	for i := range command {
		command[i] = kubelettest.Expand(command[i], env)
	}
	for _, mount := range container.VolumeMounts {
		for _, volume := range j.Spec.Template.Spec.Volumes {
			for name, text := range mounted(t, stream, volume.ConfigMap.Name, volume.Secret.SecretName) {
				if mount.Name != volume.Name {
					continue
				}
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
				for i := range command {
					if command[i] == mount.MountPath+"/"+name {
						command[i] = filepath.Join(dir, name)
					}
				}
			}
		}
	}
	return c.execute(t, dir, append(slices.Clone(sh), command[1:]...), environ)
}

// execute runs a command with the stand-in kubectl on PATH.
func (c cluster) execute(t *testing.T, dir string, command, environ []string) (applied string, err error) {
	t.Helper()
	c.standInKubectl(t, dir)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(slices.Clone(environ), "PATH="+binDir()+":"+os.Getenv("PATH"), "STAND_IN="+dir, "TMPDIR="+dir)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "applied.yaml"))
	if err != nil {
		return "", fmt.Errorf("nothing was applied: %w: %s", err, out)
	}
	return string(data), nil
}

// mounted returns the files of a printed ConfigMap or Secret.
func mounted(t *testing.T, stream, configMap, secret string) map[string]string {
	t.Helper()
	found := manifests(t, stream)
	for _, node := range append(found["ConfigMap"], found["Secret"]...) {
		var object struct {
			Kind       string
			Metadata   struct{ Name string }
			Data       map[string]string
			StringData map[string]string `yaml:"stringData"`
		}
		require.NoError(t, node.Decode(&object))
		switch {
		case object.Kind == "ConfigMap" && object.Metadata.Name == configMap:
			return object.Data
		case object.Kind == "Secret" && object.Metadata.Name == secret:
			return object.StringData
		}
	}
	return nil
}

// talosConfigTemplate is what was applied.
type talosConfigTemplate struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	Spec struct {
		Template struct {
			Spec struct {
				GenerateType     string   `yaml:"generateType"`
				TalosVersion     string   `yaml:"talosVersion"`
				Data             string   `yaml:"data"`
				StrategicPatches []string `yaml:"strategicPatches"`
			}
		}
	}
}

func readTemplate(t *testing.T, applied string) talosConfigTemplate {
	t.Helper()
	found := manifests(t, applied)
	require.Len(t, found, 1, "%s", applied)
	require.Len(t, found["TalosConfigTemplate"], 1)
	var tct talosConfigTemplate
	require.NoError(t, found["TalosConfigTemplate"][0].Decode(&tct))
	return tct
}

// configuration is the machine configuration that the bootstrap provider makes
// of a template: what is generated, or data, and then strategicPatches in order.
func (tct talosConfigTemplate) configuration(t *testing.T) []byte {
	t.Helper()
	spec := tct.Spec.Template.Spec
	var base configpatcher.Input
	switch spec.GenerateType {
	case "worker":
		require.Empty(t, spec.Data)
		base = configpatcher.WithBytes(generatedWorker())
	case "none":
		require.NotEmpty(t, spec.Data)
		base = configpatcher.WithBytes([]byte(spec.Data))
	default:
		t.Fatalf("generateType %q", spec.GenerateType)
	}
	patches, err := configpatcher.LoadPatches(spec.StrategicPatches)
	require.NoError(t, err)
	out, err := configpatcher.Apply(base, patches)
	require.NoError(t, err)
	data, err := out.Bytes()
	require.NoError(t, err)
	return data
}

// generatedWorker is a worker configuration as the provider generates it.
var generatedWorker = sync.OnceValue(func() []byte {
	contract := config.TalosVersion1_13
	bundle, err := secrets.NewBundle(secrets.NewFixedClock(time.Now()), contract)
	if err != nil {
		panic(err)
	}
	in, err := generate.NewInput("dev", "https://192.0.2.10:6443", constants.DefaultKubernetesVersion,
		generate.WithVersionContract(contract), generate.WithSecretsBundle(bundle), generate.WithInstallDisk("/dev/vda"))
	if err != nil {
		panic(err)
	}
	cfg, err := in.Config(machine.TypeWorker)
	if err != nil {
		panic(err)
	}
	data, err := cfg.Bytes()
	if err != nil {
		panic(err)
	}
	return data
})
