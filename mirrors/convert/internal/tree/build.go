package tree

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// DockerHub is the host of Docker Hub's registry, which images name "docker.io".
const DockerHub = "registry-1.docker.io"

// UpstreamHost is the host that serves a registry's images when no mirror does.
func UpstreamHost(registry string) string {
	if registry == "docker.io" {
		return DockerHub
	}
	return registry
}

// IsUpstream reports whether a URL is the registry itself, over https.
func IsUpstream(raw, registry string) bool {
	if registry != "*" && raw == "https://"+UpstreamHost(registry) {
		return true // also when that is no URL, such as an IPv6 address without brackets
	}
	u, err := url.Parse(raw)
	return err == nil && registry != "*" && strings.EqualFold(u.Scheme, "https") && u.Host == UpstreamHost(registry) &&
		(u.Path == "" || u.Path == "/" || u.Path == "/v2" || u.Path == "/v2/") && u.RawQuery == "" && u.User == nil
}

// IsLoopback reports whether containerd takes a host[:port] for the machine itself.
func IsLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// HostOf returns the host of a URL as it is written, port included: the key of
// its credentials and TLS settings. It is empty when the URL does not parse.
func HostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// Builder makes the Set of what a Reader finds, and marks where each part stands.
type Builder struct {
	*Reader
	Source *mirrors.Source

	// Program is whose format it is, for messages.
	Program string

	// Many says that there are several files: findings are sorted by file first.
	Many bool

	from  map[mirrors.Place]Field // of credentials and TLS settings, and the file
	hosts int                     // how many have a mark

	endpoints map[[2]string]bool // registry and URL
}

// NewBuilder makes an empty one.
func NewBuilder(program string) *Builder {
	return &Builder{Reader: &Reader{}, Program: program,
		Source: mirrors.NewSource(mirrors.Set{}), from: map[mirrors.Place]Field{}, endpoints: map[[2]string]bool{}}
}

func (b *Builder) mark(p mirrors.Place, f Field) {
	path := f.Path
	if b.File != "" {
		path = b.File + ": " + path
	}
	at := mirrors.Position{Path: path}
	if f.Key != nil {
		at.Line, at.Column = f.Key.Line, f.Key.Column
	}
	b.Source.Mark(p, at)
}

// Mirror makes sure that there is a mirror for a registry.
func (b *Builder) Mirror(registry string, f Field) {
	set := &b.Source.Set
	if set.Mirrors == nil {
		set.Mirrors = map[string]mirrors.Mirror{}
	}
	if _, ok := set.Mirrors[registry]; !ok {
		set.Mirrors[registry] = mirrors.Mirror{}
		b.mark(mirrors.Place{Section: "mirrors", Key: registry}, f)
	}
}

// Endpoint appends an endpoint to a mirror.
func (b *Builder) Endpoint(registry string, e mirrors.Endpoint, f Field) {
	b.Mirror(registry, f)
	m := b.Source.Set.Mirrors[registry]
	b.mark(mirrors.Place{Section: "mirrors", Key: registry, Field: fmt.Sprintf("endpoints[%d]", len(m.Endpoints))}, f)
	m.Endpoints = append(m.Endpoints, e)
	b.endpoints[[2]string{registry, e.URL}] = true
	b.Source.Set.Mirrors[registry] = m
}

// HasEndpoint reports whether a mirror has a URL already.
func (b *Builder) HasEndpoint(registry, url string) bool {
	return b.endpoints[[2]string{registry, url}]
}

// SkipFallback sets skipFallback of a mirror.
func (b *Builder) SkipFallback(registry string, f Field) {
	b.Mirror(registry, f)
	m := b.Source.Set.Mirrors[registry]
	m.SkipFallback = true
	b.Source.Set.Mirrors[registry] = m
	b.mark(mirrors.Place{Section: "mirrors", Key: registry, Field: "skipFallback"}, f)
}

func (b *Builder) host(host, part string, f Field) (c mirrors.HostConfig, set func(mirrors.HostConfig), earlier string) {
	s := &b.Source.Set
	if s.Config == nil {
		s.Config = map[string]mirrors.HostConfig{}
	}
	place := mirrors.Place{Section: "config", Key: host, Field: part}
	if first, ok := b.from[place]; ok {
		earlier = first.Path
	}
	return s.Config[host], func(c mirrors.HostConfig) {
		s.Config[host] = c
		if _, ok := b.from[place]; !ok {
			here := f
			if b.File != "" {
				here.Path = b.File + ": " + f.Path
			}
			here.Name = b.File
			b.from[place] = here
			b.mark(place, f)
			if len(b.Source.Set.Config) > b.hosts {
				b.hosts++
				b.mark(mirrors.Place{Section: "config", Key: host}, f)
			}
		}
	}, earlier
}

