package accesslog

import (
	"fmt"
	"strconv"
	"strings"
)

// answer weighs what was counted.
func (t *tally) answer() (Answer, string) {
	q := t.q
	if t.forged == 0 && t.lines.Combined+t.lines.Unreadable > 0 {
		t.forged = t.longJSON
	}
	var doubts []string
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }
	if t.forged > 0 {
		text := fmt.Sprintf("line %d is of a request whose URL has a user with a line feed, longer than %d bytes, or split: a client may have written lines of its own into the log", t.forged, MaxLine)
		if t.suspectTimed {
			text += fmt.Sprintf(" (want a period that begins after %s)", stampOf(t.suspectLast))
		}
		doubt("%s", text)
	}
	if t.asked.Served() > 0 {
		if t.content == 0 {
			doubt("to HEAD alone: a node looked, and had the content, took it from elsewhere or failed to get it")
		}
		if t.content > 0 && q.tag != "" && t.otherTag > 0 && t.contentOfTag == 0 {
			doubt("what was served to GET may be of another tag")
		}
		if t.content > 0 && t.contentBlobs == 0 && t.failedBlobs+t.missingBlobs > 0 {
			doubt("none of the blobs was served")
		}
		if doubts != nil {
			return Unknown, sentence(append(append([]string{t.servedText()}, doubts...), t.losses()...))
		}
		return Yes, sentence(append(append([]string{t.servedText()}, t.losses()...), t.grounds()...))
	}

	readable := t.lines.Requests() + t.lines.Repeated + t.lines.Other
	switch {
	case t.err != nil:
		doubt("%s", strings.TrimPrefix(t.err.Error(), "log: "))
	case t.lines.Read == 0:
		doubt("the log is empty")
	case readable == 0 && t.lines.Unreadable > 0:
		doubt("no line is of a known format")
	case t.lines.Unreadable > readable:
		doubt("%d of %d lines cannot be read", t.lines.Unreadable, t.lines.Read)
	case t.lines.Requests() == 0:
		doubt("the log has no request: access lines may be off")
	case !t.succeeded:
		doubt("the log has failed requests only: its level may leave out the others")
	}
	if t.named > 0 {
		doubt("line %d has the name %s and cannot be read", t.named, q.repository)
	}
	if t.cut {
		doubt("the last line is cut")
	}
	if t.lines.TooLong > 0 {
		doubt("%s longer than %d bytes or split by the container runtime", plural(t.lines.TooLong, "line is", "lines are"), MaxLine)
	}
	switch {
	case !t.timed:
	case !q.since.IsZero() && t.last < q.since.UnixNano():
		doubt("the log ends at %s, before the period begins", stampOf(t.last))
	case !q.until.IsZero() && t.first > q.until.UnixNano():
		doubt("the log begins at %s, after the period ends", stampOf(t.first))
	default:
		if !q.since.IsZero() && t.first > q.since.UnixNano() {
			doubt("the log begins at %s, after the period does", stampOf(t.first))
		}
		if !q.until.IsZero() && t.last < q.until.UnixNano() {
			doubt("the log ends at %s, before the period does", stampOf(t.last))
		}
	}
	if t.elsewhere > 0 {
		doubt("%s for %s: whether that is the image depends on the path of the mirror's endpoint", plural(t.elsewhere, "served request is", "served requests are"), t.elsewherePath)
	}
	switch {
	case q.tag != "" && t.otherTag == 0 && t.otherDigest+t.blobs > 0:
		doubt("of %s the log has %s by digest and %s, which have no tag", q.repository,
			plural(t.otherDigest, "manifest", "manifests"), plural(t.blobs, "blob", "blobs"))
	case q.tag != "" && t.origins.unclear():
		doubt("of %s the log has manifests by digest that no request for a tag explains", q.repository)
	case q.digest != "" && (t.otherTagGet > 0 || t.otherDigest == 0 && t.otherTag+t.blobs > 0):
		doubt("of %s the log has %s by tag and %s, which may be of the digest", q.repository,
			plural(t.otherTag, "manifest", "manifests"), plural(t.blobs, "blob", "blobs"))
	}
	if t.asked.Moved > 0 {
		doubt("%s sent to another address (301, 308)", plural(t.asked.Moved, "request was", "requests were"))
	}
	if t.otherAccess > 0 {
		doubt("%s to %s in a line of distribution's own, and to who is in the access line: a proxy may stand between",
			plural(t.otherAccess, "request was served", "requests were served"), q.fromText)
	}
	if t.otherClient > 0 && t.fromUnclear {
		doubt("the image was served to a client whose address the log does not have")
	}
	if t.otherClient > 0 && !t.fromSeen {
		doubt("the image was served, and no request is from %s: a proxy may stand between", q.fromText)
	}
	if doubts != nil {
		return Unknown, sentence(doubts)
	}
	return No, sentence(append([]string{t.unservedText()}, t.grounds()...))
}

