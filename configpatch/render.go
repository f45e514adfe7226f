package configpatch

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// The renderers append YAML themselves: an encoder would decide the layout
// anew with each of its versions, and costs many times as much. What they write
// is proven by machinery's decoder before a caller sees it.

const indentation = "                                "

func appendIndent(dst []byte, n int) []byte { return append(dst, indentation[:4*n]...) }

// render returns the Set in a form. Each map is gone through once, for its keys
// and for about how much text it needs, so that appending need not move what is
// there.
func render(set mirrors.Set, form Form) []byte {
	names, hosts := make([]string, 0, len(set.Mirrors)), make([]string, 0, len(set.Config))
	size := 64
	for name, m := range set.Mirrors {
		names = append(names, name)
		size += 120 + len(name)
		for _, e := range m.Endpoints {
			size += 40 + len(e.URL)
		}
	}
	for host, c := range set.Config {
		hosts = append(hosts, host)
		size += 160 + 2*len(host)
		if a := c.Auth; a != nil {
			size += 160 + 2*len(a.Username) + room(a.Password, 40) + room(a.Auth, 60) + room(a.IdentityToken, 400)
		}
		if t := c.TLS; t != nil {
			size += 240 + 2*len(t.CA)
			if id := t.ClientIdentity; id != nil {
				size += 2*len(id.Certificate) + room(id.Key, 2600)
			}
		}
	}
	slices.Sort(names)
	slices.Sort(hosts)
	if form == Documents {
		return appendDocuments(make([]byte, 0, size), set, names, hosts)
	}
	return appendLegacy(make([]byte, 0, size), set, names, hosts)
}

// room is about what a secret needs. To reveal it takes longer than to write it.
func room(s mirrors.Secret, usual int) int {
	if s.IsZero() {
		return 0
	}
	return usual
}

// appendLegacy writes the Set as machine.registries. Of a mirror's endpoints,
// which agree in it (the rule legacy-override), the first says overridePath.
func appendLegacy(dst []byte, set mirrors.Set, names, hosts []string) []byte {
	dst = append(dst, "machine:\n    registries:\n"...)
	start := len(dst)
	if len(set.Mirrors) > 0 {
		dst = append(dst, "        mirrors:\n"...)
		for _, name := range names {
			dst = appendKey(dst, 3, name)
			dst = append(dst, '\n')
			dst = appendLegacyMirror(dst, 4, set.Mirrors[name])
		}
	}
	if len(set.Config) > 0 {
		dst = append(dst, "        config:\n"...)
		for _, host := range hosts {
			dst = appendLegacyHost(dst, host, set.Config[host])
		}
	}
	if len(dst) == start {
		dst = append(dst[:start-1], " {}\n"...)
	}
	return dst
}

func appendLegacyMirror(dst []byte, indent int, m mirrors.Mirror) []byte {
	dst = appendIndent(dst, indent)
	if len(m.Endpoints) == 0 {
		dst = append(dst, "endpoints: []\n"...)
	} else {
		dst = append(dst, "endpoints:\n"...)
		for _, e := range m.Endpoints {
			dst = appendIndent(dst, indent+1)
			dst = append(dst, "- "...)
			dst = appendScalar(dst, e.URL)
			dst = append(dst, '\n')
		}
		if m.Endpoints[0].OverridePath {
			dst = appendIndent(dst, indent)
			dst = append(dst, "overridePath: true\n"...)
		}
	}
	if m.SkipFallback {
		dst = appendIndent(dst, indent)
		dst = append(dst, "skipFallback: true\n"...)
	}
	return dst
}

