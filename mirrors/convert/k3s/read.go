package k3s

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Read reads a registries.yaml.
//
// The error is a [*mirrors.Error]. k3s logs a warning for an endpoint that is no
// URL, and goes on without it: here that is an error.
func Read(data []byte, opts ...Option) (*mirrors.Source, convert.Report, error) {
	r := &reader{Builder: tree.NewBuilder("k3s"), options: collect(opts)}
	r.Loose = true // k3s reads with yaml.v2
	root, err := mirrors.ReadDocument(data)
	if root == nil {
		return nil, convert.Report{}, err
	}
	r.root(root)
	return r.Finish(err)
}

type reader struct {
	*tree.Builder
	options

	mirrors, configs []tree.Field
	configured       map[string]settings
	hosts            map[string]bool // scheme and host of each endpoint and registry
}

// settings is an entry of configs.
type settings struct {
	tree.Field
	auth *mirrors.Auth
	tls  *mirrors.TLS
	at   [2]tree.Field // of auth and tls
}

func (r *reader) root(n *tree.Node) {
	var auths []tree.Field
	for _, f := range r.Fields(n, "") {
		switch f.Name {
		case "mirrors":
			r.mirrors = r.Fields(f.Value, f.Path)
		case "configs":
			r.configs = r.Fields(f.Value, f.Path)
		case "auths":
			auths = r.Fields(f.Value, f.Path)
		case "config":
			r.Fail("unknown-key", f.Path, f.Key, `unknown key "config", which k3s ignores`, `want "configs"; is the file in the shape of machine.registries?`)
		default:
			r.Unknown(f.Path, f.Key, r.Program, "mirrors", "configs")
		}
	}

	r.configured = map[string]settings{}
	for _, f := range r.configs {
		r.configured[f.Name] = r.settings(f)
	}
	for _, f := range r.mirrors {
		r.mirror(f)
	}
	r.collectHosts()
	for _, f := range r.configs {
		r.config(r.configured[f.Name])
	}
	for _, f := range auths {
		host := f.Name
		if h := tree.HostOf(f.Name); strings.Contains(f.Name, "://") && h != "" {
			host = h
		}
		if a := r.auth(f); a != nil {
			r.Note(convert.Decision, f.Path, f.Key, "auths is deprecated; taken as credentials of the host "+tree.Quote(host), "move it to configs")
			r.Auth(tree.UpstreamHost(host), *a, f)
		}
	}
}

// endpoint is one as k3s normalizes it.
type endpoint struct {
	mirrors.Endpoint
	host string
	same string // equal for endpoints that are the same to k3s
}

// normalize follows normalizeEndpointAddress of k3s.
func normalize(text string) (e endpoint, reason string) {
	whole := text
	if !strings.Contains(whole, "://") {
		whole = "//" + whole
	}
	u, err := url.Parse(whole)
	if err != nil {
		return e, "it does not parse as a URL" // the error's text quotes all of it
	}
	if u.Host == "" {
		return e, "it has no host"
	}
	if u.Scheme == "" {
		u.Scheme = "https"
		if port := u.Port(); tree.IsLoopback(u.Host) && port != "" && port != "443" {
			u.Scheme = "http"
		}
		whole = u.Scheme + ":" + whole
	}
	if host := tree.UpstreamHost(u.Host); host != u.Host {
		whole = strings.Replace(whole, u.Host, host, 1)
		u.Host = host
	}
	e.host = u.Host
	switch u.Path {
	case "", "/", "/v2":
		if u.Path == "/" {
			whole = strings.TrimSuffix(whole, "/")
		}
		u.Path = "/v2"
	default:
		e.OverridePath = !strings.HasSuffix(path.Clean(u.Path), "/v2")
	}
	e.URL, e.same = whole, u.String()
	return e, ""
}

func (r *reader) mirror(f tree.Field) {
	var endpoints []tree.Text
	var rewrites []tree.Field
	for _, g := range r.Fields(f.Value, f.Path) {
		switch g.Name {
		case "endpoint":
			endpoints = r.Texts(g)
		case "rewrite":
			rewrites = r.Fields(g.Value, g.Path)
		case "endpoints":
			r.Fail("unknown-key", g.Path, g.Key, `unknown key "endpoints", which k3s ignores`, `want "endpoint"; is the file in the shape of machine.registries?`)
			return
		default:
			r.Unknown(g.Path, g.Key, r.Program, "endpoint", "rewrite")
		}
	}
	_, configured := r.configured[f.Name]
	if len(endpoints) == 0 {
		if r.noDefault && !configured {
			r.Note(convert.Loss, f.Path, f.Key, "without endpoints and without the default endpoint only the embedded registry mirror of k3s serves it; Talos has none",
				"name the endpoints, or let it go upstream")
		} else {
			r.Note(convert.Loss, f.Path, f.Key, "without endpoints it enables the embedded registry mirror of k3s; Talos has none", "drop it")
		}
		return
	}

	r.Mirror(f.Name, f)
	prefix := r.prefix(rewrites, f)
	seen := map[string]bool{}
	for i, t := range endpoints {
		at := tree.Field{Path: t.Path, Key: t.At, Value: t.At}
		e, reason := normalize(t.Value)
		if reason != "" {
			r.Fail("endpoint-syntax", t.Path, t.At, reason+"; k3s ignores the endpoint", "want a URL, or host[:port]")
			continue
		}
		if prefix != "" && !(i == len(endpoints)-1 && r.isDefault(f.Name, e, configured)) {
			e.Endpoint = mirrors.Endpoint{URL: tree.Origin(e.Endpoint) + tree.APIPath(e.Endpoint) + "/" + prefix, OverridePath: true}
			if strings.HasSuffix(e.URL, "/v2") {
				e.OverridePath = false
			}
		}
		if seen[e.same] || r.HasEndpoint(f.Name, e.URL) {
			r.Note(convert.Loss, t.Path, t.At, "the endpoint is there before", "drop it")
			continue
		}
		seen[e.same] = true
		r.Endpoint(f.Name, e.Endpoint, at)
	}
	r.fallback(f, configured)
}

