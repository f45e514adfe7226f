package reconcile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

const apiGroup = "bootstrap.cluster.x-k8s.io"

// Template is a TalosConfigTemplate of the Cluster API bootstrap provider for
// Talos, and how a script gets it into a cluster.
type Template struct {
	Name, Namespace     string
	Labels, Annotations map[string]string // of the TalosConfigTemplate

	// APIVersion is v1beta1, which an empty one stands for, or v1alpha3, for
	// a provider that has no v1beta1; with or without the group bootstrap.cluster.x-k8s.io.
	APIVersion string
	// TalosVersion is that of the machines, such as v1.13; empty leaves the choice to the provider.
	TalosVersion string
	// GenerateType is worker or controlplane: the provider generates the
	// configuration. It is none when there is a Skeleton. An empty one is none
	// with a Skeleton, else worker.
	GenerateType string

	// StrategicPatches are strategic-merge patches, each one or more YAML
	// documents that are maps; the provider applies them in this order to what it
	// generated or to the Skeleton. A list, which is a JSON 6902 patch, is refused:
	// Talos does not apply it to a configuration of several documents.
	StrategicPatches [][]byte

	// Skeleton is a machine configuration in which ${NAME} stands for the Input
	// of that name; everything else is literal. No untrusted text belongs into it:
	// text that reads ${NAME} would be an input.
	//
	// No value may change what the skeleton is as YAML. So an input stands in
	// quotes, in a block, or beside text that makes a string of any value, as
	// https://${HOST}:6443 does; escape.Port may stand alone, as a number;
	// escape.Any must stand alone, without quotes, as the whole of a value.
	Skeleton string
	Inputs   []Input

	// Sensitive says that the patches or the skeleton hold a secret, which must
	// not stand in a Job or a ConfigMap. Manifests also finds out by itself when a
	// key is one that Talos keeps a secret in (auth, password, identityToken, key,
	// token, secret and the like) or when a value is a private key; it never takes
	// a true back.
	Sensitive bool

	// Tries is how often an input is read that is not there yet, 60 when zero;
	// Interval is the pause between, whole seconds, 5 seconds when zero. At most
	// 10000 tries, and an hour.
	Tries    int
	Interval time.Duration
}

const (
	defaultTries    = 60
	defaultInterval = 5 * time.Second
	maxTries        = 10000
	maxInterval     = time.Hour
	// kubectl waits this long for one answer of the API server.
	requestTimeout = 30 * time.Second
)

func (t Template) apiVersion() string {
	if v := strings.TrimPrefix(t.APIVersion, apiGroup+"/"); v != "" {
		return v
	}
	return "v1beta1"
}

func (t Template) generateType() string {
	switch {
	case t.GenerateType != "":
		return t.GenerateType
	case t.Skeleton != "":
		return "none"
	}
	return "worker"
}

func (t Template) tries() int {
	if t.Tries == 0 {
		return defaultTries
	}
	return t.Tries
}

func (t Template) interval() time.Duration {
	if t.Interval == 0 {
		return defaultInterval
	}
	return t.Interval
}

// check reports what is wrong with t, and whether t holds a secret as far as its keys and values tell.
func (t Template) check() (sensitive bool, found problems) {
	var p problems
	p.subdomain("name", t.Name)
	p.label("namespace", t.Namespace)
	p.metadata("", t.Labels, t.Annotations)
	if _, n := t.lastApplied(); t.serverSide() && annotationsSize(t.Annotations) <= maxAnnotations && annotationsSize(t.Annotations)+n > maxAnnotations {
		p.add("annotations", fmt.Sprintf("want at most %d, since the API server takes %d and kubectl apply needs %d", maxAnnotations-n, maxAnnotations, n),
			"keys and values of %d bytes", annotationsSize(t.Annotations))
	}
	if _, found := t.Annotations[lastAppliedKey]; found {
		p.add("annotations["+quote(lastAppliedKey)+"]", "want another key", "the annotation of kubectl apply itself")
	}
	if v := t.apiVersion(); v != "v1beta1" && v != "v1alpha3" {
		p.add("apiVersion", "want v1beta1 or v1alpha3", "unknown version %q", t.APIVersion)
	}
	if t.TalosVersion != "" && !talosVersion.MatchString(t.TalosVersion) {
		p.add("talosVersion", "want a version as v1.13 or v1.13.9", "invalid version %q", t.TalosVersion)
	}
	switch g := t.generateType(); {
	case g != "worker" && g != "controlplane" && g != "none":
		p.add("generateType", "want worker, controlplane or none", "unknown type %q", g)
	case g == "none" && t.Skeleton == "":
		p.add("skeleton", "want a machine configuration, since generateType is none", "no skeleton")
	case g != "none" && t.Skeleton != "":
		p.add("generateType", "want none", "%q beside a skeleton", g)
	}
	if t.generateType() != "none" && len(t.StrategicPatches) == 0 {
		p.add("strategicPatches", "want at least one patch", "no patch")
	}
	for i, patch := range t.StrategicPatches {
		p.patch(fmt.Sprintf("strategicPatches[%d]", i), string(patch), &sensitive)
	}
	p.inputs(t)
	if t.Skeleton != "" {
		p.skeleton(t, &sensitive)
	} else if len(t.Inputs) > 0 {
		p.add("inputs", "want a skeleton that names them", "inputs without a skeleton")
	}
	if t.Tries < 0 || t.Tries > maxTries {
		p.add("tries", fmt.Sprintf("want 1 to %d", maxTries), "%d tries", t.Tries)
	}
	if t.Interval < 0 || t.Interval > maxInterval || t.Interval%time.Second != 0 {
		p.add("interval", "want whole seconds, from 1 to 3600", "interval %s", t.Interval)
	}
	return sensitive, p
}

