// Package helm_test holds the proofs that need Helm's own engine.
package helm_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// render runs Helm's engine over the templates, the helpers of package escape
// beside them.
func render(templates map[string]string, values map[string]any) (map[string]string, error) {
	c := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "apply", Version: "0.1.0"},
		Templates: []*chart.File{{Name: "templates/_helpers.tpl", Data: []byte(escape.HelmHelper())}},
	}
	for name, text := range templates {
		c.Templates = append(c.Templates, &chart.File{Name: "templates/" + name, Data: []byte(text)})
	}
	return renderChart(c, values)
}

func renderChart(c *chart.Chart, values map[string]any) (map[string]string, error) {
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "r", Namespace: "n"}, nil)
	if err != nil {
		return nil, err
	}
	out, err := engine.Render(c, all)
	short := make(map[string]string, len(out))
	for name, text := range out {
		short[strings.TrimPrefix(name, c.Name()+"/templates/")] = text
	}
	return short, err
}

// loadChart is the chart in testdata, as a user would have it on disk.
func loadChart(t testing.TB) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir("testdata/chart")
	if err != nil {
		t.Fatal(err)
	}
	c.Templates = append(c.Templates, &chart.File{Name: "templates/_helpers.tpl", Data: []byte(escape.HelmHelper())})
	return c
}

// commands reads the third string of each Job's command, which two YAML
// libraries must read alike, and expands it as the kubelet does in an
// environment that knows every name.
func commands(t testing.TB, manifests string) []string {
	t.Helper()
	type job struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct {
						Command []string
					}
				}
			}
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(manifests))
	var out []string
	for {
		var j job
		if err := dec.Decode(&j); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("yaml.v3: %v", err)
		}
		if len(j.Spec.Template.Spec.Containers) != 1 || len(j.Spec.Template.Spec.Containers[0].Command) != 3 {
			t.Fatalf("job %d is not the one of the chart: %+v", len(out), j)
		}
		out = append(out, j.Spec.Template.Spec.Containers[0].Command[2])
	}
	for i, document := range strings.Split(manifests, "\n---\n")[1:] {
		var j job
		if err := sigsyaml.Unmarshal([]byte(document), &j); err != nil {
			t.Fatalf("sigs.k8s.io/yaml: %v in %q", err, document)
		}
		if got := j.Spec.Template.Spec.Containers[0].Command[2]; got != out[i] {
			t.Fatalf("sigs.k8s.io/yaml reads %q, yaml.v3 %q", got, out[i])
		}
	}
	for i, c := range out {
		out[i] = expansion.Expand(c, func(name string) string { return "LEAKED$(" + name + ")" })
	}
	return out
}

const address = "fd00::1"

// wanted is what the script of the chart prints for a text.
func wanted(text string) string { return text + "address: {" + address + text }

// run gives a shell a script and returns what it printed.
func run(sh []string, script string) (string, error) {
	return runFile(append(slices.Clone(sh), "-c", script))
}

func runFile(argv []string) (string, error) {
	// yash decodes its script by the locale, and cannot read bytes that are not text in it.
	env := []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "ADDRESS=" + address, "BOOTSTRAP_TOKEN=LEAKED", "A=LEAKED"}
	r := servers.Run(env, nil, argv[0], argv[1:]...)
	if r.Exit != 0 || r.Stderr != "" {
		return r.Stdout, fmt.Errorf("exit code %d, standard error: %q", r.Exit, r.Stderr)
	}
	return r.Stdout, nil
}

var initial = regexp.MustCompile(`(?m)^\t*([A-Z])`)

// refusal is why the heredoc helper refuses a text; empty when it carries it.
func refusal(text string) string {
	initials := map[string]bool{}
	for _, m := range initial.FindAllStringSubmatch(text, -1) {
		initials[m[1]] = true
	}
	switch {
	case strings.Contains(text, "\x00"):
		return "NUL"
	case strings.Contains(text, "\x01"):
		return "0x01"
	case strings.Contains(text, "<no value>"):
		return "<no value>"
	case text != "" && !strings.HasSuffix(text, "\n"):
		return "newline"
	case len(initials) == 26:
		return "every letter"
	}
	return ""
}

