package accesslog

import "bytes"

// kind is the kind of a line.
type kind uint8

const (
	kindUnreadable kind = iota
	kindOther
	kindCombined
	kindLogrus
	kindZot
)

// entry is what one line says. Its slices are valid until the next line.
type entry struct {
	kind   kind
	method []byte
	uri    []byte
	client []byte // an address, with or without a port
	agent  []byte
	id     []byte // http.request.id, where there is one
	time   int64  // nanoseconds since 1970
	status int    // 0 where zot has none
	size   int64  // bytes of the response, -1 where the line has none
	took   int64  // nanoseconds, -1 where the line has none
	forged bool   // its client may have made it, or lines before it: see mayForge
}

// target is what a request was about: a manifest or a blob of a repository.
type target struct {
	registry   []byte // of ns=, empty without
	repository []byte
	ref        []byte // a tag or a digest
	blob       bool
}

// targetOf reads the URI of a GET or HEAD. It is false for everything that is not a
// manifest or a blob. What has a % is decoded into scratch, which it returns.
func targetOf(uri, scratch []byte) (target, []byte, bool) {
	var t target
	if i := bytes.IndexByte(uri, '#'); i >= 0 {
		uri = uri[:i]
	}
	path, query, _ := bytes.Cut(uri, []byte("?"))
	if i := bytes.Index(path, []byte("://")); i > 0 && path[0] != '/' {
		path = path[i+3:]
		slash := bytes.IndexByte(path, '/')
		if slash < 0 {
			return t, scratch, false
		}
		path = path[slash:]
	}
	if len(path) == 0 || path[0] != '/' {
		return t, scratch, false
	}
	scratch = scratch[:0]
	var ok bool
	if bytes.IndexByte(path, '%') >= 0 {
		if scratch, ok = unescapePercent(scratch, path); !ok {
			return t, scratch, false
		}
		path = scratch
	}
	last := bytes.LastIndexByte(path, '/')
	t.ref = path[last+1:]
	rest := path[:last]
	switch {
	case bytes.HasSuffix(rest, []byte("/manifests")):
		rest = rest[:len(rest)-len("/manifests")]
		if !isDigest(t.ref) && !isTag(t.ref) {
			return t, scratch, false
		}
	case bytes.HasSuffix(rest, []byte("/blobs")):
		rest = rest[:len(rest)-len("/blobs")]
		t.blob = true
		if !isDigest(t.ref) {
			return t, scratch, false
		}
	default:
		return t, scratch, false
	}
	if bytes.HasPrefix(rest, []byte("/v2/")) {
		rest = rest[len("/v2"):]
	}
	if len(rest) < 2 || !isPath(rest[1:]) {
		return t, scratch, false
	}
	t.repository = rest[1:]
	var named bool
	t.registry, scratch, named = namespaceOf(query, scratch)
	return t, scratch, named
}

// namespaceOf finds the registry that containerd names in the query. It is false
// when a name is there that is no registry, or there are several.
func namespaceOf(query, scratch []byte) (registry, _ []byte, ok bool) {
	for found := false; len(query) > 0; {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		value, isNS := bytes.CutPrefix(pair, []byte("ns="))
		if !isNS {
			continue
		}
		if bytes.IndexByte(value, '%') >= 0 {
			begin := len(scratch)
			if scratch, ok = unescapePercent(scratch, value); !ok {
				return nil, scratch, false
			}
			value = scratch[begin:]
		}
		if found || !isRegistry(value) {
			return nil, scratch, false
		}
		registry, found = value, true
	}
	return registry, scratch, true
}

// unescapePercent appends s to dst without its %XX.
func unescapePercent(dst, s []byte) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return dst, false
			}
			high, ok1 := hexDigit(s[i+1])
			low, ok2 := hexDigit(s[i+2])
			if !ok1 || !ok2 {
				return dst, false
			}
			c = high<<4 | low
			i += 2
		}
		dst = append(dst, c)
	}
	return dst, true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// Bits of the table of characters.
const (
	inPath     = 1 << iota // of a repository
	inTag                  // of a tag, but for its first character
	inRegistry             // of a registry, a host name or an address
	inBare                 // of a logrus value without quotes
)

var charBits = func() (table [256]uint8) {
	for c := range 256 {
		lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
		if lower || digit || c == '.' || c == '_' || c == '-' || c == '/' {
			table[c] |= inPath
		}
		if lower || upper || digit || c == '.' || c == '_' || c == '-' {
			table[c] |= inTag
		}
		if lower || upper || digit || c == '.' || c == '_' || c == '-' || c == ':' || c == '[' || c == ']' {
			table[c] |= inRegistry
		}
		if c > ' ' && c < 0x7f && c != '"' && c != '=' {
			table[c] |= inBare
		}
	}
	return table
}()

