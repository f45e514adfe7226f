package reconcile

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

var update = flag.Bool("update", false, "write the golden files")

const mirrorPatch = `machine:
  registries:
    mirrors:
      ghcr.io:
        endpoints:
          - http://cache.internal:5000
`

// patchesJob has nothing that is live.
func patchesJob() Job {
	return Job{Template: Template{
		Name:             "tenant-a-md0",
		Namespace:        "tenant-a",
		TalosVersion:     "v1.13",
		StrategicPatches: [][]byte{[]byte(mirrorPatch)},
	}}
}

const skeleton = `# What ${API_ADDRESS} is, the Service knows.
version: v1alpha1
machine:
  type: worker
  token: "${TALOS_TOKEN}"
  ca:
    crt: "${TALOS_CA}"
  install:
    image: "factory.talos.dev/installer/$(TALOS_TOKEN)${UNDECLARED}` + "`id`" + `:v1.13.9"
cluster:
  id: "${CLUSTER_ID}"
  controlPlane:
    endpoint: https://${API_ADDRESS}:${API_PORT}
  token: '${JOIN_TOKEN}'
  ca:
    crt: "${K8S_CA}"
  extraNote: ${NOTE}
`

// skeletonJob has an input from each source.
func skeletonJob() Job {
	return Job{
		Template: Template{
			Name:             "tenant-a-md0",
			Namespace:        "tenant-a",
			APIVersion:       "bootstrap.cluster.x-k8s.io/v1alpha3",
			Labels:           map[string]string{"cluster.x-k8s.io/cluster-name": "tenant-a"},
			Annotations:      map[string]string{"example.com/note": "costs $(TALOS_TOKEN) 100$\n"},
			StrategicPatches: [][]byte{[]byte(mirrorPatch)},
			Skeleton:         skeleton,
			Inputs: []Input{
				{"API_ADDRESS", escape.Address, FromJSONPath{Resource: "svc", Name: "tenant-a", JSONPath: "{.spec.clusterIP}"}},
				{"API_PORT", escape.Port, FromEnv{Value: "6443"}},
				{"TALOS_TOKEN", escape.Token, FromEnv{Secret: "tenant-a-talos", Key: "token"}},
				{"JOIN_TOKEN", escape.Token, FromEnv{Secret: "tenant-a-join", Key: "token"}},
				{"CLUSTER_ID", escape.Base64URL, FromJSONPath{Namespace: "fleet", Resource: "clusters.cluster.x-k8s.io", Name: "tenant-a", JSONPath: `{.metadata.annotations.example\.com/id}`}},
				{"TALOS_CA", escape.Base64, FromSecret{Name: "tenant-a-talos", Key: "ca.crt"}},
				{"K8S_CA", escape.Base64, FromSecret{Namespace: "fleet", Name: "tenant-a-ca", Key: "tls.crt"}},
				{Name: "NOTE", From: FromSecret{Name: "tenant-a-note", Key: "note", Decode: true}},
			},
			Tries:    3,
			Interval: time.Second,
		},
	}
}

const (
	talosToken = "talos0.madeupmadeupmade"
	joinToken  = "joinjo.madeupmadeupmade"
	note       = "\n \"two\"\tlines: ${JOIN_TOKEN} $(TALOS_TOKEN) \\ `id`\n\n"
)

func secrets() map[string]string {
	return map[string]string{"tenant-a-talos token": talosToken, "tenant-a-join token": joinToken}
}

func fullCluster() cluster {
	return cluster{
		fields: map[string]string{
			"tenant-a services tenant-a {.spec.clusterIP}":                                     "10.96.0.10",
			`fleet clusters.cluster.x-k8s.io tenant-a {.metadata.annotations.example\.com/id}`: "bWFkZXVw_-0=",
			`tenant-a secret tenant-a-talos {.data.ca\.crt}`:                                   b64("a made-up CA"),
			`fleet secret tenant-a-ca {.data.tls\.crt}`:                                        b64("another made-up CA\n"),
			`tenant-a secret tenant-a-note {.data.note}`:                                       b64(note),
		},
		late: map[string]int{},
	}
}

