package escape

import (
	"encoding/binary"
	"slices"
	"strings"
)

// prefixing is an encoder that writes a byte before each of up to three
// special bytes, and everything else as it is.
type prefixing struct {
	prefix  byte
	special string
	is      [256]uint8 // 1 for a special byte
}

func newPrefixing(prefix byte, special string) *prefixing {
	p := &prefixing{prefix: prefix, special: special}
	for i := range len(special) {
		p.is[special[i]] = 1
	}
	return p
}

const (
	low  = 0x0101010101010101
	high = 0x8080808080808080
)

// found has a bit set when one of the eight bytes of x is the byte c.
func found(x uint64, c byte) uint64 {
	x ^= low * uint64(c)
	return (x - low) &^ x & high
}

// append appends the encoded s to dst. It makes room once, for exactly what
// is missing. A stretch without special bytes is found by the vector code of
// strings.IndexByte and copied; elsewhere eight bytes are looked at together,
// and those among which a special one stands are written without a branch, so
// that a body of nothing but special bytes is no slower.
func (p *prefixing) append(dst []byte, s string) []byte {
	if room := cap(dst) - len(dst); room < 2*len(s) {
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
	a, b, c := p.special[0], p.special[min(1, len(p.special)-1)], p.special[len(p.special)-1]
	for len(s) > 0 {
		const stretch = 2048
		part := s[:min(len(s), stretch)]
		s = s[len(part):]
		if p.clean(part) {
			j += copy(d[j:], part)
			continue
		}
		i := 0
		for ; i+8 <= len(part); i += 8 {
			q := part[i : i+8]
			x := uint64(q[0]) | uint64(q[1])<<8 | uint64(q[2])<<16 | uint64(q[3])<<24 | uint64(q[4])<<32 | uint64(q[5])<<40 | uint64(q[6])<<48 | uint64(q[7])<<56
			if found(x, a)|found(x, b)|found(x, c) == 0 {
				binary.LittleEndian.PutUint64(d[j:], x)
				j += 8
				continue
			}
			for k := range 8 {
				d[j] = p.prefix
				j += int(p.is[q[k]])
				d[j] = q[k]
				j++
			}
		}
		for ; i < len(part); i++ {
			d[j] = p.prefix
			j += int(p.is[part[i]])
			d[j] = part[i]
			j++
		}
	}
	return d[:j]
}

func (p *prefixing) clean(s string) bool {
	for i := range len(p.special) {
		if strings.IndexByte(s, p.special[i]) >= 0 {
			return false
		}
	}
	return true
}
