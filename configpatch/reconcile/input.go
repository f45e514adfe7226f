package reconcile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// Input is a value that a [Template]'s Skeleton names as ${NAME} and that is
// known only when the script runs. The script requires it, checks it against
// Form, and puts it where the skeleton has it. A value that does not fit
// ends the script with exit code 1 before anything is applied; the message
// names the input and never shows the value.
//
// A value of the Form escape.Any becomes one YAML scalar in double quotes. Where
// values may stand is said at [Template].
type Input struct {
	Name string      // a shell variable: letters, digits and _, such as TALOS_CA
	Form escape.Form // what the value may be; escape.Any, or zero, for a FromSecret with Decode
	From Source      // a FromEnv, a FromSecret or a FromJSONPath
}

// Source says where an [Input] comes from: [FromEnv], [FromSecret] or [FromJSONPath].
type Source interface{ source() }

// FromEnv is an environment variable of the container, with the input's name.
//
// With Secret and Key the Job's env has a secretKeyRef: the kubelet reads the
// Secret, which lies in the Job's namespace, and the ServiceAccount needs no right to.
// With Value the Job's env has the very text, visible to all who may see the
// Job: it is no place for a secret, though a FromEnv that is printed or logged
// does not show it. With neither, [Script] takes the variable from whoever runs
// it, and [Manifests] reports an error.
type FromEnv struct {
	Value       string
	Secret, Key string
}

// maxEnv keeps NAME=value within what Linux takes as one variable, whatever the name.
const maxEnv = escape.MaxArgument - 256

// FromSecret is a key of a Secret that the script reads with kubectl.
//
// The value is base64, as the Secret stores it and as the CAs of a Talos
// machine configuration are written (escape.Base64 is its Form). With Decode it is
// the text behind the base64, of the Form escape.Any, its final newlines included. Text that is
// not UTF-8 or that holds a NUL byte ends the script with exit code 1.
//
// A shell whose printf is a program (mksh R59c, posh 0.14.1) passes a value as an argument, so there
// the base64 has at most 131071 bytes; a longer one ends the script with exit code 1.
type FromSecret struct {
	Namespace string // empty: the template's
	Name, Key string
	Decode    bool
}

// FromJSONPath is what kubectl get finds at a JSONPath, such as
// {.spec.clusterIP} of a Service. Of a NUL byte in it, which no shell but zsh can hold, nothing is left.
//
// An IPv6 address comes without the brackets that a URL needs, and escape.URLHost, the Form for
// the host of a URL, refuses it. Where it is IPv6 for sure, [{.spec.clusterIP}] puts them
// around it; where it may be either, use the DNS name of the Service.
type FromJSONPath struct {
	Namespace string // empty: the template's
	// Resource is a namespaced resource as in a Role, in the plural, with its group behind a dot:
	// services, clusters.cluster.x-k8s.io. The core singulars and short names that kubectl knows are taken too: service, svc.
	Resource string
	Name     string
	JSONPath string // with its braces
}

func (FromEnv) source()      {}
func (FromSecret) source()   {}
func (FromJSONPath) source() {}

// coreResources are the names in the core group that people type for kubectl; a Role knows the plural alone.
var coreResources = map[string]string{
	"service": "services", "svc": "services",
	"secret":    "secrets",
	"configmap": "configmaps", "cm": "configmaps",
	"ep":                    "endpoints",
	"pod":                   "pods",
	"po":                    "pods",
	"serviceaccount":        "serviceaccounts",
	"sa":                    "serviceaccounts",
	"persistentvolumeclaim": "persistentvolumeclaims", "pvc": "persistentvolumeclaims",
}