// skeleton checks that t.Skeleton is a machine configuration's YAML when each input has a value.
func (p *problems) skeleton(t Template, sensitive *bool) {
	if !p.text("skeleton", t.Skeleton) {
		return
	}
	if i := notLiteral(t.Skeleton); i >= 0 && len(t.Inputs) > 0 {
		// Without inputs it is written in double quotes; there a live value would have to be encoded once more.
		fix := "want it as an escape in a double-quoted scalar, such as \"\\u2028\""
		if t.Skeleton[i] == '\r' {
			fix = "want lines that end in a newline alone"
		}
		r := []rune(t.Skeleton[i:])[0]
		*p = append(*p, &Error{
			Path: "skeleton", Line: lineAt(t.Skeleton, i), Offset: i,
			Reason: fmt.Sprintf("the character %U beside inputs", r), Fix: fix,
		})
		return
	}
	marked, m := markInputs(t.Skeleton, t.Inputs)
	before := len(*p)
	if p.maps("skeleton", marked, sensitive, m) == 0 {
		p.add("skeleton", "want a machine configuration", "empty skeleton")
	}
	if len(*p) == before {
		p.comments(m)
	}
}

// patch checks that text is a strategic-merge patch.
func (p *problems) patch(path, text string, sensitive *bool) {
	if p.text(path, text) && p.maps(path, text, sensitive, nil) == 0 {
		p.add(path, "want a strategic-merge patch", "empty patch")
	}
}

// maps checks that text is YAML documents which are maps, and the places of the inputs
// when it is a skeleton, and returns their number. A document without content does not count and is none of the problems.
func (p *problems) maps(path, text string, sensitive *bool, m *marks) (n int) {
	if strings.Contains(text, "PRIVATE KEY-----") {
		*sensitive = true
	}
	dec := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil && strings.Contains(err.Error(), "unknown anchor") {
			// The parser's text has the alias's name, which may be a password that begins with a *.
			p.add(path, "want quotes around a text that begins with *", "invalid YAML: an alias of no anchor")
			return n + 1
		}
		if err != nil {
			*p = append(*p, &Error{Path: path, Reason: "invalid YAML", Err: err})
			return n + 1
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
			continue
		}
		n++
		switch top := doc.Content[0]; top.Kind {
		case yaml.MappingNode:
			*sensitive = *sensitive || holdsSecret(top, m)
			if m != nil {
				p.places(m, top, false, false)
			}
		case yaml.SequenceNode:
			*p = append(*p, &Error{
				Path: path, Line: top.Line, Reason: "a list, as a JSON 6902 patch is",
				Fix: "want a map: Talos applies JSON 6902 to no configuration of several documents",
			})
		default:
			*p = append(*p, &Error{Path: path, Line: top.Line, Reason: "text", Fix: "want a map"})
		}
	}
}

// secretKeys are the keys of a Talos 1.13.9 machine configuration that hold a
// secret or a map with one. A false alarm costs little: the script is mounted from a Secret.
var secretKeys = map[string]bool{
	"auth": true, "password": true, "identityToken": true, // registries
	"key": true, "privateKey": true, "privateKeyPath": true, "preSharedKey": true, "presharedKey": true,
	"token": true, "secret": true, "aescbcEncryptionSecret": true, "secretboxEncryptionSecret": true,
	"passphrase": true, "static": true, "bootstrapToken": true, "authKey": true,
}

