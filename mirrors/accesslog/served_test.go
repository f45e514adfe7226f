package accesslog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

const (
	digest = "sha256:835a8f3a6f4af52f28e36af27748ca2d0b7d97aa92091a4822b741f88cb9e25e"
	layer  = "sha256:4d44bd8767077e6990ecbf4c631e9ee167979b6ce6ef6e43917724aee6c91cb6"
	other  = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	node   = "containerd/v2.3.3"
)

// access is a line as distribution and nginx write it.
func access(request string, status int) string {
	return accessOf("192.0.2.7", request, status, node)
}

func accessOf(client, request string, status int, agent string) string {
	return fmt.Sprintf("%s - - [30/Nov/2026:17:48:41 +0000] %q %d 417 \"\" %q\n", client, request+" HTTP/1.1", status, agent)
}

func get(path string) string { return access("GET /v2/"+path, 200) }

// logrus is the line of distribution's own for the same request.
func logrus(method, uri string, status int, id string) string {
	level, msg := "info", "response completed"
	if status >= 400 {
		level, msg = "error", `response completed with error`
	}
	return fmt.Sprintf("time=\"2026-11-30T17:48:41.104955052Z\" level=%s msg=%q go.version=go1.19.8 http.request.host=\"127.0.0.1:5000\" http.request.id=%s http.request.method=%s http.request.remoteaddr=\"192.0.2.7:42770\" http.request.uri=%q http.request.useragent=%s http.response.contenttype=application/vnd.oci.image.manifest.v1+json http.response.duration=\"952.289µs\" http.response.status=%d http.response.written=417\n",
		level, msg, id, method, uri, node, status)
}

func logrusJSON(method, uri string, status int, id string) string {
	return fmt.Sprintf(`{"go.version":"go1.19.8","http.request.host":"127.0.0.1:5000","http.request.id":%q,"http.request.method":%q,"http.request.remoteaddr":"192.0.2.7:42770","http.request.uri":%q,"http.request.useragent":%q,"http.response.duration":"5.5ms","http.response.status":%d,"http.response.written":417,"level":"info","msg":"response completed","time":"2026-11-30T17:48:41.104955052Z"}`+"\n",
		id, method, uri, node, status)
}

func zot(method, uri string, status int) string {
	return fmt.Sprintf(`{"time":"2026-11-30T17:48:41.104955052Z","level":"info","message":"HTTP API","module":"http","component":"session","clientIP":"192.0.2.7:42770","method":%q,"path":%q,"statusCode":%d,"latency":"2s","bodySize":417,"headers":{"Accept":["*/*"],"Authorization":["******"],"User-Agent":[%q]},"caller":"zotregistry.dev/zot/v2/pkg/api/session.go:131","goroutine":25}`+"\n",
		method, uri, status, node)
}

// zotBefore is the line of zot before 2.1.11 or so, whose logger was zerolog.
func zotBefore(method, uri string, status int) string {
	return fmt.Sprintf(`{"level":"info","module":"http","component":"session","clientIP":"192.0.2.7:42770","method":%q,"path":%q,"statusCode":%d,"latency":"2.901687ms","bodySize":417,"headers":{"Accept-Encoding":["gzip"],"User-Agent":[%q]},"goroutine":81,"caller":"zotregistry.dev/zot/pkg/api/session.go:132","time":"2026-11-30T17:48:41.072255094Z","message":"HTTP API"}`+"\n",
		method, uri, status, node)
}

const kubelet = "ghcr.io/siderolabs/kubelet"

