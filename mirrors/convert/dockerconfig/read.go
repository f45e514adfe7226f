package dockerconfig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/nodekind"
)

// Read reads a config.json, an auth.json, or a Secret as YAML or JSON. In a
// Secret, lines are those of the Secret.
func Read(data []byte) (*mirrors.Source, convert.Report, error) {
	r := &reader{Builder: tree.NewBuilder("Docker"), values: map[string]string{}}
	root, errs := r.parse(data)
	if root == nil {
		return nil, convert.Report{}, mirrors.Join(errs...)
	}
	if root.Kind != yaml.MappingNode {
		r.Fail("wrong-kind", "", root, "found "+nodekind.Of(root), "want an object")
		return r.Finish(errs...)
	}
	if kind := field(root, "kind"); kind != nil {
		return r.secret(root, errs)
	}
	r.config(root, "", nil)
	return r.Finish(errs...)
}

type reader struct {
	*tree.Builder
	values map[string]string // host to the path of its entry
}

// parse takes JSON, and YAML for a Secret.
func (r *reader) parse(data []byte) (*tree.Node, []error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(text) == 0 || bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) {
		n, err := tree.JSON(data)
		return n, []error{err}
	}
	n, err := mirrors.ReadDocument(data)
	if n != nil && n.Kind == yaml.MappingNode && field(n, "kind") == nil {
		_, jsonErr := tree.JSON(data)
		return nil, []error{jsonErr}
	}
	return n, []error{err}
}

// field returns a value as encoding/json finds it: the case of the key does not matter.
func field(n *tree.Node, name string) *tree.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if strings.EqualFold(n.Content[i].Value, name) {
			return n.Content[i+1]
		}
	}
	return nil
}

// secret reads the config.json in a Secret.
func (r *reader) secret(root *tree.Node, errs []error) (*mirrors.Source, convert.Report, error) {
	if k := field(root, "kind"); k.Value != "Secret" {
		r.Fail("wrong-value", "kind", k, "found a "+tree.Quote(k.Value), "want a Secret, or the config.json itself")
		return r.Finish(errs...)
	}
	found := false
	for _, f := range r.Fields(root, "") {
		switch f.Name {
		case "type":
			if s, _ := r.Text(f); s != "kubernetes.io/dockerconfigjson" && s != "kubernetes.io/dockercfg" {
				r.Fail("wrong-value", f.Path, f.Value, "found a Secret of the type "+tree.Quote(s), "want kubernetes.io/dockerconfigjson")
				return r.Finish(errs...)
			}
		case "data", "stringData":
			for _, g := range r.Fields(f.Value, f.Path) {
				if g.Name != ".dockerconfigjson" && g.Name != ".dockercfg" {
					r.Ignore(g.Path)
					continue
				}
				found = true
				text, _ := r.Text(g)
				if f.Name == "data" {
					decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
					if err != nil {
						r.Fail("wrong-value", g.Path, g.Value, "not base64", "want base64 of a config.json")
						continue
					}
					text = string(decoded)
				}
				inner, err := tree.JSON([]byte(text))
				if err != nil {
					errs = append(errs, within(err, g))
				}
				if inner == nil {
					continue
				}
				if inner.Kind != yaml.MappingNode {
					r.Fail("wrong-kind", g.Path, g.Value, "found "+nodekind.Of(inner), "want an object")
					continue
				}
				if g.Name == ".dockercfg" {
					inner = &tree.Node{Kind: yaml.MappingNode, Tag: "!!map",
						Content: []*tree.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: "auths"}, inner}}
				}
				r.config(inner, g.Path, g.Value)
			}
		case "kind", "apiVersion":
		default:
			r.Ignore(f.Path)
		}
	}
	if !found {
		r.Fail("missing-key", "data", root, `the Secret has no ".dockerconfigjson"`, "want it in data, as base64 of a config.json")
	}
	return r.Finish(errs...)
}

// within gives the findings in the text of a field that field's place.
func within(err error, f tree.Field) error {
	var all *mirrors.Error
	if errors.As(err, &all) {
		for i := range all.Findings {
			g := &all.Findings[i]
			g.Message = fmt.Sprintf("line %d, column %d of the text: %s", g.Line, g.Column, g.Message)
			g.Path, g.Line, g.Column = f.Path, f.Value.Line, f.Value.Column
		}
	}
	return err
}

// config reads a config.json. Inside a Secret, outer is the value that holds it.
func (r *reader) config(root *tree.Node, path string, outer *tree.Node) {
	if outer != nil {
		place(root, outer)
	}
	known, others := false, 0
	var hosts []tree.Field
	for _, f := range r.Fields(root, path) {
		switch strings.ToLower(f.Name) {
		case "auths":
			known = true
			for _, g := range r.Fields(f.Value, f.Path) {
				r.entry(g)
			}
		case "credsstore":
			known = true
			r.Note(convert.Loss, f.Path, f.Key, "the credentials are in a store of the machine, not in this file", "take them from there: docker-credential-NAME get")
		case "credhelpers":
			known = true
			for _, g := range r.Fields(f.Value, f.Path) {
				r.Note(convert.Loss, g.Path, g.Key, "a program on the machine has the credentials of this registry; Talos runs none", "write credentials that last, or a token")
			}
		case "httpheaders":
			r.Note(convert.Loss, f.Path, f.Key, "Talos sends no headers of its own to registries", "let the registry do without them")
		default:
			others++
			switch {
			case unrelated[strings.ToLower(f.Name)]:
				r.Ignore(f.Path)
			case strings.ContainsAny(f.Name, ".:/") || strings.EqualFold(f.Name, "localhost"):
				hosts = append(hosts, f)
			case tree.Resembles(f.Name):
				r.Fail("unknown-key", f.Path, f.Key, fmt.Sprintf("unknown key %s, which Docker ignores", tree.Quote(f.Name)), `want "auths", "credHelpers" or "credsStore"`)
			default:
				r.Unknown(f.Path, f.Key, r.Program, "auths", "credHelpers", "credsStore")
			}
		}
	}
	if len(hosts) > 0 {
		r.Fail("unknown-key", hosts[0].Path, hosts[0].Key, "a registry beside the keys of the file", `want it in "auths"`)
	}
	if !known && others > 0 && outer == nil {
		r.Fail("missing-key", path, root, `no "auths" in the file`, `want a config.json; one without credentials is written {"auths": {}}`)
	}
}

