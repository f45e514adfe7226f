package accesslog

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"hash/maphash"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The bounds of what is kept of a log.
const (
	// MaxLine is the length in bytes, without its end, of the longest line that is
	// read.
	MaxLine = 64 << 10
	// MaxImages is how many images are counted on their own. That of the question is
	// counted whether or not it is among them.
	MaxImages = 4096
	// MaxClients is the same for clients.
	MaxClients = 4096
	// MaxAgents is how many user agents are named.
	MaxAgents = 8

	maxName  = 512 // bytes of a name
	maxAgent = 128 // bytes of a user agent
)

// Served reads the access log of a mirror and says whether image was pulled through
// it. image is a reference as a Pod has it: without a tag or a digest, any will do;
// with both, the digest decides, as it does for a node.
//
// The error is an [*Error] for an image or an option that is none. A log that cannot
// be read is no error: see [Report].
func Served(log io.Reader, image string, opts ...Option) (*Report, error) {
	q, err := newQuestion(image, opts)
	if err != nil {
		return nil, err
	}
	t := tally{q: q, images: map[string]*imageEntry{}, clients: map[string]*clientEntry{}}
	t.pairs.seed = maphash.MakeSeed()
	t.origins = newOrigins()
	t.read(log)
	return t.report(), nil
}

// parser reads lines.
type parser struct {
	clock       clock
	split       [2]bool // the last line of standard output and error was a piece
	jsonScratch []byte
}

// parse reads a line; it returns kindUnreadable for one of no known format.
func (p *parser) parse(line []byte, e *entry) {
	*e = entry{}
	ok := false
	switch {
	case len(line) == 0:
		e.kind = kindOther
		return
	case line[0] == '{':
		ok = p.jsonLine(line, e)
	case bytes.HasPrefix(line, []byte("time=\"")):
		ok = p.logrusText(line, e)
	default:
		ok = p.combined(line, e)
	}
	if !ok {
		*e = entry{forged: p.forges(line)}
	}
}

// tally counts a log.
type tally struct {
	q       *question
	parser  parser
	pairs   pairs
	scratch []byte
	key     []byte
	agent   []byte // the last one, and whether it is left out
	ignore  bool

	images       map[string]*imageEntry
	clients      map[string]*clientEntry
	otherImages  int
	otherClients int
	ignored      int
	outside      int

	lines       Lines
	first, last int64
	timed       bool // there is a first and a last
	err         *Error

	total     count
	asked     count
	askedHead int // of the asked and served: HEAD
	byName    int // of the asked and served: the log names the registry

	otherTag, otherDigest, blobs int // served of the repository, but not what was asked for
	otherTagGet                  int // of the otherTag: GET
	content                      int // served to GET, by digest or what was asked for
	contentBlobs                 int // of the content: blobs
	contentOfTag                 int // of the content: by the tag, or by a digest after it
	failedBlobs, missingBlobs    int // of the repository
	failedDigests                int // manifests of the repository by digest, failed or missing
	origins                      origins
	agents                       []string // of the asked and served, as they are named
	namedAgent                   []byte   // the last of them
	moreAgents                   bool
	elsewhere                    int    // served of the repository under another path
	elsewherePath                string // the first of them
	otherRegistry                int    // served at the same path, of another registry
	otherRegistryName            string
	otherClient                  int  // served to somebody else
	otherAccess                  int  // served to the client by the second line of a request
	askedIgnored                 int  // asked for, and left out
	askedOutside                 int  // asked for, and out of the period
	fromSeen, fromUnclear        bool // see client
	longJSON                     int  // the first line too long that is JSON by its beginning
	named                        int  // the first unreadable line that has the repository's name
	forged                       int  // the first line that may have made lines of its own
	suspectTimed                 bool // a line before the last such line has a time
	suspectLast                  int64
	cut                          bool // the last line is not whole
	succeeded                    bool // the log has requests that went well, or would have them
}

// count is a Count while it is counted.
type count struct {
	Count
	first, last int64
}

func (c *count) add(e *entry, t *target, o outcome) {
	if c.Requests()+c.Challenged == 0 {
		c.first, c.last = e.time, e.time
	}
	c.first, c.last = min(c.first, e.time), max(c.last, e.time)
	switch {
	case o == missing:
		c.Missing++
	case o == challenged:
		c.Challenged++
	case o == moved:
		c.Moved++
	case o == failed:
		c.Failed++
	case t.blob:
		c.Blobs++
	default:
		c.Manifests++
	}
	c.time(e)
}

