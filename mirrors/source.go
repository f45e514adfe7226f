package mirrors

import "strings"

// Source is a [Set] with the places it was read from.
type Source struct {
	Set Set

	prefix    string // path in the file of the root, or of the mirrors
	embedded  bool   // prefix stands for "mirrors"
	positions map[Place]Position
}

// NewSource makes a Source for a reader of another format, which says with
// [Source.Mark] where it found what.
func NewSource(set Set) *Source { return &Source{Set: set, positions: map[Place]Position{}} }

// Mark says where a field stands in the file.
func (s *Source) Mark(p Place, at Position) {
	if s.positions == nil {
		s.positions = map[Place]Position{}
	}
	s.positions[p] = at
}

// Position returns where the field stands, or, when it is not written, what is around
// it. The path is always that of the field itself, unless Mark gave one.
func (s *Source) Position(p Place) Position {
	at, ok := s.positions[p]
	for up := p; !ok; {
		if up, ok = up.parent(); !ok {
			break
		}
		at, ok = s.positions[up]
		if ok && at.Path != "" {
			return at
		}
	}
	if at.Path == "" {
		at.Path = s.path(p)
	}
	return at
}

func (s *Source) path(p Place) string {
	path := p.String()
	switch {
	case s.prefix == "":
		return path
	case s.embedded:
		return s.prefix + strings.TrimPrefix(path, "mirrors")
	case path == "":
		return s.prefix
	}
	return s.prefix + "." + path
}

// Check is [Set.Check] with the line, the column and the path of each finding as the
// file has them, in the order of the file.
func (s *Source) Check(opts ...CheckOption) Findings {
	if s == nil {
		return nil
	}
	return s.locate(newChecker(s.Set, opts).run())
}

func (s *Source) locate(found []finding) Findings {
	fs := make(Findings, len(found))
	for i, f := range found {
		at := s.Position(f.place)
		fs[i] = f.Finding
		fs[i].Path, fs[i].Line, fs[i].Column = at.Path, at.Line, at.Column
	}
	fs.sort()
	return fs
}