func TestServed(t *testing.T) {
	const manifests = "siderolabs/kubelet/manifests/"
	ns := "?ns=ghcr.io"
	pull := access("HEAD /v2/"+manifests+"v1.34.1"+ns, 200) + get(manifests+digest+ns) + get("siderolabs/kubelet/blobs/"+layer+ns)
	else200 := get("siderolabs/talos/manifests/v1.13.0" + ns)
	tests := []struct {
		name, image, log string
		opts             []accesslog.Option
		want             accesslog.Answer
		reason           string // a part of it
		served           int
	}{
		{"a pull", kubelet, pull, nil, accesslog.Yes, "served 2 manifests and 1 blob at 2026-11-30T17:48:41Z; the log names the registry", 3},
		{"its tag", kubelet + ":v1.34.1", pull, nil, accesslog.Yes, "served 1 manifest and 0 blobs at 2026-11-30T17:48:41Z, to HEAD, and of the repository 1 manifest by digest and 1 blob", 1},
		{"its tag, looked at", kubelet + ":v1.34.1", access("HEAD /v2/"+manifests+"v1.34.1"+ns, 200), nil, accesslog.Unknown, "served 1 manifest and 0 blobs at 2026-11-30T17:48:41Z; to HEAD alone: a node looked", 1},
		{"looked at, then failed", kubelet + ":v1.34.1", access("HEAD /v2/"+manifests+"v1.34.1"+ns, 200) + access("GET /v2/"+manifests+digest+ns, 500), nil, accesslog.Unknown, "failed to get it; 1 request for a manifest by digest failed", 1},
		{"looked at, and another tag pulled", kubelet + ":v1.34.1", access("HEAD /v2/"+manifests+"v1.34.1"+ns, 200) + get(manifests+"v1.34.0"), nil, accesslog.Unknown, "to HEAD alone", 1},
		{"looked at, and another tag pulled by digest", kubelet + ":v1.34.0", access("HEAD /v2/"+manifests+"v1.34.0"+ns, 200) + pull, nil, accesslog.Unknown, "what was served to GET may be of another tag", 1},
		{"pulled, and another tag looked at", kubelet + ":v1.34.1", pull + access("HEAD /v2/"+manifests+"v1.34.0"+ns, 200), nil, accesslog.Yes, "", 1},
		{"all blobs failed", kubelet + ":v1.34.1", access("HEAD /v2/"+manifests+"v1.34.1"+ns, 200) + get(manifests+digest+ns) + access("GET /v2/siderolabs/kubelet/blobs/"+layer, 500) + access("GET /v2/siderolabs/kubelet/blobs/"+layer, 404), nil, accesslog.Unknown, "none of the blobs was served; 1 request for a blob failed; 1 request for a blob missing (404)", 1},
		{"one blob failed", kubelet, pull + access("GET /v2/siderolabs/kubelet/blobs/"+other, 500) + access("GET /v2/siderolabs/kubelet/blobs/"+other, 500), nil, accesslog.Yes, "2 requests for blobs failed; the log names", 3},
		{"had all blobs", kubelet + ":v1.34.1", access("HEAD /v2/"+manifests+"v1.34.1"+ns, 200) + get(manifests+digest+ns), nil, accesslog.Yes, "", 1},
		{"its digest", kubelet + "@" + digest, pull, nil, accesslog.Yes, "served 1 manifest", 1},
		{"tag and digest: the digest decides", kubelet + ":v9@" + digest, pull, nil, accesslog.Yes, "served 1 manifest", 1},
		{"another tag", kubelet + ":v1.34.0", pull, nil, accesslog.No, "never asked for, in a log of 3 requests from 2026-11-30T17:48:41Z to 2026-11-30T17:48:41Z; 2 served manifests are of the repository with another tag or digest", 0},
		{"another digest", kubelet + "@" + other, pull, nil, accesslog.No, "never asked for", 0},
		{"a tag that begins so", kubelet + ":v1.34", pull, nil, accesslog.No, "never asked for", 0},
		{"digests do not say the tag", kubelet + ":v1.34.1", get(manifests+digest+ns) + get("siderolabs/kubelet/blobs/"+layer), nil, accesslog.Unknown, "1 manifest by digest and 1 blob, which have no tag", 0},
		{"another tag, and a digest of somebody else", kubelet + ":v1.34.0", pull + accessOf("192.0.2.8", "GET /v2/"+manifests+other+ns, 200, node), nil, accesslog.Unknown, "manifests by digest that no request for a tag explains", 0},
		{"another tag, and its digest of somebody else", kubelet + ":v1.34.0", accessOf("192.0.2.8", "GET /v2/"+manifests+digest+ns, 200, node) + pull, nil, accesslog.No, "never asked for", 0},
		{"another tag, and more digests than it has", kubelet + ":v1.34.0", pull + get(manifests+other+ns) + get(manifests+layer+ns), nil, accesslog.Unknown, "no request for a tag explains", 0},
		{"another digest, and a tag", kubelet + "@" + other, pull + get(manifests+"v1.34.1"+ns), nil, accesslog.Unknown, "by tag", 0},
		{"a tag does not say the digest", kubelet + "@" + digest, get(manifests + "v1" + ns), nil, accesslog.Unknown, "may be of the digest", 0},
		{"by path alone", kubelet, get(manifests + "v1"), nil, accesslog.Yes, "by the path alone: the log does not name the registry", 1},
		{"another registry", kubelet, get(manifests + "v1?ns=quay.io"), nil, accesslog.No, "1 served request is for the same path of quay.io", 0},
		{"a name that ends so", "ghcr.io/kubelet", get(manifests + "v1" + ns), nil, accesslog.Unknown, "1 served request is for siderolabs/kubelet", 0},
		{"a name that begins so", "ghcr.io/siderolabs/kube", get(manifests + "v1" + ns), nil, accesslog.No, "never asked", 0},
		{"Harbor, without the path", kubelet, get("proxy/ghcr/" + manifests + "v1"), nil, accesslog.Unknown, "depends on the path of the mirror's endpoint", 0},
		{"Harbor", kubelet, get("proxy/ghcr/" + manifests + "v1" + ns), []accesslog.Option{accesslog.UnderPath("/v2/proxy/ghcr")}, accesslog.Yes, "", 1},
		{"Harbor, another project", kubelet, get("proxy/quay/" + manifests + "v1"), []accesslog.Option{accesslog.UnderPath("/v2/proxy/ghcr")}, accesslog.Unknown, "for proxy/quay/siderolabs/kubelet", 0},
		{"Nexus", kubelet, access("GET /repository/ghcr/v2/"+manifests+"v1", 200), []accesslog.Option{accesslog.UnderPath("/repository/ghcr/")}, accesslog.Yes, "by the path alone", 1},
		{"the path names the registry", kubelet, get("ghcr.io/" + manifests + "v1"), nil, accesslog.Yes, "the log names the registry", 1},
		{"an overridePath without v2", kubelet, access("GET /cache/"+manifests+"v1", 200), []accesslog.Option{accesslog.UnderPath("/cache")}, accesslog.Yes, "", 1},
		{"Docker Hub", "nginx", get("library/nginx/manifests/latest?ns=docker.io"), nil, accesslog.Yes, "names the registry", 1},
		{"Docker Hub without library", "nginx", get("nginx/manifests/latest?ns=docker.io"), nil, accesslog.Yes, "", 1},
		{"Docker Hub without ns", "docker.io/library/nginx", get("library/nginx/manifests/latest"), nil, accesslog.Yes, "path alone", 1},
		{"not Docker Hub", "nginx", get("nginx/manifests/latest"), nil, accesslog.No, "never asked", 0},
		{"a port in ns", "reg.internal:5000/acme/app", get("acme/app/manifests/v1?ns=reg.internal%3A5000"), nil, accesslog.Yes, "names the registry", 1},
		{"a digest with %3A", kubelet + "@" + digest, get(manifests + strings.Replace(digest, ":", "%3A", 1)), nil, accesslog.Yes, "", 1},

		{"304", kubelet, access("GET /v2/"+manifests+digest, 304), nil, accesslog.Yes, "", 1},
		{"206", kubelet, access("GET /v2/siderolabs/kubelet/blobs/"+layer, 206), nil, accesslog.Yes, "0 manifests and 1 blob", 1},
		{"307 to the storage", kubelet, access("GET /v2/siderolabs/kubelet/blobs/"+layer, 307), nil, accesslog.Yes, "1 blob", 1},
		{"301", kubelet, access("GET /v2/"+manifests+"v1", 301), nil, accesslog.Unknown, "1 request was sent to another address", 0},
		{"404", kubelet, access("HEAD /v2/"+manifests+"v1"+ns, 404), nil, accesslog.No, "asked for and never served: missing (404) 1×; a node goes on to its next endpoint", 0},
		{"404, then served", kubelet, access("HEAD /v2/"+manifests+"v1", 404) + access("GET /v2/"+manifests+"v1", 200), nil, accesslog.Yes, "", 1},
		{"500", kubelet, access("GET /v2/"+manifests+"v1", 500), nil, accesslog.No, "failed 1×", 0},
		{"401 alone", kubelet, access("GET /v2/"+manifests+"v1", 401), nil, accesslog.No, "refused (401, 403) 1×", 0},
		{"401, then with a login", kubelet, access("GET /v2/"+manifests+"v1", 401) + access("GET /v2/"+manifests+"v1", 200), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"a push", kubelet, access("PUT /v2/"+manifests+"v1", 201) + access("HEAD /v2/siderolabs/kubelet/blobs/"+layer, 200), nil, accesslog.No, "never asked for", 0},
		{"an upload", kubelet, access("GET /v2/siderolabs/kubelet/blobs/uploads/d78f68eb", 204), nil, accesslog.No, "never asked", 0},

		{"curl", kubelet, accessOf("192.0.2.7", "GET /v2/"+manifests+"v1", 200, "curl/8.5.0"), nil, accesslog.No, "1 request is of a left-out user agent", 0},
		{"Curl", kubelet, accessOf("192.0.2.7", "GET /v2/"+manifests+"v1", 200, " Curl/8.5.0"), nil, accesslog.No, "1 request is of a left-out user agent", 0},
		{"the agents are named", kubelet, pull + accessOf("192.0.2.7", "GET /v2/"+manifests+"v1", 200, "Mozilla/5.0"), nil, accesslog.Yes, `; user agent "containerd/v2.3.3", "Mozilla/5.0"`, 4},
		{"a browser", kubelet, accessOf("192.0.2.7", "GET /v2/"+manifests+"v1", 200, "Mozilla/5.0"), []accesslog.Option{accesslog.Agents("containerd/")}, accesslog.No, "1 request is of a left-out user agent", 0},
		{"containerd alone", kubelet, pull + accessOf("192.0.2.7", "GET /v2/"+manifests+"v1", 200, "Mozilla/5.0"), []accesslog.Option{accesslog.Agents("Containerd/")}, accesslog.Yes, "; 1 request is of a left-out", 3},
		{"curl counts", kubelet, accessOf("192.0.2.7", "GET /v2/"+manifests+"v1", 200, "curl/8.5.0"), []accesslog.Option{accesslog.Ignore()}, accesslog.Yes, "", 1},
		{"containerd left out", kubelet, pull, []accesslog.Option{accesslog.Ignore("containerd/")}, accesslog.No, "3 requests are of a left-out", 0},
		{"only probes", kubelet, accessOf("192.0.2.7", "GET /v2/", 200, "kube-probe/1.34"), nil, accesslog.No, "never asked for", 0},

		{"from", kubelet, pull, []accesslog.Option{accesslog.From("192.0.2.0/24")}, accesslog.Yes, "", 3},
		{"from another", kubelet, pull + accessOf("192.0.2.8", "GET /v2/a/b/manifests/v1", 200, node), []accesslog.Option{accesslog.From("192.0.2.8")}, accesslog.No, "3 requests were served to another client", 0},
		{"from nobody", kubelet, pull, []accesslog.Option{accesslog.From("192.0.2.8")}, accesslog.Unknown, "no request is from 192.0.2.8: a proxy may stand between", 0},
		{"from a mapped prefix", kubelet, pull, []accesslog.Option{accesslog.From("::ffff:192.0.2.0/120")}, accesslog.Yes, "", 3},
		{"from every mapped address", kubelet, pull, []accesslog.Option{accesslog.From("::ffff:0.0.0.0/96")}, accesslog.Yes, "", 3},
		{"from another mapped prefix", kubelet, pull, []accesslog.Option{accesslog.From("::ffff:192.0.2.8/128")}, accesslog.Unknown, "", 0},
		{"from, and mapped", kubelet, accessOf("::ffff:192.0.2.7", "GET /v2/"+manifests+"v1", 200, node), []accesslog.Option{accesslog.From("192.0.2.7")}, accesslog.Yes, "", 1},
		{"from behind a proxy", kubelet, accessOf("192.0.2.8", "GET /v2/a/b/manifests/v1", 200, node) + accessOf("192.0.2.99", "GET /v2/"+manifests+"v1", 200, node) + strings.Replace(logrus("GET", "/v2/"+manifests+"v1", 200, "1"), "192.0.2.7:42770", "192.0.2.8", 1), []accesslog.Option{accesslog.From("192.0.2.8")}, accesslog.Unknown, "1 request was served to 192.0.2.8 in a line of distribution's own, and to who is in the access line: a proxy may stand between", 0},
		{"from behind a proxy, the other way round", kubelet, strings.Replace(logrus("GET", "/v2/"+manifests+"v1", 200, "1"), "192.0.2.7:42770", "192.0.2.8", 1) + accessOf("192.0.2.99", "GET /v2/"+manifests+"v1", 200, node), []accesslog.Option{accesslog.From("192.0.2.8")}, accesslog.Yes, "", 1},
		{"from a name", kubelet, accessOf("node1.internal", "GET /v2/"+manifests+"v1", 200, node) + accessOf("192.0.2.8", "GET /v2/a/b/manifests/v1", 200, node), []accesslog.Option{accesslog.From("192.0.2.8")}, accesslog.Unknown, "whose address the log does not have", 0},
		{"since", kubelet, pull, []accesslog.Option{accesslog.Since(at("17:48:41"))}, accesslog.Yes, "", 3},
		{"cut before", kubelet, else200, []accesslog.Option{accesslog.Since(at("17:00:00"))}, accesslog.Unknown, "the log begins at 2026-11-30T17:48:41Z, after the period does", 0},
		{"cut before, and yes", kubelet, pull, []accesslog.Option{accesslog.Since(at("17:00:00"))}, accesslog.Yes, "", 3},
		{"ends early", kubelet, else200, []accesslog.Option{accesslog.Until(at("18:00:00"))}, accesslog.Unknown, "the log ends at", 0},
		{"the period is later", kubelet, else200, []accesslog.Option{accesslog.Since(at("17:49:00"))}, accesslog.Unknown, "the log ends at 2026-11-30T17:48:41Z, before the period begins", 0},
		{"the period is earlier", kubelet, else200, []accesslog.Option{accesslog.Until(at("17:48:00"))}, accesslog.Unknown, "the log begins at 2026-11-30T17:48:41Z, after the period ends", 0},
		{"before the period", kubelet, pull + strings.ReplaceAll(else200, "17:48:41", "17:50:00"), []accesslog.Option{accesslog.Since(at("17:49:00"))}, accesslog.No, "3 requests are out of the period", 0},

		{"empty", kubelet, "", nil, accesslog.Unknown, "the log is empty", 0},
		{"blank lines", kubelet, "\n\n", nil, accesslog.Unknown, "the log has no request", 0},
		{"another format", kubelet, "hello\nworld\n", nil, accesslog.Unknown, "no line is of a known format", 0},
		{"mostly unreadable", kubelet, else200 + "hello\nworld\n", nil, accesslog.Unknown, "2 of 3 lines cannot be read", 0},
		{"a few unreadable", kubelet, else200 + else200 + "hello\n", nil, accesslog.No, "never asked", 0},
		{"the unreadable has the name", kubelet, else200 + else200 + "hello siderolabs/kubelet\n", nil, accesslog.Unknown, "line 3 has the name siderolabs/kubelet and cannot be read", 0},
		{"the last line is cut", kubelet, else200 + else200 + pull[:60], nil, accesslog.Unknown, "the last line is cut", 0},
		{"a long line", kubelet, else200 + strings.Repeat("x", accesslog.MaxLine+1) + "\n", nil, accesslog.Unknown, "1 line is longer than 65536 bytes", 0},
		{"a long line and a pull", kubelet, pull + strings.Repeat("x", accesslog.MaxLine+1) + "\n", nil, accesslog.Unknown, "a client may have written", 3},
		{"a long line, and zot's", kubelet, zot("GET", "/v2/"+manifests+"v1", 200) + strings.Repeat("x", accesslog.MaxLine+1) + "\n", nil, accesslog.Unknown, "a client may have written", 1},
		{"a long line of zot's", kubelet, zot("GET", "/v2/"+manifests+"v1", 200) + "{" + strings.Repeat("x", accesslog.MaxLine+1) + "\n", nil, accesslog.Yes, "", 1},
		{"a user agent with a backslash at its end", kubelet, accessOf("192.0.2.7", "GET /v2/"+manifests+"v1", 200, `x\`), nil, accesslog.Yes, "", 1},
		{"no requests", kubelet, `time="2026-11-30T17:48:39.4Z" level=info msg="listening on [::]:5000" service=registry` + "\n", nil, accesslog.Unknown, "access lines may be off", 0},
		{"errors only", kubelet, logrus("HEAD", "/v2/a/b/manifests/v1", 404, "1"), nil, accesslog.Unknown, "failed requests only", 0},

		{"logrus", kubelet, logrus("GET", "/v2/"+manifests+"v1"+ns, 200, "1"), nil, accesslog.Yes, "names the registry", 1},
		{"logrus JSON", kubelet, logrusJSON("GET", "/v2/"+manifests+"v1"+ns, 200, "1"), nil, accesslog.Yes, "names the registry", 1},
		{"logstash", kubelet, strings.NewReplacer(`"msg":`, `"message":`, `"time":`, `"@version":"1","@timestamp":`).Replace(logrusJSON("GET", "/v2/"+manifests+"v1"+ns, 200, "1")), nil, accesslog.Yes, "", 1},
		{"zot", kubelet, zot("GET", "/v2/"+manifests+"v1"+ns, 200), nil, accesslog.Yes, "names the registry", 1},
		{"zot, 404", kubelet, zot("GET", "/v2/"+manifests+"v1"+ns, 200), nil, accesslog.Yes, "", 1},
		{"not a request: authorized", kubelet, strings.Replace(logrus("GET", "/v2/"+manifests+"v1", 200, "1"), "response completed", "authorized request", 1) + else200, nil, accesslog.No, "in a log of 1 request ", 0},
		{"zot's audit", kubelet, strings.Replace(zot("GET", "/v2/"+manifests+"v1", 200), "HTTP API", "HTTP API Audit", 1) + else200, nil, accesslog.No, "", 0},

		{"one request in two lines", kubelet, logrus("GET", "/v2/"+manifests+"v1", 200, "1") + get(manifests+"v1"), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"the other way round", kubelet, get(manifests+"v1") + logrusJSON("GET", "/v2/"+manifests+"v1", 200, "1"), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"two requests in three lines", kubelet, logrus("GET", "/v2/"+manifests+"v1", 200, "1") + get(manifests+"v1") + get(manifests+"v1"), nil, accesslog.Yes, "served 2 manifests", 2},
		{"two requests in four lines", kubelet, logrus("GET", "/v2/"+manifests+"v1", 200, "1") + logrus("GET", "/v2/"+manifests+"v1", 200, "2") + get(manifests+"v1") + get(manifests+"v1"), nil, accesslog.Yes, "served 2 manifests", 2},
		{"the same id", kubelet, logrus("GET", "/v2/"+manifests+"v1", 200, "1") + logrus("GET", "/v2/"+manifests+"v1", 200, "1"), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"across a second", kubelet, logrus("GET", "/v2/"+manifests+"v1", 200, "1") + earlier(1, get(manifests+"v1")), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"across a second, the other way round", kubelet, earlier(1, get(manifests+"v1")) + logrus("GET", "/v2/"+manifests+"v1", 200, "1"), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"a duration into the second before", kubelet, get(manifests+"v1") + strings.NewReplacer("952.289µs", "1m0.2s", "17:48:41", "17:49:41").Replace(logrus("GET", "/v2/"+manifests+"v1", 200, "1")), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"and the other way round", kubelet, strings.NewReplacer("952.289µs", "1m0.2s", "17:48:41", "17:49:41").Replace(logrus("GET", "/v2/"+manifests+"v1", 200, "1")) + get(manifests+"v1"), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"two seconds apart", kubelet, logrus("GET", "/v2/"+manifests+"v1", 200, "1") + earlier(2, get(manifests+"v1")), nil, accesslog.Yes, "served 2 manifests", 2},
		{"a request that took long", kubelet, strings.Replace(logrus("GET", "/v2/"+manifests+"v1", 200, "1"), "952.289µs", "10.2s", 1) + earlier(11, get(manifests+"v1")), nil, accesslog.Yes, "served 1 manifest and", 1},
		{"another status", kubelet, logrus("GET", "/v2/"+manifests+"v1", 404, "1") + get(manifests+"v1"), nil, accesslog.Yes, "served 1 manifest and", 1},

		{"kubectl logs --timestamps", kubelet, "2026-11-30T17:48:41.5Z " + get(manifests+"v1"), nil, accesslog.Yes, "", 1},
		{"kubectl logs --prefix", kubelet, "[pod/cache-0/registry] " + zot("GET", "/v2/"+manifests+"v1", 200), nil, accesslog.Yes, "", 1},
		{"both", kubelet, "[pod/cache-0/registry] 2026-11-30T17:48:41.5+01:00 " + logrus("GET", "/v2/"+manifests+"v1", 200, "1"), nil, accesslog.Yes, "", 1},
		{"CRI", kubelet, "2026-11-30T17:48:41.5Z stdout F " + get(manifests+"v1"), nil, accesslog.Yes, "", 1},
		{"CRI, split", kubelet, "2026-11-30T17:48:41.5Z stdout P " + get(manifests+"v1") + "2026-11-30T17:48:41.5Z stderr F " + else200 + "2026-11-30T17:48:41.5Z stdout F " + get(manifests+"v1"), nil, accesslog.Unknown, "2 lines are longer than 65536 bytes or split", 0},
		{"CRI, after a split one", kubelet, "2026-11-30T17:48:41.5Z stdout P {x\n2026-11-30T17:48:41.5Z stdout F y\n2026-11-30T17:48:41.5Z stdout F " + zot("GET", "/v2/"+manifests+"v1", 200), nil, accesslog.Yes, "", 1},
		{"CRI, after a split request", kubelet, "2026-11-30T17:48:41.5Z stdout P x\n2026-11-30T17:48:41.5Z stdout F y\n2026-11-30T17:48:41.5Z stdout F " + get(manifests+"v1"), nil, accesslog.Unknown, "a client may have written", 1},
		{"forged", kubelet, withUser("x\n" + get(manifests+"v1") + "x"), nil, accesslog.Unknown, "line 3 is of a request whose URL has a user with a line feed", 1},
		{"forged on its own line", kubelet, withUser(strings.TrimSuffix(strings.TrimPrefix(get(manifests+"v1"), "192.0.2.7 - "), "\n")), nil, accesslog.Unknown, "line 1 is of a request", 1},
		{"forged, and long", kubelet, withUser("x\n" + get(manifests+"v1") + strings.Repeat("p", 20000)), nil, accesslog.Unknown, "a client may have written", 1},
		{"forged, and split between :// and @", kubelet, cri(withUser("x\n" + get(manifests+"v1") + strings.Repeat("p", 20000))), nil, accesslog.Unknown, "a client may have written", 1},
		{"forged, and split as JSON", kubelet, cri(withUser("x\n" + get(manifests+"v1") + "{" + strings.Repeat("p", 20000))), nil, accesslog.Unknown, "a client may have written", 1},
		{"forged as zot, and split as JSON", kubelet, cri(withUser("x\n" + zot("GET", "/v2/"+manifests+"v1", 200) + "{" + strings.Repeat("p", 20000))), nil, accesslog.Unknown, "a client may have written", 1},
		{"a user is no forger", kubelet, withUser("anybody") + get(manifests+"v1"), nil, accesslog.Yes, "", 1},
		{"a user with a space is none", kubelet, withUser("any body") + get(manifests+"v1"), nil, accesslog.Yes, "", 1},
		{"a URL with a user behind the agent is none", kubelet, strings.TrimSuffix(get(manifests+"v1"), "\n") + ` "http://a@b/%0a" 0.125` + "\n", nil, accesslog.Yes, "", 1},
		{"forged before the period", kubelet, strings.ReplaceAll(withUser("x\n"+get(manifests+"v1")+"x"), "17:48:41", "17:48:40") + get(manifests+"v1"), []accesslog.Option{accesslog.Since(at("17:48:41"))}, accesslog.Yes, "", 1},
		{"forged before the period, for in it", kubelet, strings.Replace(withUser("x\n"+get(manifests+"v1")+"x"), "41 +0000] \"GET http:", "40 +0000] \"GET http:", 1), []accesslog.Option{accesslog.Since(at("17:48:41"))}, accesslog.Unknown, "(want a period that begins after 2026-11-30T17:48:41Z)", 1},
		{"long before the period", kubelet, strings.Repeat("x", accesslog.MaxLine+1) + "\n" + get(manifests+"v1"), []accesslog.Option{accesslog.Since(at("17:48:41"))}, accesslog.Yes, "", 1},
		{"docker's json-file", kubelet, fmt.Sprintf(`{"log":%q,"stream":"stdout","time":"2026-11-30T17:48:41.5Z"}`+"\n", get(manifests+"v1")), nil, accesslog.Unknown, "no line is of a known format", 0},
		{"journal", kubelet, "Nov 30 17:48:41 host registry[12]: " + get(manifests+"v1"), nil, accesslog.Unknown, "no line is of a known format", 0},
		{"carriage returns and a byte order mark", kubelet, "\ufeff" + strings.ReplaceAll(pull, "\n", "\r\n"), nil, accesslog.Yes, "", 3},
		{"NUL bytes", kubelet, strings.Repeat("\x00", 3*accesslog.MaxLine) + pull, nil, accesslog.Yes, "", 3},
		{"NUL bytes alone", kubelet, strings.Repeat("\x00", 3*accesslog.MaxLine), nil, accesslog.Unknown, "the log is empty", 0},
		{"UTF-16", kubelet, "\xff\xfe" + strings.ReplaceAll(pull, "", "\x00"), nil, accesslog.Unknown, "", 0},
		{"gzip", kubelet, zipped(pull), nil, accesslog.Yes, "", 3},
		{"two of them", kubelet, zipped(else200) + zipped(pull), nil, accesslog.Yes, "", 3},
		{"gzip, cut", kubelet, zipped(else200)[:40], nil, accesslog.Unknown, "cannot be read: unexpected EOF", 0},
		{"zstd", kubelet, "\x28\xb5\x2f\xfd1234", nil, accesslog.Unknown, "want it decompressed", 0},
		{"xz", kubelet, "\xfd7zXZ\x00", nil, accesslog.Unknown, "want it decompressed", 0},
		{"bzip2", kubelet, "BZh91AY", nil, accesslog.Unknown, "want it decompressed", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := accesslog.Served(strings.NewReader(tt.log), tt.image, tt.opts...)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got.Answer, got.Reason)
			assert.Contains(t, got.Reason, tt.reason)
			assert.NotEmpty(t, got.Reason)
			assert.Equal(t, tt.served, got.Asked.Served(), "served")
			checkSums(t, got)

			for name, wrap := range map[string]func(io.Reader) io.Reader{"one byte at a time": iotest.OneByteReader, "half": iotest.HalfReader, "with the error": iotest.DataErrReader} {
				again, err := accesslog.Served(wrap(strings.NewReader(tt.log)), tt.image, tt.opts...)
				require.NoError(t, err)
				assert.Equal(t, got, again, name)
			}
		})
	}
}

// withUser is the line of distribution for a request whose URL has a user.
func withUser(user string) string {
	return fmt.Sprintf("192.0.2.66 - %s [30/Nov/2026:17:48:41 +0000] \"GET http://%s@m.internal/v2/ HTTP/1.1\" 200 2 \"\" \"node\"\n",
		user, strings.ReplaceAll(url.QueryEscape(user), "+", "%20"))
}

// cri is a log as a container runtime writes it, which splits lines at 16 KiB.
func cri(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		const stamp, piece = "2026-11-30T17:48:41.5Z stdout ", 16 << 10
		for ; len(line) > piece; line = line[piece:] {
			out.WriteString(stamp + "P " + line[:piece] + "\n")
		}
		out.WriteString(stamp + "F " + line)
	}
	return out.String()
}

// earlier is a line of n seconds before.
func earlier(n int, line string) string {
	return strings.Replace(line, "17:48:41", fmt.Sprintf("17:48:%02d", 41-n), 1)
}

// checkSums tells that every line and every request is counted somewhere.
func checkSums(t *testing.T, r *accesslog.Report) {
	t.Helper()
	l := r.Lines
	assert.Equal(t, l.Read, l.Combined+l.Logrus+l.Zot+l.Repeated+l.Other+l.Unreadable+l.TooLong, "lines")
	var images, clients int
	for _, i := range r.Images {
		images += i.Requests() + i.Challenged
	}
	for _, c := range r.Clients {
		clients += c.Requests() + c.Challenged
	}
	assert.Equal(t, images+r.OtherImages, clients+r.OtherClients, "images and clients")
	assert.Equal(t, images+r.OtherImages, r.Total.Requests()+r.Total.Challenged, "total")
	assert.LessOrEqual(t, images+r.OtherImages+r.Ignored+r.Outside, l.Requests(), "requests")
}

func at(clock string) time.Time {
	t, err := time.Parse(time.RFC3339, "2026-11-30T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return t
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func TestServedWrongCall(t *testing.T) {
	tests := []struct {
		image string
		opt   accesslog.Option
		want  string
	}{
		{"", nil, `image: "" is no image: invalid reference format (want a reference such as ghcr.io/siderolabs/kubelet:v1.34.1)`},
		{"GHCR.io/A", nil, `image: "GHCR.io/A" is no image: invalid reference format: repository name (A) must be lowercase (want a reference such as ghcr.io/siderolabs/kubelet:v1.34.1)`},
		{"nginx", accesslog.From("node1"), `from: "node1" is no client (want an address or a prefix such as 192.0.2.0/24)`},
		{"nginx", accesslog.Ignore(""), `ignore: the beginning "" is that of every user agent (want a name such as curl/)`},
		{"nginx", accesslog.Agents(""), `agents: the beginning "" is that of every user agent (want a name such as curl/)`},
		{"nginx", accesslog.Agents(), `agents: there is none (want a name such as containerd/)`},
		{"nginx", accesslog.UnderPath("/v2/a b"), `path: "/v2/a b" is no path (want the path of the endpoint's URL, such as /v2/proxy/ghcr)`},
	}
	for _, tt := range tests {
		var opts []accesslog.Option
		if tt.opt != nil {
			opts = append(opts, tt.opt)
		}
		report, err := accesslog.Served(strings.NewReader(""), tt.image, opts...)
		assert.Nil(t, report)
		var wrong *accesslog.Error
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, tt.want, err.Error())
	}
	_, err := accesslog.Served(strings.NewReader(""), "nginx", accesslog.Since(at("18:00:00")), accesslog.Until(at("17:00:00")))
	assert.EqualError(t, err, "until: 2026-11-30T17:00:00Z is before 2026-11-30T18:00:00Z (want the end of the period after its beginning)")
}

// What was read before an error counts.
func TestServedReadError(t *testing.T) {
	broken := errors.New("the disk\x1b[31m is gone")
	for _, tt := range []struct {
		log  string
		want accesslog.Answer
	}{
		{get("siderolabs/talos/manifests/v1"), accesslog.Unknown},
		{get("siderolabs/kubelet/manifests/v1"), accesslog.Yes},
		{"", accesslog.Unknown},
	} {
		got, err := accesslog.Served(io.MultiReader(strings.NewReader(tt.log), iotest.ErrReader(broken)), kubelet)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got.Answer)
		assert.ErrorIs(t, got.Err, broken)
		if tt.want == accesslog.Unknown {
			assert.Contains(t, got.Reason, "cannot be read: the disk?[31m is gone")
		}
	}
}

// once ends once; a terminal that is read again waits for more.
type once struct {
	r     io.Reader
	ended bool
	again bool
}

func (o *once) Read(p []byte) (int, error) {
	o.again = o.again || o.ended
	n, err := o.r.Read(p)
	o.ended = err != nil
	return n, err
}

// After its end, a log is not read again.
func TestServedEnd(t *testing.T) {
	for _, log := range []string{"", "x", "x\n", "{}\n", "\x00", "\x00\x00\x00\x00\x00", "\ufeff", get("a/b/manifests/v1"), get("a/b/manifests/v1") + "x", zipped(""), zipped("x"), zipped("x")[:9], "\x1f\x8b"} {
		for _, end := range []error{io.EOF, errors.New("gone")} {
			r := &once{r: io.MultiReader(strings.NewReader(log), iotest.ErrReader(end))}
			_, err := accesslog.Served(r, kubelet)
			require.NoError(t, err)
			assert.False(t, r.again, "%q, %v", log, end)
			assert.True(t, r.ended, "%q, %v", log, end)
		}
	}
}

func TestTimes(t *testing.T) {
	line := strings.TrimSuffix(get("siderolabs/kubelet/manifests/v1"), "\n")
	tests := []struct {
		name, log string
		took      time.Duration
		timed     int
	}{
		{"none", line, 0, 0},
		{"nginx", line + " 0.125", 125 * time.Millisecond, 1},
		{"nginx, behind the client", line + ` "203.0.113.9, 192.0.2.1" 1.500 0.100 .`, 1500 * time.Millisecond, 1},
		{"nginx, named", line + ` host=m.internal rt=0.250 uct="0.000"`, 250 * time.Millisecond, 1},
		{"nginx, quoted", line + ` request_time="2.000"`, 2 * time.Second, 1},
		{"another number", line + ` 417 - "0.5" x=0.7`, 0, 0},
		{"logrus", logrus("GET", "/v2/siderolabs/kubelet/manifests/v1", 200, "1"), 952289 * time.Nanosecond, 1},
		{"zot", zot("GET", "/v2/siderolabs/kubelet/manifests/v1", 200), 2 * time.Second, 1},
		{"of the second line", line + "\n" + logrus("GET", "/v2/siderolabs/kubelet/manifests/v1", 200, "1"), 952289 * time.Nanosecond, 1},
		{"of the first line", logrus("GET", "/v2/siderolabs/kubelet/manifests/v1", 200, "1") + line, 952289 * time.Nanosecond, 1},
	}
	for _, tt := range tests {
		got, err := accesslog.Served(strings.NewReader(tt.log), kubelet)
		require.NoError(t, err)
		require.Equal(t, accesslog.Yes, got.Answer, tt.name+got.Reason)
		assert.Equal(t, 1, got.Asked.Manifests, tt.name)
		for _, c := range []accesslog.Count{got.Asked, got.Total, got.Images[0].Count, got.Clients[0].Count} {
			assert.Equal(t, tt.took, c.Took, tt.name)
			assert.Equal(t, tt.took, c.Slowest, tt.name)
			assert.Equal(t, tt.timed, c.Timed, tt.name)
		}
	}

	got, err := accesslog.Served(strings.NewReader(
		strings.ReplaceAll(get("siderolabs/kubelet/manifests/v1"), "17:48:41 +0000", "18:48:40 +0100")+
			strings.ReplaceAll(get("siderolabs/kubelet/blobs/"+layer), "17:48:41", "17:50:41")), kubelet)
	require.NoError(t, err)
	assert.Equal(t, at("17:48:40"), got.First)
	assert.Equal(t, at("17:48:40"), got.Asked.First)
	assert.Equal(t, at("17:50:41"), got.Asked.Last)
	assert.Equal(t, 121*time.Second, got.Span())
}

// The user agents that are named are few, short and can be printed.
func TestAgents(t *testing.T) {
	var log strings.Builder
	for i := range accesslog.MaxAgents + 2 {
		log.WriteString(accessOf("192.0.2.7", "GET /v2/siderolabs/kubelet/manifests/v1", 200, fmt.Sprintf("%d\x1b[31m%s", i, strings.Repeat("é", 100))))
	}
	got, err := accesslog.Served(strings.NewReader(log.String()), kubelet)
	require.NoError(t, err)
	require.Len(t, got.Agents, accesslog.MaxAgents)
	assert.Contains(t, got.Reason, " and others")
	for _, name := range got.Agents {
		assert.LessOrEqual(t, len(name), 128)
	}
	checkPrintable(t, got)
}

// A log with more images and clients than are kept still has its answer.
func TestBounds(t *testing.T) {
	var log strings.Builder
	const n = accesslog.MaxImages + 10
	for i := range n {
		log.WriteString(accessOf(fmt.Sprintf("fd00::%x", i), fmt.Sprintf("GET /v2/a/b%d/manifests/v1", i), 200, node))
	}
	log.WriteString(get("siderolabs/kubelet/manifests/v1"))
	got, err := accesslog.Served(strings.NewReader(log.String()), kubelet)
	require.NoError(t, err)
	assert.Equal(t, accesslog.Yes, got.Answer)
	assert.Len(t, got.Images, accesslog.MaxImages)
	assert.Len(t, got.Clients, accesslog.MaxClients)
	assert.Equal(t, 11, got.OtherImages)
	assert.Equal(t, 11, got.OtherClients)
	checkSums(t, got)
}

// The two lines of a request are one within the Window, and an id is kept as long.
func TestWindow(t *testing.T) {
	line := func(i int) string {
		return logrus("GET", fmt.Sprintf("/v2/acme/app-%d/manifests/v1", i), 200, fmt.Sprintf("id-%d", i))
	}
	for between, want := range map[int]int{accesslog.Window - 1: 1, accesslog.Window: 2} {
		var log strings.Builder
		log.WriteString(line(0))
		log.WriteString(logrus("GET", "/v2/siderolabs/kubelet/manifests/v1", 200, "kubelet"))
		for i := range between {
			log.WriteString(line(i + 1))
		}
		for _, second := range []string{get("siderolabs/kubelet/manifests/v1"), logrus("GET", "/v2/siderolabs/kubelet/manifests/v1", 200, "kubelet")} {
			got, err := accesslog.Served(strings.NewReader(log.String()+second), kubelet)
			require.NoError(t, err)
			assert.Equal(t, want, got.Asked.Manifests, "%d between, then %s", between, second)
		}
	}
}

// endless is a log of n lines, each with its own image, client and request id.
type endless struct {
	n, i int
	line []byte
	live uint64 // bytes of the heap at the end
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.line) == 0 {
		if e.i == e.n {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			e.live = m.HeapAlloc
			return 0, io.EOF
		}
		e.i++
		e.line = []byte(strings.Replace(logrus("GET", fmt.Sprintf("/v2/acme/app-%09d/manifests/v1", e.i), 200, fmt.Sprintf("id-%09d", e.i)), "192.0.2.7", fmt.Sprintf("fd00::%x", e.i), 1))
	}
	n := copy(p, e.line)
	e.line = e.line[n:]
	return n, nil
}

// Memory does not grow with the log.
func TestMemory(t *testing.T) {
	live := func(lines int) uint64 {
		log := &endless{n: lines}
		got, err := accesslog.Served(log, kubelet)
		require.NoError(t, err)
		require.Equal(t, lines, got.Lines.Logrus)
		return log.live
	}
	short, long := live(2*accesslog.Window), live(10*accesslog.Window)
	assert.Less(t, float64(long), 1.5*float64(short), "bytes of the heap at the end of a log that is five times as long")
}
