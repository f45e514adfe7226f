package configpatch_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
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
	v := version(t, map[int]string{11: "1.11.6", 12: "1.12.5"}[*forMinor])
	file, err := os.Create(*writeCases)
	require.NoError(t, err)
	out := json.NewEncoder(file)
	for n := range *cases {
		m := newMaker(n)
		m.minor = *forMinor
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

		b = m.base(t, m.set(true, true, 30), m.set(false, true, 20))
		set = m.near(effective(t, b.data), true)
		if set.Check().Err() != nil {
			continue
		}
		plan, err := configpatch.Converge(b.data, set, v, configpatch.WithForm(form))
		if err != nil || plan.Patch == nil {
			continue // the property tests say which errors there may be
		}
		p := string(plan.Patch.Bytes())
		require.NoError(t, out.Encode(judgedCase{fmt.Sprint("converge ", n), string(b.data), [][]string{{p}}, string(applyPatches(t, b.data, p))}))
	}
	require.NoError(t, file.Close())
}
