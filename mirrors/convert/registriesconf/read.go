package registriesconf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Read reads a registries.conf. The error is a [*mirrors.Error] with the problems
// of all files; what Podman refuses is an error here as well.
func Read(data []byte, opts ...Option) (*mirrors.Source, convert.Report, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	r := &reader{Builder: tree.NewBuilder("Podman"), byPrefix: map[string]int{}}
	errs := []error{r.file("", data)}
	r.Many = o.dropIns != nil
	if o.dropIns != nil {
		names, err := fs.Glob(o.dropIns, "registries.conf.d/*.conf")
		if err != nil {
			return nil, convert.Report{}, err
		}
		slices.Sort(names)
		for _, name := range names {
			text, err := readFile(o.dropIns, name)
			r.File = name
			if err != nil {
				r.FailFile("", err)
				continue
			}
			errs = append(errs, r.file(name, []byte(text)))
		}
	}
	r.all()
	return r.Finish(errs...)
}

// readFile reads a drop-in. What is no file, such as a pipe, would not end.
func readFile(fsys fs.FS, name string) (string, error) {
	if info, err := fs.Stat(fsys, name); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	return tree.ReadFile(fsys, name)
}

type reader struct {
	*tree.Builder
	registries []registry
	byPrefix   map[string]int // those that count
}

// registry is a [[registry]] table.
type registry struct {
	file               string
	at                 tree.Field
	prefix, location   string
	locationField      tree.Field
	insecure, blocked  tree.Field
	isInsecure         bool
	isBlocked          bool
	digestOnly         tree.Field
	mirrors            []mirror
	failed, overridden bool
}

type mirror struct {
	at         tree.Field
	location   string
	insecure   tree.Field
	isInsecure bool
	usage      tree.Field // pull-from-mirror, when it says something
	pull       tree.Field // the same, when that is not "all"
}

func (r *reader) file(name string, data []byte) error {
	r.File = name
	root, err := tree.TOML(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		var all *mirrors.Error
		if errors.As(err, &all) && name != "" {
			for i := range all.Findings {
				all.Findings[i].Path = strings.TrimSuffix(name+": "+all.Findings[i].Path, ": ")
			}
		}
		return err
	}
	var old []tree.Field
	var list []registry
	var v2 []string
	for _, f := range r.Fields(root, "") {
		switch f.Name {
		case "registry":
			v2 = append(v2, f.Name)
			if f.Value.Kind == yaml.MappingNode {
				r.Fail("wrong-kind", f.Path, f.Key, "found a table [registry]; Podman refuses it", "want [[registry]], in double brackets")
				continue
			}
			for _, g := range r.List(f) {
				list = append(list, r.table(g))
			}
		case "registries":
			old = append(old, f)
		case "unqualified-search-registries":
			v2 = append(v2, f.Name)
			texts := r.Texts(f)
			for _, t := range texts {
				if t.Value != "docker.io" || len(texts) > 1 {
					r.Note(convert.Loss, f.Path, f.Key, "containerd takes an image without a registry for one of docker.io; it searches nowhere", "write images with their registry")
					break
				}
			}
		case "credential-helpers":
			for _, t := range r.Texts(f) {
				if t.Value != "containers-auth.json" {
					r.Note(convert.Loss, t.Path, t.At, "a program on the machine has credentials; Talos runs none", "write credentials that last, or a token")
				}
			}
		case "aliases":
			r.Note(convert.Loss, f.Path, f.Key, "containerd has no short names", "write images with their registry")
		case "short-name-mode", "additional-layer-store-auth-helper":
			r.Ignore(f.Path)
		default:
			r.Unknown(f.Path, f.Key, r.Program, "registry", "unqualified-search-registries", "credential-helpers", "short-name-mode", "aliases")
		}
	}
	for _, f := range old {
		if len(v2) > 0 || name != "" {
			what := "the old form [registries.…] beside " + strings.Join(v2, " and ")
			if len(v2) == 0 {
				what = "the old form [registries.…] in a drop-in"
			}
			r.Fail("wrong-value", f.Path, f.Key, what+"; Podman refuses it", "want [[registry]] tables")
			continue
		}
		list = append(list, r.version1(f)...)
	}
	r.merge(list)
	return nil
}

