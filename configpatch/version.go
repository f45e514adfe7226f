package configpatch

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is a version of Talos: what decides which form of the registry
// configuration can be used and what it can say. A patch is applied by the
// client (talosctl, a provider) and read by the node, so the version that
// counts is the older of the two: see [Oldest].
//
// The zero value is no version; every function here refuses it.
type Version struct {
	major, minor, patch int
	pre                 string
}

var versionShape = regexp.MustCompile(`^v?(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})(?:\.(0|[1-9][0-9]{0,5})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?)?$`)

// ParseVersion reads "1.13", "v1.13", "v1.13.9" or "v1.14.0-alpha.2". A
// version without a patch number is the first of its line: "1.13" is 1.13.0.
// The error is an [*Error].
func ParseVersion(s string) (Version, error) {
	m := versionShape.FindStringSubmatch(s)
	if m == nil {
		return Version{}, &Error{Path: "version", Reason: fmt.Sprintf("cannot read %q", clip(s)), Fix: "a Talos version such as v1.13 or v1.13.9"}
	}
	for id := range strings.SplitSeq(m[4], ".") {
		if len(id) > 1 && id[0] == '0' && isDigits(id) {
			return Version{}, &Error{Path: "version", Reason: fmt.Sprintf("cannot read %q: leading zero in the pre-release", clip(s)), Fix: "a Talos version such as v1.14.0-alpha.2"}
		}
	}
	var v Version
	v.major, _ = strconv.Atoi(m[1]) // the shape allows six digits, which fit
	v.minor, _ = strconv.Atoi(m[2])
	v.patch, _ = strconv.Atoi(m[3]) // empty is 0
	v.pre = m[4]
	return v, nil
}

// String returns "v1.13.9"; ParseVersion reads it back to the same Version.
// For the zero value it returns "no version".
func (v Version) String() string {
	if v.IsZero() {
		return "no version"
	}
	s := fmt.Sprintf("v%d.%d.%d", v.major, v.minor, v.patch)
	if v.pre != "" {
		s += "-" + v.pre
	}
	return s
}

// number is String without the v, as a sentence has it.
func (v Version) number() string { return strings.TrimPrefix(v.String(), "v") }

// IsZero reports whether v is no version.
func (v Version) IsZero() bool { return v == Version{} }

// MarshalText returns what String returns, and an error for the zero value.
func (v Version) MarshalText() ([]byte, error) {
	if v.IsZero() {
		return nil, &Error{Path: "version", Reason: "not set", Fix: "a Talos version such as v1.13"}
	}
	return []byte(v.String()), nil
}

// UnmarshalText is [ParseVersion]. When it fails, v is as it was.
func (v *Version) UnmarshalText(text []byte) error {
	parsed, err := ParseVersion(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// Compare returns -1, 0 or 1 as v is older than, equal to or newer than o, in
// the order of Semantic Versioning 2.0.0: a pre-release is older than its
// release.
func (v Version) Compare(o Version) int {
	return cmp.Or(
		cmp.Compare(v.major, o.major),
		cmp.Compare(v.minor, o.minor),
		cmp.Compare(v.patch, o.patch),
		comparePre(v.pre, o.pre),
	)
}

// Oldest returns the oldest of the versions: what to use when the client and
// the node differ. It returns the zero value when one of them is zero.
func Oldest(v Version, more ...Version) Version {
	for _, o := range more {
		if o.Compare(v) < 0 {
			v = o
		}
	}
	return v
}

func (v Version) below(major, minor, patch int) bool {
	return v.Compare(Version{major: major, minor: minor, patch: patch}) < 0
}

func comparePre(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a)) // none at all is the newest
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, y := as[i], bs[i]
		if isDigits(x) != isDigits(y) {
			if isDigits(x) {
				return -1
			}
			return 1
		}
		if isDigits(x) && len(x) != len(y) {
			return cmp.Compare(len(x), len(y))
		}
		if x != y {
			return strings.Compare(x, y)
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// clip keeps an error readable when the input is not.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
