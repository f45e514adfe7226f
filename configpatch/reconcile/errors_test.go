package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

func TestErrors(t *testing.T) {
	input := func(in Input) func(*Job) {
		return func(j *Job) {
			j.Template.StrategicPatches, j.Template.Skeleton = nil, "a: ${V}\n"
			j.Template.Inputs = []Input{in}
		}
	}
	patch := func(text string) func(*Job) {
		return func(j *Job) { j.Template.StrategicPatches = [][]byte{[]byte(text)} }
	}
	port := FromEnv{Value: "1"}
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   []string // the lines of the error; none: no error
	}{
		{"nothing", func(*Job) {}, nil},
		{"name", func(j *Job) { j.Template.Name = "A b" }, []string{`name: invalid name "A b" (` + wantSubdomain + `)`}},
		{"empty names", func(j *Job) { j.Template.Name, j.Template.Namespace = "", "" },
			[]string{`name: invalid name "" (` + wantSubdomain + `)`, `namespace: invalid name "" (` + wantLabel + `)`}},
		{"namespace with an option", func(j *Job) { j.Template.Namespace = "-n" }, []string{`namespace: invalid name "-n" (` + wantLabel + `)`}},
		{"newline behind a name", func(j *Job) { j.Template.Name = "a\n" }, []string{`name: invalid name "a\n" (` + wantSubdomain + `)`}},
		{"label", func(j *Job) { j.Template.Labels = map[string]string{"a/b/c": "x y", "ok": ""} },
			[]string{`labels["a/b/c"]: invalid key (` + wantLabelKey + `)`, `labels["a/b/c"]: invalid value "x y" (` + wantLabelVal + `)`}},
		{"annotation", func(j *Job) { j.Annotations = map[string]string{"": "", "x": "a\x00"} },
			[]string{`job.annotations[""]: invalid key (` + wantLabelKey + `)`, `job.annotations["x"]: line 1: offset 1: NUL byte (want text: no shell carries this byte)`}},
		{"not UTF-8", func(j *Job) { j.Template.Annotations = map[string]string{"x": "a\ufffd\xff"} },
			[]string{`annotations["x"]: line 1: offset 4: invalid UTF-8 (want UTF-8: Kubernetes holds no other text)`}},
		{"largest annotations", func(j *Job) {
			j.Template.Annotations = map[string]string{"x": strings.Repeat("a", 261823)}
			j.Annotations = map[string]string{"x": strings.Repeat("a", 262143)}
		}, nil},
		{"larger annotations", func(j *Job) {
			j.Template.Annotations = map[string]string{"x": strings.Repeat("a", 262143)}
			j.Annotations = map[string]string{"x": strings.Repeat("a", 131072), "y": strings.Repeat("a", 131071)}
		}, []string{`annotations: keys and values of 262144 bytes (want at most 261824, since the API server takes 262144 and kubectl apply needs 320)`,
			`job.annotations: keys and values of 262145 bytes (want at most 262144, the limit of the API server)`}},
		{"annotations beyond all", func(j *Job) { j.Template.Annotations = map[string]string{"x": strings.Repeat("a", 262144)} },
			[]string{`annotations: keys and values of 262145 bytes (want at most 262144, the limit of the API server)`}},
		{"annotation of kubectl", func(j *Job) { j.Template.Annotations = map[string]string{lastAppliedKey: "{}"} },
			[]string{`annotations["kubectl.kubernetes.io/last-applied-configuration"]: the annotation of kubectl apply itself (want another key)`}},
		{"version of the API", func(j *Job) { j.Template.APIVersion = "v1" }, []string{`apiVersion: unknown version "v1" (want v1beta1 or v1alpha3)`}},
		{"another group", func(j *Job) { j.Template.APIVersion = "apps/v1beta1" }, []string{`apiVersion: unknown version "apps/v1beta1" (want v1beta1 or v1alpha3)`}},
		{"version of Talos", func(j *Job) { j.Template.TalosVersion = "v1.13$(id)" }, []string{`talosVersion: invalid version "v1.13$(id)" (want a version as v1.13 or v1.13.9)`}},
		{"beta", func(j *Job) { j.Template.TalosVersion = "1.14.0-beta.1" }, nil},
		{"type", func(j *Job) { j.Template.GenerateType = "init" }, []string{`generateType: unknown type "init" (want worker, controlplane or none)`}},
		{"no skeleton", func(j *Job) { j.Template.GenerateType = "none" }, []string{`skeleton: no skeleton (want a machine configuration, since generateType is none)`}},
		{"type beside a skeleton", func(j *Job) { j.Template.GenerateType, j.Template.Skeleton = "worker", "a: b" }, []string{`generateType: "worker" beside a skeleton (want none)`}},
		{"no patch", func(j *Job) { j.Template.StrategicPatches = nil }, []string{`strategicPatches: no patch (want at least one patch)`}},
		{"empty patch", patch("# nothing\n---\n"), []string{`strategicPatches[0]: empty patch (want a strategic-merge patch)`}},
		{"JSON 6902", patch(`[{"op":"add","path":"/machine","value":1}]`),
			[]string{`strategicPatches[0]: line 1: a list, as a JSON 6902 patch is (want a map: Talos applies JSON 6902 to no configuration of several documents)`}},
		{"JSON 6902 behind a map", patch("a: b\n---\n- op: remove\n  path: /a\n"),
			[]string{`strategicPatches[0]: line 3: a list, as a JSON 6902 patch is (want a map: Talos applies JSON 6902 to no configuration of several documents)`}},
		{"text", patch("hello\n"), []string{`strategicPatches[0]: line 1: text (want a map)`}},
		{"no YAML", patch("a: [b\n"), []string{"strategicPatches[0]: invalid YAML: yaml: line 1: did not find expected ',' or ']'"}},
		{"password that is an alias", patch("password: *made-up\n"), []string{"strategicPatches[0]: invalid YAML: an alias of no anchor (want quotes around a text that begins with *)"}},
		{"control character", patch("a: b # \x01\n"), []string{"strategicPatches[0]: invalid YAML: yaml: control characters are not allowed"}},
		{"inputs without a skeleton", func(j *Job) { j.Template.Inputs = []Input{{"V", escape.Port, port}} }, []string{`inputs: inputs without a skeleton (want a skeleton that names them)`}},
		{"times", func(j *Job) {
			j.Template.Tries, j.Template.Interval, j.TTL, j.Deadline = -1, time.Millisecond, -time.Second, 1500*time.Millisecond
		}, []string{
			`tries: -1 tries (want 1 to 10000)`, `interval: interval 1ms (want whole seconds, from 1 to 3600)`,
			`job.ttl: -1s (want whole seconds, 1 or more)`, `job.deadline: 1.5s (want whole seconds, 1 or more)`,
		}},
		{"deadline", func(j *Job) {
			input(Input{"V", escape.Port, FromSecret{Name: "s", Key: "k"}})(j)
			j.Template.Skeleton = ""
			for i := range 60 {
				name := fmt.Sprintf("V%d", i)
				j.Template.Skeleton += name + ": ${" + name + "}\n"
				j.Template.Inputs = append(j.Template.Inputs, Input{name, escape.Port, FromSecret{Name: "s", Key: "k"}})
			}
			j.Template.Inputs = j.Template.Inputs[1:]
			j.Template.Tries, j.Template.Interval = 10000, time.Hour
		}, []string{`job.deadline: the inputs may take 2160000300 seconds (want fewer tries or a shorter interval, or a deadline)`}},
		{"other negative time", func(j *Job) { j.TTL = -2 }, []string{`job.ttl: -2ns (want whole seconds, 1 or more)`}},
		{"delete at once", func(j *Job) { j.TTL = DeleteAtOnce }, nil},
		{"default ServiceAccount", func(j *Job) { j.Name = "default" }, []string{`job.name: "default" is the ServiceAccount that each namespace has (want another name, or a ServiceAccount)`}},
		{"default ServiceAccount by the template", func(j *Job) { j.Template.Name = "default" }, []string{`job.name: "default" is the ServiceAccount that each namespace has (want another name, or a ServiceAccount)`}},
		{"default name with an account", func(j *Job) { j.Name, j.ServiceAccount = "default", "default" }, nil},
		{"Role's name", func(j *Job) {
			j.Name, j.Namespace = strings.Repeat("a", 253), "jobs"
		}, []string{`job.name: the name of the Role in the namespace "tenant-a" has 258 bytes (want a shorter one: its namespace, a dot and it are at most 253 bytes)`}},
		{"longest Role's name", func(j *Job) { j.Name, j.Namespace = strings.Repeat("a", 248), "jobs" }, nil},
		{"longest name", func(j *Job) { j.Name = strings.Repeat("a", 253) }, nil},
		{"run id", func(j *Job) { j.RunID, j.Annotations = "1", map[string]string{"mirrorpatch/run-id": "2"} },
			[]string{`job.annotations["mirrorpatch/run-id"]: an annotation that the run id has (want one of the two)`}},
		{"job", func(j *Job) {
			j.Name, j.Namespace, j.ServiceAccount, j.Image, j.RunID, j.BackoffLimit = "a_b", "a.b", "c/d", "an image", "\xff", new(-1)
		}, []string{
			`job.name: invalid name "a_b" (` + wantSubdomain + `)`, `job.namespace: invalid name "a.b" (` + wantLabel + `)`,
			`job.serviceAccount: invalid name "c/d" (` + wantSubdomain + `)`, `job.image: invalid image "an image" (want an image reference without white space)`,
			`job.runID: line 1: invalid UTF-8 (want UTF-8: Kubernetes holds no other text)`, `job.backoffLimit: -1 (want 0 or more)`,
		}},
		{"input", input(Input{"V", escape.Port, port}), nil},
		{"no form", input(Input{"V", escape.Form{}, port}), []string{`inputs["V"].form: no form (want what the value may be, such as escape.Address)`}},
		{"input's name", input(Input{"1V", escape.Port, port}), []string{`inputs[0].name: invalid name "1V" (want letters, digits and _, no digit first)`}},
		{"kubectl's variable", input(Input{"KUBECONFIG", escape.Port, port}), []string{`inputs["KUBECONFIG"]: the variable "KUBECONFIG" changes what kubectl does (want another name)`}},
		{"no source", input(Input{"V", escape.Port, nil}), []string{`inputs["V"].from: no source (want a FromEnv, a FromSecret or a FromJSONPath)`}},
		{"empty source", input(Input{"V", escape.Port, FromEnv{}}), []string{`inputs["V"].from: no source for the Job's environment (want a value, or the name and key of a Secret)`}},
		{"two sources", input(Input{"V", escape.Port, FromEnv{Value: "secret text", Secret: "s"}}), []string{`inputs["V"].from: a value and a Secret (want one of the two)`}},
		{"value too long", input(Input{"V", escape.Any, FromEnv{Value: strings.Repeat("x", 131071)}}), []string{`inputs["V"].from.value: 131071 bytes (want at most 130815)`}},
		{"no key", input(Input{"V", escape.Port, FromEnv{Secret: "s"}}), []string{`inputs["V"].from.key: invalid key "" (` + wantKey + `)`}},
		{"secret", input(Input{"V", escape.Port, FromSecret{"A", "", "a/b", false}}), []string{
			`inputs["V"].from.namespace: invalid name "A" (` + wantLabel + `)`, `inputs["V"].from.name: invalid name "" (` + wantSubdomain + `)`,
			`inputs["V"].from.key: invalid key "a/b" (` + wantKey + `)`,
		}},
		{"decoded port", input(Input{"V", escape.Port, FromSecret{"", "s", "k", true}}), []string{`inputs["V"].form: another form (want escape.Any, since decoded text may be of any content)`}},
		{"JSONPath", input(Input{"V", escape.Port, FromJSONPath{"", "services/status", "s", ".spec"}}), []string{
			`inputs["V"].from.resource: invalid resource "services/status" (want a resource as services or clusters.cluster.x-k8s.io)`,
			`inputs["V"].from.jsonPath: invalid JSONPath ".spec" (want a JSONPath in braces: {.spec.clusterIP})`,
		}},
		{"carriage return", func(j *Job) {
			input(Input{"V", escape.Port, port})(j)
			j.Template.Skeleton = "a: b\r\nb: ${V}\r\n"
		}, []string{"skeleton: line 1: offset 4: the character U+000D beside inputs (want lines that end in a newline alone)"}},
		{"skeleton is no map", func(j *Job) { input(Input{"V", escape.Port, port})(j); j.Template.Skeleton = "- ${V}\n" },
			[]string{`skeleton: line 1: a list, as a JSON 6902 patch is (want a map: Talos applies JSON 6902 to no configuration of several documents)`}},
		{"text in quotes", func(j *Job) { input(Input{"V", escape.Any, port})(j); j.Template.Skeleton = "a: \"b ${V}\"\n" },
			[]string{"skeleton: line 1: offset 6: ${V} may be any text, and stands in quotes or beside other text (want it as the whole of a value, without quotes)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := patchesJob()
			c.change(&j)
			o, err := Manifests(j)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, strings.Join(c.want, "\n"))
			require.Empty(t, o.Bytes())
			for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
				require.IsType(t, &Error{}, one)
			}
		})
	}
}