func mustManifests(t testing.TB, j Job) Objects {
	t.Helper()
	o, err := Manifests(j)
	require.NoError(t, err)
	return o
}

func TestGolden(t *testing.T) {
	sensitive := patchesJob()
	sensitive.Template.StrategicPatches = [][]byte{[]byte("machine:\n  registries:\n    config:\n      cache.internal:5000:\n        auth:\n          username: robot\n          password: made-up-$(HOME)-password\n")}
	elsewhere := skeletonJob()
	elsewhere.Name, elsewhere.Namespace, elsewhere.ServiceAccount = "mirrors.tenant-a", "jobs", "robot"
	elsewhere.Labels, elsewhere.Annotations = map[string]string{"team": "a"}, map[string]string{"example.com/why": "a: b"}
	elsewhere.RunID, elsewhere.TTL, elsewhere.Deadline, elsewhere.BackoffLimit = "2026-01-01", time.Minute, time.Hour, new(int)
	for name, j := range map[string]Job{
		"patches": patchesJob(), "sensitive": sensitive, "skeleton": skeletonJob(), "elsewhere": elsewhere,
	} {
		t.Run(name, func(t *testing.T) {
			o := mustManifests(t, j)
			got := string(o.Bytes())
			for range 20 {
				require.Equal(t, got, string(mustManifests(t, j).Bytes()), "the same input, other bytes")
			}
			if j.Template.Skeleton != "" {
				// The checks of the inputs are for package escape to write, and the tests run them.
				arg, err := o.Script().Kubelet()
				require.NoError(t, err)
				var script strings.Builder
				writeScalar(&script, arg, 14)
				require.Contains(t, got, script.String())
				got = strings.Replace(got, script.String(), "(the script)\n", 1)
				got = strings.Replace(got, o.JobName()[len(o.JobName())-16:], "(the hash)", 1)
			}
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func TestStrategicPatches(t *testing.T) {
	j := patchesJob()
	j.Template.GenerateType = "controlplane"
	j.Template.StrategicPatches = append(j.Template.StrategicPatches, []byte("a: |\n  EOF\n  $(BOOTSTRAP_TOKEN) ${TALOS_TOKEN} `id` {{ .Values.x }}\nb: c"))
	p := readManifests(t, mustManifests(t, j).Bytes())
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		r := p.start(t, sh, nil, cluster{})
		require.Zero(t, r.exit, r.stderr)
		require.Equal(t, []string{"apply -n tenant-a -f -"}, r.calls)
		got := readTemplate(t, r.applied)
		require.Equal(t, "bootstrap.cluster.x-k8s.io/v1beta1", got.APIVersion)
		require.Equal(t, "TalosConfigTemplate", got.Kind)
		require.Equal(t, "tenant-a-md0", got.Metadata.Name)
		require.Equal(t, "tenant-a", got.Metadata.Namespace)
		spec := got.Spec.Template.Spec
		require.Equal(t, "controlplane", spec.GenerateType)
		require.Equal(t, "v1.13", spec.TalosVersion)
		require.Nil(t, spec.Data)
		require.Equal(t, []string{mirrorPatch, string(j.Template.StrategicPatches[1])}, spec.StrategicPatches)
	})
}

// yamlNote is note as the script writes it.
const yamlNote = `"\n \"two\"\x09lines: ${JOIN_TOKEN} $(TALOS_TOKEN) \\ ` + "`id`" + `\n\n"`

func TestSkeleton(t *testing.T) {
	want := strings.NewReplacer(
		"${API_ADDRESS}", "10.96.0.10", "${API_PORT}", "6443", "${TALOS_TOKEN}", talosToken, "${JOIN_TOKEN}", joinToken,
		"${CLUSTER_ID}", "bWFkZXVw_-0=", "${TALOS_CA}", b64("a made-up CA"), "${K8S_CA}", b64("another made-up CA\n"), "${NOTE}", yamlNote,
	).Replace(skeleton)
	p := readManifests(t, mustManifests(t, skeletonJob()).Bytes())
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		c := fullCluster()
		c.late["tenant-a services tenant-a {.spec.clusterIP}"] = 2
		r := p.start(t, sh, secrets(), c)
		require.Zero(t, r.exit, r.stderr)
		got := readTemplate(t, r.applied)
		require.Equal(t, "bootstrap.cluster.x-k8s.io/v1alpha3", got.APIVersion)
		require.Equal(t, map[string]string{"cluster.x-k8s.io/cluster-name": "tenant-a"}, got.Metadata.Labels)
		require.Equal(t, map[string]string{"example.com/note": "costs $(TALOS_TOKEN) 100$\n"}, got.Metadata.Annotations)
		spec := got.Spec.Template.Spec
		require.Equal(t, "none", spec.GenerateType)
		require.Equal(t, []string{mirrorPatch}, spec.StrategicPatches)
		require.NotNil(t, spec.Data)
		require.Equal(t, want, *spec.Data)
		require.Contains(t, r.stderr, "mirrorpatch: waiting for API_ADDRESS: {.spec.clusterIP} of services tenant-a/tenant-a (try 2 of 3)\n")
	})
}

