package dockerdaemon

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/distribution/reference"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/nodekind"
)

// Read reads a daemon.json. The error is a [*mirrors.Error]; what Docker refuses
// to start with is an error here as well.
func Read(data []byte) (*mirrors.Source, convert.Report, error) {
	r := &reader{tree.NewBuilder("Docker"), map[string]bool{}}
	root, err := tree.JSON(data)
	if root == nil {
		return nil, convert.Report{}, err
	}
	if root.Kind != yaml.MappingNode {
		r.Fail("wrong-kind", "", root, "found "+nodekind.Of(root), "want an object")
	} else {
		r.root(root)
	}
	return r.Finish(err)
}

type reader struct {
	*tree.Builder
	plain map[string]bool // hosts of http:// mirrors
}

func (r *reader) root(root *tree.Node) {
	var insecure []tree.Text
	for _, f := range r.Fields(root, "") {
		switch f.Name {
		case "registry-mirrors":
			for _, t := range r.Texts(f) {
				r.mirror(t)
			}
		case "insecure-registries":
			insecure = r.Texts(f)
		default:
			r.other(f)
		}
	}
	for _, t := range insecure {
		r.insecure(t)
	}
}

// unrelated are the other keys of Docker 29, and those that earlier versions had.
var unrelated = map[string]bool{}

func init() {
	for _, key := range strings.Fields(`
		allow-direct-routing allow-nondistributable-artifacts api-cors-header authorization-plugins bip bip6 bridge
		bridge-accept-fwmark builder cdi-spec-dirs cgroup-parent cluster-advertise cluster-store cluster-store-opts containerd
		containerd-namespace containerd-plugin-namespace cpu-rt-period cpu-rt-runtime cri-containerd data-root debug
		default-address-pools default-cgroupns-mode default-gateway default-gateway-v6 default-init default-ipc-mode
		default-network-opts default-runtime default-shm-size default-ulimit default-ulimits deprecated-key-path
		disable-legacy-registry dns dns-opts dns-search exec-opts exec-root experimental features firewall-backend fixed-cidr
		fixed-cidr-v6 graph group host-gateway-ip host-gateway-ips hosts http-proxy https-proxy icc init init-path ip ip-forward
		ip-forward-no-drop ip-masq ip6tables iptables ipv6 isolation labels live-restore log-driver log-format log-level log-opts
		max-concurrent-downloads max-concurrent-uploads max-download-attempts metrics-addr min-api-version mtu
		network-control-plane-mtu network-diagnostic-port no-new-privileges no-proxy node-generic-resources oom-score-adjust
		pidfile proxies raw-logs resolv-conf rootless runtimes seccomp-profile selinux-enabled shutdown-timeout storage-driver
		storage-opts swarm-default-advertise-addr swarm-raft-election-tick swarm-raft-heartbeat-tick tls tlscacert tlscert
		tlskey tlsverify userland-proxy userland-proxy-path userns-remap`) {
		unrelated[key] = true
	}
}

// other looks at a key that is not about registries, or should not be there.
func (r *reader) other(f tree.Field) {
	want := ""
	switch lower := strings.ToLower(f.Name); {
	case unrelated[f.Name]:
		r.Ignore(f.Path)
		return
	case !tree.Resembles(lower):
		r.Note(convert.Loss, f.Path, f.Key, "Docker 29 does not know this key, and does not start with it", "drop it, or correct it")
		return
	case strings.Contains(lower, "insecure"):
		want = `want "insecure-registries"`
	case strings.Contains(lower, "auth") || strings.Contains(lower, "cred"):
		want = "want credentials in config.json, not in daemon.json"
	case strings.Contains(lower, "mirror"):
		want = `want "registry-mirrors"`
	default:
		want = `want "registry-mirrors" or "insecure-registries"`
	}
	r.Fail("unknown-key", f.Path, f.Key, fmt.Sprintf("unknown key %s, with which Docker does not start", tree.Quote(f.Name)), want)
}