// merge adds the registries of a file to those before.
func (r *reader) merge(list []registry) {
	first := map[string]int{}
	for i := range list {
		g := &list[i]
		if j, ok := first[g.prefix]; ok && !g.failed {
			r.Note(convert.Loss, g.at.Path, g.at.Key, fmt.Sprintf("the prefix %s is there before, in line %d; only the first counts", tree.Quote(g.prefix), list[j].at.Key.Line), "put both into one table")
			g.overridden = true
			continue
		}
		first[g.prefix] = i
		if j, ok := r.byPrefix[g.prefix]; ok && !g.failed {
			r.registries[j].overridden = true
		}
	}
	for i, g := range list {
		if !g.failed && !g.overridden {
			r.byPrefix[g.prefix] = len(r.registries) + i
		}
	}
	// One location may not be both secure and not, or blocked and not.
	byLocation := map[string]*registry{}
	for i := range list {
		g := &list[i]
		if g.failed || g.location == "" {
			continue
		}
		h, ok := byLocation[g.location]
		if !ok {
			byLocation[g.location] = g
			continue
		}
		if h.isInsecure != g.isInsecure || h.isBlocked != g.isBlocked {
			r.Fail("wrong-value", g.at.Path, g.at.Key, fmt.Sprintf("the location %s has another insecure or blocked in line %d; Podman refuses it", tree.Quote(g.location), h.at.Key.Line), "want the same in both")
		}
	}
	r.registries = append(r.registries, list...)
}

// location checks what parseLocation of containers/image checks.
func (r *reader) location(f tree.Field) (string, bool) {
	s, ok := r.Text(f)
	if !ok {
		return "", false
	}
	s = strings.TrimRight(s, "/")
	switch {
	case strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://"):
		fix := "want it without http:// or https://"
		if strings.HasPrefix(s, "http://") {
			fix += ", and insecure = true"
		}
		r.Fail("wrong-value", f.Path, f.Value, tree.Quote(s)+" has a scheme; Podman refuses it", fix)
		return "", false
	case s == "":
		r.Fail("wrong-value", f.Path, f.Value, "an empty location; Podman refuses it", "want host[:port][/path]")
		return "", false
	}
	if p := pathOf(s); p != "" && path.Clean("/"+p) != "/"+p || strings.ContainsAny(s, " \t\n?#@%\\") || hostOf(s) == "" {
		r.Fail("wrong-value", f.Path, f.Value, tree.Quote(s)+" is no location", "want host[:port][/path]")
		return "", false
	}
	return s, true
}

func hostOf(location string) string { h, _, _ := strings.Cut(location, "/"); return h }
func pathOf(location string) string { _, p, _ := strings.Cut(location, "/"); return p }

func (r *reader) table(f tree.Field) registry {
	g := registry{file: r.File, at: f}
	prefixed := false
	for _, h := range r.Fields(f.Value, f.Path) {
		ok := true
		switch h.Name {
		case "prefix":
			if s, _ := r.Text(h); s != "" {
				prefixed = true
				g.prefix, ok = r.location(h)
			}
		case "location":
			if s, _ := r.Text(h); s != "" {
				g.locationField = h
				g.location, ok = r.location(h)
			}
		case "insecure":
			g.insecure, g.isInsecure = h, r.Bool(h)
		case "blocked":
			g.blocked, g.isBlocked = h, r.Bool(h)
		case "mirror-by-digest-only":
			if r.Bool(h) {
				g.digestOnly = h
			}
		case "mirror":
			for _, m := range r.List(h) {
				g.mirrors = append(g.mirrors, r.mirror(m))
			}
		default:
			r.Unknown(h.Path, h.Key, r.Program, "prefix", "location", "insecure", "blocked", "mirror-by-digest-only", "mirror")
		}
		g.failed = g.failed || !ok
	}
	for _, m := range g.mirrors {
		if g.digestOnly.Key != nil && m.usage.Key != nil {
			g.failed = true
			r.Fail("wrong-value", m.usage.Path, m.usage.Key, "pull-from-mirror beside mirror-by-digest-only; Podman refuses it", "want one of the two")
		}
	}
	wildcard := strings.HasPrefix(g.prefix, "*.")
	switch {
	case g.failed:
	case g.location == "" && !wildcard:
		g.failed = true
		what, fix := "a registry without a location; Podman refuses it", "want location"
		if prefixed {
			fix = fmt.Sprintf("want location = %q", g.prefix)
		}
		r.Fail("wrong-value", f.Path, f.Key, what, fix)
	case !prefixed:
		g.prefix = g.location
	}
	return g
}

