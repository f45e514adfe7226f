package accesslog_test

import (
	"fmt"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

// A node pulled the kubelet through the mirror, and asked it for etcd in vain.
func ExampleServed() {
	log := `192.0.2.7 - - [30/Nov/2026:17:48:41 +0000] "HEAD /v2/siderolabs/kubelet/manifests/v1.34.1?ns=ghcr.io HTTP/1.1" 200 417 "" "containerd/v2.3.3"
192.0.2.7 - - [30/Nov/2026:17:48:41 +0000] "GET /v2/siderolabs/kubelet/manifests/sha256:835a8f3a6f4af52f28e36af27748ca2d0b7d97aa92091a4822b741f88cb9e25e?ns=ghcr.io HTTP/1.1" 200 417 "" "containerd/v2.3.3"
192.0.2.7 - - [30/Nov/2026:17:48:43 +0000] "GET /v2/siderolabs/kubelet/blobs/sha256:4d44bd8767077e6990ecbf4c631e9ee167979b6ce6ef6e43917724aee6c91cb6?ns=ghcr.io HTTP/1.1" 200 5000 "" "containerd/v2.3.3"
192.0.2.7 - - [30/Nov/2026:17:48:44 +0000] "HEAD /v2/siderolabs/etcd/manifests/v3.6.5?ns=ghcr.io HTTP/1.1" 404 92 "" "containerd/v2.3.3"
192.0.2.9 - - [30/Nov/2026:17:48:45 +0000] "GET /v2/siderolabs/etcd/manifests/v3.6.4 HTTP/1.1" 200 417 "" "curl/8.5.0"
`
	for _, image := range []string{"ghcr.io/siderolabs/kubelet", "ghcr.io/siderolabs/etcd:v3.6.5", "nginx"} {
		report, err := accesslog.Served(strings.NewReader(log), image)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(report)
	}
	// Output:
	// yes: ghcr.io/siderolabs/kubelet: served 2 manifests and 1 blob from 2026-11-30T17:48:41Z to 2026-11-30T17:48:43Z; the log names the registry; user agent "containerd/v2.3.3"
	// no: ghcr.io/siderolabs/etcd:v3.6.5: asked for and never served: missing (404) 1×; a node goes on to its next endpoint
	// no: docker.io/library/nginx: never asked for, in a log of 5 requests from 2026-11-30T17:48:41Z to 2026-11-30T17:48:45Z
}

// The cache is a Harbor that has ghcr.io under a project of its own.
func ExampleUnderPath() {
	log := strings.NewReader(`192.0.2.7 - - [30/Nov/2026:17:48:41 +0000] "GET /v2/proxy/ghcr/siderolabs/kubelet/manifests/v1.34.1 HTTP/1.1" 200 417 "-" "containerd/v2.3.3" 0.012
`)
	report, err := accesslog.Served(log, "ghcr.io/siderolabs/kubelet:v1.34.1", accesslog.UnderPath("/v2/proxy/ghcr"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Answer, report.Asked.Took)
	for _, client := range report.Clients {
		fmt.Println(client.Address, client.Requests())
	}
	// Output:
	// yes 12ms
	// 192.0.2.7 1
}

// A job of the cluster's own warms the cache; its requests are left out as well.
func ExampleIgnore() {
	log := strings.NewReader(`192.0.2.9 - - [30/Nov/2026:17:48:41 +0000] "GET /v2/siderolabs/kubelet/manifests/v1.34.1?ns=ghcr.io HTTP/1.1" 200 417 "" "warm-up/1.0"
`)
	report, err := accesslog.Served(log, "ghcr.io/siderolabs/kubelet:v1.34.1",
		accesslog.Ignore(append(accesslog.DefaultIgnored(), "warm-up/")...))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Answer, report.Ignored)
	// Output:
	// no 1
}