// commandRefusal is why the command helper refuses the script of a text that
// the heredoc helper carries.
func commandRefusal(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "UTF-8"
	case 2*len(text)+2*strings.Count(text, "\\")+2*strings.Count(text, "$")+2*strings.Count(text, "`") > escape.MaxArgument-200:
		return "131071" // within 200 bytes of it, the tests have no text
	}
	return ""
}

// special are those on which a layer can turn.
var special = []string{"\\", "$", "`", "(", ")", "{", "}", "\"", "'", "<", "\t", "\n", "EOF", "A", "é", "\x85"}

// triples are lines of three special strings.
func triples() (out []string) {
	for _, a := range special {
		for _, b := range special {
			for _, c := range special {
				out = append(out, a+b+c+"\n")
			}
		}
	}
	return out
}

// every are texts and then triples, and how many are texts.
func every(t testing.TB) (all []string, first int) {
	all = texts(t)
	return append(all, triples()...), len(all)
}

// shares are in how many parts the triples are divided, of which a shell runs
// one: what a helper makes of them hardly differs between shells, and a shell
// starts cat for each.
const shares = 9

// shareOf is the share of a text of every; -1 where it is for all shells.
func shareOf(i, first int) int {
	if i < first {
		return -1
	}
	return i % shares
}

// texts are the hostile corpus, and every pair of special strings, as a line of
// its own and within one.
func texts(t testing.TB) []string {
	var out []string
	for _, c := range shelltest.Hostile(t) {
		out = append(out, string(c.Data), string(c.Data)+"\n")
	}
	for _, a := range special {
		for _, b := range special {
			out = append(out, a+b+"\n", "x"+a+b+"y\n", "EOF"+a+b+"\n", "x\n\t"+a+b+"\n", a+"\\\n"+b+"\n")
		}
	}
	for b := range 256 {
		out = append(out, string([]byte{byte(b)})+"\n", string(rune(b))+"\n")
	}
	return append(out, "", "\n", "\n\n", "\ufeff\n", "\u2028\u2029\n", "\ufffd\n", "\ufffe\uffff\U0010ffff\n", "\x7f\u0080\u0085\u009f\n",
		"{{ .Values.secret }}\n", "{{{{\n", "}}{{- fail \"x\" -}}\n", "{{/*\n", "$(BOOTSTRAP_TOKEN)\n", "$$(BOOTSTRAP_TOKEN)\n",
		"\\$(BOOTSTRAP_TOKEN)\n", "${A}\n", "`id`\n", "EOF\nid\n", "\tEOF\n", "E\nA\nB\n", "<no value>\n", "<no value>EOF\nid\n",
		"<no <no value>value>\n", "--- \n...\n", "%YAML 1.2\n---\n", strings.Repeat("$", 20000)+"\n", strings.Repeat("\\", 40000)+"\n",
		alphabet+"\n", strings.ReplaceAll(alphabet, "\n", "\n\t")+"\n", strings.TrimPrefix(alphabet, "Q")+"\n")
}

const alphabet = "Q\nW\nE\nR\nT\nY\nU\nI\nO\nP\nA\nS\nD\nF\nG\nH\nJ\nK\nL\nZ\nX\nC\nV\nB\nN\nM"

// TestChart is the chart of testdata, with every text that its helpers carry,
// through Helm, YAML, the kubelet and each shell.
func TestChart(t *testing.T) {
	var carried, prints []string
	var values []any
	all, first := every(t)
	var share []int // of each that is carried; -1: all
	for i, text := range all {
		// An empty text leaves the chart's second body without a final newline.
		if text != "" && refusal(text) == "" && commandRefusal(text) == "" {
			carried = append(carried, text)
			share = append(share, shareOf(i, first))
			prints = append(prints, wanted(text))
			values = append(values, text)
		}
	}
	out, err := renderChart(loadChart(t), map[string]any{"texts": values})
	if err != nil {
		t.Fatal(err)
	}
	scripts := commands(t, out["jobs.yaml"])
	if len(scripts) != len(carried) || len(scripts) < 5000 {
		t.Fatalf("%d scripts of %d texts, want 5000 at least", len(scripts), len(carried))
	}
	shells := 0
	t.Cleanup(func() {
		verdict.Proved(t, "%d texts come through Helm 3.22.0, two YAML libraries and the kubelet, and print themselves in %d shells, each triple of special strings in one of %d", len(carried), shells, shares)
	})
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		own := shells % shares
		shells++
		t.Parallel()
		var its, want []string
		for i, script := range scripts {
			if share[i] == -1 || share[i] == own {
				its, want = append(its, script), append(want, prints[i])
			}
		}
		batches(t, sh.Args, its, want)
	})
}

