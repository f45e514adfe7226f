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
// what [Text] refuses are errors. One for an input that the text spells
// otherwise (${API_ADRESS}) says where.
func Skeleton(text string, inputs map[string]Form) ([]Part, error) {
	var errs []*Error
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	anyText := false
	uses, others := usesIn(text, inputs)
	for _, name := range names {
		errs = append(errs, Live(name, inputs[name]).problems()...)
		if !strings.Contains(text, "${"+name+"}") {
			errs = append(errs, unused(name, others))
		}
		anyText = anyText || inputs[name] == Any
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		errs = append(errs, nul("skeleton", i))
	}
	if i := strings.IndexByte(text, 1); i >= 0 {
		errs = append(errs, &Error{Place: "skeleton", Offset: i, Reason: "byte 0x01 cannot stand in an unquoted here-document: bash 4.4 drops it and the escape behind it", Fix: "remove it"})
	}
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

// usesIn returns the uses of inputs, and those of names that are no inputs.
func usesIn(text string, inputs map[string]Form) (uses, others []inputUse) {
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
		use := inputUse{i - 2, end + 1, text[i:end], Form{}}
		if form, declared := inputs[use.name]; declared {
			use.form = form
			uses = append(uses, use)
			i = end + 1
		} else {
			others = append(others, use)
		}
	}
	return uses, others
}

// unused is the error for an input that the text does not use. Of what the text
// has instead it shows only what reads much the same: the rest may be a secret.
func unused(name string, others []inputUse) *Error {
	for _, o := range others {
		if nearName(o.name, name) {
			return &Error{Place: "skeleton", Name: name, Offset: o.start, Reason: "the skeleton does not use this input; what it has here is ${" + o.name + "}, which is not declared",
				Fix: "write the same name in both places"}
		}
	}
	return &Error{Place: "skeleton", Name: name, Offset: -1, Reason: "the skeleton does not use this input", Fix: "write ${" + name + "} where it belongs, or do not declare it"}
}

// nearName tells whether two names differ by case and underscores alone, or by
// one character more, less or changed, or by two neighbours.
func nearName(a, b string) bool {
	plain := func(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "_", "")) }
	if a, b = plain(a), plain(b); len(a) < len(b) {
		a, b = b, a
	}
	front, back := 0, 0
	for front < len(b) && a[front] == b[front] {
		front++
	}
	for back < len(b)-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	// What is left between the two is where they differ.
	inA, inB := len(a)-front-back, len(b)-front-back
	return inA <= 1 && len(b) > 2 || inA == 2 && inB == 2 && len(b) > 3
}
