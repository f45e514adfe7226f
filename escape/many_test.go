package escape

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// TestManyBodies executes random here-documents, literal text and live
// variables mixed, in each shell. MIRRORPATCH_BODIES says how many in all;
// MIRRORPATCH_SEED changes them.
func TestManyBodies(t *testing.T) {
	total, seed := 9000, uint64(1)
	if v := os.Getenv("MIRRORPATCH_BODIES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		total = n
	}
	if v := os.Getenv("MIRRORPATCH_SEED"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		t.Parallel()
		bodies := total / 9
		random := rand.New(rand.NewPCG(seed, uint64(len(sh.Name))<<8|uint64(sh.Name[0])))
		valid := excepted(sh.Name, "heredoc", "\xff")
		executed, refused := 0, 0
		for executed < bodies {
			values := map[string]string{}
			assignments := ""
			for _, name := range []string{"APP_A", "APP_B", "APP_C"} {
				v := randomText(random, valid)
				values[name] = v
				assignments += name + "=" + string(AppendWord(nil, v)) + "\n"
			}
			var batch []fragment
			for len(batch) < 1000 && executed+len(batch) < bodies {
				var parts []Part
				want := ""
				for n := 1 + random.IntN(4); n > 0; n-- {
					if random.IntN(3) == 0 {
						name := []string{"APP_A", "APP_B", "APP_C"}[random.IntN(3)]
						parts = append(parts, Live(name, Port))
						want += values[name]
					} else {
						s := randomText(random, valid)
						parts = append(parts, Text(s))
						want += s
					}
				}
				parts = append(parts, Text("\n"))
				doc, err := Heredoc(Lit("show"), parts...)
				if err != nil {
					refused++
					continue
				}
				source, _, _ := render(doc, nil, "")
				batch = append(batch, fragment{fmt.Sprintf("body %d", executed+len(batch)), source, want + "\n"})
			}
			for _, bad := range failuresAfter(t, sh, assignments, batch) {
				t.Errorf("%s\nwith %s", bad, assignments)
			}
			if t.Failed() {
				return
			}
			executed += len(batch)
		}
		t.Logf("%d bodies executed, %d refused", executed, refused)
	})
}

// failuresAfter runs the fragments behind a start that all of them need. Only
// when they fail together is the start put before each.
func failuresAfter(t testing.TB, sh shelltest.Shell, start string, fragments []fragment) []string {
	batch := make([]fragment, 0, len(fragments))
	var source, want strings.Builder
	for _, f := range fragments {
		source.WriteString(f.source)
		want.WriteString(f.want)
	}
	batch = append(batch, fragment{"all", start + source.String(), want.String()})
	if failures(t, sh, batch) == nil {
		return nil
	}
	batch = batch[:0]
	for _, f := range fragments {
		batch = append(batch, fragment{f.name, start + f.source, f.want})
	}
	return failures(t, sh, batch)
}

var randomAtoms = []string{"$", "$", "`", "`", "\\", "\\", "\n", "\n", "'", "\"", "\t", " ", "E", "EOF", "A", "AEOF", "E0", "(id)", "(", ")", "{APP_A}", "APP_A", "{", "}", "((1+1))", "[1+1]", "=", "^", "~", "+", ":-x}", "{{ .x }}", "!", "!!", "#", "*", "?", "<<EOF", "<<-E", ";", "&", "|", "é", "\u0085", "\u2028", "\u3000", "\U0001f600", "\r", "\x7f", "\x02", "\x1b", "%s", "\\n", "\\0", "-n", "--", "a", "b\n", "x: y\n", "---\n"}

// randomText is a few atoms and bytes that a body can hold, valid UTF-8 if it must be.
func randomText(r *rand.Rand, valid bool) string {
	var b strings.Builder
	for n := r.IntN(9); n > 0; n-- {
		switch c := byte(r.IntN(256)); {
		case r.IntN(5) > 0:
			b.WriteString(randomAtoms[r.IntN(len(randomAtoms))])
		case c > 1 && (!valid || c < utf8.RuneSelf):
			b.WriteByte(c)
		}
	}
	return b.String()
}