func (r *reader) mirror(f tree.Field) mirror {
	m := mirror{at: f}
	for _, h := range r.Fields(f.Value, f.Path) {
		switch h.Name {
		case "location":
			m.location, _ = r.location(h)
			m.at = h
		case "insecure":
			m.insecure, m.isInsecure = h, r.Bool(h)
		case "pull-from-mirror":
			s, _ := r.Text(h)
			if s != "" {
				m.usage = h
			}
			switch s {
			case "", "all":
			case "digest-only", "tag-only":
				m.pull = h
			default:
				r.Fail("wrong-value", h.Path, h.Value, fmt.Sprintf("unknown value %q; Podman refuses it", s), "want all, digest-only or tag-only")
			}
		case "prefix", "blocked", "mirror-by-digest-only", "mirror":
			r.Note(convert.Loss, h.Path, h.Key, "a mirror has no such key, and Podman ignores it; after [[registry.mirror]] every key belongs to the mirror", "move it above the first mirror")
		default:
			r.Unknown(h.Path, h.Key, r.Program, "location", "insecure", "pull-from-mirror")
		}
	}
	if m.location == "" && m.at.Name != "location" {
		r.Fail("wrong-value", f.Path, f.Key, "a mirror without a location; Podman refuses it", "want location")
	}
	return m
}

// version1 reads the old form.
func (r *reader) version1(f tree.Field) []registry {
	var list []registry
	byLocation := map[string]int{}
	get := func(t tree.Text) *registry {
		at := tree.Field{Path: t.Path, Key: t.At, Value: t.At}
		s, ok := r.location(at)
		if !ok {
			return nil
		}
		if i, ok := byLocation[s]; ok {
			return &list[i]
		}
		byLocation[s] = len(list)
		list = append(list, registry{file: r.File, at: at, prefix: s, location: s, locationField: at})
		return &list[len(list)-1]
	}
	for _, g := range r.Fields(f.Value, f.Path) {
		var texts []tree.Text
		for _, h := range r.Fields(g.Value, g.Path) {
			if h.Name == "registries" {
				texts = r.Texts(h)
			} else {
				r.Unknown(h.Path, h.Key, r.Program, "registries")
			}
		}
		switch g.Name {
		case "search":
			if len(texts) > 1 || len(texts) == 1 && texts[0].Value != "docker.io" {
				r.Note(convert.Loss, g.Path, g.Key, "containerd takes an image without a registry for one of docker.io; it searches nowhere", "write images with their registry")
			}
		case "insecure":
			for _, t := range texts {
				if e := get(t); e != nil {
					e.insecure, e.isInsecure = e.at, true
				}
			}
		case "block":
			for _, t := range texts {
				if e := get(t); e != nil {
					e.blocked, e.isBlocked = e.at, true
				}
			}
		default:
			r.Unknown(g.Path, g.Key, r.Program, "search", "insecure", "block")
		}
	}
	return list
}

