package hosts

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Read reads a certs.d directory.
//
// The error is a [*mirrors.Error] with the problems of all files. What containerd
// cannot decode is an error: it would log that, ignore the whole hosts.toml, and
// go to the registry itself. Paths begin with the file: ghcr.io/hosts.toml: server.
func Read(fsys fs.FS, opts ...Option) (*mirrors.Source, convert.Report, error) {
	fsys = regular{fsys}
	r := &reader{Builder: tree.NewBuilder("containerd"), options: collect(opts), fsys: fsys}
	if r.files != nil {
		r.files = regular{r.files}
	}
	r.Many = true
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, convert.Report{}, &mirrors.Error{Findings: mirrors.Findings{{Rule: "syntax", Severity: mirrors.SeverityError,
			Message: "the directory cannot be read: " + tree.Why(err), Fix: "want a certs.d directory"}}, Err: err}
	}
	folders := map[string]string{} // registry to folder
	var errs []error
	// "host_port_" is what containerd looks for first.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		return boolOrder(strings.HasSuffix(a.Name(), "_"), strings.HasSuffix(b.Name(), "_"))
	})
	for _, e := range entries {
		name := e.Name()
		r.File = ""
		if !isDir(fsys, e) || !folderName.MatchString(name) {
			r.Ignore(name)
			continue
		}
		registry := registryOf(name)
		if first, ok := folders[registry]; ok {
			r.File = name
			r.Note(convert.Loss, "", nil, fmt.Sprintf("containerd never reads this folder: %s comes first for the registry %q", first, registry), "drop one of the two")
			continue
		}
		folders[registry] = name
		errs = append(errs, r.folder(name, registry))
	}
	r.oneSetForAHost(folders)
	r.File = ""
	if len(folders) == 0 {
		r.Fail("wrong-kind", "", &tree.Node{}, "no folder of a registry is in the directory", "want a certs.d directory, such as /etc/containerd/certs.d, which has a folder for each registry")
	}
	return r.Finish(errs...)
}

// boolOrder sorts what is true first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// folderName is what the folder of a registry, well or badly named, looks like.
// ..data of a mounted ConfigMap, .git and lost+found are not such folders.
var folderName = regexp.MustCompile(`^[A-Za-z0-9_\[-][A-Za-z0-9._:\[\]-]*$`)

// misnamed says what is wrong with the name of a registry, nil when nothing is. In
// a Set it would be an error, and keep all the rest from being used.
func misnamed(registry string) *mirrors.Finding {
	for _, f := range (mirrors.Set{Mirrors: map[string]mirrors.Mirror{registry: {}}}).Check() {
		if f.Severity == mirrors.SeverityError {
			return &f
		}
	}
	return nil
}

// regular is a file system in which only files and directories are opened: a pipe
// would wait for somebody to write to it.
type regular struct{ fs.FS }

func (r regular) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(r.FS, name) }
func (r regular) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }
func (r regular) Open(name string) (fs.File, error) {
	if info, err := fs.Stat(r.FS, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return r.FS.Open(name)
}

// isDir follows a symbolic link, as in a mounted ConfigMap.
func isDir(fsys fs.FS, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := fs.Stat(fsys, e.Name())
		return err == nil && info.IsDir()
	}
	return e.IsDir()
}

type reader struct {
	*tree.Builder
	options
	fsys fs.FS
	uses []use
}

// use is a host in one of the files.
type use struct {
	host, file string
	field      tree.Field
	tls        bool
}

// mirror makes a mirror, whose place may be a file or a folder as a whole.
func (r *reader) mirror(registry string, f tree.Field) {
	r.Mirror(registry, f)
	if f.Path == "" {
		at := mirrors.Position{Path: r.File}
		if f.Key != nil {
			at.Line, at.Column = f.Key.Line, f.Key.Column
		}
		r.Source.Mark(mirrors.Place{Section: "mirrors", Key: registry}, at)
	}
}