func all(s []byte, bit uint8) bool {
	for _, c := range s {
		if charBits[c]&bit == 0 {
			return false
		}
	}
	return true
}

// isPath tells whether s can be a repository with the path of a mirror before it.
func isPath(s []byte) bool {
	return len(s) > 0 && len(s) <= maxName && s[0] != '/' && s[len(s)-1] != '/' && all(s, inPath) &&
		!bytes.Contains(s, []byte("//")) && !hasDots(s)
}

// hasDots tells whether a segment is . or .., which a server may take away.
func hasDots(s []byte) bool {
	for i, c := range s {
		if c != '.' || i > 0 && s[i-1] != '/' {
			continue
		}
		rest := s[i+1:]
		if len(rest) > 0 && rest[0] == '.' {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0] == '/' {
			return true
		}
	}
	return false
}

func isTag(s []byte) bool {
	return len(s) > 0 && len(s) <= 128 && all(s, inTag) && s[0] != '.' && s[0] != '-'
}

func isDigest(s []byte) bool {
	colon := bytes.IndexByte(s, ':')
	if colon <= 0 || len(s) > maxName {
		return false
	}
	hex := s[colon+1:]
	if want := digestSize(s[:colon]); want > 0 && len(hex) != want || len(hex) < 32 {
		return false
	}
	for _, c := range hex {
		if ('0' > c || c > '9') && ('a' > c || c > 'f') {
			return false
		}
	}
	for _, c := range s[:colon] {
		if ('a' > c || c > 'z') && ('0' > c || c > '9') && c != '+' && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// digestSize is the number of digits of the algorithms that images have.
func digestSize(algorithm []byte) int {
	switch string(algorithm) {
	case "sha256":
		return 64
	case "sha512":
		return 128
	}
	return 0
}

func isRegistry(s []byte) bool { return len(s) > 0 && len(s) <= maxName && all(s, inRegistry) }

// addressOf takes the port off a client: 192.0.2.7:1234, [fd00::1]:1234.
func addressOf(client []byte) []byte {
	if len(client) > 0 && client[0] == '[' {
		if end := bytes.IndexByte(client, ']'); end > 0 {
			return client[1:end]
		}
	}
	if i := bytes.LastIndexByte(client, ':'); i > 0 && bytes.IndexByte(client, ':') == i {
		return client[:i]
	}
	return client
}

// outcome is what came of a request.
type outcome uint8

const (
	served outcome = iota
	missing
	challenged
	moved
	failed
)

func outcomeOf(status int) outcome {
	switch status {
	case 200, 206, 304, 302, 303, 307:
		return served
	case 404, 410:
		return missing
	case 401, 403:
		return challenged
	case 301, 308:
		return moved
	}
	return failed
}

// mayForge tells whether a request has a URL with a user: GET http://user@host/ or
// CONNECT user@host. distribution 2.8.2 writes the user, decoded, into the access line
// as it is, where it may make lines of its own. The request follows as it was sent.
func mayForge(text []byte) bool {
	for _, before := range [...]string{"://", "CONNECT "} {
		for rest := text; ; {
			i := bytes.Index(rest, []byte(before))
			if i < 0 {
				break
			}
			rest = rest[i+len(before):]
			if end := bytes.IndexAny(rest, "@/ \"?"); end >= 0 && rest[end] == '@' {
				return true
			}
		}
	}
	return false
}

// hasNewline tells whether a request has an encoded line feed: without it, a user
// cannot make lines.
func hasNewline(request []byte) bool {
	return bytes.Contains(request, []byte("%0a")) || bytes.Contains(request, []byte("%0A"))
}

// traceIn finds what distribution writes behind the user, when the user may have been
// written before it: [TIME] "METHOD URL …. It returns it from the method on, and nil
// without one.
func (p *parser) traceIn(text []byte) []byte {
	for {
		i := bytes.Index(text, []byte(`] "`))
		if i < 0 {
			return nil
		}
		request := text[i+3:]
		if begin := i - commonLength; begin > 0 && text[begin-1] == '[' && mayForge(request) {
			if _, ok := p.clock.common(text[begin:i]); ok {
				return request
			}
		}
		text = request
	}
}

// forges tells whether a line that cannot be read is of a request that may have made
// lines.
func (p *parser) forges(line []byte) bool { return hasNewline(p.traceIn(line)) }
