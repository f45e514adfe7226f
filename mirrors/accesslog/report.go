package accesslog

import (
	"fmt"
	"time"
)

// Answer says whether a node pulled the image through the mirror.
type Answer int

const (
	// Unknown: the log cannot tell.
	Unknown Answer = iota
	// Yes: the mirror served the image.
	Yes
	// No: the mirror did not serve the image.
	No
)

// String returns "unknown", "yes" or "no".
func (a Answer) String() string {
	switch a {
	case Unknown:
		return "unknown"
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return fmt.Sprintf("Answer(%d)", int(a))
}

// MarshalText writes what String returns.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Report is what a log says.
type Report struct {
	// Image is the image that was asked about, in full: docker.io/library/nginx
	// for nginx.
	Image string `json:"image"`

	Answer Answer `json:"answer"`

	// Reason says in words why the answer is what it is, with how far it can be
	// trusted. It is never empty.
	Reason string `json:"reason"`

	// Asked counts the requests for the image itself: those that the answer rests
	// on.
	Asked Count `json:"asked"`

	// Agents are the user agents of the served requests of Asked, in the order of the
	// log: MaxAgents of them, each cut at 128 bytes, with ? for what does not print.
	Agents []string `json:"agents"`

	// Total counts all requests of the period, Images and Clients the same, the most
	// asked first.
	Total   Count    `json:"total"`
	Images  []Image  `json:"images"`
	Clients []Client `json:"clients"`

	// OtherImages and OtherClients count what is not in Images and Clients: the
	// log has more than MaxImages or MaxClients, or a client's name is none.
	OtherImages  int `json:"otherImages"`
	OtherClients int `json:"otherClients"`

	// Ignored are requests for images that were left out by their user agent,
	// Outside those out of the period.
	Ignored int `json:"ignored"`
	Outside int `json:"outside"`

	Lines Lines `json:"lines"`

	// First and Last are the first and the last time in the log; the zero time
	// when it has none.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`

	// Err is an [*Error] when the log was not read to its end. What was read
	// before counts.
	Err error `json:"-"`
}

// Span is the time from the first to the last line of the log.
func (r *Report) Span() time.Duration { return r.Last.Sub(r.First) }

// String returns "answer: image: reason".
func (r *Report) String() string {
	return fmt.Sprintf("%s: %s: %s", r.Answer, r.Image, r.Reason)
}

// Count counts the requests for manifests and blobs.
type Count struct {
	Manifests  int `json:"manifests"`  // served
	Blobs      int `json:"blobs"`      // served
	Missing    int `json:"missing"`    // 404, 410
	Challenged int `json:"challenged"` // 401, 403
	Moved      int `json:"moved"`      // 301, 308
	Failed     int `json:"failed"`     // all others, and those that were not finished

	// First and Last are the times of the first and the last of them, as the log
	// has them: the time when the request came in (distribution's access lines) or
	// when it was answered (all others).
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`

	// Took is the sum of the response times of the Timed requests whose lines have
	// one, Slowest the longest; nanoseconds in JSON. zot since 2.1.11 or so writes
	// whole seconds, rounded down.
	Took    time.Duration `json:"took"`
	Slowest time.Duration `json:"slowest"`
	Timed   int           `json:"timed"`
}

// Served is the number of requests that the mirror served.
func (c Count) Served() int { return c.Manifests + c.Blobs }

// Requests is the number of requests, without those that were challenged.
func (c Count) Requests() int { return c.Served() + c.Missing + c.Moved + c.Failed }

// Image is a repository as the mirror sees it.
type Image struct {
	// Registry is what containerd says in ns=; empty when the log does not say it.
	Registry string `json:"registry"`
	// Repository is the path without a leading /v2/, the path of the mirror
	// included: proxy/ghcr/siderolabs/kubelet.
	Repository string `json:"repository"`
	Count
}

// Client is who asked, by its address as the mirror sees it.
type Client struct {
	Address string `json:"address"`
	Count
}

// Lines counts the lines of a log.
type Lines struct {
	Read int `json:"read"` // all of them: the sum of the others

	Combined int `json:"combined"` // requests in a combined line
	Logrus   int `json:"logrus"`   // requests in a line of distribution's own
	Zot      int `json:"zot"`      // requests in a line of zot

	Repeated   int `json:"repeated"`   // a request that another line has had
	Other      int `json:"other"`      // lines of the program about something else, and empty ones
	Unreadable int `json:"unreadable"` // lines of no known format, or broken ones
	TooLong    int `json:"tooLong"`    // lines longer than MaxLine, or split by the container runtime
}

// Requests is the number of requests, of all kinds.
func (l Lines) Requests() int { return l.Combined + l.Logrus + l.Zot }
