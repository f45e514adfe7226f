package main

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

const (
	valuesFile = "../../testdata/cozystack/values.yaml"
	workerFile = "../../testdata/cozystack/worker.yaml"

	// Made up.
	talosToken     = "maderx.0000000000upta1o"
	bootstrapToken = "maderx.00000000bootstra"
	clusterID      = "bWFkZS11cC1jbHVzdGVyLWlkLW9mLTMyLWJ5dGVzISE="
)

func fakeCA(name string) string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("made up " + name)}))
}

// tenant has what the inputs of worker.yaml read.
func tenant() cluster {
	return cluster{
		secrets: map[string]map[string]string{
			"tenant-dev/kubernetes-dev-talos":     {"token": talosToken, "cluster-id": clusterID},
			"tenant-dev/kubernetes-dev-bootstrap": {"token": bootstrapToken},
		},
		answers: map[string]string{
			"services tenant-dev kubernetes-dev {.spec.clusterIP}":       "10.96.7.7",
			`secret tenant-dev kubernetes-dev-talos-ca {.data.tls\.crt}`: fakeCA("Talos"),
			`secret tenant-dev kubernetes-dev-ca {.data.tls\.crt}`:       fakeCA("Kubernetes"),
		},
		extra: map[string]string{"id": "made-up-id"},
	}
}

var (
	where      = []string{"--name", "kubernetes-dev", "--group", "md0", "--namespace", "tenant-dev"}
	withInputs = []string{
		"--data", workerFile,
		"--input", "SERVICE_IP:address=jsonpath:services/kubernetes-dev:{.spec.clusterIP}",
		"--input", "TALOS_CA=secret:kubernetes-dev-talos-ca:tls.crt",
		"--input", "KUBERNETES_CA=secret:tenant-dev/kubernetes-dev-ca:tls.crt",
		"--input", "CLUSTER_ID:base64url=env:kubernetes-dev-talos:cluster-id",
		"--input", "TALOS_TOKEN:token=env:kubernetes-dev-talos:token",
		"--input", "BOOTSTRAP_TOKEN:token=env:kubernetes-dev-bootstrap:token",
	}
)

// wantedMirrors are those of the values file, read without the library.
func wantedMirrors(t *testing.T) map[string]mirrors.Mirror {
	t.Helper()
	data, err := os.ReadFile(valuesFile)
	require.NoError(t, err)
	var values struct {
		Talos struct {
			RegistryMirrors map[string]struct {
				Endpoints    []string
				OverridePath bool `yaml:"overridePath"`
				SkipFallback bool `yaml:"skipFallback"`
			} `yaml:"registryMirrors"`
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &values))
	want := map[string]mirrors.Mirror{}
	for name, m := range values.Talos.RegistryMirrors {
		mirror := mirrors.Mirror{SkipFallback: m.SkipFallback}
		for _, url := range m.Endpoints {
			mirror.Endpoints = append(mirror.Endpoints, mirrors.Endpoint{URL: url, OverridePath: m.OverridePath})
		}
		want[name] = mirror
	}
	require.ElementsMatch(t, []string{"docker.io", "ghcr.io", "quay.io", "registry.k8s.io"}, slices.Collect(maps.Keys(want)))
	return want
}

// TestMainJob runs the printed Job as a node would and loads what was applied
// as Talos would, in both shapes and forms, in every shell.
func TestMainJob(t *testing.T) {
	want := wantedMirrors(t)
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		for _, set := range []struct {
			args   []string
			legacy bool
		}{{nil, false}, {[]string{"--form", "legacy"}, true}, {[]string{"--form", "documents"}, false}, {[]string{"--talos-version", "1.11.3"}, true}} {
			for _, withData := range []bool{false, true} {
				args := slices.Concat([]string{"job", "--from", "cozystack", "-f", valuesFile}, where)
				args = append(args, set.args...)
				if withData {
					args = append(args, withInputs...)
				}
				code, stdout, stderr := mirrorctl("", args...)
				require.Zero(t, code, "%s", stderr)
				assert.Empty(t, stderr)
				applied, err := tenant().runJob(t, stdout, sh.Args)
				require.NoError(t, err)

				tct := readTemplate(t, applied)
				assert.Equal(t, "kubernetes-dev-md0", tct.Metadata.Name)
				assert.Equal(t, "tenant-dev", tct.Metadata.Namespace)
				assert.Equal(t, "bootstrap.cluster.x-k8s.io/v1beta1", tct.APIVersion)
				version := "v1.13"
				if i := slices.Index(set.args, "--talos-version"); i >= 0 {
					version = "v" + set.args[i+1]
				}
				assert.Equal(t, version, tct.Spec.Template.Spec.TalosVersion)
				config := tct.configuration(t)
				effective, err := configpatch.Read(config)
				require.NoError(t, err)
				assert.True(t, effective.Set.Equal(mirrors.Set{Mirrors: want}), "%+v", effective.Set)
				for _, e := range effective.Entries {
					assert.Equal(t, set.legacy, e.Origin == configpatch.OriginLegacy)
				}
				if withData {
					checkWorker(t, tct, config)
				}
			}
		}
	})
}

