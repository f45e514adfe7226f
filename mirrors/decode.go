package mirrors

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/nodekind"
)

// Decode reads a Set from YAML or JSON in the shape of machine.registries:
//
//	mirrors:
//	  ghcr.io:                          # or "*"
//	    endpoints:
//	      - https://cache.example.com   # or {url: …, overridePath: …}
//	    overridePath: false             # for each endpoint that does not say it itself
//	    skipFallback: false
//	config:
//	  cache.example.com:                # the host of an endpoint, as its URL has it
//	    auth: {username: …, password: …, auth: …, identityToken: …}
//	    tls: {ca: …, clientIdentity: {crt: …, key: …}, insecureSkipVerify: false}
//
// JSON is read as YAML, which limits a key to 1,024 characters as it is written.
//
// ca, crt and key are PEM, or base64 of PEM as Talos has it; what is neither stays
// as it is written, and Check reports it. A field that is null is as one that is not there; a null
// entry of mirrors or config is an error, as it is to Talos. Aliases and merge keys are followed.
//
// The error is an [*Error] with everything that is wrong, by position: what could not be read (the
// rules syntax, input-size, unknown-key, repeated-key, wrong-kind and override-conflict),
// and, when there is such a mistake, also what Check finds wrong with the values that could be read.
func Decode(data []byte) (*Source, error) {
	root, findings := parseDocument(data)
	if root == nil {
		return nil, findings.Err()
	}
	return decode(root, "", false)
}

// DecodeNode is [Decode] for a Set inside a larger document: n is its node there,
// and path the path to it, which each finding's path then begins with.
func DecodeNode(n *yaml.Node, path string) (*Source, error) { return decode(n, path, false) }

// DecodeMirrors is [DecodeNode] for a document that has the mirrors alone: n is a mapping
// of registries to mirrors, and path stands where Decode has "mirrors".
func DecodeMirrors(n *yaml.Node, path string) (*Source, error) { return decode(n, path, true) }

func decode(n *yaml.Node, path string, mirrorsOnly bool) (*Source, error) {
	src := NewSource(Set{})
	src.prefix, src.embedded = path, mirrorsOnly
	d := &decoder{src: src}
	if n == nil {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if mirrorsOnly {
		at := Place{Section: "mirrors"}
		src.Mark(at, position(n, n))
		src.Mark(Place{}, position(n, n))
		if v, ok := d.value(n); ok {
			d.mirrors(v, at)
		}
	} else {
		src.Mark(Place{}, position(n, n))
		d.root(n)
	}
	if len(d.findings) == 0 {
		return src, nil
	}
	// Values that do not depend on what could not be read are judged in the same go.
	var local []finding
	if d.bomb {
		src.Set = Set{}
	}
	for _, f := range newChecker(src.Set, nil).run() {
		switch {
		case f.Severity != SeverityError || !localRules[f.Rule] || d.unread[f.place]:
		case len(d.findings)+len(local) < maxFindings:
			local = append(local, f)
		default:
			d.more++
		}
	}
	d.findings = append(d.findings, src.locate(local)...)
	d.findings.sort()
	return nil, tooMany(d.findings, d.more).Err()
}

// decoder walks the nodes and collects what is wrong.
type decoder struct {
	src      *Source
	findings Findings
	more     int            // how many findings were too many
	unread   map[Place]bool // endpoints without a value
	inAlias  int
	aliased  int
	bomb     bool
}

// position is that of a scalar value, and of the key of anything larger.
func position(key, value *yaml.Node) Position {
	if value.Kind == yaml.ScalarNode || value.Kind == yaml.AliasNode {
		key = value
	}
	return Position{Line: key.Line, Column: key.Column}
}

func (d *decoder) report(rule string, p Place, n *yaml.Node, message, fix string) {
	d.add(func() Finding {
		return Finding{Rule: rule, Severity: SeverityError, Path: d.src.path(p), Line: n.Line, Column: n.Column, Message: message, Fix: fix}
	})
}

// add keeps a finding, unless there are too many: a file of 4 MiB has room for
// millions, and their texts for gigabytes.
func (d *decoder) add(f func() Finding) {
	if len(d.findings) < maxFindings {
		d.findings = append(d.findings, f())
	} else {
		d.more++
	}
}

// resolve follows an alias and counts what is reached through aliases.
func (d *decoder) resolve(n *yaml.Node) (*yaml.Node, func()) {
	leave := func() {}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		d.inAlias++
		leave = func() { d.inAlias-- }
		n = n.Alias
	}
	if d.inAlias > 0 {
		d.aliased++
		if d.aliased > maxAliased && !d.bomb {
			d.bomb = true
			d.report(RuleInputSize, Place{}, n, fmt.Sprintf("aliases stand for more than %d values", maxAliased),
				"write out what is meant")
		}
	}
	return n, leave
}