// The ends of a skeleton and what stands first are where a block scalar loses text.
func TestSkeletonEnds(t *testing.T) {
	for _, text := range []string{
		"a: ${V}", "a: ${V}\n", "a: ${V}\n\n\n", "\n\n  a: ${V}\n", "a: ${V}\n   ", "a: ${V}\n \n\n", "\ta: ${V}\n",
		"---\na: ${V}\n---\nb: ${V}\n...\n", "a: |\n  x\n  \t\n  ${V}", "a: ${V} \t \n", "a: b\n${V}: c\n", "a: b\n#${V}",
	} {
		j := patchesJob()
		j.Template.StrategicPatches, j.Template.Skeleton = nil, text
		j.Template.Inputs = []Input{{"V", escape.Port, FromEnv{Value: "6443"}}}
		o, err := Manifests(j)
		if strings.HasPrefix(text, "\t") {
			require.ErrorContains(t, err, "skeleton: invalid YAML")
			continue
		}
		require.NoError(t, err, "%q", text)
		r := readManifests(t, o.Bytes()).start(t, sh(), nil, cluster{})
		require.Zero(t, r.exit, r.stderr)
		require.Equal(t, strings.ReplaceAll(text, "${V}", "6443"), *readTemplate(t, r.applied).Spec.Template.Spec.Data)
	}
}