// checkWorker sees that data is the skeleton with each input at its place, and nothing else.
func checkWorker(t *testing.T, tct talosConfigTemplate, config []byte) {
	t.Helper()
	skeleton, err := os.ReadFile(workerFile)
	require.NoError(t, err)
	filled := string(skeleton)
	for name, value := range map[string]string{
		"SERVICE_IP": "10.96.7.7", "TALOS_CA": fakeCA("Talos"), "KUBERNETES_CA": fakeCA("Kubernetes"),
		"CLUSTER_ID": clusterID, "TALOS_TOKEN": talosToken, "BOOTSTRAP_TOKEN": bootstrapToken,
	} {
		require.Contains(t, filled, "${"+name+"}")
		filled = strings.ReplaceAll(filled, "${"+name+"}", value)
	}
	assert.Equal(t, filled, tct.Spec.Template.Spec.Data)

	cfg, err := configloader.NewFromBytes(config)
	require.NoError(t, err)
	warnings, err := cfg.Validate(metal{})
	assert.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, "https://10.96.7.7:6443", cfg.Cluster().Endpoint().String())
	assert.Equal(t, talosToken, cfg.Machine().Security().Token())
	assert.Equal(t, bootstrapToken, cfg.Cluster().Token().ID()+"."+cfg.Cluster().Token().Secret())
	assert.Equal(t, clusterID, cfg.Cluster().ID())
	assert.Equal(t, fakeCA("Talos"), base64.StdEncoding.EncodeToString(cfg.RawV1Alpha1().MachineConfig.MachineCA.Crt))
	assert.Equal(t, fakeCA("Kubernetes"), base64.StdEncoding.EncodeToString(cfg.RawV1Alpha1().ClusterConfig.ClusterCA.Crt))
	assert.Equal(t, `|/bin/false $p\%e`, cfg.Machine().Sysctls()["kernel.core_pattern"])
}

// metal is the mode in which a configuration needs everything that it installs with.
type metal struct{}

func (metal) String() string        { return "metal" }
func (metal) RequiresInstall() bool { return true }
func (metal) InContainer() bool     { return false }

// TestScriptAlone runs what script prints, from a file.
func TestScriptAlone(t *testing.T) {
	code, script, stderr := mirrorctl("", slices.Concat([]string{"script", "--from", "cozystack", "-f", valuesFile}, where, withInputs)...)
	require.Zero(t, code, "%s", stderr)
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		dir := t.TempDir()
		file := filepath.Join(dir, "apply.sh")
		require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
		environ := []string{"CLUSTER_ID=" + clusterID, "TALOS_TOKEN=" + talosToken, "BOOTSTRAP_TOKEN=" + bootstrapToken}
		applied, err := tenant().execute(t, dir, append(slices.Clone(sh.Args), file), environ)
		require.NoError(t, err)
		tct := readTemplate(t, applied)
		checkWorker(t, tct, tct.configuration(t))
	})
}