func appendLegacyHost(dst []byte, host string, c mirrors.HostConfig) []byte {
	dst = appendKey(dst, 3, host)
	if c.Auth == nil && c.TLS == nil {
		return append(dst, " {}\n"...)
	}
	dst = append(dst, '\n')
	if c.Auth != nil {
		dst = append(dst, "                auth:"...)
		start := len(dst)
		dst = append(dst, '\n')
		dst = appendAuth(dst, 5, *c.Auth)
		dst = orEmptyMap(dst, start)
	}
	if c.TLS != nil {
		dst = append(dst, "                tls:"...)
		start := len(dst)
		dst = append(dst, '\n')
		if c.TLS.CA != "" {
			dst = appendBase64(dst, 5, "ca", string(c.TLS.CA))
		}
		if id := c.TLS.ClientIdentity; id != nil {
			dst = append(dst, "                    clientIdentity:\n"...)
			dst = appendBase64(dst, 6, "crt", string(id.Certificate))
			dst = appendBase64(dst, 6, "key", id.Key.Reveal())
		}
		if c.TLS.InsecureSkipVerify {
			dst = append(dst, "                    insecureSkipVerify: true\n"...)
		}
		dst = orEmptyMap(dst, start)
	}
	return dst
}

// appendDocuments writes the Set as documents, mirrors first, each kind sorted
// by name. A host that has neither credentials nor TLS settings has no document.
func appendDocuments(dst []byte, set mirrors.Set, names, hosts []string) []byte {
	for _, name := range names {
		dst = appendHead(dst, KindMirror, name)
		dst = appendMirrorBody(dst, set.Mirrors[name])
	}
	for _, host := range hosts {
		if auth := set.Config[host].Auth; auth != nil {
			dst = appendHead(dst, KindAuth, host)
			dst = appendAuth(dst, 0, *auth)
		}
	}
	for _, host := range hosts {
		if tls := set.Config[host].TLS; tls != nil {
			dst = appendHead(dst, KindTLS, host)
			dst = appendTLSBody(dst, *tls)
		}
	}
	return dst
}

// appendHead begins a document; from the second on a separator comes first.
func appendHead(dst []byte, kind Kind, name string) []byte {
	if len(dst) > 0 {
		dst = append(dst, "---\n"...)
	}
	dst = append(dst, "apiVersion: v1alpha1\nkind: "...)
	dst = append(dst, kind.document()...)
	dst = append(dst, "\nname: "...)
	dst = appendScalar(dst, name)
	return append(dst, '\n')
}

func appendMirrorBody(dst []byte, m mirrors.Mirror) []byte {
	if len(m.Endpoints) > 0 {
		dst = append(dst, "endpoints:\n"...)
		dst = appendEndpoints(dst, 1, m.Endpoints)
	}
	if m.SkipFallback {
		dst = append(dst, "skipFallback: true\n"...)
	}
	return dst
}

func appendEndpoints(dst []byte, indent int, list []mirrors.Endpoint) []byte {
	for _, e := range list {
		dst = appendIndent(dst, indent)
		dst = append(dst, "- url: "...)
		dst = appendScalar(dst, e.URL)
		dst = append(dst, '\n')
		if e.OverridePath {
			dst = appendIndent(dst, indent)
			dst = append(dst, "  overridePath: true\n"...)
		}
	}
	return dst
}

func appendTLSBody(dst []byte, tls mirrors.TLS) []byte {
	if id := tls.ClientIdentity; id != nil {
		dst = append(dst, "clientIdentity:\n"...)
		dst = appendText(dst, 1, "cert", string(id.Certificate))
		dst = appendText(dst, 1, "key", id.Key.Reveal())
	}
	if tls.CA != "" {
		dst = appendText(dst, 0, "ca", string(tls.CA))
	}
	if tls.InsecureSkipVerify {
		dst = append(dst, "insecureSkipVerify: true\n"...)
	}
	return dst
}

func appendAuth(dst []byte, indent int, a mirrors.Auth) []byte {
	field := func(key, value string) {
		if value != "" {
			dst = appendIndent(dst, indent)
			dst = append(dst, key...)
			dst = append(dst, ": "...)
			dst = appendScalar(dst, value)
			dst = append(dst, '\n')
		}
	}
	field("username", a.Username)
	field("password", a.Password.Reveal())
	field("auth", a.Auth.Reveal())
	field("identityToken", a.IdentityToken.Reveal())
	return dst
}

