package escape

import (
	"bytes"
	"strconv"
)

// initials are the first bytes that a delimiter may have, in the order of
// preference: E first, for EOF.
const initials = "EABCDFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// delimiter chooses the line that ends a here-document with this body, as it
// stands in the script. It depends on the body alone. ok is false when no
// delimiter is safe in every shell.
//
// First choice: no line, after leading tabs, begins with the delimiter's first
// byte. Then no line is the delimiter or becomes it. When every initial is
// taken: no line begins with the whole delimiter, and none is a part of its
// beginning followed only by backslashes. The last two are what ksh93u+m 1.0.4
// needs: it takes `EOF)` for the end, and loses the newline after `E\`.
func delimiter(body []byte) (delim string, ok bool) {
	var taken [256]bool
	starts := lineStarts{rest: body}
	for line, more := starts.next(); more; line, more = starts.next() {
		if len(line) > 0 {
			taken[line[0]] = true
		}
	}
	for i := range len(initials) {
		if !taken[initials[i]] {
			if i == 0 {
				return "EOF", true
			}
			return initials[i:i+1] + "EOF", true
		}
	}

	// cut holds the initials of which a line with nothing but backslashes
	// behind a part of the delimiter exists; numbers holds, for each initial,
	// the numbers that follow it at the start of a line.
	var cut [256]bool
	numbers := map[byte]map[string]bool{}
	starts = lineStarts{rest: body}
	for line, more := starts.next(); more; line, more = starts.next() {
		if len(line) == 0 {
			continue
		}
		n := 1
		for n < len(line) && '0' <= line[n] && line[n] <= '9' {
			n++
		}
		if tail := bytes.TrimLeft(line[n:], `\`); len(tail) == 0 && n < len(line) {
			cut[line[0]] = true
		}
		if n > 1 {
			if numbers[line[0]] == nil {
				numbers[line[0]] = map[string]bool{}
			}
			for k := 2; k <= n && k <= 12; k++ {
				numbers[line[0]][string(line[1:k])] = true
			}
		}
	}
	for i := range len(initials) {
		c := initials[i]
		if cut[c] {
			continue
		}
		// A line adds at most eleven numbers, and the body has fewer than
		// len(body) lines: a free number has far fewer than eleven digits.
		for n := 0; ; n++ {
			if number := strconv.Itoa(n); !numbers[c][number] {
				return string(c) + number, true
			}
		}
	}
	return "", false
}

// lineStarts goes through the lines of a body, without their leading tabs and
// their newline.
type lineStarts struct {
	rest []byte
}

func (l *lineStarts) next() (line []byte, more bool) {
	if len(l.rest) == 0 {
		return nil, false
	}
	if i := bytes.IndexByte(l.rest, '\n'); i >= 0 {
		line, l.rest = l.rest[:i], l.rest[i+1:]
	} else {
		line, l.rest = l.rest, nil
	}
	for len(line) > 0 && line[0] == '\t' {
		line = line[1:]
	}
	return line, true
}
