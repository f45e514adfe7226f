package accesslog

// digestsOfTag is how many manifests a node takes by digest after it has asked for a
// tag: the index, and the manifest of its platform.
const digestsOfTag = 2

// origins tells which manifests were asked for by a digest that comes from a tag. A
// log does not say it: a node asks for the tag first, then for the digest.
type origins struct {
	last        map[string]lastTag // of a client
	explained   map[uint64]bool    // digests
	unexplained map[uint64]bool
	over        bool // more than are kept
}

// lastTag is the last tag that a client asked for.
type lastTag struct {
	wanted bool // that of the question
	left   int  // how many digests it explains
}

func newOrigins() origins {
	return origins{last: map[string]lastTag{}, explained: map[uint64]bool{}, unexplained: map[uint64]bool{}}
}

func (o *origins) tag(client []byte, wanted bool) {
	if _, ok := o.last[string(client)]; ok || len(o.last) < MaxClients && len(client) <= maxName {
		o.last[string(client)] = lastTag{wanted, digestsOfTag}
	}
}

// digest notes a digest, and tells whether it follows the tag of the question.
func (o *origins) digest(client []byte, digest uint64) bool {
	last := o.last[string(client)]
	switch {
	case o.explained[digest]:
	case last.left > 0 && len(o.explained) < MaxImages:
		o.explained[digest] = true
		o.last[string(client)] = lastTag{last.wanted, last.left - 1}
	case len(o.unexplained) < MaxImages:
		o.unexplained[digest] = true
	default:
		o.over = true
	}
	return last.wanted
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