// batches runs the scripts, many in one shell, and asks for the very output of
// each. What is wrong in a batch is found by running its scripts one by one.
func batches(t *testing.T, sh, scripts, prints []string) {
	t.Helper()
	for first := 0; first < len(scripts); {
		var script, want strings.Builder
		last := first
		for ; last < len(scripts) && (last == first || script.Len()+len(scripts[last]) < 60000); last++ {
			fmt.Fprintf(&script, "%secho '= end %d ='\n", scripts[last], last)
			fmt.Fprintf(&want, "%s= end %d =\n", prints[last], last)
		}
		if got, err := run(sh, script.String()); err != nil || got != want.String() {
			found := false
			for i := first; i < last && !found; i++ {
				got, err := run(sh, scripts[i])
				if found = err != nil || got != prints[i]; found {
					t.Errorf("%q: %v\nprinted %q\nwant    %q\nscript %q", sh, err, got, prints[i], scripts[i])
				}
			}
			if !found {
				t.Errorf("texts %d to %d: together they print something else: %v\n%q", first, last-1, err, got)
			}
		}
		first = last
	}
}

// TestHeredocBytes renders the heredoc alone, as for a script in a file, with
// every text that the helper carries, bytes that are not UTF-8 among them.
func TestHeredocBytes(t *testing.T) {
	all, first := every(t)
	values := func(sh shelltest.Shell, own int) (values []any) {
		for i, text := range all {
			// yash reads a script as text of its locale: what is not, it cannot read.
			if share := shareOf(i, first); refusal(text) == "" && (share == -1 || share == own) && (sh.Name != "yash" || utf8.ValidString(text)) {
				values = append(values, text)
			}
		}
		return values
	}
	const script = `LC_ALL=C
export LC_ALL
set -eu
{{ range $i, $text := .Values.texts -}}
{{ include "mirrorpatch.heredoc" (dict "command" "cat" "text" $text) }}echo '= end {{ $i }} ='
{{ end }}`
	shells := 0
	var heredocs atomic.Int64
	t.Cleanup(func() {
		verdict.Proved(t, "%d heredocs that Helm 3.22.0 rendered print their bytes, in %d shells in all; each triple of special strings is for one shell of %d, and yash has only what is UTF-8", heredocs.Load(), shells, shares)
	})
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		own := shells % shares
		shells++
		t.Parallel()
		values := values(sh, own)
		heredocs.Add(int64(len(values)))
		out, err := render(map[string]string{"script": script}, map[string]any{"texts": values})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(out["script"]), 0o600); err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for i, text := range values {
			fmt.Fprintf(&want, "%s= end %d =\n", text, i)
		}
		got, err := runFile(append(slices.Clone(sh.Args), file))
		if err != nil || got != want.String() {
			at := 0
			for at < min(len(got), want.Len()) && got[at] == want.String()[at] {
				at++
			}
			t.Fatalf("%v; the output differs from byte %d on:\n%q\nwant\n%q", err, at, got[at:min(len(got), at+200)], want.String()[at:min(want.Len(), at+200)])
		}
	})
}