// holdsSecret tells whether a key below n is one of secretKeys and has a value
// that is not an input: an input's value is not in the script. A map behind an alias is looked at where its anchor is.
func holdsSecret(n *yaml.Node, m *marks) bool {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			key, v := anchored(c), anchored(n.Content[i+1])
			if secretKeys[key.Value] && v.Tag != "!!null" && v.Kind == yaml.ScalarNode && v.Value != "" && !m.whole(v.Value) {
				return true
			}
		} else if holdsSecret(c, m) {
			return true
		}
	}
	return false
}

// anchored returns what n is an alias of, or n.
func anchored(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (t Template) patches() []string {
	patches := make([]string, len(t.StrategicPatches))
	for i, patch := range t.StrategicPatches {
		patches[i] = string(patch)
	}
	return patches
}

// lastAppliedKey is the annotation in which kubectl keeps what it applied on the
// client. By it the next kubectl apply on the client knows what to remove.
const lastAppliedKey = "kubectl.kubernetes.io/last-applied-configuration"

// lastApplied is a template with nothing but lastAppliedKey, for one that was applied on
// the server: the names in that, without their values. When a later template is
// small enough for the client again, what it does not have is removed.
func (t Template) lastApplied() (document object, size int) {
	names := func(m map[string]string) map[string]string {
		n := make(map[string]string, len(m))
		for k := range m {
			n[k] = ""
		}
		return n
	}
	text, _ := json.Marshal(map[string]any{ // of strings: no error
		"apiVersion": apiGroup + "/" + t.apiVersion(), "kind": "TalosConfigTemplate",
		"metadata": map[string]any{"name": t.Name, "namespace": t.Namespace, "labels": names(t.Labels), "annotations": names(t.Annotations)},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"generateType": "", "talosVersion": "", "data": "", "strategicPatches": []string{},
		}}},
	})
	return object{
		{"apiVersion", apiGroup + "/" + t.apiVersion()},
		{"kind", "TalosConfigTemplate"},
		{"metadata", object{{"name", t.Name}, {"namespace", t.Namespace}, {"annotations", object{{lastAppliedKey, string(text)}}}}},
	}, len(lastAppliedKey) + len(text)
}

// header returns the TalosConfigTemplate without data, which comes last when there is one.
func (t Template) header() object {
	var patches list
	for _, patch := range t.patches() {
		patches = append(patches, patch)
	}
	spec := object{{"generateType", t.generateType()}}.
		with("talosVersion", t.TalosVersion).
		with("strategicPatches", patches)
	return object{
		{"apiVersion", apiGroup + "/" + t.apiVersion()},
		{"kind", "TalosConfigTemplate"},
		{"metadata", object{{"name", t.Name}, {"namespace", t.Namespace}}.
			with("labels", stringMap(t.Labels)).
			with("annotations", stringMap(t.Annotations))},
		{"spec", object{{"template", object{{"spec", spec}}}}},
	}
}

// specIndent is the indentation of the fields of spec.template.spec.
const specIndent = 6

// body returns the TalosConfigTemplate: as the parts of a here-document when there are inputs, else as text.
func (t Template) body() (parts []escape.Part, text string, err error) {
	text = strings.TrimPrefix(document(t.header()), "---\n")
	if t.Skeleton == "" {
		return nil, text, nil
	}
	text += strings.Repeat(" ", specIndent) + "data: "
	if len(t.Inputs) == 0 {
		var b strings.Builder
		writeScalar(&b, t.Skeleton, specIndent+2)
		return nil, text + b.String(), nil
	}
	// The lines are indented before the inputs are put in: no name spans lines, and no value does.
	forms := make(map[string]escape.Form, len(t.Inputs))
	for _, in := range t.Inputs {
		forms[in.Name] = in.form()
	}
	data, err := escape.Skeleton(literalBody(t.Skeleton, specIndent+2), forms)
	if err != nil {
		if _, own := escape.Skeleton(t.Skeleton, forms); own != nil {
			err = own // its offsets are those of the text that the caller has
		}
		return nil, "", &Error{Path: "skeleton", Err: err}
	}
	return append([]escape.Part{escape.Text(text + literalHeader(t.Skeleton) + "\n")}, data...), "", nil
}

// seconds writes d for a script.
func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