func (r *reader) mirror(t tree.Text) {
	wrong := func(rule, what, want string) {
		r.Fail(rule, t.Path, t.At, what+"; Docker refuses it", want)
	}
	u, err := url.Parse(t.Value)
	switch {
	case err != nil:
		wrong("endpoint-syntax", "it does not parse as a URL", "want a URL such as https://m.example.com")
		return
	case u.Scheme != "http" && u.Scheme != "https":
		wrong("endpoint-scheme", tree.Quote(t.Value)+" is no http or https URL", "want http:// or https:// before it")
		return
	case u.Host == "":
		wrong("endpoint-syntax", "the URL has no host", "want a URL such as https://m.example.com")
		return
	case u.User != nil:
		wrong("endpoint-userinfo", "the URL holds credentials", "want them in config.json")
		return
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(t.Value, "#"):
		wrong("endpoint-query", "the URL has a query or a fragment", "want the URL without it")
		return
	}
	plain := strings.TrimRight(t.Value, "/")
	if r.HasEndpoint("docker.io", plain) {
		r.Note(convert.Loss, t.Path, t.At, "the mirror is there before; Docker drops it as well", "drop it")
		return
	}
	r.plain[u.Host] = r.plain[u.Host] || u.Scheme == "http"
	e := mirrors.Endpoint{URL: plain}
	if p := strings.TrimRight(u.EscapedPath(), "/"); p != "" {
		if strings.HasSuffix(p, "/v2") {
			// Docker appends /v2 to any path, Talos does not to one that ends so.
			e.URL += "/v2"
		}
		r.Note(convert.Decision, t.Path, t.At, "versions of Docker differ in what they make of a path in a mirror's URL; taken as a prefix before /v2", "check that the mirror serves the API there")
	}
	r.Endpoint("docker.io", e, tree.Field{Path: t.Path, Key: t.At, Value: t.At})
}

var domain = regexp.MustCompile("^" + reference.DomainRegexp.String() + "$")

// insecure follows loadInsecureRegistries of Docker's registry package.
func (r *reader) insecure(t tree.Text) {
	host := t.Value
	at := tree.Field{Path: t.Path, Key: t.At, Value: t.At}
	if scheme, rest, ok := strings.Cut(host, "://"); ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		host = rest // Docker strips it, with a warning
	}
	if prefix, err := netip.ParsePrefix(host); err == nil {
		if prefix.Addr().IsLoopback() {
			return // implied
		}
		r.Note(convert.Loss, t.Path, t.At, "Talos has no settings for a range of addresses", "name each registry: config[HOST].tls.insecureSkipVerify")
		return
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, ""
	}
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 0 || n > 65535) ||
		!domain.MatchString(host) && net.ParseIP(name) == nil || strings.HasPrefix(host, "-") || strings.HasSuffix(host, "-") {
		r.Fail("wrong-value", t.Path, t.At, tree.Quote(t.Value)+" is no registry; Docker refuses it", "want host[:port] or a range of addresses")
		return
	}
	if host == "docker.io" || host == "index.docker.io" {
		r.Note(convert.Loss, t.Path, t.At, "Docker ignores it: to Docker, Docker Hub is never insecure", "drop it")
		return
	}
	if net.ParseIP(host) != nil && strings.Contains(host, ":") {
		host = "[" + host + "]" // as it stands in the names of images, and in a URL
	}
	if r.plain[host] {
		r.Note(convert.Decision, t.Path, t.At, "a mirror of Docker Hub that is asked with plain http; nothing is said of images that have its name",
			fmt.Sprintf("if there are any, write mirrors[%q] with the endpoint http://%s", host, host))
		return
	}
	r.TLS(host, mirrors.TLS{InsecureSkipVerify: true}, at)
	r.Note(convert.Decision, t.Path, t.At, "Docker asks the registry with https and no verification, then with plain http; taken for https without verification",
		fmt.Sprintf("if it speaks plain http, write mirrors[%q] with the endpoint http://%s instead", host, host))
}
