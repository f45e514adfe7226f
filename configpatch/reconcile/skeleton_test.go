package reconcile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// The values of each form that YAML could read in another way.
var treacherous = []struct {
	name   string
	form   escape.Form
	values []string
}{
	{"address", escape.Address, []string{"10.0.0.1", "fd00::", "::", "::1", "1:2:3:4:5:6:7:8", "fd00::1"}},
	{"url-host", escape.URLHost, []string{"[fd00::1]", "[::]", "192.0.2.1", "null", "true", "1e5", "0x1f", "2001-01-01", "a.example.com"}},
	{"dns-name", escape.DNSName, []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n", "1e5", "123", "0x1f", "0o7", "0b1", "1.5", "2001-01-01", "2001-01-01t00.x", "rue", "ull", "a.b", "inf", "nan"}},
	{"port", escape.Port, []string{"1", "80", "65535"}},
	{"base64", escape.Base64, []string{"null", "Null", "NULL", "true", "TRUE", "1234", "1e10", "0x1F", "+123", "/abc", "YQ==", "1234567=", "+1e5"}},
	{"base64url", escape.Base64URL, []string{"null", "true", "-123", "1234", "----", "-1e5", "1_23", "_123", "YQ==", "2001-01-01Z="}},
	{"token", escape.Token, []string{"123456.1234567890123456", "123456.12345678901234e5", "abcdef.0123456789abcdef"}},
	{"word", escape.Chars("abcdefghijklmnopqrstuvwxyz0123456789-._/+="), []string{"-", "--", "---", "...", "null", "1", ".5", "=", "+1", "rue"}},
	{"all", escape.Chars(" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"), []string{
		" ", "  a", "a ", "\"", "'", "\\", " #", "a: b", ": ", "- a", "{", "]", "<<", "~", "*a", "&a", "!a", "%", "@", "`", "|", ">", "null", "1",
	}},
	{"no quotes", escape.Chars("abcdefghijklmnopqrstuvwxyz0123456789 :#-"), []string{" ", "  a", "a ", " #a", "a: b", "a:", "- a", "-", "1", "null"}},
	{"backslash", escape.Chars(`abcdefghijklmnopqrstuvwxyz0123456789\`), []string{`a\x41`, `\`, `\n`, "1"}},
	{"text", escape.Any, []string{"", "null", "1", "a\nb", "\n\n", " # x", "\": {", "fd00::"}},
}

// contexts are places of an input, in a map and in a list.
var contexts = []string{
	"a: ${X}\n", "a: ${X} # x\n", "a: ${X}", "- ${X}\n", "- - ${X}\n", "a: [${X}, b]\n", "a: {b: ${X}}\n", "a: {b: ${X}, c: d}\n", "a: {${X}: b}\n", "a: {${X}}\n",
	"a: {b:${X}}\n", "a: \"${X}\"\n", "a: '${X}'\n", "a: \"b ${X} c\"\n", "a: 'b ${X} c'\n", "a: \"b\n  ${X}\n  c\"\n", "a: \"${X}\n  c\"\n", "a: '${X}\n  c'\n", "a: \"\n\n${X}\n   \"\n", "a: '\n${X} b\n'\n", "a: b\n  --${X} c\n", "a: 'b\n  ${X}'\n", "a: \"b\n  ${X}\"\n", "a: 1.${X}\n", "a: 2001-01-01t00:00:00.${X}\n", "a: |\n  ${X}\n  b\n", "a: |-\n  b\n  ${X}\n", "a: >\n  ${X}\n\n  b\n", "a: >-\n  b ${X} c\n  d\n",
	"a: https://${X}:6443\n", "a: https://${X}\n", "- https://${X}:6443\n", "a: [https://${X}:6443]\n", "a: ${X}/32\n", "- ${X}/128\n", "a: [${X}/128]\n", "a: ${X}:6443\n", "a: z${X}\n", "a: t${X}\n", "a: T${X}\n", "a: n${X}\n", "a: nul${X}\n",
	"a: ${X}l\n", "a: ${X}ull\n", "a: node-${X}\n", "a: ${X}-node\n", "a: ${X}.example.com\n", "a: 0${X}\n", "a: 1e${X}\n", "a: 0x${X}\n", "a: -${X}\n", "a: .${X}\n", "a: -- ${X}\n", "a: +${X}\n", "a: 2001-01-0${X}\n",
	"a: 0.0.0.0:${X}\n", "a: :${X}\n", "a: v1.${X}\n", "a: foo${X}\n", "a: foo ${X}\n", "a: foo ${X} bar\n", "a: ${X} bar\n", "a: ${X} bar: c\n", "a: foo\n  ${X}\n", "a: foo\n  ${X} bar\n", "a: 1\n  ${X}\n", "a: ${X}${X}\n", "a: ${X} ${X}\n", "a: x${X}${X}\n", "a: x${X}:${X}\n", "a: '${X}${X}'\n",
	"${X}: a\n", "x${X}: a\n", "\"${X}\": a\n", "'${X}': a\n", "? ${X}\n: a\n", "x${X} : a\n", "a: &b ${X}\nc: *b\n", "a: &${X} b\n", "a: &${X} b\nc: *${X}\n", "a: !!str ${X}\n", "a: !${X} b\n", "%TAG !${X}! tag:x\n---\na: b\n",
	"# ${X}\na: b\n", "a: b # ${X}\n", "a: # ${X}\n  b\n", "a: b\n# ${X}", "a: \"b # ${X}\"\n", "a: \"\\\\${X}\"\n", "a: \"\\${X}\"\n", "a: \"\\x${X}\"\n", "a: \"\\u00${X}\"\n", "a: |${X}\n  b\n", "a: mark0x${X}\n", "a: mark ${X} markk\n", "a: <${X}\n", "a: <<${X}\n", "<${X}: {b: c}\n", "a: ~${X}\n", "a: =${X}\n", "a: x-${X}\n", "a: ${X}=\n", "--- {a: '${X}'}\n", "a: a\n...\n# ${X}\n---\nb: c\n",
}

// wrap makes a machine configuration of a context: a skeleton is a map.
func wrap(context string) string {
	if strings.HasPrefix(context, "-") && !strings.HasPrefix(context, "---") {
		return "l:\n" + context
	}
	return context
}

// shape is a YAML stream without styles and comments.
func shape(text string) (string, error) {
	var b strings.Builder
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return b.String(), nil
		} else if err != nil {
			return "", err
		}
		var write func(n *yaml.Node)
		write = func(n *yaml.Node) {
			fmt.Fprintf(&b, "(%d %s %q %q", n.Kind, n.ShortTag(), n.Anchor, n.Value)
			for _, c := range n.Content {
				write(c)
			}
			b.WriteByte(')')
		}
		write(&doc)
	}
}

// An input that is accepted where it stands changes nothing there, whatever its value.
func TestNoValueChangesTheSkeleton(t *testing.T) {
	accepted, refused, other := 0, 0, 0
	for _, context := range contexts {
		text := wrap(context)
		for _, c := range treacherous {
			var p problems
			var sensitive bool
			p.skeleton(Template{Skeleton: text, Inputs: []Input{{Name: "X", Form: c.form, From: FromEnv{}}}}, &sensitive)
			if p != nil {
				refused++
				for _, err := range p {
					require.IsType(t, &Error{}, err)
				}
				for _, value := range c.values { // without the check, would one of them have changed something?
					if _, changed := change(text, c.form, value); changed {
						other++
						break
					}
				}
				continue
			}
			accepted++
			for _, value := range c.values {
				filled, changed := change(text, c.form, value)
				require.False(t, changed, "%s %q in %q: %q", c.name, value, text, filled)
			}
		}
	}
	t.Logf("%d places accepted; of %d refused, %d are changed by a value of the table", accepted, refused, other)
	require.Greater(t, accepted, 150)
	require.Greater(t, other, refused/2, "refused for no reason")
}

// change puts a value into a skeleton, and tells whether it is other YAML than the skeleton with a harmless value there.
func change(text string, form escape.Form, value string) (filled string, changed bool) {
	live := value
	if form == escape.Any {
		quoted, _ := escape.YAML(value)
		live = quoted
	}
	filled = strings.ReplaceAll(text, "${X}", live)
	stand := "placeholder"
	if form == escape.Port { // a number is what it is to be
		stand = "4711"
	}
	want, err := shape(strings.ReplaceAll(text, "${X}", stand))
	if err != nil {
		return filled, true
	}
	want = strings.ReplaceAll(want, stand, strings.Trim(fmt.Sprintf("%q", value), `"`))
	got, err := shape(filled)
	return filled, err != nil || got != want
}

func TestPlaces(t *testing.T) {
	const (
		alone = " may be any text, and stands in quotes or beside other text (want it as the whole of a value, without quotes)"
		other = " may be read as a number, a date, true or null (want quotes around the whole of it)"
		colon = " may be an IPv6 address with a colon first or last, which makes a map (want quotes around the whole of it)"
		list  = " may be an IPv6 address in brackets, which makes a list (want quotes around the whole of it)"
	)
	for _, c := range []struct{ skeleton, want string }{
		{"a: ${TEXT}\nb: [${TEXT}]\nc: {d: ${TEXT}} # ${TEXT}\n", ""},
		{"a: foo${TEXT}\nb:\n  - z${TEXT}\nc: '${TEXT}'\n", "skeleton: line 1: offset 6: ${TEXT}" + alone + "\nskeleton: line 3: offset 22: ${TEXT}" + alone + "\nskeleton: line 4: offset 34: ${TEXT}" + alone},
		{"${TEXT}: a\n", "skeleton: line 1: ${TEXT} may be long, and stands in a key (want it in a value: a key has at most 1024 characters)"},
		{"a: |\n  x\n  ${TEXT}\n", "skeleton: line 3: offset 11: ${TEXT}" + alone},
		{"a: https://${IP}:6443\nb: \"${IP}\"\nc: |\n  ${IP}\nd: ${IP}/128\n", ""},
		{"a:\n  - ${IP}\n  - x ${IP} y\n  - [ '${IP}', ${IP}/32 ]\n", "skeleton: line 2: offset 7: ${IP}" + colon + "\nskeleton: line 3: offset 19: ${IP}" + colon + "\nskeleton: line 4: offset 42: ${IP}" + colon},
		{"a: https://${HOST}:6443\nb: \"${HOST}\"\nc: ${HOST}:80\nd: [https://${HOST}]\n", "skeleton: line 3: offset 40: ${HOST}" + list + "\nskeleton: line 4: offset 63: ${HOST}" + list},
		{"a: ${NAME}\n", "skeleton: line 1: offset 3: ${NAME}" + other},
		{"a: ${TOKEN}\nb: \"${TOKEN}\"\n", "skeleton: line 1: offset 3: ${TOKEN}" + other},
		{"a: t${NAME}\nb: 1${PORT}\nc: ${PORT}\nd: 127.0.0.1:${PORT}\n", "skeleton: line 1: offset 4: ${NAME}" + other + "\nskeleton: line 2: offset 16: ${PORT}" + other},
		{"a: &${NAME} b\nc: !${NAME} d\n", "skeleton: line 1: offset 4: ${NAME} in an anchor, an alias or a tag (want it within a value)\nskeleton: line 2: offset 18: ${NAME} in an anchor, an alias or a tag (want it within a value)"},
	} {
		j := patchesJob()
		j.Template.StrategicPatches, j.Template.Skeleton = nil, c.skeleton
		for _, in := range []Input{
			{"TEXT", escape.Any, FromEnv{Value: "x"}}, {"IP", escape.Address, FromEnv{Value: "fd00::"}}, {"NAME", escape.DNSName, FromEnv{Value: "a"}}, {"HOST", escape.URLHost, FromEnv{Value: "[fd00::1]"}},
			{"TOKEN", escape.Token, FromEnv{Value: talosToken}}, {"PORT", escape.Port, FromEnv{Value: "80"}},
		} {
			if strings.Contains(c.skeleton, "${"+in.Name+"}") {
				j.Template.Inputs = append(j.Template.Inputs, in)
			}
		}
		_, err := Manifests(j)
		if c.want == "" {
			require.NoError(t, err, c.skeleton)
			continue
		}
		require.EqualError(t, err, c.want, c.skeleton)
	}
}

// The words that stand in for inputs are in no skeleton, whatever it says.
func TestMarks(t *testing.T) {
	for _, text := range []string{"a: mark0x", "a: markmarkk${X}mar${X}k0x", "mar${X}${X}", "${", "${X", "${Y}${X}${${X}}", ""} {
		marked, m := markInputs(text, []Input{{Name: "X"}})
		require.Equal(t, strings.Count(text, "${X}"), len(m.all), text)
		require.Len(t, m.in(marked), len(m.all), marked)
		require.Equal(t, text, m.word.ReplaceAllString(marked, "$${X}"))
		for i, k := range m.in(marked) {
			require.Same(t, m.all[i], k)
			require.True(t, strings.HasPrefix(text[k.offset:], "${X}"))
		}
	}
}

// A secret is seen behind an alias too, and x is no input's value but text.
func TestSensitiveSkeleton(t *testing.T) {
	for text, want := range map[string]Transport{
		"a: &p made-up\nauth:\n  password: *p\n": InSecret,
		"a: &k password\n*k : made-up\n":         InSecret,
		"token: x\n":                             InSecret,
		"token: \"${X}\"\n":                      InCommand,
		"a: &p \"${X}\"\ntoken: *p\n":            InCommand,
		"token: \"Bearer ${X}\"\n":               InSecret,
	} {
		j := patchesJob()
		j.Template.StrategicPatches, j.Template.Skeleton = nil, text+"# ${X}\n"
		j.Template.Inputs = []Input{{"X", escape.Token, FromEnv{Secret: "s", Key: "k"}}}
		o := mustManifests(t, j)
		require.Equal(t, want, o.Transport(), text)
		if !strings.Contains(text, "${X}") {
			j.Template.Skeleton, j.Template.Inputs = "", nil
			j.Template.StrategicPatches = [][]byte{[]byte(text)}
			require.Equal(t, want, mustManifests(t, j).Transport(), text)
		}
	}
}

// Final newlines of what kubectl reads are part of the text, decoded or not.
func TestFinalNewlines(t *testing.T) {
	j := patchesJob()
	j.Template.StrategicPatches, j.Template.Skeleton = nil, "a: ${A}\nb: ${B}\nc: \"${C}\"\n"
	j.Template.Inputs = []Input{
		{Name: "A", From: FromSecret{Name: "s", Key: "k", Decode: true}},
		{"B", escape.Any, FromJSONPath{Resource: "configmaps", Name: "c", JSONPath: "{.data.b}"}},
		{"C", escape.Address, FromJSONPath{Resource: "configmaps", Name: "c", JSONPath: "{.data.c}"}},
	}
	p := readManifests(t, mustManifests(t, j).Bytes())
	for _, text := range []string{"a\n\n", "\n", "\n\nx", "x", "x\n", "é\n\n\n"} {
		c := cluster{fields: map[string]string{
			"tenant-a secret s {.data.k}":     b64(text),
			"tenant-a configmaps c {.data.b}": text,
			"tenant-a configmaps c {.data.c}": "192.0.2.1\n",
		}}
		shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
			r := p.start(t, sh, nil, c)
			require.Zero(t, r.exit, r.stderr)
			var got map[string]string
			require.NoError(t, yamlUnmarshal(*readTemplate(t, r.applied).Spec.Template.Spec.Data, &got))
			require.Equal(t, map[string]string{"a": text, "b": text, "c": "192.0.2.1"}, got)
		})
	}
}

// A decoded Secret of which the base64 is longer than one argument ends the script where printf is a program, and is
// carried elsewhere.
func TestLargeSecret(t *testing.T) {
	j := patchesJob()
	j.Template.StrategicPatches, j.Template.Skeleton = nil, "a: ${A}\n"
	j.Template.Inputs = []Input{{Name: "A", From: FromSecret{Name: "s", Key: "k", Decode: true}}}
	p := readManifests(t, mustManifests(t, j).Bytes())
	for _, n := range []int{escape.MaxArgument / 4 * 3, escape.MaxArgument/4*3 + 3} {
		text := strings.Repeat("a", n)
		c := cluster{fields: map[string]string{"tenant-a secret s {.data.k}": b64(text)}}
		shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
			r := p.start(t, sh, nil, c)
			if n > escape.MaxArgument/4*3 && strings.Contains("mksh posh", sh.Name) && r.exit != 0 {
				require.Equal(t, 1, r.exit)
				require.Empty(t, r.applied)
				require.Contains(t, r.stderr, "Argument list too long")
				return
			}
			require.Zero(t, r.exit, r.stderr)
			require.Equal(t, "a: \""+text+"\"\n", *readTemplate(t, r.applied).Spec.Template.Spec.Data)
		})
	}
}

// FuzzPlaces puts an input into any text: where it is accepted, no value changes the text as YAML.
func FuzzPlaces(f *testing.F) {
	for _, context := range contexts {
		for i := range treacherous {
			f.Add(wrap(context), byte(i), byte(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, form, value byte) {
		c := treacherous[int(form)%len(treacherous)]
		v := c.values[int(value)%len(c.values)]
		if !strings.Contains(text, "${X}") || strings.Contains(text, "placeholder") || strings.Contains(text, "4711") || !utf8.ValidString(text) {
			t.Skip("no input in it, or words that the test itself puts in")
		}
		var p problems
		var sensitive bool
		p.skeleton(Template{Skeleton: text, Inputs: []Input{{Name: "X", Form: c.form, From: FromEnv{}}}}, &sensitive)
		if p != nil {
			return
		}
		filled, changed := change(text, c.form, v)
		require.False(t, changed, "%s %q in %q: %q", c.name, v, text, filled)
	})
}
