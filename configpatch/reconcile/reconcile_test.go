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

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// TestMain makes this test binary a stand-in for kubectl, talosctl and sleep when it runs under those names.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "kubectl":
		os.Exit(kubectl(os.Getenv("CLUSTER"), os.Args[1:]))
	case "talosctl":
		os.Exit(talosctl(os.Getenv("CLUSTER"), os.Args[1:]))
	case "sleep":
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// cluster is what the stand-in for kubectl finds.
type cluster struct {
	// Fields are by "namespace resource name jsonpath".
	Fields map[string]string
	// Late is how many gets of a field find nothing, without an error, before it is there.
	Late map[string]int
	// ApplyExit is the exit code of kubectl apply.
	ApplyExit int
}

// kubectl answers as kubectl 1.32 does, for the calls that scripts of this package make and no others.
func kubectl(dir string, args []string) int {
	log := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			panic(err)
		}
		f.Close()
	}
	var c cluster
	data, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		panic(err)
	}
	switch {
	case len(args) == 8 && args[0] == "get" && args[3] == "-n" && args[5] == "-o" && strings.HasPrefix(args[6], "jsonpath=") && args[7] == "--request-timeout=30s":
		key := strings.Join([]string{args[4], args[1], args[2], strings.TrimPrefix(args[6], "jsonpath=")}, " ")
		log("calls", "get "+key+"\n")
		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
		if strings.Count(string(calls), "get "+key+"\n") <= c.Late[key] {
			return 0
		}
		value, ok := c.Fields[key]
		if !ok {
			fmt.Fprintf(os.Stderr, "Error from server (NotFound): %s %q not found\n", args[1], args[2])
			return 1
		}
		fmt.Print(value)
		return 0
	case len(args) == 5 && slices.Equal(args[:2], []string{"apply", "-n"}) && slices.Equal(args[3:], []string{"-f", "-"}),
		len(args) == 7 && slices.Equal(args[:4], []string{"apply", "--server-side", "--force-conflicts", "-n"}) && slices.Equal(args[5:], []string{"-f", "-"}):
		stdin, err := io.ReadAll(os.Stdin)
		if err != nil {
			panic(err)
		}
		log("calls", strings.Join(args, " ")+"\n")
		if c.ApplyExit != 0 {
			fmt.Fprintln(os.Stderr, "Error from server: refused")
			return c.ApplyExit
		}
		log("applied", string(stdin))
		return 0
	}
	fmt.Fprintf(os.Stderr, "kubectl: unexpected arguments %q\n", args)
	return 64
}

// talosctl writes its arguments down, one JSON list a line, and fails for the node fails.example.com.
func talosctl(dir string, args []string) int {
	f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = json.NewEncoder(f).Encode(args)
	}
	if err != nil {
		panic(err)
	}
	f.Close()
	if slices.Contains(args, "fails.example.com") {
		fmt.Fprintln(os.Stderr, "error applying new configuration")
		return 3
	}
	return 0
}

// run is one execution of a script.
type run struct {
	exit           int
	stdout, stderr string
	applied        string   // what kubectl apply got
	calls          []string // what kubectl was asked for
}

// execute runs a shell with kubectl on PATH and nothing in the environment but env.
func execute(t testing.TB, argv []string, env []string, c cluster) run {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range []string{"kubectl", "talosctl", "sleep"} {
		require.NoError(t, os.Symlink(self, filepath.Join(dir, name)))
	}
	state, err := json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cluster.json"), state, 0o600))

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
		r.calls = strings.Split(strings.TrimSuffix(string(calls), "\n"), "\n")
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