// isDefault reports whether an endpoint that is the last one is the default
// endpoint. k3s puts it in the place of that, where rewrites are not used.
func (r *reader) isDefault(registry string, e endpoint, configured bool) bool {
	if registry == "*" || r.noDefault && !configured {
		return false
	}
	d, reason := normalize(registry)
	return reason == "" && d.same == e.same
}

// fallback decides on the default endpoint, which is the registry itself.
func (r *reader) fallback(f tree.Field, configured bool) {
	if f.Name == "*" {
		if r.noDefault {
			r.SkipFallback(f.Name, f)
		}
		return
	}
	// Settings for the default endpoint: the node's containerd applies TLS
	// settings to an endpoint only, not to the fallback of Talos.
	own := r.configured[f.Name]
	if c, ok := r.configured[tree.UpstreamHost(f.Name)]; ok {
		own = c
	}
	if own.tls != nil && (!r.noDefault || configured) {
		if e, reason := normalize(f.Name); reason == "" && !r.HasEndpoint(f.Name, e.URL) {
			r.Endpoint(f.Name, e.Endpoint, own.at[1])
		}
	}
	switch {
	case r.noDefault && !configured:
		r.SkipFallback(f.Name, f)
	case r.noDefault:
		r.Note(convert.Decision, f.Path, f.Key, "k3s keeps the default endpoint of a registry that has an entry in configs, the flag notwithstanding; so does the result",
			fmt.Sprintf("write mirrors[%s].skipFallback: true when it should not be used", tree.Quote(f.Name)))
	}
}

var (
	wholeName = regexp.MustCompile(`^\^?\((\?:)?\.[*+]\)\$?$`)
	atStart   = regexp.MustCompile(`^[a-z0-9._/-]+/$`)
	inserted  = regexp.MustCompile(`^([a-z0-9._/-]+/)\$(?:\{?([01])\}?)$`)
)

// prefix returns what a rewrite puts before each repository, if that is all it does.
func (r *reader) prefix(rewrites []tree.Field, f tree.Field) string {
	var prefix string
	for _, g := range rewrites {
		replacement, ok := r.Text(g)
		if !ok {
			continue
		}
		pattern := wholeName.FindStringSubmatch(g.Name)
		insert := inserted.FindStringSubmatch(replacement)
		switch {
		case len(rewrites) == 1 && pattern != nil && insert != nil && (insert[2] == "0" || pattern[1] == ""):
			prefix = insert[1]
		case len(rewrites) == 1 && g.Name == "^" && atStart.MatchString(replacement):
			prefix = replacement
		default:
			r.Note(convert.Loss, g.Path, g.Key, "Talos has no rewrites; only one that puts a prefix before every repository has a URL that does the same",
				"write endpoints that serve the images under their own names")
			continue
		}
		prefix = strings.Trim(prefix, "/")
		if p := path.Clean(prefix); p != prefix || strings.HasPrefix(p, "..") {
			r.Note(convert.Loss, g.Path, g.Key, "the prefix is no path", "write it without . and ..")
			prefix = ""
		}
	}
	return prefix
}

func (r *reader) settings(f tree.Field) settings {
	s := settings{Field: f}
	for _, g := range r.Fields(f.Value, f.Path) {
		switch g.Name {
		case "auth":
			s.auth, s.at[0] = r.auth(g), g
		case "tls":
			s.tls, s.at[1] = r.tls(g), g
		default:
			r.UnknownNearSecrets(f.Path, g.Key, r.Program, "auth", "tls")
		}
	}
	return s
}

func (r *reader) auth(f tree.Field) *mirrors.Auth {
	var a mirrors.Auth
	for _, g := range r.Fields(f.Value, f.Path) {
		var s string
		switch g.Name {
		case "username":
			a.Username, _ = r.Text(g)
		case "password":
			s, _ = r.Text(g)
			a.Password = mirrors.NewSecret(s)
		case "auth":
			s, _ = r.Text(g)
			a.Auth = mirrors.NewSecret(s)
		case "identity_token":
			s, _ = r.Text(g)
			a.IdentityToken = mirrors.NewSecret(s)
		case "token":
			r.Note(convert.Loss, g.Path, g.Key, "k3s's documentation has this key, its code does not and ignores it", "want identity_token")
		default:
			r.UnknownNearSecrets(f.Path, g.Key, r.Program, "username", "password", "auth", "identity_token")
		}
	}
	if a == (mirrors.Auth{}) {
		return nil
	}
	return &a
}