// What package escape finds keeps its own error.
func TestErrorsOfEscape(t *testing.T) {
	for name, in := range map[string]Input{
		"unused":   {"OTHER", escape.Port, FromEnv{Value: "1"}},
		"reserved": {"IFS", escape.Port, FromEnv{Value: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := patchesJob()
			j.Template.Skeleton, j.Template.Inputs = "a: ${V}\nb: ${IFS}\n", []Input{in}
			_, err := Script(j.Template)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "skeleton", e.Path)
			var cause *escape.Error
			require.True(t, errors.As(err, &cause))
			require.Equal(t, in.Name, cause.Name)
		})
	}
}

// The offset of a misspelt input is that in the skeleton as it was given.
func TestMisspeltInput(t *testing.T) {
	j := patchesJob()
	j.Template.Skeleton = "a:\n  b: ${API_ADRESS}\n"
	j.Template.Inputs = []Input{{"API_ADDRESS", escape.DNSName, FromEnv{Value: "api.example.com"}}}
	_, err := Script(j.Template)
	require.EqualError(t, err, `skeleton: skeleton "API_ADDRESS": byte 8: the skeleton does not use this input; what it has here is ${API_ADRESS}, which is not declared (write the same name in both places)`)
}

// A position is told where there is one.
func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"":                                     {},
		"name: x":                              {Path: "name", Reason: "x"},
		"skeleton: line 2: x (want y)":         {Path: "skeleton", Line: 2, Reason: "x", Fix: "want y"},
		"skeleton: line 2: offset 7: x":        {Path: "skeleton", Line: 2, Offset: 7, Reason: "x"},
		"script: NUL byte in a word: the word": {Path: "script", Reason: "NUL byte in a word", Err: errors.New("the word")},
	} {
		require.Equal(t, want, e.Error())
	}
}

// FromEnv without a source is for a caller who runs the script.
func TestScriptInAnyEnvironment(t *testing.T) {
	j := patchesJob()
	j.Template.Skeleton, j.Template.Inputs = "a: ${V}\n", []Input{{"V", escape.Port, FromEnv{}}}
	script, err := Script(j.Template)
	require.NoError(t, err)
	r := execute(t, []string{"/bin/sh", "-c", script.String()}, []string{"V=80"}, cluster{})
	require.Zero(t, r.exit, r.stderr)
	require.Equal(t, "a: 80\n", *readTemplate(t, r.applied).Spec.Template.Spec.Data)
	r = execute(t, []string{"/bin/sh", "-c", script.String()}, nil, cluster{})
	require.Equal(t, 1, r.exit)
	require.Empty(t, r.calls)
}
