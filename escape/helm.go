package escape

// Helm is s as text of a Helm template: the template prints s and runs
// nothing. Each { becomes {{"{"}}, also one that is alone, since a live action
// may follow it. The text must stand outside of any action, and no action
// beside it may trim ({{- or -}}).
func Helm(s string) string { return string(AppendHelm(nil, s)) }

// AppendHelm appends what [Helm] writes to dst.
func AppendHelm(dst []byte, s string) []byte { return helmText.append(dst, s, "") }

var helmText = newReplacing('{', `{{"{"}}`)
