package accesslog_test

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// reference is a slow reader of logs, with regular expressions and encoding/json,
// written from the package's doc. It counts the served requests of images and
// clients, and the lines.
type reference struct {
	images, clients map[string]int
	lines           map[string]int
	first, last     time.Time

	ids     map[string]bool
	waiting []waiting
	split   map[string]bool

	unpaired bool // each line is a request of its own
}

// waiting is a request that may come again in a line of the other kind.
type waiting struct {
	combined          bool
	method, uri, size string
	status            int
	second            int64
}

type request struct {
	kind                                 string
	method, uri, client, agent, id, size string
	status                               int
	time                                 time.Time
	took                                 time.Duration
}

var (
	podPrefix    = regexp.MustCompile(`^\[pod/[^ \]]*\] `)
	timePrefix   = regexp.MustCompile(`^(\d{4}-[^ ]+) `)
	criPrefix    = regexp.MustCompile(`^(stdout|stderr) ([FP])(?::[^ ]*)? `)
	timestamp    = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$`)
	combinedLine = regexp.MustCompile(`(?s)^([^ ]+) [^ ]+ [^ ]+ \[(\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "((?:[^"\\]|\\.)*)" ([1-5]\d\d) (\d{1,18}|-) "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)"(?: .*)?$`)
	requestLine  = regexp.MustCompile(`(?s)^([^ ]+) (.*) HTTP/[^ ]*$`)
	logrusPair   = regexp.MustCompile(`(?s)^([!#-<>-~]+)=(?:"((?:[^"\\]|\\.)*)"|([!#-<>-~]*))(?: |$)`)
	statusCode   = regexp.MustCompile(`^[1-5]\d\d$`)
	imagePath    = regexp.MustCompile(`(?s)^/(?:v2/)?(.+)/(manifests|blobs)/([^/]+)$`)
	repository   = regexp.MustCompile(`^[a-z0-9._-]+(?:/[a-z0-9._-]+)*$`)
	dotSegment   = regexp.MustCompile(`(?:^|/)\.\.?(?:/|$)`)
	tagRef       = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestRef    = regexp.MustCompile(`^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}|([a-z0-9+._-]+):[0-9a-f]{32,})$`)
	registryName = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]+$`)
)

func newReference() *reference {
	return &reference{images: map[string]int{}, clients: map[string]int{}, lines: map[string]int{}, ids: map[string]bool{}, split: map[string]bool{}}
}

func (r *reference) read(log []byte) {
	for _, line := range bytes.SplitAfter(bytes.TrimPrefix(log, []byte("\ufeff")), []byte("\n")) {
		if line = bytes.TrimLeft(line, "\x00"); len(line) > 0 {
			r.line(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"))
		}
	}
}

func (r *reference) line(line string) {
	if len(line) > 64<<10 {
		r.lines["long"]++
		return
	}
	line = line[len(podPrefix.FindString(line)):]
	if m := timePrefix.FindStringSubmatch(line); m != nil {
		if _, ok := parseTime(m[1]); ok {
			line = line[len(m[0]):]
			if m := criPrefix.FindStringSubmatch(line); m != nil {
				was := r.split[m[1]]
				r.split[m[1]] = m[2] == "P"
				if was || m[2] == "P" {
					r.lines["long"]++
					return
				}
				line = line[len(m[0]):]
			}
		}
	}
	req, ok := parseLine(line)
	switch {
	case !ok:
		r.lines["unreadable"]++
		return
	case req.kind == "other":
		r.lines["other"]++
	case req.kind != "zot" && r.again(req):
		r.lines["repeated"]++
	default:
		r.lines[req.kind]++
		r.count(req)
	}
	if line != "" {
		if r.first.IsZero() || req.time.Before(r.first) {
			r.first = req.time
		}
		if r.last.IsZero() || req.time.After(r.last) {
			r.last = req.time
		}
	}
}

func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil && timestamp.MatchString(s) && yearFits(s[:4]) && zoneFits(s)
}

func yearFits(year string) bool { return year >= "1700" && year <= "2200" }

func zoneFits(s string) bool { return s[len(s)-1] == 'Z' || s[len(s)-5:len(s)-3] <= "23" }

func parseLine(line string) (request, bool) {
	switch {
	case line == "":
		return request{kind: "other"}, true
	case line[0] == '{':
		return parseJSON(line)
	case strings.HasPrefix(line, `time="`):
		fields := map[string]string{}
		for rest := line; rest != ""; {
			m := logrusPair.FindStringSubmatch(rest)
			if m == nil || strings.HasSuffix(m[0], " ") && len(m[0]) == len(rest) {
				return request{}, false
			}
			rest = rest[len(m[0]):]
			key, value := m[1], m[2]+m[3]
			if key == "@timestamp" {
				key = "time"
			}
			if key == "message" {
				key = "msg"
			}
			if !slices.Contains(logrusKeys, key) {
				continue
			}
			if _, twice := fields[key]; twice {
				return request{}, false
			}
			if strings.Contains(value, `\`) {
				var err error
				if value, err = strconv.Unquote(`"` + value + `"`); err != nil {
					return request{}, false
				}
			}
			fields[key] = value
		}
		return ofLogrus(fields)
	}
	m := combinedLine.FindStringSubmatch(line)
	if m == nil {
		return request{}, false
	}
	t, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
	if err != nil || !yearFits(m[2][7:11]) || m[2][22:24] > "23" {
		return request{}, false
	}
	req := request{kind: "combined", client: m[1], agent: m[6], size: m[5], time: t}
	req.status, _ = strconv.Atoi(m[4])
	if q := requestLine.FindStringSubmatch(m[3]); q != nil {
		req.method, req.uri = q[1], q[2]
		if strings.Contains(req.uri, `\`) {
			if s, err := strconv.Unquote(`"` + req.uri + `"`); err == nil {
				req.uri = s
			}
		}
	}
	return req, true
}

var logrusKeys = []string{"time", "level", "msg", "http.request.id", "http.request.method", "http.request.uri", "http.request.remoteaddr",
	"http.request.useragent", "http.response.status", "http.response.duration", "http.response.written"}

func ofLogrus(f map[string]string) (request, bool) {
	t, ok := parseTime(f["time"])
	_, said := f["msg"]
	if !ok || f["level"] == "" || !said {
		return request{}, false
	}
	if f["msg"] != "response completed" && f["msg"] != "response completed with error" {
		return request{kind: "other", time: t}, true
	}
	req := request{kind: "logrus", method: f["http.request.method"], uri: f["http.request.uri"], client: f["http.request.remoteaddr"],
		agent: f["http.request.useragent"], id: f["http.request.id"], size: f["http.response.written"], time: t}
	if req.method == "" || req.uri == "" || !statusCode.MatchString(f["http.response.status"]) {
		return request{}, false
	}
	req.status, _ = strconv.Atoi(f["http.response.status"])
	if req.size == "" {
		req.size = "-"
	} else if _, err := strconv.ParseUint(req.size, 10, 63); err != nil || len(req.size) > 18 {
		return request{}, false
	}
	if d := f["http.response.duration"]; d != "" {
		took, err := time.ParseDuration(d)
		if err != nil || took < 0 {
			return request{}, false
		}
		req.took = took
	}
	return req, true
}

func parseJSON(line string) (request, bool) {
	if !json.Valid([]byte(line)) || !utf8.ValidString(line) {
		return request{}, false
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	fields := map[string]string{}
	own := map[string]string{}
	dec.Token()
	for dec.More() {
		k, _ := dec.Token()
		key := k.(string)
		var raw json.RawMessage
		if dec.Decode(&raw) != nil || depth(raw) > 32 {
			return request{}, false
		}
		if key == "@timestamp" {
			key = "time"
		}
		if key == "message" {
			key = "msg"
		}
		into := fields
		if slices.Contains([]string{"clientIP", "method", "path", "statusCode", "latency", "headers"}, key) {
			into = own
		} else if !slices.Contains(logrusKeys, key) {
			continue
		}
		if _, twice := into[key]; twice {
			return request{}, false
		}
		var text string
		switch key {
		case "statusCode", "http.response.status", "http.response.written":
			var n json.Number
			if raw[0] == '"' || raw[0] == 'n' || json.Unmarshal(raw, &n) != nil {
				return request{}, false
			}
			text = n.String()
		case "headers":
			var ok bool
			if text, ok = userAgent(raw); !ok {
				return request{}, false
			}
		default:
			if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
				return request{}, false
			}
		}
		into[key] = text
	}
	if fields["msg"] != "HTTP API" {
		return ofLogrus(fields)
	}
	req := request{kind: "zot", method: own["method"], uri: own["path"], client: own["clientIP"], agent: own["headers"]}
	var ok bool
	req.time, ok = parseTime(fields["time"])
	if !ok || req.method == "" || req.uri == "" || own["statusCode"] != "0" && !statusCode.MatchString(own["statusCode"]) {
		return request{}, false
	}
	req.status, _ = strconv.Atoi(own["statusCode"])
	if d := own["latency"]; d != "" {
		if took, err := time.ParseDuration(d); err != nil || took < 0 {
			return request{}, false
		}
	}
	return req, true
}

// userAgent reads zot's headers.
func userAgent(raw []byte) (string, bool) {
	if raw[0] == 'n' {
		return "", true
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, _ := dec.Token(); open != json.Delim('{') {
		return "", false
	}
	for found := ""; ; {
		if !dec.More() {
			return found, true
		}
		key, _ := dec.Token()
		var value json.RawMessage
		dec.Decode(&value)
		if key != "User-Agent" || found != "" {
			continue
		}
		var list []json.RawMessage
		if value[0] != '[' || json.Unmarshal(value, &list) != nil {
			return "", false
		}
		if len(list) > 0 && (list[0][0] != '"' || json.Unmarshal(list[0], &found) != nil) {
			return "", false
		}
	}
}

// depth is how deep a value lies at the deepest, itself at 1.
func depth(raw []byte) int {
	dec := json.NewDecoder(bytes.NewReader(raw))
	deepest, now := 0, 0
	for {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			now++
			deepest = max(deepest, now)
		case json.Delim('}'), json.Delim(']'):
			now--
		default:
			deepest = max(deepest, now+1)
		}
	}
}

func (r *reference) again(req request) bool {
	if r.unpaired {
		return false
	}
	if req.id != "" {
		if r.ids[req.id] {
			return true
		}
		r.ids[req.id] = true
	}
	size := strings.TrimLeft(req.size, "0")
	if size == "" {
		size = "0"
	}
	w := waiting{combined: req.kind == "combined", method: req.method, uri: req.uri, size: size, status: req.status}
	w.second = req.time.Add(-req.took).Unix()
	near := []int64{w.second, w.second + 1, w.second - 1}
	if !w.combined {
		near[1], near[2] = near[2], near[1]
	}
	for _, second := range near {
		other := w
		other.combined, other.second = !w.combined, second
		if i := slices.Index(r.waiting, other); i >= 0 {
			r.waiting = slices.Delete(r.waiting, i, i+1)
			return true
		}
	}
	r.waiting = append(r.waiting, w)
	return false
}

func (r *reference) count(req request) {
	name, ref, isBlob, ok := imageOf(req.uri)
	if !ok || req.method != "GET" && (req.method != "HEAD" || isBlob) || ref == "" {
		return
	}
	for _, left := range []string{"kube-probe/", "GoogleHC/", "ELB-HealthChecker/", "Prometheus/", "Blackbox Exporter/", "mirrorpatch-probe",
		"curl/", "Wget/", "crane/", "go-containerregistry/", "skopeo/", "regclient/", "oras/", "oras-cli/"} {
		agent := strings.TrimLeft(req.agent, " ")
		if len(agent) >= len(left) && strings.EqualFold(agent[:len(left)], left) {
			return
		}
	}
	client := req.client
	if strings.HasPrefix(client, "[") && strings.Index(client, "]") > 0 {
		client = client[1:strings.Index(client, "]")]
	} else if strings.Count(client, ":") == 1 && client[0] != ':' {
		client, _, _ = strings.Cut(client, ":")
	}
	if addr, err := netip.ParseAddr(client); err == nil {
		client = addr.Unmap().WithZone("").String()
	}
	if !registryName.MatchString(client) || len(client) > 512 {
		client = "other"
	}
	if slices.Contains([]int{200, 206, 302, 303, 304, 307}, req.status) {
		r.images[name]++
		r.clients[client]++
	}
}

// imageOf is "registry repository", the reference, and whether it is a blob.
func imageOf(uri string) (name, ref string, blob, ok bool) {
	uri, _, _ = strings.Cut(uri, "#")
	path, query, _ := strings.Cut(uri, "?")
	if !strings.HasPrefix(path, "/") {
		_, rest, found := strings.Cut(path, "://")
		slash := strings.Index(rest, "/")
		if !found || strings.HasPrefix(path, "://") || slash < 0 {
			return "", "", false, false
		}
		path = rest[slash:]
	}
	path, err := url.PathUnescape(path)
	m := imagePath.FindStringSubmatch(path)
	if err != nil || m == nil || len(m[1]) > 512 || len(m[3]) > 512 || !repository.MatchString(m[1]) || dotSegment.MatchString(m[1]) {
		return "", "", false, false
	}
	d := digestRef.FindStringSubmatch(m[3])
	isDigest := d != nil && d[1] != "sha256" && d[1] != "sha512"
	if !isDigest && (m[2] == "blobs" || !tagRef.MatchString(m[3])) {
		return "", "", false, false
	}
	registry := ""
	for pair := range strings.SplitSeq(query, "&") {
		value, isNS := strings.CutPrefix(pair, "ns=")
		if !isNS {
			continue
		}
		value, err := url.PathUnescape(value)
		if err != nil || registry != "" || !registryName.MatchString(value) || len(value) > 512 {
			return "", "", false, false
		}
		registry = value
	}
	return registry + " " + m[1], m[3], m[2] == "blobs", true
}