func TestInputsThatDoNotFit(t *testing.T) {
	const marker = "no one may see this"
	for _, c := range []struct {
		name    string
		change  func(*cluster, map[string]string)
		message string
	}{
		{"missing", func(c *cluster, _ map[string]string) {
			delete(c.fields, `tenant-a secret tenant-a-talos {.data.ca\.crt}`)
		},
			"mirrorpatch: TALOS_CA: key ca.crt of secret tenant-a/tenant-a-talos is empty or not there after 3 tries\n"},
		{"empty", func(c *cluster, _ map[string]string) { c.fields[`tenant-a services tenant-a {.spec.clusterIP}`] = "" },
			"mirrorpatch: API_ADDRESS: {.spec.clusterIP} of services tenant-a/tenant-a is empty or not there after 3 tries\n"},
		{"too late", func(c *cluster, _ map[string]string) { c.late[`fleet secret tenant-a-ca {.data.tls\.crt}`] = 3 },
			"K8S_CA: key tls.crt of secret fleet/tenant-a-ca is empty or not there after 3 tries\n"},
		{"headless", func(c *cluster, _ map[string]string) {
			c.fields[`tenant-a services tenant-a {.spec.clusterIP}`] = "None"
		},
			"API_ADDRESS: "},
		{"a second line", func(c *cluster, _ map[string]string) {
			c.fields[`tenant-a services tenant-a {.spec.clusterIP}`] = "10.0.0.1\n  evil: " + marker
		}, "API_ADDRESS: "},
		{"not base64", func(c *cluster, _ map[string]string) { c.fields[`fleet secret tenant-a-ca {.data.tls\.crt}`] = marker },
			"K8S_CA: "},
		{"environment", func(_ *cluster, s map[string]string) { s["tenant-a-join token"] = marker }, "JOIN_TOKEN: "},
		{"empty environment", func(_ *cluster, s map[string]string) { s["tenant-a-join token"] = "" }, "JOIN_TOKEN: "},
		{"NUL", func(c *cluster, _ map[string]string) {
			c.fields[`tenant-a secret tenant-a-note {.data.note}`] = b64(marker + "\x00" + marker)
		}, "NOTE: key note of secret tenant-a/tenant-a-note is not the base64 of text without NUL bytes\n"},
		{"half base64", func(c *cluster, _ map[string]string) { c.fields[`tenant-a secret tenant-a-note {.data.note}`] = "YWJ" },
			"NOTE: key note of secret tenant-a/tenant-a-note is not the base64 of text without NUL bytes\n"},
		{"not UTF-8", func(c *cluster, _ map[string]string) {
			c.fields[`tenant-a secret tenant-a-note {.data.note}`] = b64(marker + "\xff")
		}, "NOTE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state, env := fullCluster(), secrets()
			c.change(&state, env)
			p := readManifests(t, mustManifests(t, skeletonJob()).Bytes())
			shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
				r := p.start(t, sh, env, state)
				require.Equal(t, 1, r.exit, r.stderr)
				require.Contains(t, r.stderr, c.message)
				require.NotContains(t, r.stderr, marker)
				require.Empty(t, r.applied)
				require.False(t, slices.ContainsFunc(r.calls, func(s string) bool { return strings.HasPrefix(s, "apply") }), r.calls)
			})
		})
	}
}

func TestKubectlFails(t *testing.T) {
	for _, j := range []Job{patchesJob(), skeletonJob()} {
		c := fullCluster()
		c.applyExit = 7
		p := readManifests(t, mustManifests(t, j).Bytes())
		shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
			r := p.start(t, sh, secrets(), c)
			require.Equal(t, 7, r.exit, r.stderr)
			require.Contains(t, r.stderr, "refused")
		})
	}
}

// The Role must allow each call of the script and nothing more.
func TestRulesAreTheCalls(t *testing.T) {
	p := readManifests(t, mustManifests(t, skeletonJob()).Bytes())
	r := p.start(t, sh(), secrets(), fullCluster())
	require.Zero(t, r.exit, r.stderr)
	want := map[string]bool{ // kubectl apply: get, then create or patch
		"tenant-a create bootstrap.cluster.x-k8s.io/talosconfigtemplates ":            true,
		"tenant-a get bootstrap.cluster.x-k8s.io/talosconfigtemplates tenant-a-md0":   true,
		"tenant-a patch bootstrap.cluster.x-k8s.io/talosconfigtemplates tenant-a-md0": true,
	}
	for _, call := range r.calls {
		if f := strings.Fields(call); f[0] == "get" {
			resource, group, _ := strings.Cut(f[2], ".")
			if resource == "secret" {
				resource = "secrets"
			}
			want[fmt.Sprintf("%s get %s/%s %s", f[1], group, resource, f[3])] = true
		}
	}
	got := map[string]bool{}
	for _, role := range p.kind("Role") {
		namespace := role["metadata"].(map[string]any)["namespace"]
		for _, rule := range role["rules"].([]any) {
			r := rule.(map[string]any)
			names, _ := r["resourceNames"].([]any)
			if names == nil {
				names = []any{""}
			}
			for _, verb := range r["verbs"].([]any) {
				for _, name := range names {
					got[fmt.Sprintf("%s %s %s/%s %s", namespace, verb, r["apiGroups"].([]any)[0], r["resources"].([]any)[0], name)] = true
				}
			}
			require.Len(t, r["apiGroups"], 1)
			require.Len(t, r["resources"], 1)
		}
	}
	require.Equal(t, want, got)
	require.Len(t, p.kind("RoleBinding"), len(p.kind("Role")))
}