func (r *reader) folder(name, registry string) error {
	r.File = name
	data, err := tree.ReadFile(r.fsys, name+"/hosts.toml")
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && data == "":
		r.certificates(name, registry)
		return nil
	case err != nil:
		r.FailFile("hosts.toml", err)
		return nil
	}
	r.File = name + "/hosts.toml"
	root, err := tree.TOML([]byte(data))
	if err != nil {
		var all *mirrors.Error
		if errors.As(err, &all) {
			for i := range all.Findings {
				f := &all.Findings[i]
				f.Path = strings.TrimSuffix(r.File+": "+f.Path, ": ")
				f.Message += "; containerd would log this, ignore the file and go to the registry itself"
			}
		}
		return err
	}
	r.hostsFile(root, data, name, registry)
	return nil
}

// notAsked reports a folder that no image leads to.
func (r *reader) notAsked(f *mirrors.Finding) {
	r.Note(convert.Loss, "", nil, "this folder is left out: "+f.Message, f.Fix+", and the folder named so")
}

// host is an entry of hosts.toml, or its root.
type host struct {
	field tree.Field
	url   string // as Talos needs it; empty for a root without server

	overridePath      bool
	capabilities      []tree.Text
	capabilitiesField tree.Field
	tls               mirrors.TLS
	tlsField          tree.Field
	hasTLS            bool
	auth              *mirrors.Auth
	authField         tree.Field
}

func (r *reader) hostsFile(root *tree.Node, data, folder, registry string) {
	rootField := tree.Field{Path: "server", Key: root, Value: root}
	top := host{field: rootField}
	var tables []tree.Field
	var rest []tree.Field
	server := ""
	for _, f := range r.Fields(root, "") {
		switch f.Name {
		case "server":
			top.field = f
			server, _ = r.Text(f)
			if server != "" {
				top.url = absolute(server)
			}
		case "host":
			tables = r.Fields(f.Value, "host")
		default:
			rest = append(rest, f)
		}
	}
	idle := r.settings(&top, rest, folder, true, server != "")

	// containerd takes the hosts, and their order, from the table headers.
	order := headers(data)
	var list []host
	for _, f := range tables {
		if !order[f.Name] {
			r.Note(convert.Loss, f.Path, f.Key, "containerd reads a host only from a table header", fmt.Sprintf("write it as [host.%s]", tree.Quote(f.Name)))
			continue
		}
		h := host{field: f, url: absolute(f.Name)}
		if f.Name == "" {
			r.Fail("wrong-value", f.Path, f.Key, "a host without a name", "want a URL")
			continue
		}
		r.settings(&h, r.Fields(f.Value, f.Path), folder, false, true)
		list = append(list, h)
	}
	for _, f := range idle {
		r.Note(convert.Loss, f.Path, f.Key, "containerd ignores it at the root without a server", "drop it, or name the server")
	}
	r.registry(registry, list, top, server != "")
}