func (r *reader) tls(f tree.Field) *mirrors.TLS {
	var t mirrors.TLS
	var cert, key tree.Field
	for _, g := range r.Fields(f.Value, f.Path) {
		switch g.Name {
		case "ca_file":
			if name, _ := r.Text(g); name != "" {
				text, _ := r.Named(r.files, g, name)
				t.CA = mirrors.PEM(text)
			}
		case "cert_file":
			cert = g
		case "key_file":
			key = g
		case "insecure_skip_verify":
			t.InsecureSkipVerify = r.Bool(g)
		default:
			r.Unknown(g.Path, g.Key, r.Program, "ca_file", "cert_file", "key_file", "insecure_skip_verify")
		}
	}
	var names [2]string
	for i, g := range []tree.Field{cert, key} {
		if g.Key != nil {
			names[i], _ = r.Text(g)
		}
	}
	switch {
	case names[0] != "" && names[1] != "":
		c, ok := r.Named(r.files, cert, names[0])
		k, ok2 := r.Named(r.files, key, names[1])
		if ok && ok2 {
			t.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(c), Key: mirrors.NewSecret(k)}
		}
	case names[0] != "":
		r.Fail("wrong-value", cert.Path, cert.Key, "cert_file without key_file; k3s refuses to use the host", "want both")
	case names[1] != "":
		r.Fail("wrong-value", key.Path, key.Key, "key_file without cert_file; k3s refuses to use the host", "want both")
	}
	if t == (mirrors.TLS{}) {
		return nil
	}
	return &t
}

func (r *reader) collectHosts() {
	r.hosts = map[string]bool{}
	for name, m := range r.Source.Set.Mirrors {
		r.hosts["https://"+tree.UpstreamHost(name)] = true
		for _, e := range m.Endpoints {
			r.hosts[tree.Origin(e)] = true
		}
	}
}

// standardPort tells that settings under H:443 are not those of https://H.
func (r *reader) standardPort(s settings) {
	bare, scheme := strings.TrimSuffix(s.Name, ":443"), "https://"
	if bare == s.Name {
		bare, scheme = strings.TrimSuffix(s.Name, ":80"), "http://"
	}
	bare = tree.UpstreamHost(bare)
	if _, own := r.configured[bare]; bare == s.Name || own || !r.hosts[scheme+bare] || r.hosts[scheme+s.Name] {
		return
	}
	r.Note(convert.Decision, s.Path, s.Key, fmt.Sprintf("the endpoint %s has no port: only k3s's pulls of its own images look here for its settings, containerd does not, and Talos does not",
		tree.Quote(scheme+bare)), fmt.Sprintf("write them under %s, if the endpoint needs them", tree.Quote(bare)))
}

func (r *reader) config(s settings) {
	r.standardPort(s)
	set := r.Source.Set
	host := s.Name
	if host == "*" {
		if s.auth != nil || s.tls != nil {
			fix := "write it under the host of each registry"
			hosts := map[string]bool{}
			for _, m := range set.Mirrors {
				for _, e := range m.Endpoints {
					hosts[tree.HostOf(e.URL)] = true
				}
			}
			if len(hosts) > 0 {
				fix = "write it under each host that needs it: " + strings.Join(tree.Keys(hosts), ", ")
			}
			r.Note(convert.Loss, s.Path, s.Key, "Talos has no settings for every host", fix)
		}
		return
	}
	_, mirrored := set.Mirrors[host]
	if host == "docker.io" {
		if _, ok := r.configured[tree.DockerHub]; ok {
			r.Note(convert.Loss, s.Path, s.Key, fmt.Sprintf("k3s uses the entry %q instead", tree.DockerHub), "drop one of the two")
			return
		}
	}
	if s.auth != nil {
		r.Auth(tree.UpstreamHost(host), *s.auth, s.at[0])
	}
	if s.tls != nil {
		r.TLS(tree.UpstreamHost(host), *s.tls, s.at[1])
		// Without a mirror, containerd finds the settings of Docker Hub under the
		// name that images have, Talos's own puller under that of the host.
		if host != tree.UpstreamHost(host) && !mirrored {
			r.TLS(host, *s.tls, s.at[1])
		}
	}
	_, everything := set.Mirrors["*"]
	if everything && !mirrored && s.auth != nil && s.tls == nil {
		r.Note(convert.Changed, s.Path, s.Key, fmt.Sprintf(`k3s pulls the images of %s from there, since it has an entry in configs; Talos pulls them through the mirrors of "*"`, tree.Quote(host)),
			fmt.Sprintf("write mirrors[%s] with its own URL as the endpoint, if images have that name", tree.Quote(host)))
	}
}