func TestTransport(t *testing.T) {
	sized := func(n int, fill string) Job {
		j := patchesJob()
		size := func(k int) int {
			j.Template.StrategicPatches = [][]byte{[]byte("a: b\n#" + strings.Repeat(fill, k) + "\n")}
			script, err := Script(j.Template)
			require.NoError(t, err)
			return len(script.Bytes())
		}
		k := 1 + n - size(1)
		k += n - size(k) // the larger one may be applied with other options
		require.Equal(t, n, size(k))
		return j
	}
	annotated := func(n int) Job {
		j := patchesJob()
		j.Template.Annotations = map[string]string{"x": strings.Repeat("a", n)}
		return j
	}
	for _, c := range []struct {
		name       string
		job        Job
		want       Transport
		serverSide bool
	}{
		{"small", patchesJob(), InCommand, false},
		{"largest argument", sized(131071, "$"), InCommand, false},
		{"one byte more", sized(131072, "$"), InConfigMap, false},
		{"client side", sized(190000, "x"), InConfigMap, false},
		{"annotation too large", sized(198000, "x"), InConfigMap, true},
		{"an annotation and its copy", annotated(98000), InCommand, false},
		{"an annotation and its copy too large", annotated(99000), InCommand, true},
		{"as JSON too large", sized(132000, "\""), InConfigMap, true},
		{"largest file", sized(1<<20, "x"), InConfigMap, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := mustManifests(t, c.job)
			require.Equal(t, c.want, o.Transport())
			p := readManifests(t, o.Bytes())
			verbs := fmt.Sprint(p.kind("Role")[0]["rules"].([]any)[1].(map[string]any)["verbs"])
			require.Equal(t, map[bool]string{true: "[patch]", false: "[get patch]"}[c.serverSide], verbs)
			require.Len(t, p.kind("ConfigMap"), map[Transport]int{InConfigMap: 1}[c.want])
			shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
				r := p.start(t, sh, nil, cluster{})
				require.Zero(t, r.exit, r.stderr)
				require.Equal(t, string(c.job.Template.StrategicPatches[0]), readTemplate(t, r.applied).Spec.Template.Spec.StrategicPatches[0])
				require.Equal(t, map[bool][]string{true: {
					"apply --server-side --force-conflicts --field-manager=mirrorpatch -n tenant-a -f -",
					"apply --server-side --force-conflicts --field-manager=mirrorpatch-last-applied -n tenant-a -f -",
				}, false: {"apply -n tenant-a -f -"}}[c.serverSide], r.calls)
			})
		})
	}
	_, err := Manifests(sized(1<<20+1, "x"))
	require.EqualError(t, err, "template: a script of 1048577 bytes (want at most 1048576, the limit of a ConfigMap and of a Secret)")
}

