package accesslog_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

// samples is a line of each format.
func samples() []string {
	const uri = "/v2/siderolabs/kubelet/manifests/v1.34.1?ns=ghcr.io"
	return []string{
		access("GET "+uri, 200),
		strings.TrimSuffix(access("GET "+uri, 200), "\n") + ` "203.0.113.9" 0.125` + "\n",
		access("GET http://m.internal"+uri, 200),
		logrus("GET", uri, 200, "92688e90-959b-4d8c-9238-b28eecd50011"),
		logrusJSON("GET", uri, 200, "92688e90-959b-4d8c-9238-b28eecd50012"),
		zot("GET", uri, 200),
		zotBefore("GET", uri, 200),
		"2026-11-30T17:48:41.5Z stdout F " + access("GET "+uri, 200),
		"[pod/cache-0/registry] 2026-11-30T17:48:41.5Z " + zot("HEAD", uri, 200),
	}
}

// hostile is a log with what clients and logs may hold.
func hostile() []string {
	const name = "siderolabs/kubelet/manifests/v1"
	return []string{
		accessOf("192.0.2.7", "GET /v2/a/b/manifests/v1", 404, "x\" 200 5 \"\" \"containerd\n192.0.2.7 - - [30/Nov/2026:17:48:41 +0000] \"GET /v2/"+name+" HTTP/1.1\" 200 5 \"\" \"containerd"),
		accessOf("192.0.2.7", "GET /v2/a/b/manifests/v1\" 200 5 \"\" \"x\" \"GET /v2/"+name, 404, "\x1b[2J\x1b]0;x\a"),
		accessOf("192.0.2.7", "GET /v2/%0a%1b%5b2J/manifests/v1", 200, node),
		accessOf("192.0.2.7", "GET /v2/\x1b[31m/manifests/v1?ns=\x1b[31m", 200, node),
		accessOf("192.0.2.7", "GET /v2/a/b/manifests/v1?ns=ghcr.io/../siderolabs/kubelet/manifests/v1", 200, node),
		accessOf("192.0.2.7", "GET /v2/a/b/manifests/v1?ns=a&ns=b", 200, node),
		accessOf("192.0.2.7", "GET /v2/a/../"+name, 200, node),
		accessOf("192.0.2.7", "GET /v2//"+name, 200, node),
		accessOf("192.0.2.7", "GET /v2/a/b/manifests/v1?x=/"+name, 200, node),
		accessOf("192.0.2.7", "GET /v2/a/b/manifests/v1#/"+name, 200, node),
		accessOf("192.0.2.7", "GET /v2/"+name+"/x", 200, node),
		accessOf("192.0.2.7", "GET /v2/"+name+"%2fx", 200, node),
		accessOf("\x1b[31m", "GET /v2/a/b/manifests/v1", 200, node),
		`192.0.2.7 - - [30/Nov/2026:17:48:41 +0000] "\x16\x03\x01\x02\x00" 400 157 "-" "-"` + "\n",
		`192.0.2.7 - - [31/Nov/2026:17:48:41 +0000] "GET /v2/` + name + ` HTTP/1.1" 200 157 "-" "-"` + "\n",
		logrus("GET", "/v2/a/b/manifests/v1?http.request.uri=/v2/"+name, 200, "3"),
		strings.Replace(logrus("GET", "/v2/a/b/manifests/v1", 200, "4"), "useragent=", `useragent="x" http.request.uri=/v2/`+name+` x=`, 1),
		strings.Replace(logrus("GET", "/v2/a/b/manifests/v1", 200, "5"), "useragent=containerd/v2.3.3", `useragent="a\" http.request.uri=/v2/`+name+`\n"`, 1),
		zot("GET", "/v2/a\n\",\"path\":\"/v2/"+name, 200),
		strings.Replace(zot("GET", "/v2/a/b/manifests/v1", 200), `"headers":{`, `"headers":{"path":["/v2/`+name+`"],"message":[{"path":"x"}],`, 1),
		strings.Replace(zot("GET", "/v2/a/b/manifests/v1", 200), `"caller"`, `"path":"/v2/`+name+`","caller"`, 1),
		`{"time":"2026-11-30T17:48:41Z","message":"HTTP API","clientIP":"a","method":"GET","path":"\u002fv2/c/d/manifests/v\u0031","statusCode":200,"headers":null}` + "\n",
		`{"time":"2026-11-30T17:48:41Z","level":"info","msg":"x","path":["/v2/` + name + `"]}` + "\n",
		strings.Replace(zot("GET", "/v2/a/b/manifests/v1", 200), "caller", "call\ter", 1),
		strings.Replace(zot("GET", "/v2/siderolabs/kubelet/manifests/v1", 200), "caller", "call\x1ber", 1),
		strings.Replace(zot("GET", "/v2/siderolabs/kubelet/manifests/v1", 200), `"caller":`, `"deep":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`,"caller":`, 1),
		strings.Replace(logrusJSON("GET", "/v2/a/b/manifests/v1", 200, "6"), `"level"`, `"http.request.uri":"/v2/siderolabs/kubelet/manifests/v1","level"`, 1),
		accessOf("192.0.2.7", "GET /v2/x//siderolabs/kubelet/manifests/v1", 200, node),
		accessOf("192.0.2.7", "GET /v2/x/y/manifests/sha256:"+strings.Repeat("0", 40), 200, node),
		`{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}\n",
	}
}

// Nothing of a client makes a request for an image that it did not ask for.
func TestHostile(t *testing.T) {
	for _, line := range hostile() {
		got, err := accesslog.Served(strings.NewReader(line+get("siderolabs/etcd/manifests/v1")), kubelet)
		require.NoError(t, err)
		assert.Zero(t, got.Asked, line)
		assert.NotEqual(t, accesslog.Yes, got.Answer, line)
		for _, i := range got.Images {
			assert.Contains(t, []string{"a/b", "c/d", "siderolabs/etcd"}, i.Repository, line)
		}
		checkPrintable(t, got)
	}
}

func checkPrintable(t *testing.T, r *accesslog.Report) {
	t.Helper()
	texts := append([]string{r.Reason, r.Image}, r.Agents...)
	for _, i := range r.Images {
		texts = append(texts, i.Registry, i.Repository)
	}
	for _, c := range r.Clients {
		texts = append(texts, c.Address)
	}
	for _, s := range texts {
		if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q has characters that do not print", s)
		}
	}
}