// orEmptyMap turns a map that got no entry into {}.
func orEmptyMap(dst []byte, start int) []byte {
	if len(dst) == start+1 {
		return append(dst[:start], " {}\n"...)
	}
	return dst
}

func appendKey(dst []byte, indent int, key string) []byte {
	dst = appendIndent(dst, indent)
	dst = appendScalar(dst, key)
	return append(dst, ':')
}

func appendBase64(dst []byte, indent int, key, value string) []byte {
	dst = appendIndent(dst, indent)
	dst = append(dst, key...)
	dst = append(dst, ": "...)
	return appendBase64Value(dst, value)
}

func appendBase64Value(dst []byte, value string) []byte {
	if value == "" {
		return append(dst, "\"\"\n"...)
	}
	start := len(dst)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(value))
	if c := dst[start] | 0x20; len(dst)-start <= len("false") || c < 'a' || c > 'z' {
		encoded := string(dst[start:]) // what may be taken for a word or a number
		dst = appendScalar(dst[:start], encoded)
	}
	return append(dst, '\n')
}

func appendText(dst []byte, indent int, key, value string) []byte {
	dst = appendIndent(dst, indent)
	dst = append(dst, key...)
	dst = append(dst, ": "...)
	return appendTextValue(dst, indent, value)
}

// appendTextValue writes a value of several lines as a literal block, which is
// how people expect PEM, and everything else as a scalar.
func appendTextValue(dst []byte, indent int, value string) []byte {
	if !fitsBlock(value) {
		dst = appendScalar(dst, value)
		return append(dst, '\n')
	}
	body, ends := strings.CutSuffix(value, "\n")
	if ends {
		dst = append(dst, "|\n"...)
	} else {
		dst = append(dst, "|-\n"...)
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			dst = appendIndent(dst, indent+1)
			dst = append(dst, line...)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// fitsBlock reports whether a literal block carries the value as it is: lines
// of printable ASCII, the first not empty and not indented, one newline at the
// end at most.
func fitsBlock(s string) bool {
	if !strings.Contains(s, "\n") || s[0] == ' ' || s[0] == '\n' || strings.HasSuffix(s, "\n\n") {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// appendScalar writes a string so that every YAML reader takes it for this
// string: plain where nothing else is possible, else in double quotes. The
// string must be valid UTF-8 (see checkText).
func appendScalar(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(dst, s...)
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, `\n`...)
			case c == '\t':
				dst = append(dst, `\t`...)
			case c < ' ' || c == 0x7f:
				dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
			default:
				dst = append(dst, c)
			}
			continue
		}
		// Not one character above ASCII is left as it is: what looks alike, runs
		// backwards or is not seen at all stands out in a review.
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r > 0xffff {
			dst = append(dst, '\\', 'U', '0', '0', hex[r>>20&15], hex[r>>16&15])
		} else {
			dst = append(dst, '\\', 'u')
		}
		dst = append(dst, hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	return append(dst, '"')
}

var plainByte = func() (t [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/:=@~%" {
		t[c] = true
	}
	return t
}()

// isPlain reports whether s without quotes is the string s in YAML 1.1 and 1.2:
// it begins with a letter, is no word that YAML knows, has no space, and no
// colon at the end.
func isPlain(s string) bool {
	if s == "" || s[len(s)-1] == ':' {
		return false
	}
	if c := s[0] | 0x20; c < 'a' || c > 'z' {
		return false
	}
	for i := range len(s) {
		if !plainByte[s[i]] {
			return false
		}
	}
	if len(s) <= len("false") {
		switch strings.ToLower(s) {
		case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
			return false
		}
	}
	return true
}