func TestSensitive(t *testing.T) {
	for patch, want := range map[string]Transport{
		"kind: RegistryAuthConfig\nusername: u\npassword: made-up\n":                  InSecret,
		"kind: RegistryAuthConfig\nidentityToken: made-up\n":                          InSecret,
		"machine: {registries: {config: {h: {auth: {auth: bWFkZTp1cA==}}}}}":          InSecret,
		"a: [{b: {clientIdentity: {crt: x, key: made-up}}}]":                          InSecret,
		"a: |\n  -----BEGIN EC PRIVATE KEY-----\n  made-up\n":                         InSecret,
		"a: b\n---\nkind: X\ntoken: made-up\n":                                        InSecret,
		"machine: {registries: {config: {h: {auth: {username: u, password: \"\"}}}}}": InCommand,
		"machine: {registries: {config: {h: {tls: {insecureSkipVerify: true}}}}}":     InCommand,
	} {
		j := patchesJob()
		j.Template.StrategicPatches = [][]byte{[]byte(patch)}
		o := mustManifests(t, j)
		require.Equal(t, want, o.Transport(), patch)
		p := readManifests(t, o.Bytes())
		if want == InSecret {
			require.Len(t, p.kind("Secret"), 1)
			delete(p.kind("Secret")[0], "stringData")
			require.NotContains(t, fmt.Sprint(p.objects), "made-up", "a secret beside the Secret")
		}
		r := p.start(t, sh(), nil, cluster{})
		require.Equal(t, map[bool]int{true: 2, false: 0}[want == InSecret], min(r.exit, 2), "without its file the script cannot run")
	}
	j := patchesJob()
	j.Template.Sensitive = true
	o := mustManifests(t, j)
	require.Equal(t, InSecret, o.Transport())
	r := readManifests(t, o.Bytes()).start(t, sh(), nil, cluster{})
	require.Zero(t, r.exit, r.stderr)
	require.Equal(t, mirrorPatch, readTemplate(t, r.applied).Spec.Template.Spec.StrategicPatches[0])
}

// Seconds 0 means at once to Kubernetes, and none that the Job stays: neither is the default.
func TestTTL(t *testing.T) {
	for ttl, want := range map[time.Duration]int{0: 600, DeleteAtOnce: 0, time.Second: 1, time.Hour: 3600} {
		j := patchesJob()
		j.TTL = ttl
		p := readManifests(t, mustManifests(t, j).Bytes())
		require.Equal(t, want, p.job["spec"].(map[string]any)["ttlSecondsAfterFinished"])
	}
}

func TestJobName(t *testing.T) {
	long := strings.Repeat("a", 62) + ".-"
	for _, c := range []struct{ name, prefix string }{
		{"", "tenant-a-md0-"},
		{"a.b.c", "a-b-c-"},
		{strings.Repeat("a", 253), strings.Repeat("a", 46) + "-"},
		{strings.Repeat("a", 45) + "." + strings.Repeat("b", 20), strings.Repeat("a", 45) + "-"},
	} {
		j := patchesJob()
		j.Name = c.name
		name := mustManifests(t, j).JobName()
		require.Regexp(t, "^"+c.prefix+"[0-9a-f]{16}$", name)
		require.True(t, isLabel(name), name)
	}
	j := patchesJob()
	j.Name = long
	_, err := Manifests(j)
	require.ErrorContains(t, err, "job.name: invalid name")

	names := map[string]string{}
	for what, change := range map[string]func(*Job){
		"nothing":     func(*Job) {},
		"patch":       func(j *Job) { j.Template.StrategicPatches = [][]byte{[]byte(mirrorPatch + "#\n")} },
		"run":         func(j *Job) { j.RunID = "1" },
		"another run": func(j *Job) { j.RunID = "2" },
		"image":       func(j *Job) { j.Image = "example.com/kubectl:1" },
		"ttl":         func(j *Job) { j.TTL = time.Second },
		"version":     func(j *Job) { j.Template.TalosVersion = "v1.12" },
		"account":     func(j *Job) { j.ServiceAccount = "other" },
		"cut name":    func(j *Job) { j.Name = "tenant-a.md0" },
	} {
		j := patchesJob()
		change(&j)
		name := mustManifests(t, j).JobName()
		require.Empty(t, names[name], "%s and %s have one name", what, names[name])
		names[name] = what
	}
}

