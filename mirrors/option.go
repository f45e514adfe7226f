package mirrors

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// ForTalos says which Talos release the nodes run: "1.13", "v1.13", "v1.13.9" or a
// pre-release such as "v1.14.0-beta.1", which counts as its release. A version
// without a patch number is the first of its line. Check then finds what that
// release does not know. A text that is no version is itself an error finding.
func ForTalos(version string) CheckOption {
	return func(c *checker) {
		v, err := parseVersion(version)
		if err != nil {
			c.report("version-feature", SeverityError, Place{}, err.Error(), "want a version such as v1.13.9")
			return
		}
		c.version = v
	}
}

// WithImageCache says that the nodes have Talos's image cache, which stands
// before every mirror.
func WithImageCache() CheckOption { return func(c *checker) { c.imageCache = true } }

// InForm says in which form Talos gets the Set: "legacy" (machine.registries) or
// "documents" (RegistryMirrorConfig and its kind). The default is what
// the release of [ForTalos] suggests: documents from 1.12.2 on.
func InForm(form string) CheckOption { return func(c *checker) { c.form = form } }

// At is the time at which certificates have to be valid; the default is now.
func At(t time.Time) CheckOption { return func(c *checker) { c.now = t } }

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