func (c *count) time(e *entry) {
	if e.took >= 0 {
		c.Timed++
		c.Took += time.Duration(e.took)
		c.Slowest = max(c.Slowest, time.Duration(e.took))
	}
}

func (c *count) done() Count {
	if c.Requests()+c.Challenged > 0 {
		c.First, c.Last = time.Unix(0, c.first).UTC(), time.Unix(0, c.last).UTC()
	}
	return c.Count
}

type imageEntry struct {
	count
	registry, repository string
	match                match
}

type clientEntry struct {
	count
	address string
	asked   bool
}

// read counts the log to its end.
func (t *tally) read(log io.Reader) {
	in := bufio.NewReaderSize(log, 512)
	magic, err := in.Peek(4)
	if err != nil {
		// Peek takes the error away, and a terminal that is read again waits for more.
		in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(magic)), broken{err}), 512)
		magic = bytes.Clone(magic)
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			t.fail(err)
			return
		}
		log = z
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), bytes.HasPrefix(magic, []byte("BZh")), bytes.HasPrefix(magic, []byte("\xfd7zX")):
		t.fail(errors.New("compressed, and not by gzip (want it decompressed)"))
		return
	default:
		if bytes.HasPrefix(magic, []byte("\xef\xbb\xbf")) {
			in.Discard(3)
		}
		log = in
	}
	// One more than MaxLine, for the end of the line and a carriage return.
	lines := bufio.NewReaderSize(log, MaxLine+2)
	for {
		if err := skipNULs(lines); err != nil {
			if err != io.EOF {
				t.fail(err)
			}
			return
		}
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 && (err == nil || err == io.EOF) {
			unreadable := t.lines.Unreadable
			t.line(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
			t.cut = err == io.EOF && t.lines.Unreadable > unreadable
		}
		if err == bufio.ErrBufferFull {
			err = t.longLine(lines, line)
		}
		if err != nil {
			if err != io.EOF {
				t.fail(err)
			}
			return
		}
	}
}

// broken ends with an error.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// skipNULs goes to the first byte of a line. A log that was rotated while its writer
// kept its place (copytruncate) begins with as many NUL bytes as it was long.
func skipNULs(lines *bufio.Reader) error {
	for {
		if begin, err := lines.Peek(1); len(begin) == 0 {
			return err
		} else if begin[0] != 0 {
			return nil
		}
		buffered, _ := lines.Peek(lines.Buffered())
		lines.Discard(len(buffered) - len(bytes.TrimLeft(buffered, "\x00")))
	}
}

func (t *tally) fail(err error) {
	t.err = &Error{Path: "log", Line: t.lines.Read + 1, Reason: "cannot be read: " + printable(err.Error()), Err: err}
}

// printable is a text without control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}

