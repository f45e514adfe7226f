package configpatch

import "github.com/mirrorpatch/mirrorpatch/mirrors"

// Option changes what [Merge], [Replace] and [Converge] do.
type Option func(*options)

type options struct {
	form       Form
	imageCache bool
}

// WithForm insists on a form, where [FormFor] would choose by the version.
func WithForm(f Form) Option { return func(o *options) { o.form = f } }

// WithImageCache says that the nodes have Talos's image cache enabled, which
// makes a mirror with skipFallback and no endpoints mean "from the cache only".
func WithImageCache() Option { return func(o *options) { o.imageCache = true } }

func collect(v Version, opts []Option) (options, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	var p problems
	switch {
	case v.IsZero():
		p.add("version", "the older version of client and node, such as v1.13", "not set")
	case v.below(1, 3, 0):
		p.add("version", "1.3 or later", "Talos %s is not supported", v)
	}
	switch o.form {
	case 0:
		o.form = FormFor(v)
	case Legacy, Documents:
	default:
		p.add("form", "Legacy or Documents", "unknown form %d", int(o.form))
	}
	if o.form == Documents && !v.IsZero() && v.below(1, 12, 0) {
		p.add("form", "1.12.0 or later, or the legacy form", "Talos %s has no registry documents", v)
	}
	return o, p.err()
}

func (o options) checkOptions() []mirrors.CheckOption {
	if o.imageCache {
		return []mirrors.CheckOption{mirrors.WithImageCache()}
	}
	return nil
}