func (f FromJSONPath) resource() (group, plural string) {
	plural, group, _ = strings.Cut(f.Resource, ".")
	if group == "" {
		if p, ok := coreResources[plural]; ok {
			plural = p
		}
	}
	return group, plural
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// kubectlNames are the variables that change what kubectl 1.36 does, and those of the script. The
// names that mean something to a shell are escape's to know.
var kubectlNames = regexp.MustCompile(`^(HOME|TMPDIR|KUBECONFIG|KUBERC|KUBECACHEDIR|KUBE_.*|KUBECTL_.*|KUBERNETES_(SERVICE_.*|PORT.*|MASTER)|` +
	`(?i:http|https|no|all)_(?i:proxy)|SSL_CERT_(FILE|DIR)|LD_.*|GODEBUG|GOGC|GOMAXPROCS|GOMEMLIMIT|GOTRACEBACK|reconcile_.*)$`)

func (p *problems) inputs(t Template) {
	seen := map[string]bool{}
	for i, in := range t.Inputs {
		at := inputPath(i, in)
		switch {
		case !variableName.MatchString(in.Name):
			p.add(fmt.Sprintf("inputs[%d].name", i), "want letters, digits and _, no digit first", "invalid name %q", in.Name)
		case seen[in.Name]:
			p.add(at, "want each name once", "repeated input")
		case kubectlNames.MatchString(in.Name):
			p.add(at, "want another name", "the variable %q changes what kubectl does", in.Name)
		}
		seen[in.Name] = true
		if in.form() == (escape.Form{}) {
			p.add(at+".form", "want what the value may be, such as escape.Address", "no form")
		}
		switch f := in.From.(type) {
		case FromEnv:
			p.fromEnv(at+".from", f)
		case FromSecret:
			if f.Namespace != "" {
				p.label(at+".from.namespace", f.Namespace)
			}
			p.subdomain(at+".from.name", f.Name)
			if !isSecretKey(f.Key) {
				p.add(at+".from.key", wantKey, "invalid key %q", f.Key)
			}
			if f.Decode && in.form() != escape.Any {
				p.add(at+".form", "want escape.Any, since decoded text may be of any content", "another form")
			}
		case FromJSONPath:
			if f.Namespace != "" {
				p.label(at+".from.namespace", f.Namespace)
			}
			if !isSubdomain(f.Resource) {
				p.add(at+".from.resource", "want a resource as services or clusters.cluster.x-k8s.io", "invalid resource %q", f.Resource)
			}
			p.subdomain(at+".from.name", f.Name)
			if p.text(at+".from.jsonPath", f.JSONPath) && (!strings.Contains(f.JSONPath, "{") || !strings.Contains(f.JSONPath, "}")) {
				p.add(at+".from.jsonPath", "want a JSONPath in braces: {.spec.clusterIP}", "invalid JSONPath %q", f.JSONPath)
			}
		default:
			p.add(at+".from", "want a FromEnv, a FromSecret or a FromJSONPath", "no source")
		}
	}
}

func (p *problems) fromEnv(at string, f FromEnv) {
	switch {
	case f.Value != "" && (f.Secret != "" || f.Key != ""):
		p.add(at, "want one of the two", "a value and a Secret")
	case f.Value != "":
		if n := len(f.Value); p.text(at+".value", f.Value) && n > maxEnv {
			p.add(at+".value", fmt.Sprintf("want at most %d", maxEnv), "%d bytes", n)
		}
	case f.Secret != "" || f.Key != "":
		p.subdomain(at+".secret", f.Secret)
		if !isSecretKey(f.Key) {
			p.add(at+".key", wantKey, "invalid key %q", f.Key)
		}
	}
}

func inputPath(i int, in Input) string {
	if in.Name == "" {
		return fmt.Sprintf("inputs[%d]", i)
	}
	return "inputs[" + quote(in.Name) + "]"
}

func (in Input) form() escape.Form {
	if f, ok := in.From.(FromSecret); ok && f.Decode && in.Form == (escape.Form{}) {
		return escape.Any
	}
	return in.Form
}

// escapeDots writes a Secret's key for a JSONPath, where a dot separates names.
func escapeDots(key string) string { return strings.ReplaceAll(key, ".", `\.`) }
