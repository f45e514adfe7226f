package escape

import (
	"slices"
	"strings"
)

// Skeleton reads a text that the programmer keeps in a file as the body of a
// here-document: ${NAME} of a declared input becomes live, everything else is
// literal, ${NAME} of a name that is not declared too. An input of form [Any]
// stands there as its YAML scalar ([Variable.YAML]).
//
// In YAML, write double quotes around an input of another form, or put it
// beside text that makes a string of any value: see [Live].
//
// No untrusted text belongs into a skeleton: what it says in ${…} would become
// live. An input that the text does not use, an invalid name and the zero Form
// are errors.
func Skeleton(text string, inputs map[string]Form) ([]Part, error) {
	var errs []*Error
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		errs = append(errs, Live(name, inputs[name]).problems()...)
		if !strings.Contains(text, "${"+name+"}") {
			errs = append(errs, &Error{Place: "skeleton", Name: name, Offset: -1, Reason: "the skeleton does not use this input", Fix: "write ${" + name + "} where it belongs, or do not declare it"})
		}
	}
	if len(errs) > 0 {
		return nil, together(errs)
	}
	var parts []Part
	start := 0
	for i := 0; i < len(text); {
		n := strings.Index(text[i:], "${")
		if n < 0 {
			break
		}
		i += n
		name, _, closed := strings.Cut(text[i+2:], "}")
		form, declared := inputs[name]
		if !closed || !declared {
			i += 2
			continue
		}
		if start < i {
			parts = append(parts, Text(text[start:i]))
		}
		if v := Live(name, form); form == Any {
			parts = append(parts, v.YAML())
		} else {
			parts = append(parts, v)
		}
		i += len(name) + 3
		start = i
	}
	if start < len(text) {
		parts = append(parts, Text(text[start:]))
	}
	return parts, nil
}
