//go:build unix

package accesslog_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

// logOf is a log of 64 images that 200 nodes pull, with their probes.
func logOf(lines int, line func(i int, client, method, uri, agent string) string) []byte {
	var b bytes.Buffer
	for i := range lines {
		client := fmt.Sprintf("10.1.%d.%d", i/7%8, i/7%25)
		name := fmt.Sprintf("/v2/acme/app-%d", i/7%64)
		blob := strings.Replace(layer, "4d44bd87", fmt.Sprintf("%08x", i), 1)
		switch i % 7 {
		case 0:
			b.WriteString(line(i, client, "GET", "/v2/", "kube-probe/1.34"))
		case 1:
			b.WriteString(line(i, client, "HEAD", name+"/manifests/v1.34.1?ns=ghcr.io", node))
		case 2, 3:
			b.WriteString(line(i, client, "GET", name+"/manifests/"+digest+"?ns=ghcr.io", node))
		default:
			b.WriteString(line(i, client, "GET", name+"/blobs/"+blob+"?ns=ghcr.io", node))
		}
	}
	return b.Bytes()
}

func benchmarks(lines int) map[string][]byte {
	clock := func(i int) string { return fmt.Sprintf("%02d:%02d:%02d", i/3600%24, i/60%60, i%60) }
	combined := func(i int, client, method, uri, agent string) string {
		return strings.Replace(accessOf(client, method+" "+uri, 200, agent), "17:48:41", clock(i), 1)
	}
	own := func(i int, client, method, uri, agent string) string {
		return strings.NewReplacer("17:48:41", clock(i), "192.0.2.7", client, node, agent).Replace(logrus(method, uri, 200, fmt.Sprintf("92688e90-959b-4d8c-9238-%012x", i)))
	}
	var many bytes.Buffer
	for i := range 4 * lines {
		many.WriteString(combined(i, fmt.Sprintf("fd00::%x", i), "GET", fmt.Sprintf("/v2/acme/app-%d/manifests/v1?ns=ghcr.io", i), node))
	}
	return map[string][]byte{
		"many":     many.Bytes(),
		"combined": logOf(lines, combined),
		"nginx": logOf(lines, func(i int, client, method, uri, agent string) string {
			return strings.TrimSuffix(combined(i, client, method, uri, agent), "\n") + ` "-" 0.012` + "\n"
		}),
		"logrus-text": logOf(lines, own),
		"logrus-json": logOf(lines, func(i int, client, method, uri, agent string) string {
			return strings.NewReplacer("17:48:41", clock(i), "192.0.2.7", client, node, agent).Replace(logrusJSON(method, uri, 200, fmt.Sprintf("92688e90-959b-4d8c-9238-%012x", i)))
		}),
		"zot": logOf(lines, func(i int, client, method, uri, agent string) string {
			return strings.NewReplacer("17:48:41", clock(i), "192.0.2.7", client, node, agent).Replace(zot(method, uri, 200))
		}),
		"distribution": logOf(lines, func(i int, client, method, uri, agent string) string {
			return own(i, client, method, uri, agent) + combined(i, client, method, uri, agent)
		}),
		"cri": logOf(lines, func(i int, client, method, uri, agent string) string {
			return "2026-11-30T17:48:41.073225549Z stdout F " + combined(i, client, method, uri, agent)
		}),
	}
}

var formats = []string{"combined", "nginx", "logrus-text", "logrus-json", "zot", "distribution", "cri", "many", "gzip"}

// benchmarkLog is the log of a format as it is read, and its size without compression.
func benchmarkLog(logs map[string][]byte, name string) ([]byte, int) {
	if name == "gzip" {
		return []byte(zipped(string(logs["combined"]))), len(logs["combined"])
	}
	return logs[name], len(logs[name])
}

// cpu measures the processor's time, which the load of the machine does not change as
// it changes the clock's: it reports MB of the log for each second of it.
func cpu(b *testing.B, bytes int) func() {
	used := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	before := used()
	return func() { b.ReportMetric(float64(bytes)*float64(b.N)/1e6/(used()-before), "MB/cpu-s") }
}

// BenchmarkServed reads a log of each format; distribution is combined lines and
// logrus lines mixed, many has more images and clients than are kept, and gzip is
// combined, whose bytes count uncompressed.
func BenchmarkServed(b *testing.B) {
	logs := benchmarks(20_000)
	for _, name := range formats {
		b.Run(name, func(b *testing.B) {
			log, size := benchmarkLog(logs, name)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			done := cpu(b, size)
			for b.Loop() {
				got, err := accesslog.Served(bytes.NewReader(log), "ghcr.io/acme/app-1")
				if err != nil || got.Answer != accesslog.Yes {
					b.Fatal(got, err)
				}
			}
			done()
		})
	}
}

// BenchmarkReference reads the same with regular expressions and encoding/json. It
// looks for no second line of a request: how it does that is quadratic.
func BenchmarkReference(b *testing.B) {
	logs := benchmarks(20_000)
	for _, name := range formats {
		b.Run(name, func(b *testing.B) {
			log, size := benchmarkLog(logs, name)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			done := cpu(b, size)
			for b.Loop() {
				r := newReference()
				r.unpaired = true
				plain := log
				if name == "gzip" {
					z, err := gzip.NewReader(bytes.NewReader(log))
					if err != nil {
						b.Fatal(err)
					}
					if plain, err = io.ReadAll(z); err != nil {
						b.Fatal(err)
					}
				}
				r.read(plain)
				if r.images["ghcr.io acme/app-1"] == 0 {
					b.Fatal("nothing counted")
				}
			}
			done()
		})
	}
}

// The logs of the benchmark are counted as the reference counts them.
func TestBenchmarkLogs(t *testing.T) {
	const lines = 1000 // many has four times as many clients, fewer than are kept
	for name, log := range benchmarks(lines) {
		got, err := accesslog.Served(bytes.NewReader(log), "ghcr.io/acme/app-1")
		require.NoError(t, err)
		require.Equal(t, accesslog.Yes, got.Answer)
		require.Zero(t, got.Lines.Unreadable, name)
		if name != "distribution" {
			want := newReference()
			want.unpaired = true
			want.read(log)
			for _, i := range got.Images {
				require.Equal(t, want.images[i.Registry+" "+i.Repository], i.Served(), name)
			}
			require.Len(t, want.clients, len(got.Clients), name)
			require.Len(t, want.images, len(got.Images), name)
		} else {
			require.Equal(t, lines, got.Lines.Repeated)
		}
	}
}
