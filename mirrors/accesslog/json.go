package accesslog

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep the objects of a line may lie in each other.
const maxDepth = 32

// jsonLine reads an object of zot or of logrus. It takes what encoding/json takes,
// but for one that is not UTF-8, is deeper than maxDepth, or has a field of interest
// twice.
func (p *parser) jsonLine(line []byte, e *entry) bool {
	if !utf8.Valid(line) {
		return false
	}
	s := scanner{b: line, scratch: p.jsonScratch[:0]}
	defer func() { p.jsonScratch = s.scratch[:0] }()
	var f logrusFields
	var z struct{ client, method, path, status, latency, agent []byte }
	var zotSeen uint8
	ok := s.object(func(key []byte) bool {
		if place, n := f.field(key); place != nil {
			if f.seen&(1<<n) != 0 {
				return false
			}
			f.seen |= 1 << n
			var ok bool
			if n == 8 || n == 10 { // the status and the size
				*place, ok = s.number()
			} else {
				*place, ok = s.text()
			}
			return ok
		}
		var place *[]byte
		var n uint8
		switch string(key) {
		case "clientIP":
			place, n = &z.client, 0
		case "method":
			place, n = &z.method, 1
		case "path":
			place, n = &z.path, 2
		case "statusCode":
			place, n = &z.status, 3
		case "latency":
			place, n = &z.latency, 4
		case "headers":
			place, n = &z.agent, 5
		default:
			return s.skip(1)
		}
		if zotSeen&(1<<n) != 0 {
			return false
		}
		zotSeen |= 1 << n
		var ok bool
		switch n {
		case 3:
			*place, ok = s.number()
		case 5:
			*place, ok = s.agent()
		default:
			*place, ok = s.text()
		}
		return ok
	})
	if !ok || s.i != len(s.b) {
		return false
	}
	if string(f.msg) != "HTTP API" {
		return p.logrus(&f, e)
	}
	if e.time, ok = p.clock.rfc3339(f.time); !ok || len(z.method) == 0 || len(z.path) == 0 {
		return false
	}
	if e.status, ok = digits(z.status); !ok || len(z.status) > 3 || e.status != 0 && (e.status < 100 || e.status > 599) {
		return false
	}
	if e.took = -1; len(z.latency) > 0 {
		d, err := time.ParseDuration(string(z.latency))
		if err != nil || d < 0 {
			return false
		}
		e.took = int64(d)
	}
	e.kind = kindZot
	e.size = -1
	e.method, e.uri, e.client, e.agent = z.method, z.path, z.client, z.agent
	return true
}

// scanner reads JSON. Its methods return false at the first mistake.
type scanner struct {
	b       []byte
	i       int
	scratch []byte // texts with escapes, decoded
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

func (s *scanner) byte(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		s.space()
		return true
	}
	return false
}

// object reads an object; value reads the value of a key.
func (s *scanner) object(value func(key []byte) bool) bool {
	if !s.byte('{') {
		return false
	}
	if s.byte('}') {
		return true
	}
	for {
		s.space()
		key, ok := s.text()
		if !ok || !s.byte(':') || !value(key) {
			return false
		}
		if s.byte(',') {
			continue
		}
		return s.byte('}')
	}
}

// plain are the characters of a text that need no look: all but quotes,
// backslashes and control characters.
var plain = func() (table [256]bool) {
	for c := range 256 {
		table[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return table
}()

// raw reads a text and returns what stands between its quotes.
func (s *scanner) raw() (text []byte, escapes, ok bool) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return nil, false, false
	}
	begin := s.i + 1
	for i := begin; i < len(s.b); i++ {
		if plain[s.b[i]] {
			continue
		}
		switch s.b[i] {
		case '"':
			s.i = i + 1
			return s.b[begin:i], escapes, true
		case '\\':
			escapes = true
			i++
			if i >= len(s.b) {
				return nil, false, false
			}
			switch s.b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(s.b) {
					return nil, false, false
				}
				for _, c := range s.b[i+1 : i+5] {
					if _, ok := hexDigit(c); !ok {
						return nil, false, false
					}
				}
				i += 4
			default:
				return nil, false, false
			}
		default:
			return nil, false, false
		}
	}
	return nil, false, false
}

// text reads a text and decodes it.
func (s *scanner) text() ([]byte, bool) {
	raw, escapes, ok := s.raw()
	if !ok || !escapes {
		return raw, ok
	}
	begin := len(s.scratch)
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			s.scratch = append(s.scratch, c)
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hexRune(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				second := rune(0)
				if len(raw) > i+6 && raw[i+1] == '\\' && raw[i+2] == 'u' {
					second = hexRune(raw[i+3:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					i += 6
				}
			}
			s.scratch = utf8.AppendRune(s.scratch, r)
			continue
		default:
			c = raw[i]
		}
		s.scratch = append(s.scratch, c)
	}
	return s.scratch[begin:], true
}

func hexRune(s []byte) rune {
	n, _ := strconv.ParseUint(string(s[:4]), 16, 32) // raw has seen the digits
	return rune(n)
}

// number reads a number.
func (s *scanner) number() ([]byte, bool) {
	begin := s.i
	eat := func(from, to byte) bool {
		if s.i < len(s.b) && from <= s.b[s.i] && s.b[s.i] <= to {
			s.i++
			return true
		}
		return false
	}
	all := func() bool {
		n := 0
		for eat('0', '9') {
			n++
		}
		return n > 0
	}
	eat('-', '-')
	if !eat('0', '0') && !all() {
		return nil, false
	}
	if eat('.', '.') && !all() {
		return nil, false
	}
	if eat('e', 'e') || eat('E', 'E') {
		_ = eat('+', '+') || eat('-', '-')
		if !all() {
			return nil, false
		}
	}
	return s.b[begin:s.i], true
}

// skip reads a value of any kind.
func (s *scanner) skip(depth int) bool {
	s.space()
	if s.i >= len(s.b) || depth > maxDepth {
		return false
	}
	switch c := s.b[s.i]; c {
	case '"':
		_, _, ok := s.raw()
		return ok
	case '{':
		s.i++
		if s.byte('}') {
			return true
		}
		for {
			s.space()
			if _, _, ok := s.raw(); !ok || !s.byte(':') || !s.skip(depth+1) {
				return false
			}
			if !s.byte(',') {
				return s.byte('}')
			}
		}
	case '[':
		s.i++
		if s.byte(']') {
			return true
		}
		for {
			if !s.skip(depth + 1) {
				return false
			}
			if !s.byte(',') {
				return s.byte(']')
			}
		}
	case 't', 'f', 'n':
		for _, word := range [...]string{"true", "false", "null"} {
			if word[0] == c && bytes.HasPrefix(s.b[s.i:], []byte(word)) {
				s.i += len(word)
				return true
			}
		}
		return false
	default:
		_, ok := s.number()
		return ok
	}
}

// agent reads zot's headers, an object of lists, and returns the first User-Agent.
func (s *scanner) agent() ([]byte, bool) {
	var agent []byte
	s.space()
	if bytes.HasPrefix(s.b[s.i:], []byte("null")) {
		s.i += len("null")
		return nil, true
	}
	ok := s.object(func(key []byte) bool {
		if string(key) != "User-Agent" || agent != nil {
			return s.skip(2)
		}
		if !s.byte('[') {
			return false
		}
		if s.byte(']') {
			return true
		}
		var ok bool
		if agent, ok = s.text(); !ok {
			return false
		}
		for s.byte(',') {
			if !s.skip(3) {
				return false
			}
		}
		return s.byte(']')
	})
	return agent, ok
}
