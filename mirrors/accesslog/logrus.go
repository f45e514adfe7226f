package accesslog

import (
	"bytes"
	"strconv"
	"time"
)

// The messages of distribution that say how a request ended.
const (
	msgCompleted = "response completed"
	msgFailed    = "response completed with error"
)

// logrusFields are the fields of a line of distribution, in text or in JSON.
type logrusFields struct {
	seen                                             uint32 // which of them were there
	time, level, msg                                 []byte
	id, method, uri, addr, agent, status, took, size []byte
}

// field returns the place of a field, and its number; nil for those that do not matter.
func (f *logrusFields) field(key []byte) (*[]byte, uint) {
	switch string(key) {
	case "time", "@timestamp":
		return &f.time, 0
	case "level":
		return &f.level, 1
	case "msg", "message":
		return &f.msg, 2
	case "http.request.id":
		return &f.id, 3
	case "http.request.method":
		return &f.method, 4
	case "http.request.uri":
		return &f.uri, 5
	case "http.request.remoteaddr":
		return &f.addr, 6
	case "http.request.useragent":
		return &f.agent, 7
	case "http.response.status":
		return &f.status, 8
	case "http.response.duration":
		return &f.took, 9
	case "http.response.written":
		return &f.size, 10
	}
	return nil, 0
}

// logrusText reads time="…" level=info msg="response completed" key=value …
func (p *parser) logrusText(line []byte, e *entry) bool {
	var f logrusFields
	for {
		equals := bytes.IndexByte(line, '=')
		if equals <= 0 || !all(line[:equals], inBare) {
			return false
		}
		key := line[:equals]
		line = line[equals+1:]
		var value []byte
		if len(line) > 0 && line[0] == '"' {
			var ok bool
			if value, line, ok = quoted(line); !ok {
				return false
			}
			if len(line) > 0 && line[0] != ' ' {
				return false
			}
		} else {
			end := bytes.IndexByte(line, ' ')
			if end < 0 {
				end = len(line)
			}
			if value, line = line[:end], line[end:]; !all(value, inBare) {
				return false
			}
		}
		if place, n := f.field(key); place != nil {
			if f.seen&(1<<n) != 0 {
				return false // whichever is true, one of them is not
			}
			f.seen |= 1 << n
			if bytes.IndexByte(value, '\\') >= 0 {
				s, err := strconv.Unquote(`"` + string(value) + `"`)
				if err != nil {
					return false
				}
				value = []byte(s)
			}
			*place = value
		}
		if len(line) == 0 {
			return p.logrus(&f, e)
		}
		line = line[1:]
	}
}

// logrus makes an entry of the fields.
func (p *parser) logrus(f *logrusFields, e *entry) bool {
	var ok bool
	if e.time, ok = p.clock.rfc3339(f.time); !ok || len(f.level) == 0 || f.msg == nil {
		return false
	}
	if m := string(f.msg); m != msgCompleted && m != msgFailed {
		e.kind = kindOther
		return true
	}
	if len(f.method) == 0 || len(f.uri) == 0 || len(f.status) != 3 {
		return false
	}
	if e.status, ok = digits(f.status); !ok || e.status < 100 || e.status > 599 {
		return false
	}
	if e.size = -1; len(f.size) > 0 {
		if e.size, ok = number(f.size); !ok {
			return false
		}
	}
	if e.took = -1; len(f.took) > 0 {
		d, err := time.ParseDuration(string(f.took))
		if err != nil || d < 0 {
			return false
		}
		e.took = int64(d)
	}
	e.kind = kindLogrus
	e.method, e.uri, e.client, e.agent, e.id = f.method, f.uri, f.addr, f.agent, f.id
	return true
}