// registry makes a mirror of the hosts and the root of a file.
func (r *reader) registry(registry string, list []host, top host, server bool) {
	here := top.field
	here.Path = strings.TrimSuffix(here.Path, "server")
	upstream := server && tree.IsUpstream(top.url, registry)
	if server && !upstream && registry == "docker.io" && tree.HostOf(top.url) == "docker.io" {
		r.Note(convert.Changed, top.field.Path, top.field.Value, "containerd asks docker.io itself, which is not where Docker Hub serves images; taken for Docker Hub",
			"want https://"+tree.DockerHub)
		upstream = true
		top.url = "https://" + tree.DockerHub
	}
	if !server && top.hasTLS {
		// The registry itself, with settings of its own.
		if registry == "*" {
			r.Note(convert.Loss, "", top.tlsField.Key, "TLS settings for every registry that has no folder; Talos has none for every host", "write them for each registry")
			top.hasTLS = false
		} else {
			top.url = "https://" + tree.UpstreamHost(registry)
			upstream = true
		}
	}
	if !server && top.auth != nil && registry == "*" {
		r.Note(convert.Loss, top.authField.Path, top.authField.Key, "credentials for every registry that has no folder; Talos has none for every host", "write them for each registry")
		top.auth = nil
	}

	// The root as an endpoint: it is another host, or the registry with settings
	// that Talos applies to an endpoint only.
	endpoint := top.url != "" && (!upstream || top.overridePath || len(list) > 0 && (top.hasTLS || top.onlyMirrors() || !top.can("pull") || !top.can("resolve")))
	if !endpoint {
		r.missingCapabilities(top) // the fallback may do more than a mirror: push is nothing lost
	}
	if !endpoint && upstream && len(list) == 0 && top.hasTLS {
		r.TLS(registry, top.tls, top.tlsField)
		r.uses = append(r.uses, use{tree.UpstreamHost(registry), r.File, top.tlsField, true})
		if top.auth != nil {
			r.Auth(tree.UpstreamHost(registry), *top.auth, top.authField)
		}
		return
	}
	if f := misnamed(registry); f != nil {
		r.notAsked(f)
		return
	}
	r.mirror(registry, here)
	for _, h := range list {
		r.host(registry, h)
	}
	if endpoint {
		r.host(registry, top)
		r.SkipFallback(registry, top.field)
	} else if top.auth != nil {
		r.Auth(tree.UpstreamHost(registry), *top.auth, top.authField)
	}
}

func (r *reader) host(registry string, h host) {
	if r.HasEndpoint(registry, h.url) {
		r.Note(convert.Loss, h.field.Path, h.field.Key, tree.Quote(h.url)+" is there before; Talos cannot have a URL twice in a mirror", "drop it; if its override_path differs, write the whole path in its URL")
		return
	}
	name := tree.HostOf(h.url)
	if name == "" {
		r.Fail("endpoint-syntax", h.field.Path, h.field.Key, tree.Quote(h.url)+" is no URL with a host; containerd would ignore the whole file", "want a URL such as https://m.example.com")
		return
	}
	r.lostCapabilities(h)
	r.Endpoint(registry, mirrors.Endpoint{URL: h.url, OverridePath: h.overridePath}, h.field)
	if h.hasTLS {
		r.TLS(name, h.tls, h.tlsField)
	}
	r.uses = append(r.uses, use{name, r.File, h.field, h.hasTLS})
	if h.auth != nil {
		r.Auth(name, *h.auth, h.authField)
	}
}

// absolute is the URL that containerd makes of a host.
func absolute(s string) string {
	if !strings.HasPrefix(s, "http") {
		return "https://" + s
	}
	return s
}

// headers returns the hosts that have a table header.
func headers(data string) map[string]bool {
	hosts := map[string]bool{}
	var p unstable.Parser
	p.Reset([]byte(data))
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table {
			continue
		}
		var parts []string
		for it := e.Key(); it.Next(); {
			parts = append(parts, string(it.Node().Data))
		}
		if len(parts) >= 2 && parts[0] == "host" {
			hosts[parts[1]] = true
		}
	}
	return hosts
}

