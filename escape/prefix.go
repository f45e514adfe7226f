package escape

import (
	"slices"
	"strings"
)

// prefixing is an encoder that writes a byte before each of up to three
// special bytes, and everything else as it is.
type prefixing struct {
	prefix  byte
	special string
	// table has for each byte what is written for it, in two bytes, the first
	// one low, and from bit 16 on how many of them count.
	table [256]uint32
}

func newPrefixing(prefix byte, special string) *prefixing {
	p := &prefixing{prefix: prefix, special: special}
	for c := range p.table {
		p.table[c] = uint32(c) | 1<<16
	}
	for i := range len(special) {
		c := special[i]
		p.table[c] = uint32(prefix) | uint32(c)<<8 | 2<<16
	}
	return p
}

// append appends the encoded s to dst. It makes room once, for exactly what
// is missing.
//
// Where special bytes are rare, strings.IndexByte finds them and what lies
// between is copied. Where they are not, each byte is written as two of which
// the next byte overwrites what does not count: there is no branch to be
// predicted, and a body of nothing but special bytes takes no longer.
func (p *prefixing) append(dst []byte, s string) []byte {
	room := cap(dst) - len(dst)
	if room >= len(s) && len(s) >= 16 && p.clean(s) {
		return append(dst, s...)
	}
	if room < 2*len(s) {
		need := len(s)
		for i := range len(p.special) {
			need += strings.Count(s, p.special[i:i+1])
		}
		dst = slices.Grow(dst, need)
		if need == len(s) {
			return append(dst, s...)
		}
	}
	j := len(dst)
	d := dst[:cap(dst)]
	for len(s) > 0 {
		part := s[:min(len(s), 8192)]
		s = s[len(part):]
		i := 0
		if len(part) >= 64 {
			i, j = p.sparse(d, j, part)
		}
		// Eight bytes and the one that may be too much; never the last byte
		// of the part, so that something overwrites what is too much.
		for i+8 < len(part) && j+17 <= len(d) {
			w := (*[17]byte)(d[j:])
			o := uint(0)
			for _, c := range []byte(part[i : i+8]) {
				e := p.table[c]
				o &= 15 // it is, and so the compiler need not check
				w[o], w[o+1] = byte(e), byte(e>>8)
				o += uint(e >> 16)
			}
			i, j = i+8, j+int(o)
		}
		for ; i < len(part); i++ {
			if p.table[part[i]]>>16 == 2 {
				d[j] = p.prefix
				j++
			}
			d[j] = part[i]
			j++
		}
	}
	return d[:j]
}

// From this length on, strings.Count reads a text faster than strings.IndexByte.
const long = 4096

func (p *prefixing) clean(s string) bool {
	for i := range len(p.special) {
		if len(s) >= long && strings.Count(s, p.special[i:i+1]) > 0 || len(s) < long && strings.IndexByte(s, p.special[i]) >= 0 {
			return false
		}
	}
	return true
}

// sparse encodes part into d from j on, until it is done or special bytes
// turn out to be frequent. It returns how far it came in both.
func (p *prefixing) sparse(d []byte, j int, part string) (int, int) {
	index := func(k, from int) int {
		if k < len(p.special) {
			if i := strings.IndexByte(part[from:], p.special[k]); i >= 0 {
				return from + i
			}
		}
		return len(part)
	}
	a, b, c := index(0, 0), index(1, 0), index(2, 0)
	const batch, gap = 16, 24
	done, mark := 0, 0
	for n := batch; ; n-- {
		next := min(a, b, c)
		j += copy(d[j:], part[done:next])
		if next == len(part) {
			return next, j
		}
		d[j], d[j+1] = p.prefix, part[next]
		j += 2
		done = next + 1
		switch next {
		case a:
			a = index(0, done)
		case b:
			b = index(1, done)
		default:
			c = index(2, done)
		}
		if n == 0 {
			if done-mark < batch*gap {
				return done, j
			}
			n, mark = batch, done
		}
	}
}
