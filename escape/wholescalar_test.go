package escape

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	yamlv3 "gopkg.in/yaml.v3"
)

// TestWholeScalar: where an input of form Any may stand in a skeleton.
func TestWholeScalar(t *testing.T) {
	for _, c := range []struct {
		text, want string // what the error says, or nothing
	}{
		{"k: ${X_X}", ""},
		{"${X_X}", ""},
		{"  ${X_X}: 1\n", ""},
		{"k:\n  ${X_X}\n", ""},
		{"k: ${X_X} # why\nl: ${X_X}\n", ""},
		{"k:\n- ${X_X}\n- l: ${X_X}\n  m: ${X_X}\n", ""},
		{"- - ${X_X}\n  - ? ${X_X}\n    : ${X_X}\n", ""},
		{"k: {a: ${X_X}, b: [${X_X}, ${X_X} ], ${X_X}: c}\nl: ${X_X}\n", ""},
		{`{"k":${X_X},"l":[${X_X}]}`, ""},
		{"k: \"it's\"\nl: 'a ''\"'\nm: ${X_X}\n", ""},
		{"k: it's \"so\"\nl: ${X_X}\n", ""},
		{"# don't\nk: ${X_X}\n", ""},
		{"k: a # don't\nl: ${X_X}\n", ""},
		{"k: &a !!str ${X_X}\nl: *a\nm: ${X_X}\n", ""},
		{"k: |\n  'tis {\n\n  all\nl: ${X_X}\n", ""},
		{"patches:\n  - |-2 # one\n    k: ${X_X}\n    l:\n      - ${X_X}\n  - ${X_X}\n", ""},
		{"--- # one\nk: a\n---\n${X_X}\n", ""},
		{"k: a\n  b\nl: ${X_X}\n", ""},
		{"k: \"a\n\n  b\"\nl: ${X_X}\r\nm: ${X_X}\r\n", ""},
		{"# ${X_X}\nk: a # ${X_X}\n", ""},
		{"k: ${OTHER}\nl: ${X_X}\n", ""},
		{"k: http://a:80/#b\nl: ${X_X}\n", ""},

		{"m: {k: \"${X_X}\"}\n", "within quotes"},
		{"m: {k: '${X_X}'}\n", "within quotes"},
		{"k: \"a\\\"${X_X}\"\n", "within quotes"},
		{"k: \"a\\${X_X}\"\n", "within quotes"},
		{"k: 'a''${X_X}'\n", "within quotes"},
		{"k: \"a\n  - ${X_X}\"\n", "within quotes"},
		{"k: [\"a, b: ${X_X}\"]\n", "within quotes"},
		{"k: a${X_X}\n", "beside other text"},
		{"k: a ${X_X}\n", "beside other text"},
		{"k: ${X_X}a\n", "beside other text"},
		{"k: ${X_X} a\n", "beside other text"},
		{"k: ${X_X}#\n", "beside other text"},
		{"k: ${X_X}:\n  a", ""}, // YAML refuses it
		{"k: ${X_X}:a\n", "beside other text"},
		{"k: ${X_X}\n  a\n", "beside other text"},
		{"k: a\n  ${X_X}\n", "beside other text"},
		{"m: {k: a\n - ${X_X}}\n", "beside other text"},
		{"m: {k: a - ${X_X}}\n", "beside other text"},
		{"m: {k: - ${X_X}}\n", "beside other text"},
		{"k: a, ${X_X}\n", "beside other text"},
		{"k: a[${X_X}]\n", "beside other text"},
		{"k: \"\"${X_X}\n", "beside other text"},
		{"k: ${X_X}''\n", "beside other text"},
		{"k: ${X_X}${X_X}\n", "beside other text"},
		{"k: !${X_X}\n", "beside other text"},
		{"k: *${X_X}\n", "beside other text"},
		{"k:${X_X}\n", "beside other text"},
		{"- a\n  - ${X_X}\n", "beside other text"},
		{"k: |\n  echo ${X_X}\n", "beside other text"},
		{"k: |\n  ${X_X}\n", "all the text of a block"},
		{"k: >-\n\n  ${X_X}\n", "all the text of a block"},
		{"# a\u2028k: ${X_X}\n", "U+2028"},
		{"# a\rk: ${X_X}\n", "U+000D"},
		{"!!str : a\n  ${X_X}\n", "beside other text"},
		{"&x l: a\n   ${X_X}\n", "beside other text"},
		{"k: &x\n  l: a\n   ${X_X}\n", "beside other text"},
	} {
		_, err := Skeleton(c.text, map[string]Form{"X_X": Any})
		if c.want == "" && err != nil || !strings.Contains(errorText(err), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
		checkWhole(t, c.text)
	}
}

// checkWhole: what Skeleton takes is the same document with every value.
func checkWhole(t testing.TB, text string) (taken bool) {
	t.Helper()
	if _, err := Skeleton(text, map[string]Form{"X_X": Any}); err != nil {
		return false
	}
	with := func(value string) (any, error) {
		decoder := yamlv3.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "${X_X}", string(AppendYAML(nil, value)))))
		var all []any
		for {
			var v any
			if err := decoder.Decode(&v); errors.Is(err, io.EOF) {
				return all, nil
			} else if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
	}
	plain, err := with("VALUE")
	if err != nil {
		return false // what is no YAML says so with every value
	}
	want := fmt.Sprintf("%#v", plain)
	for _, value := range []string{", evil: ", "', evil: '", " # dropped", "}, evil, {", "evil: b", "- evil", "\nevil\n", "\nevil: 1\n", "] evil [", "\\evil\\", "\"evil\"", "'evil'"} {
		v, err := with(value)
		// Within a literal block the scalar is text.
		got := fmt.Sprintf("%#v", inserted(v, value))
		if err != nil || got != want {
			t.Errorf("%q with %q: %v\n got %s\nwant %s", text, value, err, got, want)
		}
	}
	return true
}

