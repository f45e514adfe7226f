package cozystack

import (
	"bytes"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Option says what Write makes.
type Option func(*options)

type options struct{ platform bool }

// ForPlatform makes Write write the platform's registries instead of
// talos.registryMirrors.
func ForPlatform() Option { return func(o *options) { o.platform = true } }

type values struct {
	Talos struct {
		RegistryMirrors map[string]mirrorValues `yaml:"registryMirrors"`
	} `yaml:"talos"`
}

type mirrorValues struct {
	Endpoints    []string `yaml:"endpoints"`
	OverridePath bool     `yaml:"overridePath,omitempty"`
	SkipFallback bool     `yaml:"skipFallback,omitempty"`
}

// Write makes values.yaml with nothing but the registries, sorted: values to
// give to a chart beside others, with a second --values.
func Write(set mirrors.Set, opts ...Option) (convert.Files, convert.Report, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if err := set.Check().Err(); err != nil {
		return nil, convert.Report{}, err
	}
	w := &writer{set: set}
	var out any
	if o.platform {
		out = w.platform()
	} else {
		out = w.chart()
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(out); err != nil {
		return nil, convert.Report{}, &mirrors.Error{Findings: mirrors.Findings{{Rule: "encoding", Severity: mirrors.SeverityError,
			Message: "a value cannot be written as YAML", Fix: "want UTF-8"}}, Err: err}
	}
	return convert.Files{"values.yaml": b.Bytes()}, w.Report, nil
}

type writer struct {
	tree.Losses
	set mirrors.Set
}

// chart makes talos.registryMirrors, which goes into machine.registries as it
// is: one overridePath for a mirror.
func (w *writer) chart() values {
	var out values
	out.Talos.RegistryMirrors = map[string]mirrorValues{}
	for _, key := range tree.Keys(w.set.Mirrors) {
		m := w.set.Mirrors[key]
		v := mirrorValues{Endpoints: []string{}, SkipFallback: m.SkipFallback}
		v.OverridePath = override(m.Endpoints)
		for i, e := range m.Endpoints {
			as := e
			as.OverridePath = v.OverridePath
			if tree.APIPath(as) != tree.APIPath(e) {
				w.Add(convert.Loss, "mirrors", key, tree.EndpointField(i), "talos.registryMirrors has one overridePath for a mirror, and it does not fit this endpoint", "want endpoints that all need it, or none")
				continue
			}
			v.Endpoints = append(v.Endpoints, e.URL)
		}
		out.Talos.RegistryMirrors[key] = v
	}
	for _, key := range tree.Keys(w.set.Config) {
		w.Add(convert.Loss, "config", key, "", "the charts have no place for credentials and TLS settings", "patch the nodes instead")
	}
	return out
}

// override is the overridePath that fits the most endpoints, or the first of
// them when both fit as many.
func override(es []mirrors.Endpoint) bool {
	fits := map[bool]int{}
	for _, e := range es {
		for _, b := range []bool{false, true} {
			as := e
			as.OverridePath = b
			if tree.APIPath(as) == tree.APIPath(e) {
				fits[b]++
			}
		}
	}
	if fits[true] == fits[false] && len(es) > 0 {
		return es[0].OverridePath
	}
	return fits[true] > fits[false]
}