// A line cut anywhere, at its beginning or at its end, is no request for another
// image.
func TestCut(t *testing.T) {
	for _, line := range samples() {
		for i := range line {
			for _, log := range []string{line[:i], line[i:], line[:i] + "\n", line[:i] + "\n" + line[i:], line[:i] + line[i:], line[:i] + line} {
				got, err := accesslog.Served(strings.NewReader(log), "ghcr.io/siderolabs/kubelet:v1.34.1")
				require.NoError(t, err)
				for _, image := range got.Images {
					assert.Equal(t, "siderolabs/kubelet", image.Repository, log)
					assert.Equal(t, "ghcr.io", image.Registry, log)
					assert.Equal(t, image.Count, got.Asked, log)
				}
				assert.NotEqual(t, accesslog.No, got.Answer, log)
			}
		}
	}
}

// A line that runs into the next is no request for an image that neither has.
func TestRunTogether(t *testing.T) {
	const uri = "/v2/siderolabs/etcd/manifests/v3"
	for _, line := range samples() {
		for _, next := range []string{access("GET "+uri, 200), logrus("GET", uri, 200, "9"), logrusJSON("GET", uri, 200, "9"), zot("GET", uri, 200)} {
			for i := range line {
				got, err := accesslog.Served(strings.NewReader(line[:i]+next), kubelet)
				require.NoError(t, err)
				for _, image := range got.Images {
					assert.Contains(t, []string{"siderolabs/kubelet", "siderolabs/etcd"}, image.Repository, line[:i]+next)
				}
			}
		}
	}
}

