//lint:file-ignore SA1019 Talos deprecates machine.registries, which is the legacy form.

package configpatch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// A witness is a configuration that a patch is tried on, and the Set that it
// must keep beside the patch's own. Each has something that is not about
// registries, which must stay too.
type witness struct {
	name string
	data []byte
	keep mirrors.Set
}

const (
	witnessHead     = "version: v1alpha1\ncluster: {}\n"
	witnessNetwork  = "    network:\n        hostname: witness\n"
	witnessDocument = "---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: witness\nurl: tcp://192.0.2.1:514/\n"
)

func emptyWitness() witness {
	return witness{name: "an empty machine", data: []byte(witnessHead + "machine:\n" + witnessNetwork + witnessDocument)}
}

// machineOf is a v1alpha1 document with a Set in it.
func machineOf(set mirrors.Set) []byte {
	return slices.Concat([]byte(witnessHead), render(set, Legacy), []byte(witnessNetwork))
}

// foreignWitness has an entry of each kind that the Set does not name, in
// every form that the version knows.
func foreignWitness(set mirrors.Set, v Version) witness {
	free := func(name string) string {
		for {
			_, m := set.Mirrors[name]
			_, c := set.Config[name]
			if !m && !c {
				return name
			}
			name = "x" + name
		}
	}
	legacy, document := free("legacy.other.example.com"), free("document.other.example.com")
	entry := func(name string) mirrors.Set {
		return mirrors.Set{
			Mirrors: map[string]mirrors.Mirror{name: {Endpoints: []mirrors.Endpoint{{URL: "https://" + name + "/v2/a", OverridePath: true}}, SkipFallback: true}},
			Config: map[string]mirrors.HostConfig{name: {
				Auth: &mirrors.Auth{Username: "other"},
				TLS:  &mirrors.TLS{InsecureSkipVerify: true},
			}},
		}
	}
	w := witness{name: "a machine with entries of others", keep: entry(legacy)}
	w.data = machineOf(w.keep)
	if !v.below(1, 12, 0) {
		w.data = append(w.data, "---\n"...)
		w.data = append(w.data, render(entry(document), Documents)...)
		w.keep = union(w.keep, entry(document))
	}
	w.data = append(w.data, witnessDocument...)
	return w
}

func union(a, b mirrors.Set) mirrors.Set {
	u := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for _, s := range []mirrors.Set{a, b} {
		maps.Copy(u.Mirrors, s.Mirrors)
		maps.Copy(u.Config, s.Config)
	}
	return u
}

// prove applies the patches to the witness and compares what comes out: the
// Set, with the hosts that say nothing, is all that may have changed.
func prove(w witness, set mirrors.Set, patches ...Patch) error {
	base, err := load(w.data)
	if err != nil {
		return &Error{Reason: "proof: cannot load " + w.name, Err: err}
	}
	result, data, err := apply(w.data, patches...)
	if err != nil {
		return &Error{Reason: "proof: machinery refuses the patch on " + w.name, Err: err}
	}
	got, err := readProvider(result, data)
	if err != nil {
		return &Error{Reason: "proof: cannot read the result on " + w.name, Err: err}
	}
	want := said(set)
	if len(w.keep.Mirrors)+len(w.keep.Config) > 0 {
		want = union(w.keep, want)
	}
	if err := sameSet(got.Set, want); err != nil {
		return &Error{Reason: "proof: on " + w.name + " the patch gives another set", Err: err}
	}
	var named []Change
	for name := range set.Mirrors {
		named = append(named, Change{Kind: KindMirror, Name: name})
	}
	for host := range set.Config {
		named = append(named, Change{Kind: KindAuth, Name: host}, Change{Kind: KindTLS, Name: host})
	}
	if err := restUnchanged(base, result, named); err != nil {
		return err
	}
	return validates(base, result)
}

// sameSet names the entries in which two Sets differ, not what they hold.
func sameSet(got, want mirrors.Set) error {
	if got.Equal(want) {
		return nil
	}
	var p problems
	for _, name := range slices.Sorted(maps.Keys(union(got, want).Mirrors)) {
		g, okG := got.Mirrors[name]
		w, okW := want.Mirrors[name]
		if okG != okW || !g.Equal(w) {
			p.add(KindMirror.path(name), "", "not as it should be")
		}
	}
	for _, host := range slices.Sorted(maps.Keys(union(got, want).Config)) {
		g, okG := got.Config[host]
		w, okW := want.Config[host]
		if okG != okW || !g.Equal(w) {
			p.add(hostPath(host), "", "not as it should be")
		}
	}
	return p.err()
}

// restUnchanged compares two configurations without the entries that change:
// every other document has to be there, in its order, with its values.
func restUnchanged(before, after config.Provider, changes []Change) error {
	touched := map[Change]bool{}
	for _, c := range changes {
		touched[Change{Kind: c.Kind, Name: c.Name}] = true
	}
	a, err := encodeRest(before, touched)
	if err != nil {
		return &Error{Reason: "proof: machinery cannot encode the configuration", Err: withoutValues(err, encoded(before))}
	}
	b, err := encodeRest(after, touched)
	if err != nil {
		return &Error{Reason: "proof: machinery cannot encode the result", Err: withoutValues(err, encoded(after))}
	}
	if !slices.EqualFunc(a, b, bytes.Equal) {
		return &Error{Reason: "proof: the patch changes something else in the configuration"}
	}
	return nil
}

