package accesslog

import (
	"bytes"
	"strconv"
)

// combined reads
//
//	192.0.2.7 - - [30/Nov/2026:17:48:41 +0000] "GET /v2/ HTTP/1.1" 200 2 "" "containerd/v2.1.4"
//
// as distribution and nginx write it: what the client sent has a backslash before
// each quote (distribution), or \x22 for it (nginx). Behind the user agent there may
// be fields of the site's own.
func (p *parser) combined(line []byte, e *entry) bool {
	var ok bool
	if e.client, line, ok = word(line); !ok {
		return false
	}
	if _, line, ok = word(line); !ok {
		return false
	}
	if _, line, ok = word(line); !ok {
		return false
	}
	if len(line) < commonLength+3 || line[0] != '[' || line[commonLength+1] != ']' || line[commonLength+2] != ' ' {
		return false
	}
	if e.time, ok = p.clock.common(line[1 : commonLength+1]); !ok {
		return false
	}
	request, line, ok := quoted(line[commonLength+3:])
	if !ok || len(line) == 0 || line[0] != ' ' {
		return false
	}
	status, line, ok := word(line[1:])
	if !ok || len(status) != 3 {
		return false
	}
	if e.status, ok = digits(status); !ok || e.status < 100 || e.status > 599 {
		return false
	}
	size, line, ok := word(line)
	if !ok {
		return false
	}
	if e.size = -1; len(size) != 1 || size[0] != '-' {
		if e.size, ok = number(size); !ok {
			return false
		}
	}
	if _, line, ok = quoted(line); !ok || len(line) == 0 || line[0] != ' ' {
		return false
	}
	if e.agent, line, ok = quoted(line[1:]); !ok || len(line) > 0 && line[0] != ' ' {
		return false
	}
	e.took = -1
	if len(line) > 0 {
		e.forged = p.traceIn(line) != nil
		e.took = responseTime(line)
	}

	e.kind = kindCombined
	// A request that is none has no method or no protocol: "-", or the first bytes
	// of a TLS handshake.
	first := bytes.IndexByte(request, ' ')
	last := bytes.LastIndexByte(request, ' ')
	if first <= 0 || first == last || !bytes.HasPrefix(request[last+1:], []byte("HTTP/")) {
		e.forged = e.forged || mayForge(request) && hasNewline(request)
		return true
	}
	e.method, e.uri = request[:first], request[first+1:last]
	if len(e.uri) == 0 || e.uri[0] != '/' {
		e.forged = e.forged || mayForge(request) && hasNewline(request)
	}
	if bytes.IndexByte(e.uri, '\\') >= 0 {
		// Nothing of an image has such a character.
		if s, err := strconv.Unquote(`"` + string(e.uri) + `"`); err == nil {
			e.uri = []byte(s)
		}
	}
	return true
}

// word cuts s at the first space. It is false without one, or with nothing before it.
func word(s []byte) (word, rest []byte, ok bool) {
	i := bytes.IndexByte(s, ' ')
	if i <= 0 {
		return nil, s, false
	}
	return s[:i], s[i+1:], true
}

// quoted reads a text in quotes, which it returns without them and as it is written.
func quoted(s []byte) (text, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return nil, s, false
	}
	for i := 1; ; {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			return nil, s, false
		}
		end := i + n
		slashes := 0
		for s[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return s[1:end], s[end+1:], true
		}
		i = end + 1
	}
}

// number reads a number of up to 18 digits.
func number(s []byte) (int64, bool) {
	if len(s) > 18 {
		return 0, false
	}
	n, ok := digits(s)
	return int64(n), ok
}

// responseTime finds the first number of seconds, such as 0.123, in what follows the
// user agent: bare, or as rt= or request_time=. It is in nanoseconds, -1 without one.
func responseTime(fields []byte) int64 {
	for len(fields) > 0 {
		if fields[0] == ' ' {
			fields = fields[1:]
			continue
		}
		if fields[0] == '"' {
			_, rest, ok := quoted(fields)
			if !ok {
				return -1
			}
			fields = rest
			continue
		}
		field, rest, _ := bytes.Cut(fields, []byte(" "))
		fields = rest
		if i := bytes.IndexByte(field, '='); i >= 0 {
			if name := string(field[:i]); name != "rt" && name != "request_time" {
				continue
			}
			field = bytes.Trim(field[i+1:], `"`)
		}
		whole, part, ok := bytes.Cut(field, []byte("."))
		if !ok || len(part) > 9 || len(whole) > 9 {
			continue
		}
		seconds, ok1 := digits(whole)
		nanoseconds, ok2 := digits(part)
		if !ok1 || !ok2 {
			continue
		}
		for i := len(part); i < 9; i++ {
			nanoseconds *= 10
		}
		return int64(seconds)*1e9 + int64(nanoseconds)
	}
	return -1
}
