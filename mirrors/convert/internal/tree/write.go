package tree

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// Keys returns the keys of a map, sorted.
func Keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Losses collects what a writer cannot say.
type Losses struct{ Report convert.Report }

// Add adds an entry. field is the part below the key, such as "skipFallback".
func (l *Losses) Add(kind convert.Kind, section, key, field, reason, fix string) {
	l.Report.Entries = append(l.Report.Entries, convert.Entry{Kind: kind,
		Path: mirrors.Place{Section: section, Key: key, Field: field}.String(), Reason: reason, Fix: fix})
}

// EndpointField is the Field of an endpoint.
func EndpointField(i int) string { return fmt.Sprintf("endpoints[%d]", i) }

// APIPath is the path at which both pullers of a node look for the registry's
// API: that of the URL, with /v2 appended when it is not there and the endpoint
// does not override the path.
func APIPath(e mirrors.Endpoint) string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	p := u.EscapedPath()
	if p == "" || p == "/" {
		if e.OverridePath {
			return ""
		}
		return "/v2"
	}
	p = path.Clean(p)
	if !e.OverridePath && !strings.HasSuffix(p, "/v2") {
		p += "/v2"
	}
	return p
}

// Origin is scheme://host of an endpoint, as it is written.
func Origin(e mirrors.Endpoint) string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
