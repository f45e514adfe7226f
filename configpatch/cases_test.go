package configpatch_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

var (
	writeCases = flag.String("write-cases", "", "file for cases that another version of machinery is to judge")
	forMinor   = flag.Int("minor", 12, "the Talos 1.x that they are for")
)

// A judgedCase is a configuration and sequences of patches. Whatever machinery
// applies them, each sequence has to give what machinery 1.13.9 makes of the first.
type judgedCase struct {
	Name      string     `json:"name"`
	Base      string     `json:"base"`
	Sequences [][]string `json:"sequences"`
	Want      string     `json:"want"`
}

// TestWriteCases writes generated patches for the tests of the older machinery
// versions: two versions cannot be in one program, and it is the client's that
// applies a patch.
func TestWriteCases(t *testing.T) {
	if *writeCases == "" {
		t.Skip("only writes a file: -write-cases FILE")
	}
	file, err := os.Create(*writeCases)
	require.NoError(t, err)
	out := json.NewEncoder(file)
	for n := range *cases {
		judged := func(kind string, base []byte, patch string) []byte {
			after := applyPatches(t, base, patch)
			require.NoError(t, out.Encode(judgedCase{fmt.Sprint(kind, " ", n), string(base), [][]string{{patch}}, string(after)}))
			return after
		}
		m := newMaker(n)
		m.minor = *forMinor
		v := version(t, map[int]string{11: "1.11.6", 12: "1.12.5"}[*forMinor])
		form := configpatch.Legacy
		if m.minor >= 12 && m.chance(60) {
			form = configpatch.Documents
		}

		set, b := m.replaceCase(t, form)
		opts := []configpatch.Option{configpatch.WithForm(form)}
		if !b.legacy {
			opts = append(opts, configpatch.DocumentsOnly())
		}
		if form == configpatch.Legacy && m.chance(50) {
			opts = append(opts, configpatch.WithSection())
		}
		if r, err := configpatch.Replace(set, v, opts...); err == nil {
			p := r.Patches.Strings()
			c := judgedCase{fmt.Sprint("replace ", n), string(b.data), [][]string{p, slices.Concat(p, p), slices.Concat(p[:1], p), slices.Concat(p[:2], p)}, ""}
			c.Want = string(applyPatches(t, b.data, p...))
			require.NoError(t, out.Encode(c))
		}

		// A configuration that has none of the Set's keys, as Merge wants it.
		if form == configpatch.Documents || b.legacy { // without v1alpha1 the legacy form makes a stub of it
			set = over(set, mirrors.Set{}, has(effective(t, b.data)))
			if patch, err := configpatch.Merge(set, v, configpatch.WithForm(form)); err == nil {
				judged("merge", b.data, string(patch.Bytes()))
			} else {
				require.ErrorContains(t, err, "no entry")
			}
		}

		b = m.base(t, m.set(true, true, 30), m.set(false, true, 20))
		before := effective(t, b.data)
		set = m.near(before, true)
		if set.Check().Err() != nil {
			continue
		}
		opts, kind := []configpatch.Option{configpatch.WithForm(form)}, "converge"
		if m.chance(50) {
			var names []string
			for _, k := range slices.Concat(registries, httpsHosts, httpHosts) {
				if m.chance(60) {
					names = append(names, k)
				}
			}
			foreign := func(_, k string) bool { return !slices.Contains(names, k) }
			set = over(set, mirrors.Set{}, foreign)
			opts, kind = append(opts, configpatch.Own(names...)), "own"
		}
		if m.minor == 12 && m.chance(50) {
			v = version(t, "1.12.4") // endpoints are not deleted by their URL
		}
		plan, err := configpatch.Converge(b.data, set, v, opts...)
		if err != nil {
			none := form == configpatch.Legacy && strings.Contains(err.Error(), "no v1alpha1 document")
			empty := len(set.Mirrors) == 0 && strings.Contains(err.Error(), "nothing is left")
			require.True(t, !b.legacy && (none || empty), "%v", err)
		} else if plan.Patch != nil {
			after := judged(kind, b.data, string(plan.Patch.Bytes()))
			again, err := configpatch.Converge(after, set, v, opts...)
			require.NoError(t, err)
			require.Nil(t, again.Patch)
		}

		// Migrate makes one patch, and the node of the older version reads the result.
		if m.minor == 12 {
			after, err := configpatch.Migrate(b.data)
			require.NoError(t, err)
			require.NoError(t, out.Encode(judgedCase{fmt.Sprint("migrate ", n), string(after), [][]string{{}}, string(b.data)}))
		}
	}
	require.NoError(t, file.Close())
}
