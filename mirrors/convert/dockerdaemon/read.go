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
		r.Fail("wrong-kind", "", root, "found "+tree.Kind(root), "want an object")
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
		case "registry-mirror", "registryMirrors", "registry_mirrors":
			r.Fail("unknown-key", f.Path, f.Key, fmt.Sprintf("unknown key %q, with which Docker does not start", f.Name), `want "registry-mirrors"`)
		case "insecure-registry", "insecureRegistries", "insecure_registries":
			r.Fail("unknown-key", f.Path, f.Key, fmt.Sprintf("unknown key %q, with which Docker does not start", f.Name), `want "insecure-registries"`)
		default:
			r.Ignore(f.Path)
		}
	}
	for _, t := range insecure {
		r.insecure(t)
	}
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
	if r.plain[host] {
		r.Note(convert.Decision, t.Path, t.At, "a mirror of Docker Hub that is asked with plain http; nothing is said of images that have its name",
			fmt.Sprintf("if there are any, write mirrors[%q] with the endpoint http://%s", host, host))
		return
	}
	r.TLS(host, mirrors.TLS{InsecureSkipVerify: true}, at)
	r.Note(convert.Decision, t.Path, t.At, "Docker asks the registry with https and no verification, then with plain http; taken for https without verification",
		fmt.Sprintf("if it speaks plain http, write mirrors[%q] with the endpoint http://%s instead", host, host))
}
