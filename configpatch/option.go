package configpatch

// Option changes what [Merge], [Replace] and [Converge] do. A nil one changes
// nothing.
type Option func(*options)

type options struct {
	form          Form
	insist        bool // the form was asked for
	imageCache    bool
	section       bool
	documentsOnly bool
	own           map[string]bool // nil: everything
}

// WithForm insists on a form, where [FormFor] would choose by the version.
func WithForm(f Form) Option { return func(o *options) { o.form, o.insist = f, true } }

// WithImageCache says that the nodes have Talos's image cache enabled, which
// makes a mirror with skipFallback and no endpoints mean "from the cache only".
func WithImageCache() Option { return func(o *options) { o.imageCache = true } }

// WithSection makes [Replace] replace the whole of machine.registries, entries
// of others included: legacy form only.
func WithSection() Option { return func(o *options) { o.section = true } }

// DocumentsOnly makes [Replace] emit nothing for the v1alpha1 document, for a
// configuration that has none: documents form only. Without it, such a
// configuration would get a v1alpha1 document that does not validate. A warning
// of [Replacement] says what each of the two does where the other is wanted.
func DocumentsOnly() Option { return func(o *options) { o.documentsOnly = true } }

// Own says which keys are the caller's in [Converge], mirror and config keys
// alike. An owned key that the Set does not name is removed from the
// configuration; every other key stays as it is. "*" is the mirror "*", not a
// pattern. Without this option every registry entry is the caller's.
func Own(names ...string) Option {
	return func(o *options) {
		if o.own == nil {
			o.own = map[string]bool{}
		}
		for _, name := range names {
			o.own[name] = true
		}
	}
}

func (o options) owns(name string) bool { return o.own == nil || o.own[name] }

func collect(v Version, opts []Option) options {
	var o options
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	if !o.insist {
		o.form = FormFor(v)
	}
	return o
}
