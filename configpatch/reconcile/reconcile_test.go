package reconcile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// cluster is what the stand-in for kubectl finds.
type cluster struct {
	fields    map[string]string // by "namespace resource name jsonpath"
	late      map[string]int    // how many gets of a field find nothing, without an error, before it is there
	applyExit int               // the exit code of kubectl apply
}

// programs are stand-ins, as scripts for /bin/sh, which is cheap to start. They work in the directory $CLUSTER.
func (c cluster) programs() map[string]string {
	// kubectl answers as kubectl 1.32 does, for the calls that scripts of this package make and no others.
	var answers strings.Builder
	for i, key := range sortedKeys(c.fields) {
		fmt.Fprintf(&answers, "%s)\n", quoteWord(key))
		if n := c.late[key]; n > 0 {
			fmt.Fprintf(&answers, "echo >>late%d\n[ $(wc -l <late%d) -gt %d ] || exit 0\n", i, i, n)
		}
		fmt.Fprintf(&answers, "printf %%s %s\nexit 0 ;;\n", quoteWord(c.fields[key]))
	}
	return map[string]string{
		"kubectl": `#!/bin/sh
cd "$CLUSTER" || exit 70
if [ $# = 8 ] && [ "$1 $4 $6 $8" = 'get -n -o --request-timeout=30s' ]; then
key="$5 $2 $3 ${7#jsonpath=}"
printf 'get %s\n' "$key" >>calls
case $key in
` + answers.String() + `esac
printf 'Error from server (NotFound): %s "%s" not found\n' "$2" "$3" >&2
exit 1
fi
case $#:$* in
"5:apply -n ${3-} -f -" | "8:apply --server-side --force-conflicts --field-manager=mirrorpatch -n ${6-} -f -")
printf '%s\n' "$*" >>calls
` + fmt.Sprintf("if [ %d -ne 0 ]; then cat >/dev/null; echo refused >&2; exit %d; fi\n", c.applyExit, c.applyExit) + `cat >>applied
exit ;;
"8:apply --server-side --force-conflicts --field-manager=mirrorpatch-last-applied -n ${6-} -f -")
printf '%s\n' "$*" >>calls
cat >>last
exit ;;
esac
printf 'kubectl: unexpected arguments\n' >&2
exit 64
`,
		// talosctl writes its arguments down, and fails for the node fails.example.com.
		"talosctl": `#!/bin/sh
cd "$CLUSTER" || exit 70
printf '%s\000' "$@" 'end of call' >>calls
if [ "$4" = fails.example.com ]; then
echo 'error applying new configuration' >&2
exit 3
fi
`,
		"sleep": "#!/bin/sh\n",
	}
}

func quoteWord(s string) string { return string(escape.AppendWord(nil, s)) }

// run is one execution of a script.
type run struct {
	exit           int
	stdout, stderr string
	applied        string   // what kubectl apply got
	calls          []string // what kubectl or talosctl was called with
}

// execute runs a shell with kubectl on PATH and nothing in the environment but env.
func execute(t testing.TB, argv []string, env []string, c cluster) run {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.programs() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}

	// A shell may look in PATH of this process for itself.
	program, err := exec.LookPath(argv[0])
	require.NoError(t, err)
	cmd := exec.Command(program, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Env = append([]string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"), "CLUSTER=" + dir, "TMPDIR=" + dir}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := run{exit: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if applied, err := os.ReadFile(filepath.Join(dir, "applied")); err == nil {
		r.applied = string(applied)
	}
	if calls, err := os.ReadFile(filepath.Join(dir, "calls")); err == nil {
		end := "\n"
		if bytes.Contains(calls, []byte{0}) {
			end = "\x00end of call\x00"
		}
		r.calls = strings.Split(strings.TrimSuffix(string(calls), end), end)
	}
	return r
}