// settings reads what the root and a host have alike. It returns those that
// mean nothing, at a root that has no server (url is false).
func (r *reader) settings(h *host, fields []tree.Field, folder string, root, url bool) (idle []tree.Field) {
	tls := func(f tree.Field) {
		if !h.hasTLS {
			h.hasTLS, h.tlsField = true, f
		}
	}
	for _, f := range fields {
		switch f.Name {
		case "capabilities":
			if url {
				r.capabilities(h, f)
			} else {
				idle = append(idle, f)
			}
		case "override_path":
			if override := r.Bool(f); override && url {
				h.overridePath = true
			} else if override {
				idle = append(idle, f)
			}
		case "skip_verify":
			if r.Bool(f) {
				h.tls.InsecureSkipVerify = true
				tls(f)
			}
		case "ca":
			var all []string
			for _, g := range r.paths(f) {
				if text, ok := r.file(g, folder); ok {
					all = append(all, text)
				}
			}
			if len(all) > 0 {
				h.tls.CA = mirrors.PEM(joinPEM(all))
				tls(f)
			}
		case "client":
			if id := r.client(f, folder); id != nil {
				h.tls.ClientIdentity = id
				tls(f)
			}
		case "header":
			r.headers(h, f)
		case "dial_timeout":
			if s, ok := r.Text(f); ok && s != "" {
				if _, err := time.ParseDuration(s); err != nil {
					r.Fail("wrong-value", f.Path, f.Value, fmt.Sprintf("%q is no duration", s), `want one such as "10s"`)
				} else {
					r.Note(convert.Loss, f.Path, f.Key, "Talos has no dial_timeout; containerd's default is 30s", "drop it")
				}
			}
		case "rewrite":
			r.Note(convert.Loss, f.Path, f.Key, "rewrites, which only the containerd of k3s knows; Talos has none", "read the registries.yaml instead, which the format k3s can take in part")
		default:
			known := []string{"capabilities", "ca", "client", "skip_verify", "header", "override_path", "dial_timeout"}
			if root {
				known = append([]string{"server", "host"}, known...)
			}
			r.Unknown(f.Path, f.Key, r.Program, known...)
		}
	}
	return idle
}

func (r *reader) capabilities(h *host, f tree.Field) {
	h.capabilitiesField = f
	for _, t := range r.Texts(f) {
		switch c := strings.ToLower(t.Value); c {
		case "pull", "resolve", "push", "referrers":
			h.capabilities = append(h.capabilities, tree.Text{Value: c, Path: t.Path, At: t.At})
		default:
			r.Fail("wrong-value", t.Path, t.At, fmt.Sprintf("unknown capability %q; containerd would ignore the whole file", t.Value), "want pull, resolve, push or referrers")
		}
	}
}

// can reports whether a host has a capability. Without any it has all.
func (h host) can(capability string) bool {
	return len(h.capabilities) == 0 || slices.ContainsFunc(h.capabilities, func(t tree.Text) bool { return t.Value == capability })
}

// onlyMirrors reports whether the capabilities are those that Talos gives a mirror.
func (h host) onlyMirrors() bool {
	return len(h.capabilities) > 0 && h.can("pull") && h.can("resolve") && !h.can("push") && !h.can("referrers")
}

// lostCapabilities reports how a mirror of Talos differs.
func (r *reader) lostCapabilities(h host) {
	for _, t := range h.capabilities {
		if t.Value == "push" || t.Value == "referrers" {
			r.Note(convert.Loss, t.Path, t.At, fmt.Sprintf("Talos gives a mirror the capabilities pull and resolve, not %q", t.Value), "drop it; a node's kubelet only pulls")
		}
	}
	r.missingCapabilities(h)
}

func (r *reader) missingCapabilities(h host) {
	for _, c := range []string{"pull", "resolve"} {
		if !h.can(c) {
			r.Note(convert.Changed, h.capabilitiesField.Path, h.capabilitiesField.Key, fmt.Sprintf("without the capability %q; on Talos every host has pull and resolve", c), "drop the host when it must not be used for that")
		}
	}
}

// paths returns the one string or the list of them.
func (r *reader) paths(f tree.Field) []tree.Field {
	if f.Value.Kind == yaml.ScalarNode {
		return []tree.Field{f}
	}
	return r.List(f)
}

