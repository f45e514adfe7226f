package mirrors

import "strings"

// Place names a field of a [Set]: its Section ("mirrors" or "config"), the Key
// in it, and the Field below that, such as "endpoints[1]", "skipFallback" or
// "auth.username". Each may be empty, the later ones first.
type Place struct {
	Section, Key, Field string
}

// String returns the path, such as mirrors["ghcr.io"].endpoints[1]. Userinfo in
// a key that is a URL is redacted.
func (p Place) String() string {
	if p == (Place{}) || p.Key == "" && p.Field == "" {
		return p.Section
	}
	s := p.Section + "[" + quote(p.Key) + "]"
	if p.Field != "" {
		s += "." + p.Field
	}
	return s
}

// parent is the place one step up.
func (p Place) parent() (Place, bool) {
	switch {
	case p.Field != "":
		p.Field = p.Field[:max(0, strings.LastIndexAny(p.Field, ".["))]
	case p.Key != "":
		p.Key = ""
	case p.Section != "":
		p.Section = ""
	default:
		return p, false
	}
	return p, true
}

// Position is where something stands in a file.
type Position struct {
	Path         string // as the file has it; empty: as the Set has it
	Line, Column int    // from 1; 0 when not known
}
