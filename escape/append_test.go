package escape

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// encoders are the AppendX functions, and what a plain loop makes of a byte.
var encoders = []struct {
	name    string
	append  func(dst []byte, s string) []byte
	byte    func(c byte) string
	around  string
	special string
}{
	{"Heredoc", AppendHeredoc, func(c byte) string {
		if c == '\\' || c == '$' || c == '`' {
			return "\\" + string([]byte{c})
		}
		return string([]byte{c})
	}, "", "\\$`"},
	{"Kubelet", AppendKubelet, func(c byte) string {
		if c == '$' {
			return "$$"
		}
		return string([]byte{c})
	}, "", "$"},
	{"Word", AppendWord, func(c byte) string {
		if c == '\'' {
			return `'\''`
		}
		return string([]byte{c})
	}, "'", "'"},
	{"YAML", AppendYAML, yamlByte(""), "\"", "\"\\\n"},
	{"YAMLChart", func(dst []byte, s string) []byte { return appendYAML(dst, s, true) }, yamlByte("{<"), "\"", "\"\\\n{<"},
	{"Helm", AppendHelm, func(c byte) string {
		if c == '{' {
			return `{{"{"}}`
		}
		return string([]byte{c})
	}, "", "{"},
}

// yamlByte is what stands in a YAML scalar for a byte of ASCII.
func yamlByte(more string) func(c byte) string {
	return func(c byte) string {
		switch short := strings.IndexByte("\n\t\r\"\\", c); {
		case short >= 0:
			return "\\" + `ntr"\`[short:short+1]
		case c < ' ' || c == 0x7f || strings.IndexByte(more, c) >= 0:
			return fmt.Sprintf("\\x%02x", c)
		}
		return string([]byte{c})
	}
}

func plain(s string, each func(byte) string, around string) string {
	var b strings.Builder
	b.WriteString(around)
	if around == "\"" { // YAML: characters, not bytes
		for _, r := range s {
			switch {
			case r < utf8.RuneSelf:
				b.WriteString(each(byte(r)))
			case r <= 0xffff:
				fmt.Fprintf(&b, "\\u%04x", r)
			default:
				fmt.Fprintf(&b, "\\U%08x", r)
			}
		}
		return b.String() + around
	}
	for i := range len(s) {
		b.WriteString(each(s[i]))
	}
	b.WriteString(around)
	return b.String()
}

// TestAppend: the encoders give what a plain loop gives, for special bytes at
// every place of a word and of a stretch, behind what is in dst, within exactly
// the room that is needed.
func TestAppend(t *testing.T) {
	var inputs []string
	for n := range 40 {
		clean := strings.Repeat("a", n)
		inputs = append(inputs, clean)
		for i := range n {
			for _, c := range []string{"\\", "$", "`", "'", "{", "\xdc", "\xa4", "]", "[", "%", "#", "\"", "\n", "\x1f", "\x7f", "~", "<", "!", "\x00", "\x80", "é", "\U0001f600"} {
				inputs = append(inputs, clean[:i]+c+clean[i+1:], clean[:i]+c+c+clean[i+1:], clean[:i]+c+"!"+clean[i+1:], strings.Repeat(c, n))
			}
		}
	}
	for _, n := range []int{2040, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 10000} {
		for _, c := range []string{"\\", "$", "`", "'", "{"} {
			inputs = append(inputs, strings.Repeat("a", n), strings.Repeat("a", n)+c, c+strings.Repeat("b", n), strings.Repeat(c, n), strings.Repeat("ab"+c, n/3))
		}
	}
	for _, in := range corpus(t) {
		inputs = append(inputs, in.s)
	}
	for _, e := range encoders {
		for _, s := range inputs {
			want := plain(s, e.byte, e.around)
			if got := string(e.append(nil, s)); got != want {
				t.Fatalf("%s: %.80q: got %.100q", e.name, s, got)
			}
			exact := make([]byte, 3, 3+len(want))
			copy(exact, "pre")
			got := e.append(exact, s)
			if string(got) != "pre"+want || &got[0] != &exact[0] {
				t.Fatalf("%s: %.80q: behind pre: got %.100q, same buffer %v", e.name, s, got, &got[0] == &exact[0])
			}
			roomy := bytes.Repeat([]byte{'#'}, 8*len(s)+10)
			if got := e.append(roomy[:0], s); string(got) != want {
				t.Fatalf("%s: %.80q: in a large buffer: got %.100q", e.name, s, got)
			}
			if end := roomy[len(want):]; strings.Trim(string(end), "#") != "" {
				t.Fatalf("%s: %.80q: writes behind its end", e.name, s)
			}
		}
	}
}