// file reads a certificate or key that hosts.toml names.
func (r *reader) file(f tree.Field, folder string) (string, bool) {
	name, ok := r.Text(f)
	if !ok {
		return "", false
	}
	if name == "" {
		r.Fail("wrong-value", f.Path, f.Value, "an empty path, which containerd takes for the folder itself; it then cannot use the registry", "want the path of a file")
		return "", false
	}
	from := path.Join(folder, name)
	switch inside, known := r.inside(name); {
	case path.IsAbs(name) && r.files != nil:
		return r.Named(r.files, f, name)
	case path.IsAbs(name) && known:
		from = inside
	case path.IsAbs(name):
		from = folder + "/" + path.Base(name)
		if info, err := fs.Stat(r.fsys, from); path.Base(path.Dir(name)) != folder || err != nil || info.IsDir() {
			return r.Named(nil, f, name)
		}
		r.Note(convert.Decision, f.Path, f.Value, fmt.Sprintf("the file %s is taken from the directory that is read, which has one of this name in the folder", tree.Quote(name)),
			"nothing, if it is that file; else give the files")
	case !fs.ValidPath(from) && r.files != nil && r.placed:
		return r.Named(r.files, f, path.Join("/", r.base, folder, name))
	case !fs.ValidPath(from):
		r.Note(convert.Loss, f.Path, f.Value, fmt.Sprintf("the file %s lies outside of the directory and is not known here", tree.Quote(name)),
			"write its content into the result by hand, or give the files and say where the directory lies")
		return "", false
	}
	text, err := tree.ReadFile(r.fsys, from)
	if err != nil {
		r.Note(convert.Loss, f.Path, f.Value, fmt.Sprintf("the file %s: %s; containerd then cannot use the registry", tree.Quote(name), tree.Why(err)), "want the file, or no such line")
		return "", false
	}
	return text, true
}

// inside is an absolute path below the directory, when that is known to lie there.
func (r *reader) inside(name string) (string, bool) {
	for _, base := range append([]string{r.base}, directories...) {
		if rest, ok := strings.CutPrefix(path.Clean(name), base+"/"); ok && base != "" {
			return rest, true
		}
	}
	return "", false
}

// client reads the three shapes of client: a path, a list of paths, a list of pairs.
func (r *reader) client(f tree.Field, folder string) *mirrors.ClientIdentity {
	var first *mirrors.ClientIdentity
	for i, g := range r.paths(f) {
		pair := []tree.Field{g}
		if g.Value.Kind == yaml.SequenceNode {
			if pair = r.List(g); len(pair) != 2 {
				r.Fail("wrong-value", g.Path, g.Value, fmt.Sprintf("a pair of %d paths; containerd would ignore the whole file", len(pair)), "want the certificate and the key")
				continue
			}
		}
		if i > 0 {
			r.Note(convert.Loss, g.Path, g.Value, "a second client certificate; Talos has one for a host", "keep the one that the host accepts")
			continue
		}
		cert, ok := r.file(pair[0], folder)
		key := cert
		if len(pair) == 2 {
			var keyOK bool
			key, keyOK = r.file(pair[1], folder)
			ok = ok && keyOK
		} else if ok {
			cert, key = splitPEM(cert)
			if cert == "" || key == "" {
				r.Fail("wrong-value", g.Path, g.Value, "the file does not hold both a certificate and a key", "want a pair of files, or both in one")
				ok = false
			}
		}
		if ok {
			first = &mirrors.ClientIdentity{Certificate: mirrors.PEM(cert), Key: mirrors.NewSecret(key)}
		}
	}
	return first
}

// splitPEM takes the certificates and the private keys out of one file.
func splitPEM(text string) (cert, key string) {
	for rest := []byte(text); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return cert, key
		}
		if strings.HasSuffix(b.Type, "PRIVATE KEY") {
			key += string(pem.EncodeToMemory(b))
		} else if b.Type == "CERTIFICATE" {
			cert += string(pem.EncodeToMemory(b))
		}
	}
}

func joinPEM(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(strings.TrimRight(t, "\n") + "\n")
	}
	return b.String()
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)

