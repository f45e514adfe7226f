package escape

import (
	"slices"
	"strings"
)

// Skeleton reads a text that the programmer keeps in a file as the body of a
// here-document: ${NAME} of a declared input becomes live, everything else is
// literal, ${NAME} of a name that is not declared too.
//
// An input of form [Any] stands there as its YAML scalar ([Variable.YAML]). It
// must be the whole of a key, of a value or of a list's item: one within
// quotes and one beside other text are errors, since the value could end the
// scalar there. The text is read as YAML for that, in which a literal block may
// hold YAML again.
//
// In YAML, write double quotes around an input of another form, or put it
// beside text that makes a string of any value: see [Live].
//
// No untrusted text belongs into a skeleton: what it says in ${…} would become
// live. An input that the text does not use, an invalid name, the zero Form and
// what [Text] refuses are errors.
func Skeleton(text string, inputs map[string]Form) ([]Part, error) {
	var errs []*Error
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	anyText := false
	for _, name := range names {
		errs = append(errs, Live(name, inputs[name]).problems()...)
		if !strings.Contains(text, "${"+name+"}") {
			errs = append(errs, &Error{Place: "skeleton", Name: name, Offset: -1, Reason: "the skeleton does not use this input", Fix: "write ${" + name + "} where it belongs, or do not declare it"})
		}
		anyText = anyText || inputs[name] == Any
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		errs = append(errs, nul("skeleton", i))
	}
	if i := strings.IndexByte(text, 1); i >= 0 {
		errs = append(errs, &Error{Place: "skeleton", Offset: i, Reason: "byte 0x01 cannot stand in an unquoted here-document: bash 4.4 drops it and the escape behind it", Fix: "remove it"})
	}
	uses := usesIn(text, inputs)
	if anyText {
		errs = append(errs, misplaced(text, uses)...)
	}
	if len(errs) > 0 {
		return nil, together(errs)
	}
	var parts []Part
	start := 0
	for _, u := range uses {
		if start < u.start {
			parts = append(parts, Text(text[start:u.start]))
		}
		if v := Live(u.name, u.form); u.form == Any {
			parts = append(parts, v.YAML())
		} else {
			parts = append(parts, v)
		}
		start = u.end
	}
	if start < len(text) {
		parts = append(parts, Text(text[start:]))
	}
	return parts, nil
}

// inputUse is ${NAME} of a declared input in a skeleton.
type inputUse struct {
	start, end int
	name       string
	form       Form
}

func usesIn(text string, inputs map[string]Form) []inputUse {
	var uses []inputUse
	for i := 0; i < len(text); {
		n := strings.Index(text[i:], "${")
		if n < 0 {
			break
		}
		i += n + 2
		end := i
		for end < len(text) && isNameByte(text[end]) {
			end++
		}
		if end == len(text) || text[end] != '}' {
			continue
		}
		if form, declared := inputs[text[i:end]]; declared {
			uses = append(uses, inputUse{i - 2, end + 1, text[i:end], form})
			i = end + 1
		}
	}
	return uses
}
