package escape

import (
	"encoding/binary"
	"slices"
	"strings"
)

// replacing is an encoder that writes four to eight bytes for one special
// byte, and everything else as it is.
type replacing struct {
	special byte
	quote   string // one byte, or none, before and behind the text
	n       int
	// The first and the last four bytes of the replacement; they may overlap.
	head, tail uint32
}

func newReplacing(quote string, special byte, with string) *replacing {
	return &replacing{special, quote, len(with), binary.LittleEndian.Uint32([]byte(with)), binary.LittleEndian.Uint32([]byte(with[len(with)-4:]))}
}

// append appends the encoded s to dst. It makes room once, for exactly what is
// missing.
//
// As in [prefixing.append], what lies between rare special bytes is copied. A
// short text, and what follows two that are close, is written byte by byte.
func (r *replacing) append(dst []byte, s string) []byte {
	if len(s) >= long && r.clean(s) {
		return append(append(append(slices.Grow(dst, len(s)+2*len(r.quote)), r.quote...), s...), r.quote...)
	}
	if cap(dst)-len(dst) < r.n*len(s)+2 {
		dst = slices.Grow(dst, len(s)+(r.n-1)*strings.Count(s, string(rune(r.special)))+2*len(r.quote))
	}
	j := len(dst)
	d := dst[:cap(dst)]
	if r.quote != "" {
		d[j] = r.quote[0]
		j++
	}
	for len(s) > 0 {
		gap, stretch := 0, len(s) // stretch is how far to go byte by byte
		if len(s) >= 16 {
			gap = strings.IndexByte(s, r.special)
			if gap < 0 {
				j += copy(d[j:], s)
				break
			}
			j += copy(d[j:], s[:gap])
			s = s[gap:]
			stretch = min(64, len(s))
			if gap >= 16 && len(s) >= 32 {
				stretch = 1
			}
		}
		for dense := true; dense; {
			before := j
			for _, c := range []byte(s[:stretch]) {
				if c == r.special {
					binary.LittleEndian.PutUint32(d[j:], r.head)
					binary.LittleEndian.PutUint32(d[j+r.n-4:], r.tail)
					j += r.n
				} else {
					d[j] = c
					j++
				}
			}
			s = s[stretch:]
			dense = gap < 16 && j-before-stretch >= 4*(r.n-1)
			stretch = min(64, len(s))
		}
	}
	if r.quote != "" {
		d[j] = r.quote[0]
		j++
	}
	return d[:j]
}

func (r *replacing) clean(s string) bool { return strings.Count(s, string(rune(r.special))) == 0 }