// pod is what the kubelet needs to know of the manifests.
type pod struct {
	objects []map[string]any
	job     map[string]any
	spec    struct {
		Containers []struct {
			Image   string
			Command []string
			Env     []struct {
				Name, Value string
				ValueFrom   *struct {
					SecretKeyRef struct{ Name, Key string }
				}
			}
			VolumeMounts []struct{ MountPath string }
		}
	}
}

// readManifests reads the manifests as another program would.
func readManifests(t testing.TB, data []byte) pod {
	t.Helper()
	var p pod
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var object map[string]any
		err := dec.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "%s", data)
		p.objects = append(p.objects, object)
		if object["kind"] == "Job" {
			p.job = object
		}
	}
	require.NotNil(t, p.job)
	text, err := json.Marshal(p.job["spec"].(map[string]any)["template"].(map[string]any)["spec"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &p.spec))
	require.Len(t, p.spec.Containers, 1)
	return p
}

// kind returns the objects of a kind.
func (p pod) kind(kind string) (found []map[string]any) {
	for _, o := range p.objects {
		if o["kind"] == kind {
			found = append(found, o)
		}
	}
	return found
}

// start runs the Job's container as the kubelet does, with sh in the place of /bin/sh.
// secrets are those of the Job's namespace, by "name key".
func (p pod) start(t testing.TB, sh shelltest.Shell, secrets map[string]string, c cluster) run {
	t.Helper()
	container := p.spec.Containers[0]
	known := map[string]string{}
	var env []string
	for _, e := range container.Env {
		value := kubelettest.Expand(e.Value, known)
		if e.ValueFrom != nil {
			var ok bool
			value, ok = secrets[e.ValueFrom.SecretKeyRef.Name+" "+e.ValueFrom.SecretKeyRef.Key]
			require.True(t, ok, "no secret for %s", e.Name)
		}
		known[e.Name] = value
		env = append(env, e.Name+"="+value)
	}
	if sh.Name == "yash" {
		// yash 2.52 decodes its script by the locale before it runs the first line, and stops at what is
		// not ASCII in the locale C. No image has it for /bin/sh.
		env = append(env, "LC_ALL=C.UTF-8")
	}
	command := slices.Clone(container.Command)
	for i := range command {
		command[i] = kubelettest.Expand(command[i], known)
	}
	require.Equal(t, "/bin/sh", command[0])
	command = append(slices.Clone(sh.Args), command[1:]...)
	if len(container.VolumeMounts) == 2 {
		mount := container.VolumeMounts[1]
		dir := t.TempDir()
		for _, kind := range []string{"ConfigMap", "Secret"} {
			for _, o := range p.kind(kind) {
				require.Equal(t, p.job["metadata"].(map[string]any)["name"], o["metadata"].(map[string]any)["name"])
				for _, field := range []string{"data", "stringData"} {
					files, _ := o[field].(map[string]any)
					for name, text := range files {
						require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text.(string)), 0o600))
					}
				}
			}
		}
		last := len(command) - 1
		require.True(t, strings.HasPrefix(command[last], mount.MountPath+"/"))
		command[last] = filepath.Join(dir, strings.TrimPrefix(command[last], mount.MountPath+"/"))
	}
	return execute(t, command, env, c)
}

// configTemplate is a TalosConfigTemplate.
type configTemplate struct {
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
				StrategicPatches []string `yaml:"strategicPatches"`
				Data             *string
			}
		}
	}
}

func readTemplate(t testing.TB, applied string) configTemplate {
	t.Helper()
	dec := yaml.NewDecoder(strings.NewReader(applied))
	dec.KnownFields(true)
	var c configTemplate
	require.NoError(t, dec.Decode(&c), "%s", applied)
	require.ErrorIs(t, dec.Decode(new(any)), io.EOF, "one document: %s", applied)
	return c
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func sh() shelltest.Shell { return shelltest.Shell{Name: "sh", Args: []string{"/bin/sh"}} }

func yamlUnmarshal(text string, into any) error { return yaml.Unmarshal([]byte(text), into) }
