package reconcile

import (
	"cmp"
	"slices"
)

// rules returns, for each namespace, the rules of a Role that allow what the
// script does there, and nothing else.
func (t Template) rules() map[string]list {
	const resource = "talosconfigtemplates"
	rules := map[string]list{
		t.Namespace: {
			// An object that is not there yet has no name to allow it by.
			rule(apiGroup, resource, "", "create"),
			rule(apiGroup, resource, t.Name, t.verbs()...),
		},
	}
	type object struct{ group, resource, namespace, name string }
	var read []object
	for _, in := range t.Inputs {
		switch f := in.From.(type) {
		case FromSecret:
			read = append(read, object{"", "secrets", cmp.Or(f.Namespace, t.Namespace), f.Name})
		case FromJSONPath:
			group, plural := f.resource()
			read = append(read, object{group, plural, cmp.Or(f.Namespace, t.Namespace), f.Name})
		}
	}
	slices.SortFunc(read, func(a, b object) int {
		return cmp.Or(
			cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.group, b.group),
			cmp.Compare(a.resource, b.resource), cmp.Compare(a.name, b.name),
		)
	})
	for _, o := range slices.Compact(read) {
		rules[o.namespace] = append(rules[o.namespace], rule(o.group, o.resource, o.name, "get"))
	}
	return rules
}

func rule(group, resource, name string, verbs ...string) object {
	r := object{{"apiGroups", list{group}}, {"resources", list{resource}}}
	if name != "" {
		r = append(r, field{"resourceNames", list{name}})
	}
	var vs list
	for _, v := range verbs {
		vs = append(vs, v)
	}
	return append(r, field{"verbs", vs})
}
