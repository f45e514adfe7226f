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
	n       int
	// The first and the last four bytes of the replacement; they may overlap.
	head, tail uint32
}

func newReplacing(special byte, with string) *replacing {
	return &replacing{special, len(with), binary.LittleEndian.Uint32([]byte(with)), binary.LittleEndian.Uint32([]byte(with[len(with)-4:]))}
}

// append appends the encoded s to dst, with around before and behind it. It
// makes room once, for exactly what is missing. As in [prefixing.append], what
// lies between rare special bytes is copied, and dense ones are written byte by
// byte.
func (r *replacing) append(dst []byte, s, around string) []byte {
	if room := cap(dst) - len(dst); room < r.n*len(s)+2*len(around) {
		dst = slices.Grow(dst, len(s)+(r.n-1)*strings.Count(s, string(rune(r.special)))+2*len(around))
	}
	dst = append(dst, around...)
	j := len(dst)
	d := dst[:cap(dst)]
	for i := 0; i < len(s); {
		gap := 0
		if len(s) >= 16 {
			if gap = strings.IndexByte(s[i:], r.special); gap < 0 {
				j += copy(d[j:], s[i:])
				break
			}
			j += copy(d[j:], s[i:i+gap])
			i += gap
		}
		for dense := true; dense; {
			end, before := min(i+64, len(s)), j-i
			if gap >= 16 && len(s) >= 64 {
				end = i + 1 // the one that was found
			}
			for ; i < end; i++ {
				if c := s[i]; c == r.special {
					binary.LittleEndian.PutUint32(d[j:], r.head)
					binary.LittleEndian.PutUint32(d[j+r.n-4:], r.tail)
					j += r.n
				} else {
					d[j] = c
					j++
				}
			}
			dense = gap < 16 && i < len(s) && j-i-before >= 4*(r.n-1)
		}
	}
	return append(d[:j], around...)
}
