package accesslog

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/distribution/reference"
)

// question is what a log is asked.
type question struct {
	image      string // in full
	registry   string // ghcr.io
	repository string // siderolabs/kubelet
	tag        string // empty where there is none, and where a digest decides
	digest     string
	bare       string // nginx for docker.io/library/nginx

	ignored      []string
	only         []string // nil: all but the ignored
	from         netip.Prefix
	fromText     string
	since, until time.Time
	under        string
}

func newQuestion(image string, opts []Option) (*question, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil, &Error{Path: "image", Reason: fmt.Sprintf("%q is no image: %v", image, err), Fix: "want a reference such as ghcr.io/siderolabs/kubelet:v1.34.1", Err: err}
	}
	q := &question{
		image:      named.String(),
		registry:   strings.ToLower(reference.Domain(named)),
		repository: reference.Path(named),
		ignored:    DefaultIgnored(),
	}
	// A node that is given a digest asks for the digest, whatever the tag.
	if digested, ok := named.(reference.Digested); ok {
		q.digest = digested.Digest().String()
	} else if tagged, ok := named.(reference.Tagged); ok {
		q.tag = tagged.Tag()
	}
	if q.registry == hub {
		q.bare, _ = strings.CutPrefix(q.repository, "library/")
		if q.bare == q.repository {
			q.bare = ""
		}
	}
	for _, opt := range opts {
		if err := opt(q); err != nil {
			return nil, err
		}
	}
	if !q.since.IsZero() && !q.until.IsZero() && q.until.Before(q.since) {
		return nil, &Error{Path: "until", Reason: fmt.Sprintf("%s is before %s", stamp(q.until), stamp(q.since)), Fix: "want the end of the period after its beginning"}
	}
	return q, nil
}

const hub = "docker.io"

// hubName is the registry's name as a reference has it: Docker Hub has several.
func hubName(registry string) string {
	switch registry {
	case "index.docker.io", "registry-1.docker.io":
		return hub
	}
	return registry
}

// match says how a repository in a log relates to that of the question.
type match int

const (
	matchNone      match = iota
	matchNamed           // the log names the registry, and it is this repository
	matchPath            // it is this repository by its path alone
	matchElse            // the same path of another registry
	matchElsewhere       // the repository, under another path of the mirror
)

// ofRepository tells whether it is the repository that was asked about.
func (m match) ofRepository() bool { return m == matchNamed || m == matchPath }

// match compares a repository of a log, with its registry or "", with the question.
func (q *question) match(registry, repository string) match {
	named := registry != ""
	if named && hubName(registry) != q.registry {
		if q.isPath(repository, false) {
			return matchElse
		}
		return matchNone
	}
	switch {
	case q.isPath(repository, named):
		if named {
			return matchNamed
		}
		return matchPath
	case q.under == "" && (repository == q.registry+"/"+q.repository || strings.HasSuffix(repository, "/"+q.registry+"/"+q.repository)):
		return matchNamed
	case strings.HasSuffix(repository, "/"+q.repository), q.under != "" && repository == q.repository:
		return matchElsewhere
	}
	return matchNone
}

// isPath tells whether a repository of a log is that of the question by its path.
// Docker Hub alone knows an image without library/.
func (q *question) isPath(repository string, hubToo bool) bool {
	for _, want := range []string{q.repository, q.bare} {
		if want == "" || want == q.bare && !hubToo {
			continue
		}
		if q.under == "" {
			if repository == want {
				return true
			}
		} else if repository == q.under+"/"+want || repository == q.under+"/v2/"+want {
			return true
		}
	}
	return false
}

// isFrom tells whether a client's address is asked about.
func (q *question) isFrom(addr netip.Addr) bool {
	return q.fromText == "" || addr.IsValid() && q.from.Contains(addr.Unmap().WithZone(""))
}

// isIgnored tells whether a user agent is left out.
func (q *question) isIgnored(agent []byte) bool {
	return q.only != nil && !beginsWith(agent, q.only) || beginsWith(agent, q.ignored)
}

// beginsWith compares the beginning of a user agent without regard to case.
func beginsWith(agent []byte, beginnings []string) bool {
	agent = bytes.TrimLeft(agent, " ")
	for _, b := range beginnings {
		if len(agent) >= len(b) && strings.EqualFold(string(agent[:len(b)]), b) {
			return true
		}
	}
	return false
}

// stamp writes a time as it stands in a reason.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stampOf(nanoseconds int64) string { return stamp(time.Unix(0, nanoseconds)) }