// TestRefusals: what the helpers cannot carry stops the rendering, and says why.
func TestRefusals(t *testing.T) {
	c := loadChart(t)
	all, _ := every(t)
	n := 0
	for _, text := range append(all, strings.Repeat("x", escape.MaxArgument)+"\n") {
		why := refusal(text)
		if why == "" {
			why = commandRefusal(text)
		}
		if why == "" {
			continue
		}
		n++
		out, err := renderChart(c, map[string]any{"texts": []any{text}})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.200q: error %v, want one that says %q", text, err, why)
		}
		if out["jobs.yaml"] != "" {
			t.Errorf("%.200q: refused, and rendered all the same", text)
		}
	}
	if n < 300 {
		t.Errorf("%d texts were refused, want 300 at least", n)
	}
	verdict.Proved(t, "%d texts that a layer cannot carry stop Helm 3.22.0 with the reason", n)
}

// TestWrongCalls: a call that is not one of the helpers' stops the rendering;
// nothing of it is passed over.
func TestWrongCalls(t *testing.T) {
	heredoc := func(arguments string) string {
		return `{{ include "mirrorpatch.heredoc" (dict ` + arguments + `) }}`
	}
	command := func(c string) string { return heredoc(`"text" "a\n" "command" ` + c) }
	parts := func(p string) string { return heredoc(`"command" "cat" "parts" ` + p) }
	wrong := []struct{ template, want string }{
		{`{{ include "mirrorpatch.heredoc" "x" }}`, "give a dict"},
		{heredoc(`"text" "a\n"`), "command is missing or no string"},
		{heredoc(`"Command" "cat" "text" "a\n"`), `unknown key "Command"`},
		{heredoc(`"command" "cat" "text" "a\n" "delimiter" "END"`), `unknown key "delimiter"`},
		{heredoc(`"command" "cat"`), "give either text or parts"},
		{heredoc(`"command" "cat" "text" "a\n" "parts" (list)`), "give either text or parts"},
		{heredoc(`"command" "cat" "text" .Values.none`), "a text is missing or no string"},
		{heredoc(`"command" "cat" "text" 3`), "a text is missing or no string"},

		{command(`3`), "no string"},
		{command(`""`), "command is empty"},
		{command(`" "`), "command is empty"},
		{command(`"cat <<X"`), "<<"},
		{command(`"cat <no value>-"`), "<no value>"},
		{command(`"cat\n"`), "newline"},
		{command(`"cat\n "`), "ends before"},
		{command(`"cat;"`), "ends before"},
		{command(`"cat |"`), "ends before"},
		{command(`"cat &"`), "ends before"},
		{command(`"f() {"`), "ends before"},
		{command(`"("`), "ends before"},
		{command(`"cat <"`), "ends before"},
		{command(`"cat 2> "`), "ends before"},
		{command(`"cat \\"`), "ends before"},
		{command(`"if true; then"`), "ends before"},
		{command(`"!"`), "ends before"},
		{command(`"cat # x"`), "comment"},
		{command(`"# cat"`), "comment"},
		{command(`"true;#cat"`), "comment"},

		{parts(`.Values.none`), "parts is no list"},
		{parts(`0`), "parts is no list"},
		{parts(`false`), "parts is no list"},
		{parts(`"abc"`), "parts is no list"},
		{parts(`(dict "text" "b\n")`), "parts is no list"},
		{parts(`(list)`), "parts is empty"},
		{parts(`(list "b\n")`), "a part is no dict"},
		{parts(`(list .Values.none)`), "a part is no dict"},
		{parts(`(list (dict))`), "either text or live"},
		{parts(`(list (dict "live" "X_X" "text" "b\n") (dict "text" "\n"))`), "either text or live"},
		{parts(`(list (dict "text" "b\n" "x" 1))`), "either text or live"},
		{parts(`(list (dict "live" "A\n") (dict "text" "\n"))`), "no variable's name"},
		{parts(`(list (dict "live" "0A") (dict "text" "\n"))`), "no variable's name"},
		{parts(`(list (dict "live" 3) (dict "text" "\n"))`), "no variable's name"},
		{parts(`(list (dict "live" "IFS") (dict "text" "\n"))`), "live is IFS"},
		{parts(`(list (dict "live" "PATH") (dict "text" "\n"))`), "live is PATH"},
		{parts(`(list (dict "live" "LC_X") (dict "text" "\n"))`), "live is LC_X"},
		{parts(`(list (dict "live" "mirrorpatch_x") (dict "text" "\n"))`), "live is mirrorpatch_x"},
		{parts(`(list (dict "live" "zsh_scheduled_events") (dict "text" "\n"))`), "live is zsh"},
		// What Helm deletes can also arise where two parts meet.
		{parts(`(list (dict "text" "<no val") (dict "text" "ue>EOF\nid\n"))`), "<no value>"},

		{`{{ include "mirrorpatch.command" "" }}`, "the script is empty"},
		{`{{ include "mirrorpatch.command" " \n" }}`, "the script is empty"},
		{`{{ include "mirrorpatch.command" .Values.none }}`, "the script is no string"},
		{`{{ include "mirrorpatch.command" (b64dec "4oI=") }}`, "not valid UTF-8"},
		{`{{ include "mirrorpatch.command" (b64dec "4u+/vYKs") }}`, "not valid UTF-8"}, // E2, U+FFFD, 82, AC
		{`{{ include "mirrorpatch.command" (b64dec "77+97w==") }}`, "not valid UTF-8"}, // U+FFFD, EF
	}
	for _, c := range wrong {
		out, err := render(map[string]string{"s": c.template}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q; rendered %q", c.template, err, c.want, out["s"])
		}
	}
	right := []struct{ template, want string }{
		{heredoc(`"command" "cat" "text" ""`), "cat <<EOF\nEOF\n"},
		{command(`"f $# a#b"`), "f $# a#b <<EOF\na\nEOF\n"},
		{command(`"# first\nkubectl apply -f -"`), "# first\nkubectl apply -f - <<EOF\na\nEOF\n"},
		{command(`"cat >undo"`), "cat >undo <<EOF\na\nEOF\n"},
		{parts(`(list (dict "live" "PATHS") (dict "live" "MY_IFS") (dict "text" "\n"))`), "cat <<EOF\n${PATHS}${MY_IFS}\nEOF\n"},
		{`{{ include "mirrorpatch.command" "\uFFFD" }}`, "\"\uFFFD\""},
	}
	for _, c := range right {
		if out, err := render(map[string]string{"s": c.template}, nil); err != nil || out["s"] != c.want {
			t.Errorf("%s: rendered %q, %v, want %q", c.template, out["s"], err, c.want)
		}
	}
	verdict.Proved(t, "%d wrong calls of the helpers stop Helm 3.22.0 with the reason, and %d that look like them render", len(wrong), len(right))
}

