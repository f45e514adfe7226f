package escape

import "fmt"

// Script is a whole POSIX shell script, made by [Program]. The zero value is
// no script: it has no bytes, and every method that returns an error refuses it.
//
// yash 2.52 reads a script by the locale of its environment, and needs a UTF-8
// one and valid UTF-8. With -c it otherwise runs nothing, and exits with status
// 0: a failure of which only its standard error tells.
type Script struct {
	text string
}

// Program puts the parts one behind the other, with nothing between them, and
// makes them a script. Before them stand:
//
//	LC_ALL=C
//	export LC_ALL
//	set -eu
//
// then the functions that this script needs, and the checks of all live
// variables that no [Assign] computes: the environment must provide them. A
// value that does not have its form stops the script with a message on
// standard error, without the value, and exit status 1.
//
// The error names everything that is wrong in all parts. A variable with two
// forms, and one that is used before it is assigned, are errors too.
func Program(parts ...Shell) (Script, error) {
	whole := Join(parts...)
	errs := whole.errs

	type live struct {
		variable Variable
		assigned bool
		yaml     bool
	}
	known := map[string]*live{}
	var order []*live
	computed := map[string]bool{}
	for _, seg := range whole.segments {
		if seg.kind == assigned {
			computed[seg.variable.name] = true
		}
	}
	twice := map[string]bool{}
	for _, seg := range whole.segments {
		if seg.kind != use && seg.kind != assigned {
			continue
		}
		name := seg.variable.name
		v := known[name]
		if v == nil {
			v = &live{variable: seg.variable}
			known[name] = v
			order = append(order, v)
			if seg.kind == use && computed[name] {
				errs = append(errs, &Error{Place: "program", Name: name, Offset: -1, Reason: "used before it is assigned", Fix: "put the Assign first"})
			}
		}
		if v.variable.form != seg.variable.form && !twice[name] {
			twice[name] = true
			errs = append(errs, &Error{Place: "program", Name: name, Offset: -1, Reason: fmt.Sprintf("two forms: %s, and %s", v.variable.form.want, seg.variable.form.want), Fix: "use one form, or two variables"})
		}
		v.assigned = v.assigned || seg.kind == assigned
		v.yaml = v.yaml || seg.yaml
	}
	if len(errs) > 0 {
		return Script{}, together(errs)
	}

	out := []byte("LC_ALL=C\nexport LC_ALL\nset -eu\n")
	yaml := false
	for _, v := range order {
		yaml = yaml || v.yaml
	}
	if len(order) > 0 {
		out = append(out, refuseFunction...)
	}
	if yaml {
		out = append(out, yamlFunction...)
	}
	check := func(v *live) {
		out = append(out, v.variable.form.source(v.variable.name)...)
		if v.yaml {
			out = append(out, yamlCall(v.variable.name)...)
		}
	}
	for _, v := range order {
		if v.assigned {
			// What the environment has under this name was never checked.
			out = append(out, "unset "+v.variable.name+"\n"...)
		} else {
			check(v)
		}
	}
	for _, seg := range whole.segments {
		out = append(out, seg.text...)
		if seg.kind == assigned {
			check(known[seg.variable.name])
		}
	}
	if out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return Script{string(out)}, nil
}

// Bytes is the script as it stands in a file, such as a key of a ConfigMap that
// a container mounts.
func (s Script) Bytes() []byte { return []byte(s.text) }

// String is the same as a string. It is not for a container's command: that is
// what [Script.Kubelet] is for.
func (s Script) String() string { return s.text }
