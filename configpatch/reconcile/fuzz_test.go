package reconcile

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// Any text, as a key and as a value at each depth, reads back as itself.
func FuzzYAML(f *testing.F) {
	for _, text := range hostile(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			t.Skip("Manifests refuses it")
		}
		key := "k"
		if len(text) < 100 { // a key in YAML has at most 1024 characters on its one line
			key += text
		}
		doc := document(object{
			{"a", text},
			{key, object{{"b", text}, {"c", list{text, object{{"d", text}, {"e", list{text}}}, "x"}}}},
			{"z", text},
		})
		var got any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &got), "%s", doc)
		require.Equal(t, map[string]any{
			"a": text,
			key: map[string]any{"b": text, "c": []any{text, map[string]any{"d": text, "e": []any{text}}, "x"}},
			"z": text,
		}, got, "%s", doc)
	})
}

// A patch, an annotation, a text in the Job's environment and the end of a
// skeleton arrive as they are, or Manifests reports an error.
func FuzzJob(f *testing.F) {
	for _, text := range hostile(f) {
		if len(text) < 20000 {
			f.Add(text, text)
		}
	}
	f.Add("a: b", "\n#${V}\n \t")
	f.Fuzz(func(t *testing.T, patch, text string) {
		const secret = "no1one.maysee.this"
		j := patchesJob()
		j.Template.StrategicPatches = [][]byte{[]byte("a: b\n" + patch)}
		j.Template.Annotations = map[string]string{"a": text}
		j.Template.Skeleton = "a: ${V}\nb: '${TOKEN}'\n# " + strings.ReplaceAll(text, "${TOKEN}", "")
		j.Template.Inputs = []Input{{"V", escape.Any, FromEnv{Value: "x" + text}}, {"TOKEN", escape.Chars("abcdefghijklmnopqrstuvwxyz.01"), FromEnv{Secret: "s", Key: "k"}}}
		o, err := Manifests(j)
		if err != nil {
			require.Empty(t, o.Bytes())
			// One of the texts must be what is wrong, not the other parts.
			without := patchesJob()
			without.Template.Skeleton, without.Template.Inputs = "a: ${V}\nb: '${TOKEN}'\n", j.Template.Inputs
			without.Template.Inputs[0].From = FromEnv{Value: "x"}
			_, err := Manifests(without)
			require.NoError(t, err)
			return
		}
		r := readManifests(t, o.Bytes()).start(t, sh(), map[string]string{"s k": secret}, cluster{})
		require.Zero(t, r.exit, r.stderr)
		require.Equal(t, 1, strings.Count(r.applied, secret))
		got := readTemplate(t, r.applied)
		require.Equal(t, j.Template.Annotations, got.Metadata.Annotations)
		require.Equal(t, j.Template.patches(), got.Spec.Template.Spec.StrategicPatches)
		data := *got.Spec.Template.Spec.Data
		first, rest, ok := strings.Cut(data, "\nb: '"+secret+"'\n")
		require.True(t, ok)
		var value map[string]string
		require.NoError(t, yaml.Unmarshal([]byte(first), &value), "%s", first)
		require.Equal(t, map[string]string{"a": "x" + text}, value)
		_, want, _ := strings.Cut(j.Template.Skeleton, "\nb: '${TOKEN}'\n")
		scalar := strings.TrimPrefix(first, "a: ")
		require.Equal(t, strings.ReplaceAll(want, "${V}", scalar), rest)
	})
}
