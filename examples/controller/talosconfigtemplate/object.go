package talosconfigtemplate

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var place = []string{"spec", "template", "spec"}

// Read takes what matters out of a TalosConfigTemplate of either version. The
// error is an *Error: the object is not of that shape.
func Read(object map[string]any) (t Template, err error) {
	spec, ok, err := unstructured.NestedMap(object, place...)
	if err != nil || !ok {
		return t, &Error{Path: "spec.template.spec", Reason: "not there", Fix: "a TalosConfigTemplate"}
	}
	for _, field := range []struct {
		name string
		into *string
	}{{"generateType", &t.GenerateType}, {"talosVersion", &t.TalosVersion}, {"data", &t.Data}} {
		if *field.into, _, err = unstructured.NestedString(spec, field.name); err != nil {
			return t, &Error{Path: at + field.name, Reason: "not a string"}
		}
	}
	if t.StrategicPatches, _, err = unstructured.NestedStringSlice(spec, "strategicPatches"); err != nil {
		return t, &Error{Path: at + "strategicPatches", Reason: "not a list of strings"}
	}
	operations, _, err := unstructured.NestedSlice(spec, "configPatches")
	if err != nil {
		return t, &Error{Path: at + "configPatches", Reason: "not a list"}
	}
	for _, operation := range operations {
		fields, _ := operation.(map[string]any)
		path, _, err := unstructured.NestedString(fields, "path")
		if err != nil || fields == nil {
			return t, &Error{Path: at + "configPatches", Reason: "not a list of RFC 6902 operations"}
		}
		t.ConfigPatches = append(t.ConfigPatches, path)
	}
	t.Annotation, _, err = unstructured.NestedString(object, "metadata", "annotations", Annotation)
	if err != nil {
		return t, &Error{Path: "metadata.annotations", Reason: "not strings"}
	}
	return t, nil
}

// Write puts strategicPatches, data and the annotation into the object that t was
// read from, and leaves out what is empty; nothing else changes.
func (t Template) Write(object map[string]any) error {
	was, err := Read(object)
	if err != nil {
		return err
	}
	set := func(value any, empty bool, path ...string) {
		if err != nil {
			return
		}
		if empty {
			unstructured.RemoveNestedField(object, path...)
			return
		}
		err = unstructured.SetNestedField(object, value, path...)
	}
	if !slices.Equal(was.StrategicPatches, t.StrategicPatches) {
		list := make([]any, len(t.StrategicPatches))
		for i, patch := range t.StrategicPatches {
			list[i] = patch
		}
		set(list, len(list) == 0, append(slices.Clone(place), "strategicPatches")...)
	}
	if was.Data != t.Data {
		set(t.Data, t.Data == "", append(slices.Clone(place), "data")...)
	}
	if was.Annotation != t.Annotation {
		set(t.Annotation, t.Annotation == "", "metadata", "annotations", Annotation)
	}
	return err
}