// hostile are texts that could break out of a layer.
func hostile(t testing.TB) []string {
	texts := []string{
		"http://m/$(BOOTSTRAP_TOKEN)", "http://m/`id`", "${TALOS_TOKEN}", "$(TALOS_TOKEN)", "EOF", "x\nEOF\nid\n", "{{ .Values.x }}", "$$(HOME)", "$(HOME", "a\nkubectl delete ns x\n",
		"'\nid\n'", "\u2028", "\u0085", "\ufeff", "\u202e", "a\r\nb", "\x01$(id)", "- a", ": ", "#", "|2", "\"", "\t", " ", "\n", "\n\n", "\ta\n", "${API_PORT}", "€$é$",
	}
	for _, c := range shelltest.Hostile(t) {
		texts = append(texts, string(c.Data))
	}
	return texts
}

// Each hostile text stands wherever a text can: it arrives as it is, or is refused.
func TestHostile(t *testing.T) {
	const secret = "no0one.maysee.this"
	var carried, refused int
	var all []string
	j := patchesJob()
	j.Template.Annotations = map[string]string{}
	j.Annotations = map[string]string{}
	tryout := patchesJob()
	j.Template.Skeleton = "a: ${API_PORT}\n"
	for i, text := range hostile(t) {
		if len(text) > 20000 {
			continue // one of them fills an argument; TestTransport has the sizes
		}
		inComment := "a: b\n# " + text + "\n"
		key := fmt.Sprintf("example.com/n%d", i)
		one := tryout
		one.Template.Annotations = map[string]string{key: text}
		one.RunID, one.Annotations = text, map[string]string{key: text}
		if _, err := Manifests(one); err == nil {
			carried++
			require.True(t, utf8.ValidString(text) && !strings.Contains(text, "\x00"))
			j.Template.Annotations[key], j.Annotations[key] = text, text
			all = append(all, text)
		} else {
			refused++
			require.False(t, utf8.ValidString(text) && !strings.Contains(text, "\x00"), "%q: %v", text, err)
		}
		one = tryout
		one.Template.StrategicPatches = [][]byte{[]byte(inComment)}
		if _, err := Manifests(one); err == nil {
			carried++
			j.Template.StrategicPatches = append(j.Template.StrategicPatches, []byte(inComment))
		} else {
			refused++
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "strategicPatches[0]", e.Path)
		}
	}
	t.Logf("%d texts carried, %d refused", carried, refused)
	require.Greater(t, carried, 250)
	require.Greater(t, refused, 50)

	j.Template.Inputs = append(j.Template.Inputs,
		Input{"API_PORT", escape.Port, FromEnv{Value: "6443"}}, Input{"BOOTSTRAP_TOKEN", escape.Any, FromEnv{Secret: "s", Key: "token"}},
		Input{"ALL", escape.Any, FromEnv{Value: strings.Join(all, "\n")}})
	j.Template.Skeleton += "token: ${BOOTSTRAP_TOKEN}\nall: ${ALL}\n"
	p := readManifests(t, mustManifests(t, j).Bytes())
	for key, text := range j.Annotations {
		require.Equal(t, text, p.job["metadata"].(map[string]any)["annotations"].(map[string]any)[key])
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		r := p.start(t, sh, map[string]string{"s token": secret}, cluster{})
		require.Zero(t, r.exit, r.stderr)
		require.Equal(t, 1, strings.Count(r.applied, secret), "the token stands where it was not placed")
		got := readTemplate(t, r.applied)
		require.Equal(t, j.Template.Annotations, got.Metadata.Annotations)
		require.Equal(t, j.Template.patches(), got.Spec.Template.Spec.StrategicPatches)
		values := map[string]string{}
		require.NoError(t, yamlUnmarshal(*got.Spec.Template.Spec.Data, &values))
		require.Equal(t, strings.Join(all, "\n"), values["all"])
		require.Equal(t, secret, values["token"])
	})
}
