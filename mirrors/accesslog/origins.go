package accesslog

// digestsOfTag is how many manifests a node takes by digest after it has asked for a
// tag: the index, and the manifest of its platform.
const digestsOfTag = 2

// origins tells which manifests were asked for by a digest that comes from a tag. A
// log does not say it: a node asks for the tag first, then for the digest.
type origins struct {
	left        map[string]int // of a client: how many digests its last tag explains
	explained   map[uint64]bool
	unexplained map[uint64]bool
	over        bool // more than are kept
}

func (o *origins) tag(client []byte) {
	if _, ok := o.left[string(client)]; ok || len(o.left) < MaxClients && len(client) <= maxName {
		o.left[string(client)] = digestsOfTag
	}
}

func (o *origins) digest(client []byte, digest uint64) {
	switch left := o.left[string(client)]; {
	case o.explained[digest]:
	case left > 0 && len(o.explained) < MaxImages:
		o.left[string(client)] = left - 1
		o.explained[digest] = true
	case len(o.unexplained) < MaxImages:
		o.unexplained[digest] = true
	default:
		o.over = true
	}
}

// unclear tells whether a digest was asked for that no tag explains.
func (o *origins) unclear() bool {
	for digest := range o.unexplained {
		if !o.explained[digest] {
			return true
		}
	}
	return o.over
}