// Auth sets the credentials of a host. Talos has one set of them for a host:
// when there are others already, those stay, and the report says it.
func (b *Builder) Auth(host string, auth mirrors.Auth, f Field) {
	c, set, earlier := b.host(host, "auth", f)
	if c.Auth != nil && *c.Auth != auth {
		b.Note(convert.Loss, f.Path, f.Key, fmt.Sprintf("other credentials for the host %s are in %s; Talos has one set for a host", Quote(host), earlier),
			"keep those that both registries accept")
		return
	}
	c.Auth = &auth
	set(c)
}

// TLS sets the TLS settings of a host, as Auth does credentials.
func (b *Builder) TLS(host string, tls mirrors.TLS, f Field) {
	c, set, earlier := b.host(host, "tls", f)
	if c.TLS != nil && !(mirrors.HostConfig{TLS: c.TLS}).Equal(mirrors.HostConfig{TLS: &tls}) {
		b.Note(convert.Loss, f.Path, f.Key, fmt.Sprintf("other TLS settings for the host %s are in %s; Talos has one set for a host", Quote(host), earlier),
			"keep those that hold for every registry")
		return
	}
	c.TLS = &tls
	set(c)
}

// Finish returns what was built, or an error with all that is wrong.
func (b *Builder) Finish(errs ...error) (*mirrors.Source, convert.Report, error) {
	b.dropPlainTLS()
	slices.SortStableFunc(b.Report.Entries, func(x, y convert.Entry) int {
		// What has no line comes after what has one.
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(uint(x.Line)-1, uint(y.Line)-1), cmp.Compare(x.Column, y.Column))
	})
	if err := b.Err(errs...); err != nil {
		// What else is wrong with the values that could be read, in the same go.
		var more mirrors.Findings
		for _, f := range b.Source.Check() {
			if strings.HasPrefix(f.Rule, "endpoint-") && len(more) < maxFindings {
				more = append(more, f)
			}
		}
		err = mirrors.Join(err, more.Err())
		var all *mirrors.Error
		if b.Many && errors.As(err, &all) {
			slices.SortStableFunc(all.Findings, func(x, y mirrors.Finding) int {
				fx, _, _ := strings.Cut(x.Path, ": ")
				fy, _, _ := strings.Cut(y.Path, ": ")
				return cmp.Compare(fx, fy)
			})
		}
		return nil, convert.Report{}, err
	}
	return b.Source, b.Report, nil
}

// dropPlainTLS leaves out the TLS settings of a host that has http:// endpoints
// only. Talos 1.13.9's own puller refuses to pull from such a host.
func (b *Builder) dropPlainTLS() {
	plain, secure := map[string]bool{}, map[string]bool{}
	for _, m := range b.Source.Set.Mirrors {
		for _, e := range m.Endpoints {
			if u, err := url.Parse(e.URL); err == nil && strings.EqualFold(u.Scheme, "http") {
				plain[u.Host] = true
			} else if err == nil {
				secure[u.Host] = true
			}
		}
	}
	for host, c := range b.Source.Set.Config {
		if c.TLS == nil || !plain[host] || secure[host] {
			continue
		}
		f := b.from[mirrors.Place{Section: "config", Key: host, Field: "tls"}]
		e := convert.Entry{Kind: convert.Loss, File: f.Name, Path: strings.TrimPrefix(f.Path, f.Name+": "),
			Reason: fmt.Sprintf("TLS settings of %s, which has http:// endpoints only; Talos's own puller refuses them", Quote(host)),
			Fix:    "write the endpoint with https:// if the host speaks TLS"}
		if f.Key != nil {
			e.Line, e.Column = f.Key.Line, f.Key.Column
		}
		b.Report.Entries = append(b.Report.Entries, e)
		c.TLS = nil
		if c.Auth == nil {
			delete(b.Source.Set.Config, host)
		} else {
			b.Source.Set.Config[host] = c
		}
	}
}
