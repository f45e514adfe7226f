package accesslog

import "hash/maphash"

// Window is how many requests distribution's two lines of one request may lie apart
// to be counted as one; each request id is kept as long.
const Window = 1 << 14

// recent is a multiset of the last Window keys.
type recent struct {
	count map[uint64]uint32
	ring  []uint64
	next  int
}

func (r *recent) add(key uint64) {
	if r.count == nil {
		r.count = map[uint64]uint32{}
	}
	if len(r.ring) < Window {
		r.ring = append(r.ring, key)
	} else {
		if n := r.count[r.ring[r.next]]; n > 1 {
			r.count[r.ring[r.next]] = n - 1
		} else {
			delete(r.count, r.ring[r.next])
		}
		r.ring[r.next] = key
		r.next = (r.next + 1) % Window
	}
	r.count[key]++
}

func (r *recent) has(key uint64) bool { return r.count[key] > 0 }

// take takes a key out. Its place in the ring is used up all the same.
func (r *recent) take(key uint64) bool {
	n := r.count[key]
	if n > 1 {
		r.count[key] = n - 1
	} else if n == 1 {
		delete(r.count, key)
	}
	return n > 0
}

// pairs finds the second line of a request.
type pairs struct {
	seed   maphash.Seed
	access recent // requests of access lines without their logrus line
	logrus recent // and the other way round
	ids    recent
}

// second tells whether another line has had the request, and whether that line had
// no response time where this one may have.
func (p *pairs) second(e *entry) (second, timeless bool) {
	if len(e.id) > 0 {
		id := maphash.Bytes(p.seed, e.id)
		if p.ids.has(id) {
			return true, false
		}
		p.ids.add(id)
	}
	var h maphash.Hash
	h.SetSeed(p.seed)
	h.Write(e.uri)
	h.WriteByte(0)
	h.Write(e.method)
	key := h.Sum64() ^ uint64(e.status)<<48 ^ uint64(e.size)<<20
	at := func(second int64) uint64 { return (key ^ uint64(second)) * 0x9e3779b97f4a7c15 }

	if e.kind == kindCombined {
		// distribution writes the second in which the request came in. The other
		// line's clock starts a moment later, and its duration, taken from its time,
		// may lead back into the second before.
		begin := e.time / 1e9
		for _, second := range [...]int64{begin, begin + 1, begin - 1} {
			if p.logrus.take(at(second)) {
				return true, false
			}
		}
		p.access.add(at(begin))
		return false, false
	}
	begin := (e.time - max(e.took, 0)) / 1e9
	for _, second := range [...]int64{begin, begin - 1, begin + 1} {
		if p.access.take(at(second)) {
			return true, true
		}
	}
	p.logrus.add(at(begin))
	return false, false
}