func encodeRest(cfg config.Provider, touched map[Change]bool) (out [][]byte, err error) {
	defer recovered(&err)
	for _, doc := range cfg.Documents() {
		switch d := doc.(type) {
		case *v1alpha1.Config:
			d = d.DeepCopy()
			if d.MachineConfig == nil {
				d.MachineConfig = &v1alpha1.MachineConfig{}
			}
			r := &d.MachineConfig.MachineRegistries
			maps.DeleteFunc(r.RegistryMirrors, func(name string, _ *v1alpha1.RegistryMirrorConfig) bool {
				return touched[Change{Kind: KindMirror, Name: name}]
			})
			for host, c := range r.RegistryConfig {
				auth, tls := touched[Change{Kind: KindAuth, Name: host}], touched[Change{Kind: KindTLS, Name: host}]
				if auth {
					c.RegistryAuth = nil
				}
				if tls {
					c.RegistryTLS = nil
				}
				if (auth || tls) && c.RegistryAuth == nil && c.RegistryTLS == nil {
					delete(r.RegistryConfig, host)
				}
			}
			doc = d
		case interface{ Name() string }:
			gone := false
			for k := KindMirror; k <= KindTLS; k++ {
				gone = gone || doc.Kind() == k.document() && touched[Change{Kind: k, Name: d.Name()}]
			}
			if gone {
				continue
			}
		}
		data, err := encoder.NewEncoder(doc, encoder.WithComments(encoder.CommentsDisabled)).Encode()
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}

// encoded is a configuration as text, as much of it as machinery can write.
func encoded(cfg config.Provider) (data []byte) {
	var err error
	defer recovered(&err)
	data, _ = cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	return data
}

// metalMode is the mode in which Talos validates a configuration for bare metal.
type metalMode struct{}

func (metalMode) String() string        { return "metal" }
func (metalMode) RequiresInstall() bool { return true }
func (metalMode) InContainer() bool     { return false }

// validates reports what Validate says about the result and did not say about
// the base. The registry documents' own Validate is part of it.
func validates(base, result config.Provider) error {
	before, err := validate(base)
	if err != nil {
		return &Error{Reason: "proof: machinery cannot validate the configuration", Err: withoutValues(err, encoded(base))}
	}
	after, err := validate(result)
	if err != nil {
		return &Error{Reason: "proof: machinery cannot validate the result", Err: withoutValues(err, encoded(result))}
	}
	var p problems
	for _, text := range after {
		if !slices.Contains(before, text) {
			text = withoutValues(errors.New(text), encoded(result)).Error()
			p = append(p, &Error{Reason: "Talos would refuse the result: " + text})
		}
	}
	return p.err()
}

func validate(cfg config.Provider) (lines []string, err error) {
	defer recovered(&err)
	if raw := cfg.RawV1Alpha1(); raw != nil && raw.MachineConfig == nil {
		// Without a machine Validate stops early, and what it says about an empty
		// one would be new when the patch brings one.
		if cfg, err = cfg.PatchV1Alpha1(func(c *v1alpha1.Config) error {
			c.MachineConfig = &v1alpha1.MachineConfig{}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	_, invalid := cfg.Validate(metalMode{})
	if invalid == nil {
		return nil, nil
	}
	for line := range strings.SplitSeq(invalid.Error(), "\n") {
		line = strings.TrimPrefix(strings.TrimSpace(line), "* ")
		if line != "" && !strings.HasSuffix(line, "errors occurred:") && !strings.HasSuffix(line, "error occurred:") {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func load(data []byte) (cfg config.Provider, err error) {
	defer func() { err = withoutValues(err, data) }()
	defer recovered(&err)
	return configloader.NewFromBytes(data)
}

func loadPatch(data []byte) (patch configpatcher.Patch, err error) {
	defer func() { err = withoutValues(err, data) }()
	defer recovered(&err)
	patch, err = configpatcher.LoadPatch(data)
	if err != nil {
		return nil, err
	}
	if _, ok := patch.(configpatcher.StrategicMergePatch); !ok {
		return nil, errors.New("machinery takes it for a JSON 6902 patch")
	}
	return patch, nil
}

// apply returns the configuration after the patches: as it was encoded, and
// loaded again from that, as a node does.
func apply(base []byte, patches ...Patch) (result config.Provider, data []byte, err error) {
	defer func() {
		texts := [][]byte{base}
		for _, p := range patches {
			texts = append(texts, p.data)
		}
		err = withoutValues(err, texts...)
	}()
	defer recovered(&err)
	loaded := make([]configpatcher.Patch, len(patches))
	for i, p := range patches {
		if loaded[i], err = loadPatch(p.data); err != nil {
			return nil, nil, err
		}
	}
	out, err := configpatcher.Apply(configpatcher.WithBytes(bytes.Clone(base)), loaded)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := out.Config()
	if err != nil {
		return nil, nil, err
	}
	data, err = cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return nil, nil, err
	}
	if len(data) == 0 {
		return nil, nil, errors.New("nothing is left of the configuration, and Talos loads no empty one")
	}
	result, err = configloader.NewFromBytes(data)
	return result, data, err
}

// recovered turns a panic of machinery into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("machinery panics: %v", r)
	}
}