func TestAppendAllocates(t *testing.T) {
	s := manifest(100_000, 100, "\\$`'{")
	dst := make([]byte, 0, 200_000)
	for _, e := range append(encoders[:len(encoders):len(encoders)], encoders[0]) {
		if n := testing.AllocsPerRun(10, func() { dst = e.append(dst[:0], s) }); n != 0 {
			t.Errorf("%s: %v allocations", e.name, n)
		}
	}
}

// manifest is n bytes with a special byte in each every; 0 is none.
func manifest(n, every int, special string) string {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: registries\n  namespace: tenant-a\ndata:\n  endpoint: https://mirror.example.com:5000/v2\n"
	b := bytes.Repeat([]byte(text), n/len(text)+1)[:n]
	for i, k := 0, 0; every > 0 && i < n; i, k = i+every, k+1 {
		b[i] = special[k%len(special)]
	}
	return string(b)
}

// BenchmarkAppend measures the encoders beside what else one could write, each
// behind the same call, and beside a copy.
func BenchmarkAppend(b *testing.B) {
	for _, e := range encoders {
		var pairs []string
		for i := range len(e.special) {
			pairs = append(pairs, e.special[i:i+1], e.byte(e.special[i]))
		}
		replacer := strings.NewReplacer(pairs...)
		var table [256]string
		var special [256]bool
		for c := range 256 {
			table[c] = e.byte(byte(c))
			special[c] = len(table[c]) > 1
		}
		for _, in := range []struct {
			name string
			s    string
		}{
			{"sparse", manifest(100_000, 100, e.special)},
			{"clean", manifest(100_000, 0, e.special)},
			{"oneline", strings.ReplaceAll(manifest(100_000, 0, e.special), "\n", " ")},
			{"tenth", manifest(100_000, 10, e.special)},
			{"third", manifest(100_000, 3, e.special)},
			{"special", manifest(100_000, 1, e.special)},
			{"short", manifest(40, 20, e.special)},
			{"shortclean", manifest(40, 0, e.special)},
			{"word", manifest(12, 0, e.special)},
			{"tiny", manifest(5, 3, e.special)},
		} {
			dst := make([]byte, 0, 8*len(in.s)+2)
			for _, way := range []struct {
				name   string
				append func(dst []byte, s string) []byte
			}{
				{"escape", e.append},
				{"NewReplacer", func(dst []byte, s string) []byte {
					return append(append(append(dst, e.around...), replacer.Replace(s)...), e.around...)
				}},
				{"ReplaceAll", func(dst []byte, s string) []byte {
					for i := 0; i < len(pairs); i += 2 {
						s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
					}
					return append(append(append(dst, e.around...), s...), e.around...)
				}},
				{"table", func(dst []byte, s string) []byte {
					dst = append(dst, e.around...)
					for i := 0; i < len(s); i++ {
						dst = append(dst, table[s[i]]...)
					}
					return append(dst, e.around...)
				}},
				{"loop", func(dst []byte, s string) []byte {
					dst = append(dst, e.around...)
					for i := 0; i < len(s); i++ {
						if special[s[i]] {
							dst = append(dst, table[s[i]]...)
						} else {
							dst = append(dst, s[i])
						}
					}
					return append(dst, e.around...)
				}},
				{"memcpy", func(dst []byte, s string) []byte { return append(dst, s...) }},
			} {
				b.Run(e.name+"/"+in.name+"/"+way.name, func(b *testing.B) {
					b.SetBytes(int64(len(in.s)))
					for b.Loop() {
						dst = way.append(dst[:0], in.s)
					}
				})
			}
		}
	}
}