// TestSources reads an input from each source, in the namespaces that are named.
func TestSources(t *testing.T) {
	const text = "a \"text\"\nof $(id) ${TALOS_TOKEN} lines\n\n"
	skeleton := write(t, "worker.yaml", "version: v1alpha1\nmachine:\n  token: \"${A}\"\n  sysctls:\n    a: \"${B}\"\n    b: ${C}\n    c: ${D}\n    d: \"${E}:${F}\"\n    e: ${G}\n")
	args := append(shape(t, false), "--data", skeleton,
		"--input", "A:token=jsonpath:elsewhere/tokens.example.com/one:{.status['a','b']}",
		"--input", "B=secret:elsewhere/s:the.key",
		"--input", "C=secret-text:elsewhere/s:text",
		"--input", "D:text=value:"+text,
		"--input", "E:dns-name=env:s:name",
		"--input", "F:port=jsonpath:configmaps/c:{.data.port}",
		"--input", "G=secret-text:t:text")
	code, stdout, stderr := mirrorctl("", args...)
	require.Zero(t, code, "%s", stderr)
	c := cluster{
		secrets: map[string]map[string]string{"tenant-dev/s": {"name": "api.example.com"}},
		answers: map[string]string{
			"tokens.example.com elsewhere one {.status['a','b']}": talosToken,
			`secret elsewhere s {.data.the\.key}`:                 "bWFkZSB1cA==",
			"secret elsewhere s {.data.text}":                     base64.StdEncoding.EncodeToString([]byte(text)),
			"secret tenant-dev t {.data.text}":                    base64.StdEncoding.EncodeToString([]byte("x")),
			"configmaps tenant-dev c {.data.port}":                "6443",
		},
	}
	applied, err := c.runJob(t, stdout, []string{"/bin/sh"})
	require.NoError(t, err)
	cfg, err := configloader.NewFromBytes([]byte(readTemplate(t, applied).Spec.Template.Spec.Data))
	require.NoError(t, err)
	assert.Equal(t, talosToken, cfg.Machine().Security().Token())
	assert.Equal(t, map[string]string{"a": "bWFkZSB1cA==", "b": text, "c": text, "d": "api.example.com:6443", "e": "x"}, cfg.Machine().Sysctls())
}

// TestInputs: a missing, empty or wrong input ends the Job before anything is
// applied, with a message that names the input and does not show its value.
func TestInputs(t *testing.T) {
	code, stdout, stderr := mirrorctl("", slices.Concat([]string{"job", "--from", "cozystack", "-f", valuesFile}, where, withInputs)...)
	require.Zero(t, code, "%s", stderr)
	const secret = "not-so:made-up\nx"
	for _, tt := range []struct {
		name string
		harm func(c cluster)
	}{
		{"SERVICE_IP", func(c cluster) { c.answers["services tenant-dev kubernetes-dev {.spec.clusterIP}"] = "None" + secret }},
		{"SERVICE_IP", func(c cluster) {
			c.answers["services tenant-dev kubernetes-dev {.spec.clusterIP}"] = "10.0.0.1:6443\nevil: " + secret
		}},
		{"TALOS_CA", func(c cluster) {
			c.answers[`secret tenant-dev kubernetes-dev-talos-ca {.data.tls\.crt}`] = "$(id)" + secret
		}},
		{"KUBERNETES_CA", func(c cluster) { c.answers[`secret tenant-dev kubernetes-dev-ca {.data.tls\.crt}`] = "eA=\n=" + secret }},
		{"TALOS_TOKEN", func(c cluster) { c.secrets["tenant-dev/kubernetes-dev-talos"]["token"] = secret }},
		{"BOOTSTRAP_TOKEN", func(c cluster) { c.secrets["tenant-dev/kubernetes-dev-bootstrap"]["token"] = "" }},
		{"CLUSTER_ID", func(c cluster) { c.secrets["tenant-dev/kubernetes-dev-talos"]["cluster-id"] = "`id`" + secret }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tenant()
			tt.harm(c)
			_, err := c.runJob(t, stdout, []string{"/bin/sh"})
			require.Error(t, err)
			assert.Contains(t, err.Error(), "exit status 1")
			assert.Contains(t, err.Error(), tt.name)
			assert.NotContains(t, err.Error(), secret)
		})
	}
}

// hostile are values that an attacker would try where text can stand.
var hostile = []string{
	"http://m/$(BOOTSTRAP_TOKEN)", "$(BOOTSTRAP_TOKEN)", "$$(BOOTSTRAP_TOKEN)", "${BOOTSTRAP_TOKEN}", "$BOOTSTRAP_TOKEN",
	"${TALOS_TOKEN}", "\\$(BOOTSTRAP_TOKEN)", "\\${TALOS_TOKEN}", "\\\\${TALOS_TOKEN}", "$((1+1))", "$[1+1]", "${TALOS_TOKEN:-x}",
	"http://m/`id`", "`id`", "\\`id\\`", "$(id)",
	"a\nEOF\nid\n", "EOF", "\nEOF\n", "EOF\\", "EOF)", "E\\\nOF\n",
	"{{ .Values.x }}", "{{", "}}", "{{- \"x\" -}}",
	"a\nb", "\n", "\na", "a\n\n", "a\r\nb", "\r", "\t a", " a ", "",
	"'", "\"", "''", "'; id; '", "\"; id; \"", "a'b\"c\\d",
	": ", "a: b", "- a", "# a", "&a", "*a", "!!str a", "|", ">", "%TAG", "---", "...", "@a", "`", "{a: b}", "[a]", "null", "true", "0x1", "1e3", "~", "? a",
	"\x00", "a\x00b", "\x01", "\x01$(id)", "\x07", "\x1b[31m", "\x7f", "\u0085", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\U0001F512",
	"\xff", "\xc3", "a\xffb", "\xf4\x90\x80\x80", "\xed\xa0\x80", "\x83\x5c$(id)", "$\xc3\xa9", "$\xff",
	"-n", "--help", "-", "!", "!!", "~root", "*", "a=~:~", "\\", "\\\n", "\\n", strings.Repeat("$(BOOTSTRAP_TOKEN)", 8000),
}