// servedText says what was served.
func (t *tally) servedText() string {
	c := &t.asked
	s := fmt.Sprintf("served %s and %s", plural(c.Manifests, "manifest", "manifests"), plural(c.Blobs, "blob", "blobs"))
	if stampOf(c.first) == stampOf(c.last) {
		s += " at " + stampOf(c.first)
	} else {
		s += fmt.Sprintf(" from %s to %s", stampOf(c.first), stampOf(c.last))
	}
	if t.askedHead == c.Served() && t.content > 0 {
		s += fmt.Sprintf(", to HEAD, and of the repository %s by digest and %s",
			plural(t.otherDigest, "manifest", "manifests"), plural(t.blobs, "blob", "blobs"))
	}
	return s
}

// losses says what of the repository was asked for and not served.
func (t *tally) losses() []string {
	var list []string
	add := func(n int, one, more, how string) {
		if n > 0 {
			list = append(list, plural(n, one, more)+" "+how)
		}
	}
	add(t.failedDigests, "request for a manifest by digest", "requests for manifests by digest", "failed")
	add(t.failedBlobs, "request for a blob", "requests for blobs", "failed")
	add(t.missingBlobs, "request for a blob", "requests for blobs", "missing (404)")
	return list
}

// unservedText says why the answer is no.
func (t *tally) unservedText() string {
	c := &t.asked
	var how []string
	add := func(n int, text string) {
		if n > 0 {
			how = append(how, fmt.Sprintf("%s %d×", text, n))
		}
	}
	add(c.Missing, "missing (404)")
	add(c.Challenged, "refused (401, 403)")
	add(c.Failed, "failed")
	if how == nil {
		return fmt.Sprintf("never asked for, in a log of %s from %s to %s", plural(t.lines.Requests(), "request", "requests"), stampOf(t.first), stampOf(t.last))
	}
	s := "asked for and never served: " + strings.Join(how, ", ")
	if c.Missing > 0 {
		s += "; a node goes on to its next endpoint"
	}
	return s
}

// grounds says what an answer rests on, and what it leaves out.
func (t *tally) grounds() []string {
	q := t.q
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if n := t.asked.Served(); n > 0 && t.byName == n {
		add("the log names the registry")
	} else if n > 0 {
		add("by the path alone: the log does not name the registry, and %s of another would look the same", q.repository)
	}
	if t.agents != nil {
		quoted := make([]string, len(t.agents))
		for i, agent := range t.agents {
			quoted[i] = strconv.Quote(agent)
		}
		list, more := strings.Join(quoted, ", "), ""
		if t.moreAgents {
			more = " and others"
		}
		add("user agent %s%s", list, more)
	}
	if t.otherRegistry > 0 {
		add("%s for the same path of %s", plural(t.otherRegistry, "served request is", "served requests are"), t.otherRegistryName)
	}
	if t.asked.Served() == 0 && t.otherTag+t.otherDigest > 0 {
		add("%s of the repository with another tag or digest", plural(t.otherTag+t.otherDigest, "served manifest is", "served manifests are"))
	}
	if t.otherClient > 0 {
		add("%s to another client", plural(t.otherClient, "request was served", "requests were served"))
	}
	if t.askedIgnored > 0 {
		add("%s of a left-out user agent", plural(t.askedIgnored, "request is", "requests are"))
	}
	if t.askedOutside > 0 {
		add("%s out of the period", plural(t.askedOutside, "request is", "requests are"))
	}
	return list
}

func sentence(parts []string) string { return strings.Join(parts, "; ") }

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