// value follows an alias; it is false for null and when there were too many aliases.
func (d *decoder) value(n *yaml.Node) (*yaml.Node, bool) {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n, !d.bomb && !(n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null")
}

type pair struct {
	name       string
	key, value *yaml.Node
}

// pairs returns the entries of a mapping in order, merge keys resolved as yaml.v3
// does: what the mapping itself says wins, then the earlier merge.
func (d *decoder) pairs(n *yaml.Node, at Place, secret bool, depth int) []pair {
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		d.report(RuleWrongKind, at, n, "found "+nodekind.Of(n), "want a mapping")
		return nil
	}
	ps := make([]pair, 0, len(n.Content)/2)
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content) && !d.bomb; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		key, leave := d.resolve(k)
		leave()
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			fix := "want a string"
			if key.Kind == yaml.ScalarNode {
				fix += ", in quotes"
			}
			d.report(RuleWrongKind, at, k, "found "+nodekind.Of(key)+" as a key", fix)
			continue
		}
		if first := seen[key.Value]; first != nil {
			p := at
			if !secret {
				p = child(at, key.Value)
			}
			d.add(func() Finding { return repeatedKey(d.src.path(p), k, first) })
			continue
		}
		seen[key.Value] = k
		ps = append(ps, pair{key.Value, k, v})
	}
	for _, m := range merges {
		for _, p := range d.merged(m, at, secret, depth) {
			if seen[p.name] == nil {
				seen[p.name] = p.key
				ps = append(ps, p)
			}
		}
	}
	return ps
}

func (d *decoder) merged(m *yaml.Node, at Place, secret bool, depth int) []pair {
	if depth > 20 {
		d.report(RuleWrongKind, at, m, "merge keys are nested too deep, or in a circle", "write out what is meant")
		return nil
	}
	v, leave := d.resolve(m)
	defer leave()
	switch {
	case d.bomb:
		return nil
	case v.Kind == yaml.MappingNode:
		// Inside the alias, each entry counts.
		if d.inAlias > 0 {
			d.aliased += len(v.Content)
		}
		return d.pairs(v, at, secret, depth+1)
	case v.Kind == yaml.SequenceNode:
		var all []pair
		for _, c := range v.Content {
			all = append(all, d.merged(c, at, secret, depth+1)...)
		}
		return all
	}
	d.report(RuleWrongKind, at, m, "found "+nodekind.Of(v)+" for the merge key <<", "want a mapping, or a list of mappings")
	return nil
}

// child is the place of an entry of the mapping at p.
func child(p Place, name string) Place {
	switch {
	case p.Section == "":
		p.Section = name
	case p.Key == "":
		p.Key = name
	case p.Field == "":
		p.Field = name
	default:
		p.Field += "." + name
	}
	return p
}

// fields walks a mapping with a fixed set of keys.
func (d *decoder) fields(n *yaml.Node, at Place, secret bool, known []string, read func(name string, v *yaml.Node, at Place)) {
	for _, p := range d.pairs(n, at, secret, 0) {
		if !slices.Contains(known, p.name) {
			d.unknownKey(p, at, secret, known)
			continue
		}
		c := child(at, p.name)
		d.src.Mark(c, position(p.key, p.value))
		v, leave := d.resolve(p.value)
		if _, ok := d.value(v); ok {
			read(p.name, v, c)
		}
		leave()
	}
}

func (d *decoder) unknownKey(p pair, at Place, secret bool, known []string) {
	near := nearestKey(p.name, known)
	found := "unknown key " + quote(p.name)
	if secret && near == "" {
		found = "unknown key" // it may be a secret in the wrong place
	}
	fix := "want " + strings.Join(known, ", ")
	if near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	if at == (Place{}) {
		if hint := otherFormat(p.name); hint != "" {
			fix = hint
		}
	}
	d.report(RuleUnknownKey, at, p.key, found, fix)
}