// longLine skips the rest of a line.
func (t *tally) longLine(lines *bufio.Reader, begin []byte) error {
	t.lines.Read++
	t.tooLong(begin)
	for {
		_, err := lines.ReadSlice('\n')
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}

// tooLong counts a line by its beginning. What is behind it is not known: it may be
// the trace of a forged line.
func (t *tally) tooLong(begin []byte) {
	t.lines.TooLong++
	if len(begin) == 0 || begin[0] != '{' {
		t.suspect(&t.forged)
	} else {
		t.suspect(&t.longJSON)
	}
}

// suspect marks a line that may have made the lines before it. None of them counts
// when all are before the period.
func (t *tally) suspect(first *int) {
	if !t.q.since.IsZero() && (!t.timed || t.last < t.q.since.UnixNano()) {
		return
	}
	t.mark(first)
	t.suspectTimed, t.suspectLast = t.timed, t.last
}

// mark keeps the number of the first line of a kind.
func (t *tally) mark(first *int) {
	if *first == 0 {
		*first = t.lines.Read
	}
}

// line counts a line, which has no end.
func (t *tally) line(line []byte) {
	t.lines.Read++
	if len(line) > MaxLine {
		t.tooLong(line)
		return
	}
	line, part := t.parser.unwrap(line)
	switch part {
	case firstPiece:
		t.tooLong(line)
		return
	case laterPiece:
		t.lines.TooLong++
		if mayForge(line) {
			t.suspect(&t.forged)
		}
		return
	}
	var e entry
	t.parser.parse(line, &e)
	if e.forged {
		t.suspect(&t.forged)
	}
	switch e.kind {
	case kindUnreadable:
		t.lines.Unreadable++
		if bytes.Contains(line, []byte(t.q.repository)) {
			t.mark(&t.named)
		}
		return
	case kindOther:
		t.lines.Other++
		if len(line) > 0 {
			t.span(e.time)
		}
		return
	}
	t.span(e.time)
	var second, timeless bool
	if e.kind != kindZot {
		second, timeless = t.pairs.second(&e)
	}
	switch {
	case second:
		t.lines.Repeated++
	case e.kind == kindCombined:
		t.lines.Combined++
	case e.kind == kindLogrus:
		t.lines.Logrus++
	case e.kind == kindZot:
		t.lines.Zot++
	}
	if e.kind == kindCombined || e.status < 400 {
		t.succeeded = true
	}
	if (!second || timeless) && (string(e.method) == "GET" || string(e.method) == "HEAD") {
		t.request(&e, second)
	}
}

func (t *tally) span(at int64) {
	if !t.timed {
		t.first, t.last, t.timed = at, at, true
	}
	t.first, t.last = min(t.first, at), max(t.last, at)
}

// request counts a request that may be one for an image. Of the second line of one,
// only the response time counts.
func (t *tally) request(e *entry, second bool) {
	var about target
	var ok bool
	if about, t.scratch, ok = targetOf(e.uri, t.scratch); !ok {
		return
	}
	head := string(e.method) == "HEAD"
	if head && about.blob {
		return // who pushes asks so
	}
	if !bytes.Equal(t.agent, e.agent) || t.agent == nil {
		t.agent = append(t.agent[:0], e.agent...)
		t.ignore = t.q.isIgnored(e.agent)
	}
	outside := !t.q.since.IsZero() && e.time < t.q.since.UnixNano() || !t.q.until.IsZero() && e.time > t.q.until.UnixNano()

	t.key = append(append(append(t.key[:0], about.registry...), ' '), about.repository...)
	image := t.images[string(t.key)]
	if second {
		t.late(e, &about, image, outside)
		return
	}
	m := t.matchOf(&about, image)
	mine := m.ofRepository()
	wanted := mine && t.q.wants(&about)
	o := outcomeOf(e.status)
	if outside || t.ignore {
		n, asked := &t.outside, &t.askedOutside
		if !outside {
			n, asked = &t.ignored, &t.askedIgnored
		}
		*n++
		if wanted {
			*asked++
		}
		return
	}

	if image == nil && len(t.images) < MaxImages {
		image = &imageEntry{registry: string(about.registry), repository: string(about.repository), match: m}
		t.images[string(t.key)] = image
	}
	t.total.add(e, &about, o)
	if image != nil {
		image.add(e, &about, o)
	} else {
		t.otherImages++
	}
	if !t.client(e, &about, o) {
		if wanted && o == served {
			t.otherClient++
		}
		return
	}
	if mine {
		t.repository(e, &about, o, wanted, head)
	}
	switch {
	case wanted:
		t.asked.add(e, &about, o)
		if o == served && head {
			t.askedHead++
		}
		if o == served && m == matchNamed {
			t.byName++
		}
		if o == served {
			t.nameAgent()
		}
	case o != served:
	case m == matchElse:
		t.otherRegistry++
		if t.otherRegistryName == "" {
			t.otherRegistryName = string(about.registry)
		}
	case m == matchElsewhere:
		t.elsewhere++
		if t.elsewherePath == "" {
			t.elsewherePath = string(about.repository)
		}
	case !mine:
	case about.blob:
		t.blobs++
	case isDigest(about.ref):
		t.otherDigest++
	default:
		t.otherTag++
		if !head {
			t.otherTagGet++
		}
	}
}

// matchOf tells what a request has to do with the image. One of the images that are
// kept has it already.
func (t *tally) matchOf(about *target, image *imageEntry) match {
	if image != nil {
		return image.match
	}
	return t.q.match(strings.ToLower(string(about.registry)), string(about.repository))
}

// nameAgent notes the user agent of a served request.
func (t *tally) nameAgent() {
	if len(t.agents) > 0 && bytes.Equal(t.namedAgent, t.agent) {
		return
	}
	t.namedAgent = append(t.namedAgent[:0], t.agent...)
	name := string(t.agent[:min(len(t.agent), maxAgent)])
	name = strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, name)
	if slices.Contains(t.agents, name) {
		return
	}
	if len(t.agents) >= MaxAgents {
		t.moreAgents = true
		return
	}
	t.agents = append(t.agents, name)
}