func (r *reader) headers(h *host, f tree.Field) {
	for _, g := range r.Fields(f.Value, f.Path) {
		var values []string
		for _, v := range r.paths(g) {
			if s, ok := r.Text(v); ok {
				values = append(values, s)
			}
		}
		scheme, value, _ := strings.Cut(strings.Join(values, "\x00"), " ")
		if !strings.EqualFold(g.Name, "Authorization") || len(values) != 1 || !strings.EqualFold(scheme, "Basic") {
			p := g.Path
			if !headerName.MatchString(g.Name) {
				p = f.Path // it may be a value in the wrong place
			}
			r.Note(convert.Loss, p, g.Key, "Talos has no headers; only an Authorization of the scheme Basic becomes credentials", "let the mirror do without it")
			continue
		}
		value = strings.TrimSpace(value)
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil || !bytes.Contains(decoded, []byte(":")) {
			r.Fail("wrong-value", g.Path, g.Value, "what follows Basic is not base64 of user:password", "want credentials")
			continue
		}
		h.auth, h.authField = &mirrors.Auth{Auth: mirrors.NewSecret(value)}, g
	}
}

// certificates reads a folder without hosts.toml in the way of Docker: .crt is
// a CA, .cert and .key are a client's.
func (r *reader) certificates(folder, registry string) {
	entries, err := fs.ReadDir(r.fsys, folder)
	if err != nil {
		r.FailFile("", err)
		return
	}
	h := host{}
	var cas []string
	here := tree.Field{}
	for _, e := range entries {
		name := e.Name()
		at := tree.Field{Path: name, Key: &tree.Node{}, Value: &tree.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}}
		switch path.Ext(name) {
		case ".crt":
			if text, ok := r.file(at, folder); ok {
				cas = append(cas, text)
				h.hasTLS, here = true, at
			}
		case ".cert":
			if h.tls.ClientIdentity != nil {
				r.Note(convert.Loss, name, nil, "a second client certificate; Talos has one for a host", "keep the one that the host accepts")
				continue
			}
			cert, ok := r.file(at, folder)
			key, err := tree.ReadFile(r.fsys, folder+"/"+strings.TrimSuffix(name, ".cert")+".key")
			if errors.Is(err, fs.ErrNotExist) {
				cert, key = splitPEM(cert)
				ok = ok && key != ""
			}
			if !ok || err != nil && !errors.Is(err, fs.ErrNotExist) {
				r.Note(convert.Loss, name, nil, "a client certificate without its key", "want the key beside it, with the ending .key")
				continue
			}
			h.tls.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(cert), Key: mirrors.NewSecret(key)}
			h.hasTLS, here = true, at
		case ".key", ".toml":
		default:
			r.Ignore(name)
		}
	}
	h.tls.CA = mirrors.PEM(joinPEM(cas))
	switch {
	case !h.hasTLS:
		// An empty folder: the registry itself, and not what _default says.
		if f := misnamed(registry); f != nil {
			r.notAsked(f)
			return
		}
		r.mirror(registry, tree.Field{})
	case registry == "*":
		r.Note(convert.Loss, here.Path, nil, "TLS settings for every registry that has no folder; Talos has none for every host", "write them for each registry")
	default:
		r.TLS(registry, h.tls, here)
		r.uses = append(r.uses, use{tree.UpstreamHost(registry), r.File, here, true})
	}
}

// oneSetForAHost reports where Talos, which has one set of TLS settings for a
// host, would use settings that a file does not have.
func (r *reader) oneSetForAHost(folders map[string]string) {
	has := map[string]use{}
	for _, u := range r.uses {
		if _, ok := has[u.host]; u.tls && !ok {
			has[u.host] = u
		}
	}
	for _, u := range r.uses {
		if first, ok := has[u.host]; ok && !u.tls {
			r.File = u.file
			r.Note(convert.Changed, u.field.Path, u.field.Key, fmt.Sprintf("%s has TLS settings in %s and none here; Talos has one set of them for a host", tree.Quote(u.host), first.file), "want the same in both")
		}
	}
	_, everything := folders["*"]
	for _, host := range tree.Keys(has) {
		if _, ok := folders[host]; everything && !ok && host != tree.DockerHub {
			u := has[host]
			r.File = u.file
			r.Note(convert.Changed, u.field.Path, u.field.Key, fmt.Sprintf("for TLS settings Talos makes a folder %s; images of that registry then no longer go through _default", tree.Quote(folderOf(host))),
				"nothing, unless images have that name")
		}
	}
}