// otherFormat recognizes the file of another format by a key of its root.
func otherFormat(key string) string {
	format := map[string]string{
		"machine": "talos", "cluster": "talos", "kind": "talos", "apiVersion": "talos",
		"talos": "cozystack", "registryMirrors": "cozystack",
		"configs": "k3s", "registries": "cozystack",
		"registry-mirrors": "docker-daemon", "insecure-registries": "docker-daemon",
		"auths": "docker-config", "credHelpers": "docker-config",
	}[key]
	if format == "" {
		return ""
	}
	return fmt.Sprintf("the file looks like the format %q, which is read with --from %s; want mirrors and config here", format, format)
}

func (d *decoder) root(n *yaml.Node) {
	v, leave := d.resolve(n)
	defer leave()
	d.fields(v, Place{}, false, []string{"mirrors", "config"}, func(name string, v *yaml.Node, at Place) {
		if name == "mirrors" {
			d.mirrors(v, at)
		} else {
			d.config(v, at)
		}
	})
}

// entries walks a mapping whose keys are the user's.
func (d *decoder) entries(n *yaml.Node, at Place, read func(key string, v *yaml.Node, at Place)) {
	for _, p := range d.pairs(n, at, false, 0) {
		c := Place{Section: at.Section, Key: p.name}
		d.src.Mark(c, Position{Line: p.key.Line, Column: p.key.Column})
		v, leave := d.resolve(p.value)
		switch _, ok := d.value(v); {
		case ok:
			read(p.name, v, c)
		case !d.bomb:
			d.report(RuleWrongKind, c, p.key, "found null", "want a mapping, or no such key; an empty one is written {}")
		}
		leave()
	}
}

func (d *decoder) mirrors(n *yaml.Node, at Place) {
	set := &d.src.Set
	set.Mirrors = map[string]Mirror{}
	d.entries(n, at, func(key string, v *yaml.Node, at Place) {
		set.Mirrors[key] = d.mirror(v, at)
	})
}

// An endpoint may leave overridePath to its mirror.
func (d *decoder) mirror(n *yaml.Node, at Place) Mirror {
	var m Mirror
	var said []bool // whether the endpoint has its own overridePath
	var override *bool
	var overrideNode *yaml.Node
	d.fields(n, at, false, []string{"endpoints", "overridePath", "skipFallback"}, func(name string, v *yaml.Node, at Place) {
		switch name {
		case "endpoints":
			m.Endpoints, said = d.endpoints(v, at)
		case "overridePath":
			override, overrideNode = d.boolean(v, at), v
		case "skipFallback":
			if b := d.boolean(v, at); b != nil {
				m.SkipFallback = *b
			}
		}
	})
	if override == nil {
		return m
	}
	if *override && len(m.Endpoints) == 0 {
		d.report(RuleOverrideConflict, child(at, "overridePath"), overrideNode, "overridePath of a mirror without endpoints",
			"want endpoints, or no overridePath")
	}
	for i, e := range m.Endpoints {
		own := child(at, fmt.Sprintf("endpoints[%d].overridePath", i))
		switch {
		case !said[i]:
			m.Endpoints[i].OverridePath = *override
			d.src.Mark(own, Position{Line: overrideNode.Line, Column: overrideNode.Column})
		case e.OverridePath != *override:
			d.add(func() Finding {
				at := d.src.Position(own)
				return Finding{Rule: RuleOverrideConflict, Severity: SeverityError, Path: at.Path, Line: at.Line, Column: at.Column,
					Message: fmt.Sprintf("overridePath is %t here, and %t for the whole mirror in line %d", e.OverridePath, *override, overrideNode.Line),
					Fix:     "want it at the endpoints or at the mirror, not at both"}
			})
		}
	}
	return m
}