// place is somewhere that free text goes in and where it has to come out.
type place struct {
	name string
	args func(t *testing.T, text string) []string
	// out returns the text at the other end.
	out func(t *testing.T, stream, applied string) string

	// carries are the hostile values that are right there, where most are not;
	// nil: any text is right, and refuses tells the exceptions.
	carries []string
	refuses func(text string) bool
}

// notKubernetes tells text that no string of the Kubernetes API holds.
func notKubernetes(text string) bool {
	return !utf8.ValidString(text) || strings.Contains(text, "\x00")
}

func shape(t *testing.T, withData bool) []string {
	args := slices.Concat([]string{"job", "--from", "cozystack", "-f", valuesFile}, where)
	if withData {
		args = append(args, withInputs...)
	}
	return args
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

var regexpImage = regexp.MustCompile(`(?m)^(    image: )factory.*$`)

// yamlQuote writes text as a double-quoted YAML scalar. Bytes that are not
// UTF-8 stay as they are, which no YAML reader may take.
func yamlQuote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteByte(text[i])
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r < 0x20 || r >= 0x7f:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

// places are those of the flags and files. Text that YAML itself cannot hold
// comes as an escape of a double-quoted scalar, or is refused.
func places(withData bool) []place {
	registries := func(format string) func(t *testing.T, text string) []string {
		return func(t *testing.T, text string) []string {
			file := write(t, "registries.yaml", fmt.Sprintf(format, yamlQuote(text)))
			args := shape(t, withData)
			args[2], args[4] = "registries", file
			return args
		}
	}
	set := func(get func(s mirrors.Set) string) func(t *testing.T, stream, applied string) string {
		return func(t *testing.T, stream, applied string) string {
			effective, err := configpatch.Read(readTemplate(t, applied).configuration(t))
			require.NoError(t, err)
			return get(effective.Set)
		}
	}
	flag := func(name string) func(t *testing.T, text string) []string {
		return func(t *testing.T, text string) []string {
			args := shape(t, withData)
			if i := slices.Index(args, name); i >= 0 {
				args[i+1] = text
				return args
			}
			return append(args, name, text)
		}
	}
	some := func(more func(text string) bool) func(text string) bool {
		return func(text string) bool { return text == "" || more(text) }
	}
	notUTF8 := func(text string) bool { return !utf8.ValidString(text) }
	// What a URL holds only as an escape, and what no image reference has.
	notPlain := func(text string) bool {
		return strings.ContainsAny(text, "{}\\`\"|<>^%?#") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	}
	dnsNames := []string{"null", "true", "0x1", "1e3"}
	ps := []place{
		{name: "talos version", carries: []string{}, args: flag("--talos-version"), out: func(t *testing.T, stream, applied string) string {
			return readTemplate(t, applied).Spec.Template.Spec.TalosVersion
		}},
		{name: "name", carries: dnsNames, args: flag("--name"), out: func(t *testing.T, stream, applied string) string {
			return strings.TrimSuffix(readTemplate(t, applied).Metadata.Name, "-md0")
		}},
		{name: "group", carries: append(slices.Clone(dnsNames), "-n", "--help"), args: flag("--group"), out: func(t *testing.T, stream, applied string) string {
			return strings.TrimPrefix(strings.TrimPrefix(readTemplate(t, applied).Metadata.Name, "kubernetes-dev"), "-")
		}},
		{name: "namespace", carries: dnsNames, args: flag("--namespace"), out: func(t *testing.T, stream, applied string) string {
			return readTemplate(t, applied).Metadata.Namespace
		}},
		{name: "image", refuses: some(notPlain), args: flag("--image"), out: func(t *testing.T, stream, applied string) string {
			image := theJob(t, stream).Spec.Template.Spec.Containers[0].Image
			return strings.TrimPrefix(image, "docker.io/alpine/k8s:1.34.1") // the default, for none
		}},
		{name: "service account", carries: dnsNames, args: flag("--service-account"), out: func(t *testing.T, stream, applied string) string {
			account := theJob(t, stream).Spec.Template.Spec.ServiceAccountName
			return strings.TrimPrefix(account, "kubernetes-dev-md0") // one that is made, for none
		}},
		{name: "run id", refuses: some(notKubernetes), args: flag("--run-id"), out: func(t *testing.T, stream, applied string) string {
			return theJob(t, stream).Spec.Template.Metadata.Annotations["mirrorpatch/run-id"]
		}},
		{name: "annotation", refuses: notKubernetes, args: func(t *testing.T, text string) []string {
			return append(shape(t, withData), "--annotation", "example.com/note="+text)
		}, out: func(t *testing.T, stream, applied string) string {
			return readTemplate(t, applied).Metadata.Annotations["example.com/note"]
		}},
		{name: "label", carries: append([]string{"EOF", ""}, dnsNames...), args: func(t *testing.T, text string) []string {
			return append(shape(t, withData), "--label", "example.com/note="+text)
		}, out: func(t *testing.T, stream, applied string) string {
			return readTemplate(t, applied).Metadata.Labels["example.com/note"]
		}},
		{name: "endpoint", carries: []string{"http://m/$(BOOTSTRAP_TOKEN)"}, args: registries(`{"mirrors": {"ghcr.io": {"endpoints": [%s]}}}`), out: set(func(s mirrors.Set) string {
			return s.Mirrors["ghcr.io"].Endpoints[0].URL
		})},
		{name: "endpoint's path", refuses: notPlain, args: func(t *testing.T, text string) []string {
			return registries(`{"mirrors": {"ghcr.io": {"endpoints": [%s]}}}`)(t, "https://m.internal/"+text)
		}, out: set(func(s mirrors.Set) string {
			return strings.TrimPrefix(s.Mirrors["ghcr.io"].Endpoints[0].URL, "https://m.internal/")
		})},
		{name: "registry", carries: []string{"*"}, args: registries(`{"mirrors": {%s: {"endpoints": ["https://m.internal"]}}}`), out: set(func(s mirrors.Set) string {
			return slices.Collect(maps.Keys(s.Mirrors))[0]
		})},
		{name: "user name", refuses: some(notUTF8), args: registries(`{"config": {"m.internal": {"auth": {"username": %s, "password": "made-up"}}}}`), out: set(func(s mirrors.Set) string {
			return s.Config["m.internal"].Auth.Username
		})},
		{name: "password", refuses: some(notUTF8), args: registries(`{"config": {"m.internal": {"auth": {"username": "robot", "password": %s}}}}`), out: set(func(s mirrors.Set) string {
			return s.Config["m.internal"].Auth.Password.Reveal()
		})},
	}
	if !withData {
		return ps
	}
	return append(ps,
		place{name: "installer image", refuses: some(func(text string) bool {
			return notKubernetes(text) || len(text) > 100_000 // no variable holds more than 128 KiB
		}), args: func(t *testing.T, text string) []string {
			skeleton, err := os.ReadFile(workerFile)
			require.NoError(t, err)
			file := write(t, "worker.yaml", regexpImage.ReplaceAllString(string(skeleton), "${1}$${INSTALLER_IMAGE}"))
			args := shape(t, true)
			args[slices.Index(args, workerFile)] = file
			return append(args, "--input", "INSTALLER_IMAGE:text=value:"+text)
		}, out: func(t *testing.T, stream, applied string) string {
			cfg, err := configloader.NewFromBytes([]byte(readTemplate(t, applied).Spec.Template.Spec.Data))
			require.NoError(t, err)
			return cfg.Machine().Install().Image()
		}},
		place{name: "skeleton", refuses: notUTF8, args: func(t *testing.T, text string) []string {
			skeleton, err := os.ReadFile(workerFile)
			require.NoError(t, err)
			file := write(t, "worker.yaml", strings.Replace(string(skeleton), "clusterName: dev", "clusterName: "+yamlQuote(text), 1))
			args := shape(t, true)
			args[slices.Index(args, workerFile)] = file
			return args
		}, out: func(t *testing.T, stream, applied string) string {
			cfg, err := configloader.NewFromBytes([]byte(readTemplate(t, applied).Spec.Template.Spec.Data))
			require.NoError(t, err)
			return cfg.Cluster().Name()
		}},
	)
}

// TestHostileText puts each hostile value at each place where text can stand.
// It is refused with a message, or arrives as those very characters; what it
// names is never expanded.
func TestHostileText(t *testing.T) {
	for _, withData := range []bool{false, true} {
		c := tenant()
		// The worst case: the secrets are in the container's environment in both shapes.
		c.extra["TALOS_TOKEN"], c.extra["BOOTSTRAP_TOKEN"] = talosToken, bootstrapToken
		for _, p := range places(withData) {
			t.Run(fmt.Sprintf("%s/data=%t", p.name, withData), func(t *testing.T) {
				t.Parallel()
				var carried []string
				for _, text := range hostile {
					switch {
					case p.tryText(t, c, withData, text):
						carried = append(carried, text)
					case p.carries == nil && !p.refuses(text):
						t.Errorf("%.60q: refused, and the place is one for any text", text)
					}
				}
				if p.carries != nil {
					assert.ElementsMatch(t, p.carries, carried, "what the place is for, and nothing else")
				}
			})
		}
	}
}

// TestHostileCorpus carries the corpus, in one annotation, the run id, the user
// name and the password of one run; where that is refused, each place for itself.
func TestHostileCorpus(t *testing.T) {
	t.Parallel()
	c := tenant()
	c.extra["TALOS_TOKEN"], c.extra["BOOTSTRAP_TOKEN"] = talosToken, bootstrapToken
	var all []place
	for _, p := range places(false) {
		if slices.Contains([]string{"annotation", "user name", "password"}, p.name) {
			all = append(all, p)
		}
	}
	together := place{name: "all", args: func(t *testing.T, text string) []string {
		file := write(t, "registries.yaml", fmt.Sprintf(`{"config": {"m.internal": {"auth": {"username": %s, "password": %[1]s}}}}`, yamlQuote(text)))
		args := shape(t, false)
		args[2], args[4] = "registries", file
		return append(args, "--annotation", "example.com/note="+text, "--run-id", text)
	}, out: func(t *testing.T, stream, applied string) string {
		for _, p := range all[1:] {
			if got, first := p.out(t, stream, applied), all[0].out(t, stream, applied); got != first {
				t.Errorf("%s: arrived as %.60q, not as %.60q", p.name, got, first)
			}
		}
		return all[0].out(t, stream, applied)
	}}
	whole, parts := 0, 0
	for _, h := range shelltest.Hostile(t) {
		if together.tryText(t, c, false, string(h.Data)) {
			whole++
			continue
		}
		for _, p := range all {
			if p.tryText(t, c, false, string(h.Data)) {
				parts++
			}
		}
	}
	t.Logf("%d carried everywhere at once, %d at one place", whole, parts)
	assert.Greater(t, whole, 100)
}

// tryText reports whether the text was carried.
func (p place) tryText(t *testing.T, c cluster, withData bool, text string) bool {
	t.Helper()
	code, stdout, stderr := mirrorctl("", p.args(t, text)...)
	short := fmt.Sprintf("%.60q", text)
	if code != 0 {
		if code != exitInput && code != exitCall || stdout != "" || stderr == "" || strings.Contains(stderr, "goroutine ") {
			t.Errorf("%s: exit %d, %d bytes on standard output, standard error %q", short, code, len(stdout), stderr)
		}
		return false
	}
	if p.name == "namespace" || p.name == "skeleton" && (strings.Contains(text, "${TALOS_TOKEN}") || strings.Contains(text, "${BOOTSTRAP_TOKEN}")) {
		// A skeleton is trusted: an input in it is live. And the Secrets are in
		// one namespace only.
		return true
	}
	applied, err := c.runJob(t, stdout, []string{"/bin/sh"})
	if err != nil {
		t.Errorf("%s: %v", short, err)
		return false
	}
	if got := p.out(t, stdout, applied); got != text {
		t.Errorf("%s: arrived as %.60q", short, got)
	}
	for _, secret := range []string{talosToken, bootstrapToken} {
		want := 0
		if withData {
			want = 1 // where the skeleton has it
		}
		if n := strings.Count(applied, secret) + strings.Count(stdout, secret); n != want {
			t.Errorf("%s: a secret of the environment is there %d times", short, n)
		}
	}
	return true
}