// TestReplaceChainIsInjectable is the control: the chain of replaces that charts
// have by hand passes ordinary values, and runs what a value says.
func TestReplaceChainIsInjectable(t *testing.T) {
	byHand := "cat <<EOF\n{{ .Values.text | replace \"\\\\\" \"\\\\\\\\\" | replace \"$\" \"\\\\$\" | replace \"`\" \"\\\\`\" }}\nEOF\n"
	for text, want := range map[string]string{
		"a $(id) `id` \\":  "a $(id) `id` \\\n",
		"a\nEOF\necho RAN": "a\nRAN\n",
	} {
		out, err := render(map[string]string{"s": byHand}, map[string]any{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := run([]string{"/bin/sh"}, out["s"])
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q printed %q, want %q", text, got, want)
		}
	}
	verdict.Proved(t, "a chain of replaces before a delimiter that the chart fixes runs a line of the value")
}

// TestHelmText: text that escape.Helm wrote into a template is that text again,
// between live actions, and runs none.
func TestHelmText(t *testing.T) {
	var template, want strings.Builder
	all, _ := every(t)
	n := 0
	for _, text := range all {
		encoded, err := escape.Helm(text)
		if refused := strings.Contains(text, "<no value>") || strings.Contains(text, "\x00"); refused != (err != nil) {
			t.Errorf("Helm(%q): error %v", text, err)
		}
		if err != nil {
			continue
		}
		template.WriteString("{{ .Values.live }}" + encoded + "{{ .Values.live }}\n")
		want.WriteString("{live}" + text + "{live}\n")
		n++
	}
	out, err := render(map[string]string{"text": template.String()}, map[string]any{"live": "{live}", "secret": "LEAKED"})
	if err != nil {
		t.Fatal(err)
	}
	if out["text"] != want.String() {
		got := out["text"]
		at := 0
		for at < min(len(got), want.Len()) && got[at] == want.String()[at] {
			at++
		}
		t.Fatalf("differs from byte %d on:\n%q\nwant\n%q", at, got[at:min(len(got), at+200)], want.String()[at:min(want.Len(), at+200)])
	}
	verdict.Proved(t, "%d texts stand in a template of Helm 3.22.0 as themselves", n)
}

// job is a template of a chart with a script that Go code wrote.
const job = `
---
spec:
  template:
    spec:
      containers:
        - name: {{ .Release.Name }}
          command: ["/bin/sh", "-c", %s]`

// checkHelmCommand takes a script with text in a word and in a heredoc through
// the whole of the layers: the one call, Helm, YAML, the kubelet and /bin/sh.
func checkHelmCommand(t *testing.T, texts ...string) (carried int) {
	t.Helper()
	var template strings.Builder
	var scripts, want []string
	for _, text := range texts {
		parts := []escape.Shell{escape.Lit("printf '%s' "), escape.Word(text), escape.Lit("\n")}
		prints := text
		if document, err := escape.Heredoc(escape.Lit("cat"), escape.Text(text)); err == nil {
			parts = append(parts, document)
			prints += text
		}
		script, err := escape.Program(parts...)
		if err != nil {
			if !strings.Contains(text, "\x00") {
				t.Errorf("Program with %.200q: %v", text, err)
			}
			continue
		}
		command, err := script.HelmCommand()
		if fits := utf8.ValidString(text) && len(script.String()) <= escape.MaxArgument; fits != (err == nil) {
			t.Errorf("HelmCommand of a script of %d bytes with %.200q: error %v", len(script.String()), text, err)
		}
		if err != nil {
			continue
		}
		fmt.Fprintf(&template, job, command)
		scripts = append(scripts, script.String())
		want = append(want, prints)
	}
	out, err := render(map[string]string{"job.yaml": template.String()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := commands(t, out["job.yaml"])
	if len(got) != len(scripts) {
		t.Fatalf("%d scripts came through, want %d", len(got), len(scripts))
	}
	for i, script := range got {
		if script != scripts[i] {
			t.Errorf("came through as %q\nwant %q", script, scripts[i])
		}
	}
	batches(t, []string{"/bin/sh"}, got, want)
	return len(scripts)
}

func TestHelmCommand(t *testing.T) {
	all, _ := every(t)
	n := checkHelmCommand(t, all...)
	if n < 5000 {
		t.Errorf("%d scripts were carried, want 5000 at least", n)
	}
	verdict.Proved(t, "%d scripts come through Helm 3.22.0, YAML, the kubelet and /bin/sh by HelmCommand", n)
}

// FuzzHelm: one text through both ways into a chart.
func FuzzHelm(f *testing.F) {
	for _, c := range shelltest.Hostile(f) {
		f.Add(string(c.Data) + "\n")
	}
	for _, s := range []string{"no newline", "<no value>EOF\nid\n", "{{ .Values.x }}\n", "EOF\n", "$(A)\n", alphabet + "\n", "\x7f\u0085\ufeff\uffff\n"} {
		f.Add(s)
	}
	chart := loadChart(f)
	n := 0
	f.Fuzz(func(t *testing.T, text string) {
		n++
		checkHelmCommand(t, text)
		why := refusal(text)
		if text == "" { // the chart's second body has no final newline then
			why = "newline"
		} else if why == "" {
			why = commandRefusal(text)
		}
		out, err := renderChart(chart, map[string]any{"texts": []any{text}})
		if why != "" {
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Fatalf("%q: error %v, want one that says %q", text, err, why)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		scripts := commands(t, out["jobs.yaml"])
		if got, err := run([]string{"/bin/sh"}, scripts[0]); err != nil || got != wanted(text) {
			t.Fatalf("%q: %v\nprinted %q\nscript %q", text, err, got, scripts[0])
		}
	})
	verdict.Proved(f, "any text comes through Helm 3.22.0 as it was, by the helpers and by HelmCommand, or stops it with the reason: %d texts", n)
}
