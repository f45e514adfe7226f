package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/escape"
)

// forms are what the value of an input may be, each with a value of that form.
var forms = []struct {
	name   string
	form   escape.Form
	sample string
}{
	{"address", escape.Address, "192.0.2.1"},
	{"dns-name", escape.DNSName, "api.example.com"},
	{"url-host", escape.URLHost, "192.0.2.1"},
	{"port", escape.Port, "6443"},
	{"base64", escape.Base64, "c2FtcGxl"},
	{"base64url", escape.Base64URL, "c2FtcGxl"},
	{"token", escape.Token, "sample.0123456789abcdef"},
	{"text", escape.Any, `"sample"`}, // a YAML scalar
}

const formsHelp = `address, dns-name, url-host (an address, IPv6 in brackets, or a DNS name), port,
base64, base64url, token, or text, which is any text and becomes one YAML scalar`

const formNames = "address, dns-name, url-host, port, base64, base64url, token or text"

// sample returns a value that the input may have.
func sample(in reconcile.Input) string {
	for _, f := range forms {
		if f.form == in.Form {
			return f.sample
		}
	}
	return `"sample"` // the text of a Secret
}

// inputs is the flag --input, which may be repeated.
type inputs struct{ list []reconcile.Input }

func (in *inputs) String() string { return "" }
func (in *inputs) Type() string   { return "INPUT" }

// Set reads NAME:FORM=SOURCE. The form stands before the source since a
// JSONPath or a text may have any character in it.
func (in *inputs) Set(s string) error {
	head, source, found := strings.Cut(s, "=")
	if !found {
		return errors.New("want NAME:FORM=SOURCE")
	}
	name, form, hasForm := strings.Cut(head, ":")
	if in.has(name) && !completing {
		return fmt.Errorf("input %q is given twice", name)
	}
	kind, rest, _ := strings.Cut(source, ":")
	parsed := reconcile.Input{Name: name}

	switch kind {
	case "env":
		env := reconcile.FromEnv{}
		if source != "env" {
			var ok bool
			if env.Secret, env.Key, ok = strings.Cut(rest, ":"); !ok {
				return errors.New("want env:SECRET:KEY")
			}
		}
		parsed.From = env
	case "value":
		if rest == "" {
			return errors.New("want value:TEXT; an input without a value is an error when the script runs")
		}
		parsed.From = reconcile.FromEnv{Value: rest}
	case "secret", "secret-text":
		object, key, ok := strings.Cut(rest, ":")
		if !ok {
			return fmt.Errorf("want %s:[NAMESPACE/]NAME:KEY", kind)
		}
		secret := reconcile.FromSecret{Name: object, Key: key, Decode: kind == "secret-text"}
		if namespace, name, ok := strings.Cut(object, "/"); ok {
			secret.Namespace, secret.Name = namespace, name
		}
		parsed.From = secret
		if kind == "secret" && !hasForm {
			form, hasForm = "base64", true
		}
	case "jsonpath":
		object, path, ok := strings.Cut(rest, ":")
		parts := strings.Split(object, "/")
		if !ok || len(parts) != 2 && len(parts) != 3 {
			return errors.New("want jsonpath:[NAMESPACE/]RESOURCE/NAME:JSONPATH")
		}
		from := reconcile.FromJSONPath{JSONPath: path}
		if len(parts) == 3 {
			from.Namespace, parts = parts[0], parts[1:]
		}
		from.Resource, from.Name = parts[0], parts[1]
		parsed.From = from
	default:
		return fmt.Errorf("unknown source %q (want secret, secret-text, jsonpath, env or value)", kind)
	}

	if kind == "secret-text" {
		if hasForm {
			return errors.New("secret-text has no form: any text is carried")
		}
	} else {
		for _, f := range forms {
			if f.name == form {
				parsed.Form = f.form
			}
		}
		if !hasForm {
			return fmt.Errorf("no form (want %s:FORM=…, FORM one of %s)", name, formNames)
		}
		if parsed.Form == (escape.Form{}) {
			return fmt.Errorf("unknown form %q (want %s)", form, formNames)
		}
	}
	in.list = append(in.list, parsed)
	return nil
}

func (in *inputs) has(name string) bool {
	for _, i := range in.list {
		if i.Name == name {
			return true
		}
	}
	return false
}

// pairs is a flag KEY=VALUE, which may be repeated.
type pairs struct{ values map[string]string }

func (p *pairs) String() string { return "" }
func (p *pairs) Type() string   { return "KEY=VALUE" }

func (p *pairs) Set(s string) error {
	key, value, found := strings.Cut(s, "=")
	if !found {
		return errors.New("want KEY=VALUE")
	}
	if _, ok := p.values[key]; ok && !completing {
		return fmt.Errorf("key %q is given twice", key)
	}
	if p.values == nil {
		p.values = map[string]string{}
	}
	p.values[key] = value
	return nil
}
