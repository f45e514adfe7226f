package mirrors

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// CheckOption tells more about the nodes than the Set does.
type CheckOption func(*facts)

// facts is what the options say.
type facts struct {
	version    talosVersion // zero: not said
	badVersion error
	form       string
	imageCache bool
	now        time.Time
}

func newFacts(opts []CheckOption) facts {
	f := facts{now: time.Now()}
	for _, o := range opts {
		o(&f)
	}
	return f
}

// ForTalos says which Talos release the nodes run: "1.13", "v1.13", "v1.13.9" or a
// pre-release such as "v1.14.0-beta.1", which counts as its release. A version
// without a patch number is the first of its line. Check then finds what that
// release does not know. A text that is no version is itself an error finding.
func ForTalos(version string) CheckOption {
	return func(f *facts) { f.version, f.badVersion = parseVersion(version) }
}

// WithImageCache says that the nodes have Talos's image cache, which stands
// before every mirror.
func WithImageCache() CheckOption { return func(f *facts) { f.imageCache = true } }

// InForm says in which form Talos gets the Set: "legacy" (machine.registries) or
// "documents" (RegistryMirrorConfig and its kind). The default is what
// the release of [ForTalos] suggests: documents from 1.12.2 on.
func InForm(form string) CheckOption { return func(f *facts) { f.form = form } }

// At is the time at which certificates have to be valid; the default is now.
func At(t time.Time) CheckOption { return func(f *facts) { f.now = t } }

var versionText = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[-+][0-9A-Za-z.+-]+)?$`)

func parseVersion(s string) (talosVersion, error) {
	m := versionText.FindStringSubmatch(s)
	if m == nil {
		return talosVersion{}, fmt.Errorf("%q is not a Talos version", s)
	}
	var v talosVersion
	v.major, _ = strconv.Atoi(m[1])
	v.minor, _ = strconv.Atoi(m[2])
	v.patch, _ = strconv.Atoi(m[3])
	return v, nil
}

// talosVersion is a release of Talos.
type talosVersion struct{ major, minor, patch int }

func (v talosVersion) known() bool { return v != talosVersion{} }

func (v talosVersion) before(major, minor, patch int) bool {
	return v.known() && cmp.Or(cmp.Compare(v.major, major), cmp.Compare(v.minor, minor), cmp.Compare(v.patch, patch)) < 0
}

func (v talosVersion) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

// inForm returns "legacy", "documents" or "" when it is not known.
func (f facts) inForm() string {
	switch {
	case f.form != "" || !f.version.known():
		return f.form
	case f.version.before(1, 12, 2):
		return "legacy"
	}
	return "documents"
}
