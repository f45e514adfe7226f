package escape

import "strings"

// Helm is s as text of a Helm template: the template prints s and runs
// nothing. Each { becomes {{"{"}}, also one that is alone, since a live action
// may follow it. The text must stand outside of any action, and no action
// beside it may trim ({{- or -}}).
//
// An s that holds <no value> is an error, since no template can print that:
// Helm 3.22.0 deletes it from what a template has printed. It does so too where
// the text and what stands beside it in the template make it together. NUL is
// an error as everywhere: Helm would print it, and no YAML reader takes it.
func Helm(s string) (string, error) {
	var errs []*Error
	if i := strings.IndexByte(s, 0); i >= 0 {
		errs = append(errs, nul("helm", i))
	}
	if i := strings.Index(s, noValue); i >= 0 {
		errs = append(errs, &Error{Place: "helm", Offset: i, Reason: noValue + ", which Helm deletes from what a template prints", Fix: "carry the data as base64, or as a value through toJson"})
	}
	if errs != nil {
		return "", together(errs)
	}
	return string(AppendHelm(nil, s)), nil
}

const noValue = "<no value>"

// AppendHelm appends what [Helm] writes to dst. It does not refuse what Helm
// refuses.
func AppendHelm(dst []byte, s string) []byte { return helmText.append(dst, s) }

var helmText = newReplacing("", '{', `{{"{"}}`)