// repository notes what came of a request for the repository.
func (t *tally) repository(e *entry, about *target, o outcome, wanted, head bool) {
	digest := !about.blob && isDigest(about.ref)
	switch {
	case o == served && about.blob:
		t.contentBlobs++
	case about.blob && o == failed:
		t.failedBlobs++
	case about.blob && o == missing:
		t.missingBlobs++
	case digest && (o == failed || o == missing):
		t.failedDigests++
	}
	if o != served {
		return
	}
	if !head && (wanted || about.blob || digest) {
		t.content++
	}
	switch {
	case about.blob:
	case digest && !head:
		if t.origins.digest(addressOf(e.client), maphash.Bytes(t.pairs.seed, about.ref)) {
			t.contentOfTag++
		}
	case !digest:
		t.origins.tag(addressOf(e.client), wanted)
		if wanted && !head {
			t.contentOfTag++
		}
	}
}

// late adds the response time of a request whose first line had none.
func (t *tally) late(e *entry, about *target, image *imageEntry, outside bool) {
	if outside || t.ignore {
		return
	}
	if t.q.fromText != "" && outcomeOf(e.status) == served {
		addr, _ := netip.ParseAddr(string(addressOf(e.client)))
		if t.matchOf(about, image).ofRepository() && t.q.wants(about) && t.q.isFrom(addr) {
			t.otherAccess++
		}
	}
	t.total.time(e)
	if image == nil {
		return
	}
	image.time(e)
	asked := t.q.fromText == ""
	if c := t.clients[string(addressOf(e.client))]; c != nil {
		c.time(e)
		asked = c.asked
	}
	if asked && image.match.ofRepository() && t.q.wants(about) {
		t.asked.time(e)
	}
}

// wants tells whether a request for the repository is one for the image.
func (q *question) wants(t *target) bool {
	switch {
	case q.tag == "" && q.digest == "":
		return true
	case t.blob:
		return false
	}
	return string(t.ref) == q.tag+q.digest // one of them is empty
}

// client counts a request for who asked, and tells whether that is who is asked
// about. It notes that the log has him at all, or somebody without an address.
func (t *tally) client(e *entry, about *target, o outcome) bool {
	address := addressOf(e.client)
	if c := t.clients[string(address)]; c != nil {
		c.add(e, about, o)
		return c.asked
	}
	addr, err := netip.ParseAddr(string(address))
	asked := t.q.isFrom(addr)
	t.fromSeen = t.fromSeen || asked
	t.fromUnclear = t.fromUnclear || err != nil
	var room [64]byte // no string for a client that is not kept
	name := address
	if err == nil {
		name = addr.Unmap().WithZone("").AppendTo(room[:0])
	}
	if !isRegistry(name) {
		t.otherClients++
		return asked
	}
	c := t.clients[string(name)]
	if c == nil {
		if len(t.clients) >= MaxClients {
			t.otherClients++
			return asked
		}
		c = &clientEntry{address: string(name), asked: asked}
		t.clients[c.address] = c
	}
	c.add(e, about, o)
	return asked
}

// report is what was counted, with the answer.
func (t *tally) report() *Report {
	r := &Report{
		Image: t.q.image, Asked: t.asked.done(), Total: t.total.done(), Lines: t.lines,
		OtherImages: t.otherImages, OtherClients: t.otherClients, Ignored: t.ignored, Outside: t.outside,
		Agents: append([]string{}, t.agents...), Images: []Image{}, Clients: []Client{},
	}
	if t.err != nil {
		r.Err = t.err
	}
	if t.timed {
		r.First, r.Last = time.Unix(0, t.first).UTC(), time.Unix(0, t.last).UTC()
	}
	for _, e := range t.images {
		r.Images = append(r.Images, Image{Registry: e.registry, Repository: e.repository, Count: e.done()})
	}
	for _, c := range t.clients {
		r.Clients = append(r.Clients, Client{Address: c.address, Count: c.done()})
	}
	most := func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Requests(), a.Requests()), cmp.Compare(b.Challenged, a.Challenged))
	}
	slices.SortFunc(r.Images, func(a, b Image) int {
		return cmp.Or(most(a.Count, b.Count), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Registry, b.Registry))
	})
	slices.SortFunc(r.Clients, func(a, b Client) int {
		return cmp.Or(most(a.Count, b.Count), cmp.Compare(a.Address, b.Address))
	})
	r.Answer, r.Reason = t.answer()
	return r
}
