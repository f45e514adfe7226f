package convert

import (
	"maps"
	"slices"
)

// Files is what a writer made: slash-separated names, relative to the folder
// that the format lives in, and contents. A certificate or a key that the Set
// holds is a file beside the file that names it.
//
// A file may hold credentials or a private key: mode 0600 is right for all.
type Files map[string][]byte

// Names returns the names, sorted.
func (f Files) Names() []string { return slices.Sorted(maps.Keys(f)) }
