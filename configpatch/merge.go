package configpatch

import (
	"maps"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Merge returns one strategic-merge patch that adds the Set to a configuration
// which has none of its keys yet, such as one that is being generated. Talos
// appends lists when it merges, so on a configuration that has a key already,
// or applied twice, the endpoints double: use [Replace] or [Converge] there.
//
// The patch is proven before it is returned: machinery applies it to an empty
// machine and to one with registry entries of others in both forms, and the
// result must read back as the Set, with those others unchanged.
//
// A host with neither credentials nor TLS settings says nothing to Talos and is
// left out. A Set that says nothing at all is an error.
func Merge(set mirrors.Set, v Version, opts ...Option) (Patch, error) {
	o := collect(v, opts)
	if err := checkSet(set, v, o).err(); err != nil {
		return Patch{}, err
	}
	set = said(set)
	if len(set.Mirrors) == 0 && len(set.Config) == 0 {
		return Patch{}, &Error{Reason: "the set has no entry, and Talos refuses an empty patch", Fix: "at least one mirror or host"}
	}
	patch := Patch{name: "mirrors.yaml", data: render(set, o.form)}
	for _, base := range []witness{emptyWitness(), foreignWitness(set, v)} {
		if err := prove(base, set, patch); err != nil {
			return Patch{}, err
		}
	}
	return patch, nil
}

// said returns the Set without the hosts that say nothing. It shares its
// values with set.
func said(set mirrors.Set) mirrors.Set {
	silent := func(_ string, c mirrors.HostConfig) bool { return c.Auth == nil && c.TLS == nil }
	config := maps.Clone(set.Config)
	maps.DeleteFunc(config, silent)
	return mirrors.Set{Mirrors: set.Mirrors, Config: config}
}