// all makes mirrors of the registries that count.
func (r *reader) all() {
	for _, g := range r.registries {
		if !g.failed && !g.overridden {
			r.File = g.file
			r.registry(g)
		}
	}
	r.File = ""
}

func (r *reader) registry(g registry) {
	switch {
	case strings.HasPrefix(g.prefix, "*."):
		r.Note(convert.Loss, g.at.Path, g.at.Key, fmt.Sprintf("the prefix %q stands for many registries; Talos knows single ones, and %q for all", g.prefix, "*"), "write a mirror for each registry")
		return
	case strings.Contains(g.prefix, "/"):
		fix := fmt.Sprintf("write mirrors[%q] if the mirror has all of that registry", hostOf(g.prefix))
		r.Note(convert.Loss, g.at.Path, g.at.Key, fmt.Sprintf("the prefix %q is a part of a registry; Talos has mirrors for whole ones", g.prefix), fix)
		return
	case g.isBlocked:
		r.Note(convert.Loss, g.at.Path, g.blocked.Key, "Talos cannot block a registry", "block it in the network, or keep its images out by an admission policy")
		return
	}
	upstream := g.location == g.prefix || g.prefix == "docker.io" && (g.location == tree.DockerHub || g.location == "index.docker.io")
	if f := misnamed(g.prefix); f != nil && (len(g.mirrors) > 0 || !upstream) {
		r.Note(convert.Loss, g.at.Path, g.at.Key, fmt.Sprintf("mirrors of %s are left out: %s", tree.Quote(g.prefix), f.Message), f.Fix)
		return
	}
	for i, m := range g.mirrors {
		if m.location == "" {
			continue
		}
		if m.pull.Key != nil || g.digestOnly.Key != nil {
			at := m.pull
			if at.Key == nil {
				at = g.digestOnly
			}
			if m.pull.Key != nil || i == 0 {
				r.Note(convert.Changed, at.Path, at.Key, "Talos asks a mirror for tags and for digests", "drop the mirror when it must not be asked for both")
			}
		}
		r.endpoint(g.prefix, m.location, m.at, m.isInsecure, m.insecure)
	}

	own := upstream && g.isInsecure && g.prefix != "docker.io"
	switch {
	case !upstream:
		r.endpoint(g.prefix, g.location, g.locationField, g.isInsecure, g.insecure)
		r.SkipFallback(g.prefix, g.locationField)
	case own && len(g.mirrors) > 0:
		// TLS settings reach an endpoint, not the fallback.
		r.endpoint(g.prefix, g.location, g.locationField, true, g.insecure)
		r.SkipFallback(g.prefix, g.locationField)
	case own:
		r.skipVerify(g.location, g.insecure)
	case len(g.mirrors) == 0 && !g.isInsecure:
		// A registry that is named and nothing else is what it is anyway.
	case g.isInsecure:
		r.skipVerify(tree.DockerHub, g.insecure)
	}
}

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

// endpoint adds a location as an endpoint.
func (r *reader) endpoint(registry, location string, at tree.Field, insecure bool, insecureField tree.Field) {
	host := hostOf(location)
	e := mirrors.Endpoint{URL: "https://" + tree.UpstreamHost(host)}
	if p := pathOf(location); p != "" {
		e.URL += "/v2/" + p
		e.OverridePath = !strings.HasSuffix(e.URL, "/v2")
	}
	if r.HasEndpoint(registry, e.URL) {
		r.Note(convert.Loss, at.Path, at.Key, "the location is there before; it would be asked a second time", "drop it")
		return
	}
	r.Endpoint(registry, e, at)
	if insecure {
		r.skipVerify(host, insecureField)
	}
}

func (r *reader) skipVerify(host string, f tree.Field) {
	r.TLS(host, mirrors.TLS{InsecureSkipVerify: true}, f)
	r.Note(convert.Decision, f.Path, f.Key, "insecure is https without verification, then plain http; taken for https without verification",
		fmt.Sprintf("if the host speaks plain http, write its endpoint as http://%s and drop config[%q].tls", host, host))
}