// chunks gives a log in pieces of the sizes in plan, again and again.
type chunks struct {
	log, plan []byte
	next      int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.log) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.plan) > 0 {
		n += int(c.plan[c.next%len(c.plan)])
		c.next++
	}
	n = copy(p, c.log[:min(n, len(c.log))])
	c.log = c.log[n:]
	return n, nil
}

// FuzzServed: it never panics; what it counts is what a slow reader of another kind
// counts, and the answer follows from it; the pieces in which a log comes change
// nothing; a log that ends with a pull is never a no; nothing that it returns has a
// control character.
func FuzzServed(f *testing.F) {
	for _, line := range append(samples(), hostile()...) {
		f.Add([]byte(line), []byte{7, 0, 200})
	}
	f.Add([]byte(strings.Join(samples(), "")), []byte{})
	f.Add([]byte(strings.Join(hostile(), "")), []byte{16})
	f.Add([]byte("2026-11-30T17:48:41.5Z stdout P x\n2026-11-30T17:48:41.5Z stdout F y\n"+samples()[0]), []byte{1})
	f.Add([]byte(samples()[3]+samples()[0]+samples()[3]+samples()[4]), []byte{1})
	f.Fuzz(func(t *testing.T, log, plan []byte) {
		got, err := accesslog.Served(bytes.NewReader(log), kubelet)
		require.NoError(t, err)
		checkSums(t, got)
		checkPrintable(t, got)
		again, err := accesslog.Served(&chunks{log: log, plan: plan}, kubelet)
		require.NoError(t, err)
		require.Equal(t, got, again)
		pulled, err := accesslog.Served(strings.NewReader(string(log)+"\n"+get("siderolabs/kubelet/manifests/v1")), kubelet)
		require.NoError(t, err)
		require.NotEqual(t, accesslog.No, pulled.Answer, pulled.Reason)
		if got.Err != nil {
			return // compressed
		}
		compare(t, got, log)
	})
}

func compare(t *testing.T, got *accesslog.Report, log []byte) {
	t.Helper()
	want := newReference()
	want.read(log)
	images, clients := map[string]int{}, map[string]int{}
	for _, i := range got.Images {
		if n := i.Served(); n > 0 {
			images[i.Registry+" "+i.Repository] = n
		}
	}
	for _, c := range got.Clients {
		if n := c.Served(); n > 0 {
			clients[c.Address] = n
		}
	}
	lines := map[string]int{}
	for name, n := range map[string]int{"combined": got.Lines.Combined, "logrus": got.Lines.Logrus, "zot": got.Lines.Zot, "repeated": got.Lines.Repeated,
		"other": got.Lines.Other, "unreadable": got.Lines.Unreadable, "long": got.Lines.TooLong} {
		if n > 0 {
			lines[name] = n
		}
	}
	delete(want.clients, "other")
	was := false
	for name := range want.images {
		registry, repository, _ := strings.Cut(name, " ")
		if registry != "" && !strings.EqualFold(registry, "ghcr.io") {
			continue
		}
		was = was || repository == "siderolabs/kubelet" || strings.HasSuffix("/"+repository, "/"+kubelet)
	}
	if got.Image == kubelet {
		require.Equal(t, was, got.Asked.Served() > 0)
		require.False(t, got.Answer == accesslog.Yes && !was || got.Answer == accesslog.No && was, got.Reason)
	}
	require.Equal(t, want.lines, lines)
	require.Equal(t, want.images, images)
	require.Equal(t, want.clients, clients)
	require.True(t, want.first.Equal(got.First) || want.first.IsZero(), "%s, want %s", got.First, want.first)
	require.True(t, want.last.Equal(got.Last) || want.last.IsZero(), "%s, want %s", got.Last, want.last)
}