// inserted is v with VALUE where value is.
func inserted(v any, value string) any {
	switch v := v.(type) {
	case string:
		if v == value {
			return "VALUE"
		}
		return strings.ReplaceAll(v, string(AppendYAML(nil, value)), `"VALUE"`)
	case []any:
		for i := range v {
			v[i] = inserted(v[i], value)
		}
	case map[string]any:
		for k, x := range v {
			delete(v, k)
			v[inserted(k, value).(string)] = inserted(x, value)
		}
	case map[any]any:
		for k, x := range v {
			delete(v, k)
			v[inserted(k, value)] = inserted(x, value)
		}
	}
	return v
}

// TestWholeScalarRandom asks yaml.v3 about random texts.
func TestWholeScalarRandom(t *testing.T) {
	atoms := []string{"k: ", "l: ", "- ", "? ", ": ", "\n", "\n", "\n  ", "\n  ", "\n    ", " ", "{", "}", "[", "]", ", ", ",", "\"", "'", "''", "\\", "a", "b c", "#", " # ", "|\n  ", ">-\n    ", "&x ", "!!str ", "*x", "---\n", "${X_X}", "${X_X}", "${X_X}", "${X_X}", "k: ${X_X}\n", "- ${X_X}\n", "{k: ${X_X}}", "\t", "\r\n", "\u2028", "\u0085", "%", "...\n", ":"}
	random := rand.New(rand.NewPCG(3, 4))
	taken := 0
	for range 60000 {
		var b strings.Builder
		for n := 1 + random.IntN(12); n > 0; n-- {
			b.WriteString(atoms[random.IntN(len(atoms))])
		}
		if checkWhole(t, b.String()) {
			taken++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d texts were taken, and are the same with every value", taken)
	if taken < 1000 {
		t.Error("too few")
	}
}

// TestSkeletonTime: eight times the skeleton takes far less than 64 times as
// long, whatever it is made of.
func TestSkeletonTime(t *testing.T) {
	for _, unit := range []string{"${", "${A", "{", "[a, ", "a: ", "\"", "- ", "&", "|\n", " |\n  a: |\n"} {
		least := func(size int) time.Duration {
			s := strings.Repeat(unit, size/len(unit)) + "\n---\n${X_X}\n"
			best := time.Duration(math.MaxInt64)
			for range 5 {
				start := time.Now()
				_, _ = Skeleton(s, map[string]Form{"X_X": Any})
				best = min(best, time.Since(start))
			}
			return best
		}
		small, large := max(least(50_000), time.Millisecond), least(400_000)
		if large > 40*small {
			t.Errorf("%q: %v instead of %v", unit, large, small)
		}
	}
}