// unrelated are the other keys of Docker's command 29 and of those before it, in
// lower case.
var unrelated = map[string]bool{}

func init() {
	for _, key := range strings.Fields(`aliases cliPluginsExtraDirs configFormat currentContext detachKeys experimental
		features imagesFormat kubernetes networksFormat nodesFormat plugins pluginsFormat proxies pruneFilters psFormat
		secretFormat serviceInspectFormat servicesFormat stackOrchestrator statsFormat tasksFormat volumesFormat`) {
		unrelated[strings.ToLower(key)] = true
	}
}

// place gives all nodes the position of the value that holds their text.
func place(n, outer *tree.Node) {
	n.Line, n.Column = outer.Line, outer.Column
	for _, c := range n.Content {
		place(c, outer)
	}
}

// registry returns the host of a key of auths.
func registry(key string) (host, problem string) {
	switch strings.TrimSuffix(key, "/") {
	case "https://index.docker.io/v1", "https://index.docker.io", "index.docker.io", "docker.io", "https://docker.io", tree.DockerHub, "https://" + tree.DockerHub, "index.docker.io/v1":
		return tree.DockerHub, ""
	}
	host = key
	if _, _, ok := strings.Cut(key, "://"); ok {
		u, err := url.Parse(key)
		if err != nil || u.Host == "" {
			return "", "it does not parse as a URL"
		}
		host = u.Host
		if p := strings.Trim(u.Path, "/"); p != "" && p != "v1" && p != "v2" {
			return host, "a path in the URL, of which Docker takes the host"
		}
		return host, ""
	}
	host = strings.TrimSuffix(host, "/")
	if name, path, ok := strings.Cut(host, "/"); ok {
		if path == "v1" || path == "v2" {
			return name, ""
		}
		return "", "credentials for a part of a registry; Talos has them for a whole host"
	}
	switch {
	case host == "":
		return "", "an empty key"
	case strings.Contains(host, "*"):
		return "", "a pattern, which only the kubelet knows; Talos has no patterns"
	}
	return host, ""
}

func (r *reader) entry(f tree.Field) {
	host, problem := registry(f.Name)
	if host == "" {
		r.Note(convert.Loss, f.Path, f.Key, problem, "write credentials for the host that are good for all of it")
		return
	}
	var a mirrors.Auth
	var encoded, password string
	var authField tree.Field
	told := false
	for _, g := range r.Fields(f.Value, f.Path) {
		s := ""
		switch strings.ToLower(g.Name) {
		case "auth":
			encoded, _ = r.Text(g)
			authField = g
		case "username":
			a.Username, _ = r.Text(g)
		case "password":
			password, _ = r.Text(g)
		case "identitytoken":
			s, _ = r.Text(g)
			a.IdentityToken = mirrors.NewSecret(s)
		case "registrytoken":
			told = true
			r.Note(convert.Loss, g.Path, g.Key, "neither Talos nor containerd sends a registry token", "write a user name and a password, or an identity token")
		case "email":
			r.Ignore(g.Path)
		case "serveraddress":
			r.Ignore(g.Path)
		default:
			r.UnknownNearSecrets(f.Path, g.Key, r.Program, "auth", "username", "password", "identitytoken")
		}
	}
	if encoded != "" {
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
		user, pass, ok := strings.Cut(string(decoded), ":")
		if err != nil || !ok || user == "" {
			r.Fail("wrong-value", authField.Path, authField.Value, "not base64 of user:password", "want that, without line breaks")
			return
		}
		a.Username, password = user, strings.Trim(pass, "\x00") // as Docker does
	}
	if !a.IdentityToken.IsZero() {
		// A user name that stands for "there is a token" says nothing.
		if placeholder := a.Username == "" || a.Username == "<token>" || strings.Trim(a.Username, "0-") == ""; !placeholder {
			r.Note(convert.Changed, f.Path, f.Key, "a user name beside an identity token; Talos takes one of the two, and the token is what Docker would send", "check that the token is good for pulls")
		}
		a.Username, password = "", ""
	}
	a.Password = mirrors.NewSecret(password)
	if a == (mirrors.Auth{}) {
		if !told {
			r.Note(convert.Loss, f.Path, f.Key, "an entry without credentials: they are in a credential store, or there are none", "write them, or drop the entry")
		}
		return
	}
	if problem != "" {
		r.Note(convert.Changed, f.Path, f.Key, problem, "want the host alone")
	}
	r.Auth(host, a, f)
}
