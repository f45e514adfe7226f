package accesslog_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

// randomLog is a log of requests of all kinds, in one or two lines, of all formats.
func randomLog(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var log, later []string
	for range 1 + r.IntN(25) {
		method := pick("GET", "GET", "GET", "HEAD", "PUT", "POST", "get")
		path := pick("", "/v2/", "/v2/", "/v2/", "/v2/", "/repository/ghcr/v2/", "//", "/v2/../", "http://m.internal/v2/", "http://m.internal", "/v2/proxy/ghcr/", "/v2/ghcr.io/") +
			pick("siderolabs/kubelet", "siderolabs/kubelet", "siderolabs/kubelet", "siderolabs/kubelet", "siderolabs/kubelet", "siderolabs/kubelet", "siderolabs/etcd", "kubelet", "a/./b", "A/b", "a%2Fb", "a%zzb", "library/nginx", "manifests/x", "v2/v2") +
			pick("/manifests/", "/manifests/", "/blobs/", "/blobs/", "/manifests", "/blobs/uploads/", "/tags/", "/manifests//") +
			pick("v1.34.1", "v1.34.1", digest, digest, layer, strings.Replace(digest, ":", "%3A", 1), "sha256:abc", "x:"+strings.Repeat("0", 32), "-x", strings.Repeat("t", 129), "")
		path += pick("", "", "?ns=ghcr.io", "?ns=ghcr.io", "?ns=GHCR.io", "?ns=quay.io", "?ns=", "?x=1&ns=ghcr.io", "?ns=ghcr.io&ns=ghcr.io", "?ns=reg%3A5000", "?ns=%zz", "?ns=a b", "#ns", "?xns=quay.io")
		status := []int{200, 200, 200, 206, 304, 307, 302, 303, 301, 308, 401, 403, 404, 410, 429, 499, 500, 599, 101}[r.IntN(19)]
		agent := pick(node, node, node, "docker/28.0.1 go/go1.24 \"x\"", "curl/8.5.0", "kube-probe/1.34", "mirrorpatch-probe", "xcurl/", "")
		client := pick("192.0.2.7", "192.0.2.8", "::ffff:192.0.2.7", "fd00::1", "node1.internal", "-", "a\x1bb")
		second := r.IntN(4)
		clock := func(line string) string {
			return strings.ReplaceAll(line, "17:48:41", fmt.Sprintf("17:48:%02d", 41+second))
		}
		combined := clock(accessOf(client, method+" "+path, status, agent))
		if r.IntN(3) == 0 {
			combined = strings.TrimSuffix(combined, "\n") + pick(" 0.125", ` "-" 0.125 0.120 .`, " rt=1.5", ` "`, " x") + "\n"
		}
		id := fmt.Sprint(r.IntN(30))
		fields := strings.NewReplacer("useragent="+node, fmt.Sprintf("useragent=%q", agent), `"192.0.2.7:42770"`, fmt.Sprintf("%q", pick("192.0.2.7:1", "[fd00::1]:1", "192.0.2.99", "[", "x:y", ":1", "")),
			`"952.289µs"`, pick(`"952.289µs"`, "5.2ms", "1.2s", `"0s"`, "x"))
		own := clock(fields.Replace(logrus(method, path, status, id)))
		if r.IntN(2) == 0 {
			own = clock(strings.Replace(logrusJSON(method, path, status, id), node, strings.ReplaceAll(agent, `"`, `\"`), 1))
		}
		var lines []string
		switch r.IntN(5) {
		case 0:
			lines = []string{combined}
		case 1:
			lines = []string{own}
		case 2:
			lines = []string{clock(strings.Replace(pick(zot(method, path, status), zotBefore(method, path, status)), node, strings.ReplaceAll(agent, `"`, `\"`), 1))}
		default:
			lines = []string{own, combined}
		}
		for i, line := range lines {
			switch r.IntN(12) {
			case 0:
				line = "2026-11-30T17:48:41.5Z " + pick("", "stdout F ", "stderr F ", "stdout P ", "stdout F:x ", "stdout X ") + line
			case 1:
				line = pick("[pod/a/b] ", "[pod/a/b]", "[pod/a b] ") + line
			case 2:
				cut := r.IntN(len(line))
				line = line[cut:]
			case 3:
				cut := r.IntN(len(line))
				line = line[:cut] + pick("", "\n")
			case 4:
				at := r.IntN(len(line))
				line = line[:at] + pick("\"", "\\", " ", "\n", "\x00", "\t", "é", "{", "=", "%", "\xff") + line[at:]
			}
			if i == 1 && r.IntN(3) == 0 {
				later = append(later, line)
			} else {
				log = append(log, line)
			}
		}
		if len(later) > 0 && r.IntN(2) == 0 {
			log, later = append(log, later...), nil
		}
	}
	return strings.Join(append(log, later...), "")
}

// TestRandom counts logs of many shapes as the slow reader counts them.
func TestRandom(t *testing.T) {
	yes, no, unknown := 0, 0, 0
	for seed := range uint64(1500) {
		log := randomLog(rand.New(rand.NewPCG(seed, 0)))
		got, err := accesslog.Served(strings.NewReader(log), kubelet)
		require.NoError(t, err)
		checkSums(t, got)
		checkPrintable(t, got)
		compare(t, got, []byte(log))
		require.False(t, t.Failed(), "seed %d:\n%s", seed, log)
		switch got.Answer {
		case accesslog.Yes:
			yes++
		case accesslog.No:
			no++
		default:
			unknown++
		}
	}
	require.Greater(t, min(yes, no, unknown), 25, "%d yes, %d no, %d unknown", yes, no, unknown)
}