func (d *decoder) endpoints(n *yaml.Node, at Place) (es []Endpoint, said []bool) {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		fix := "want a list"
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
			fix = "want a list: write - before it, on a line of its own"
		}
		d.report(RuleWrongKind, at, n, "found "+nodekind.Of(n), fix)
		return nil, nil
	}
	for i, c := range n.Content {
		if d.bomb {
			break
		}
		at := at
		at.Field = fmt.Sprintf("%s[%d]", at.Field, i)
		d.src.Mark(at, position(c, c))
		v, leave := d.resolve(c)
		var e Endpoint
		own := false
		if v.Kind == yaml.MappingNode {
			haveURL := false
			d.fields(v, at, false, []string{"url", "overridePath"}, func(name string, v *yaml.Node, at Place) {
				if name == "url" {
					haveURL = true
					e.URL = d.text(v, at)
				} else if b := d.boolean(v, at); b != nil {
					e.OverridePath, own = *b, true
				}
			})
			if !haveURL && !d.bomb {
				d.report(RuleWrongKind, at, v, "an endpoint without url", "want url: https://…")
			}
		} else if isString(v) {
			e.URL = v.Value
		} else {
			d.wrongScalar(v, at, "a URL, or a mapping with url")
		}
		leave()
		if e.URL == "" && !isString(v) {
			if d.unread == nil {
				d.unread = map[Place]bool{}
			}
			d.unread[at] = true
		}
		es, said = append(es, e), append(said, own)
	}
	return es, said
}

func (d *decoder) config(n *yaml.Node, at Place) {
	set := &d.src.Set
	set.Config = map[string]HostConfig{}
	d.entries(n, at, func(key string, v *yaml.Node, at Place) {
		var c HostConfig
		d.fields(v, at, true, []string{"auth", "tls"}, func(name string, v *yaml.Node, at Place) {
			if name == "auth" {
				c.Auth = d.auth(v, at)
			} else {
				c.TLS = d.tls(v, at)
			}
		})
		set.Config[key] = c
	})
}

func (d *decoder) auth(n *yaml.Node, at Place) *Auth {
	a := &Auth{}
	d.fields(n, at, true, []string{"username", "password", "auth", "identityToken"}, func(name string, v *yaml.Node, at Place) {
		s := d.text(v, at)
		switch name {
		case "username":
			a.Username = s
		case "password":
			a.Password = NewSecret(s)
		case "auth":
			a.Auth = NewSecret(s)
		case "identityToken":
			a.IdentityToken = NewSecret(s)
		}
	})
	return a
}

func (d *decoder) tls(n *yaml.Node, at Place) *TLS {
	t := &TLS{}
	d.fields(n, at, true, []string{"ca", "clientIdentity", "insecureSkipVerify"}, func(name string, v *yaml.Node, at Place) {
		switch name {
		case "ca":
			t.CA = PEM(decodePEM(d.text(v, at)))
		case "clientIdentity":
			id := &ClientIdentity{}
			d.fields(v, at, true, []string{"crt", "key"}, func(name string, v *yaml.Node, at Place) {
				s := decodePEM(d.text(v, at))
				if name == "crt" {
					id.Certificate = PEM(s)
				} else {
					id.Key = NewSecret(s)
				}
			})
			t.ClientIdentity = id
		case "insecureSkipVerify":
			if b := d.boolean(v, at); b != nil {
				t.InsecureSkipVerify = *b
			}
		}
	})
	return t
}

func isString(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

func (d *decoder) text(n *yaml.Node, at Place) string {
	if !isString(n) {
		d.wrongScalar(n, at, "a string")
		return ""
	}
	return n.Value
}

// wrongScalar does not show the value, which may be a secret.
func (d *decoder) wrongScalar(n *yaml.Node, at Place, want string) {
	fix := "want " + want
	if n.Kind == yaml.ScalarNode {
		switch n.ShortTag() {
		case "!!int", "!!float", "!!bool", "!!timestamp":
			fix += ": put it in quotes"
		case "!!binary":
			fix += ": write it without the tag"
		}
	}
	d.report(RuleWrongKind, at, n, "found "+nodekind.Of(n), fix)
}

func (d *decoder) boolean(n *yaml.Node, at Place) *bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		b := strings.EqualFold(n.Value, "true")
		return &b
	}
	fix := "want true or false"
	if isString(n) {
		switch strings.ToLower(n.Value) {
		case "true", "false":
			fix += ", without quotes"
		case "yes", "on", "y":
			fix = "want true"
		case "no", "off", "n":
			fix = "want false"
		}
	}
	d.report(RuleWrongKind, at, n, "found "+nodekind.Of(n), fix)
	return nil
}

// decodePEM takes base64 of PEM, which machine.registries has, for the PEM. What is
// neither stays as it is.
func decodePEM(s string) string {
	if isPEM(s) {
		return s
	}
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil || !isPEM(string(b)) {
		return s
	}
	return string(b)
}

func isPEM(s string) bool { return strings.Contains(s, "-----BEGIN ") }
