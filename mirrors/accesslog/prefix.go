package accesslog

import "bytes"

// part says what of a line a line of the log is.
type part uint8

const (
	wholeLine part = iota
	firstPiece
	laterPiece
)

// unwrap takes off what kubectl logs --prefix and --timestamps and a CRI log file put
// before a line: "[pod/NAME/CONTAINER] ", "2006-01-02T15:04:05.999999999Z ",
// "2006-01-02T15:04:05.999999999Z stdout F ". A long
// line is split by the runtime: CRI tags its pieces P, and F the last of them.
func (p *parser) unwrap(line []byte) ([]byte, part) {
	if bytes.HasPrefix(line, []byte("[pod/")) {
		end := bytes.Index(line, []byte("] "))
		if end < 0 || bytes.IndexByte(line[:end], ' ') >= 0 {
			return line, wholeLine
		}
		line = line[end+2:]
	}
	if len(line) < len("2006-01-02T15:04:05Z ") || line[4] != '-' || line[10] != 'T' {
		return line, wholeLine
	}
	space := bytes.IndexByte(line, ' ')
	if space < 0 {
		return line, wholeLine
	}
	if _, ok := p.clock.rfc3339(line[:space]); !ok {
		return line, wholeLine
	}
	line = line[space+1:]
	for i, stream := range [...]string{"stdout ", "stderr "} {
		rest, ok := bytes.CutPrefix(line, []byte(stream))
		if !ok || len(rest) < 2 || rest[0] != 'F' && rest[0] != 'P' || rest[1] != ' ' && rest[1] != ':' {
			continue
		}
		tags, text, ok := bytes.Cut(rest, []byte(" "))
		if !ok {
			continue
		}
		piece := tags[0] == 'P'
		last := p.split[i]
		p.split[i] = piece
		switch {
		case last:
			return text, laterPiece
		case piece:
			return text, firstPiece
		}
		return text, wholeLine
	}
	return line, wholeLine
}
