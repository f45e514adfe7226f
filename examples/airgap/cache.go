package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// shape is how a cache host tells upstreams apart.
type shape string

const (
	byPort       shape = "port"       // a port for each: one registry:2 each, for which there are manifests
	byProject    shape = "project"    // a project for each below /v2, as Harbor has it
	byRepository shape = "repository" // a repository for each, as Nexus has it
)

// cache is what the nodes pull through.
type cache struct {
	origin    string // scheme://host, and a port where upstreams are told apart by a path
	ca        mirrors.PEM
	shape     shape
	firstPort int
	upstreams []string // "ghcr.io=30501" or "ghcr.io=proxy-ghcr"; none: those of the images, in order
}

// host is the name of the cache, without a port, as hostname writes it.
func (c cache) host() string {
	if u, err := url.Parse(c.origin); err == nil {
		return hostname(u.Host)
	}
	return ""
}

// https tells whether the cache speaks it.
func (c cache) https() bool {
	u, err := url.Parse(c.origin)
	return err == nil && u.Scheme == "https"
}

// check is about what stands in the flags alone.
func (c cache) check() error {
	var errs []error
	if c.shape != byPort && c.shape != byProject && c.shape != byRepository {
		errs = append(errs, fmt.Errorf("--shape: %q is none (want port, project or repository)", c.shape))
	}
	if registry := registryAt(c.host()); registry != "" {
		errs = append(errs, fmt.Errorf("--cache: %q is %s itself, a public registry (want a cache of your own)", c.host(), registry))
	}
	names, _ := c.named() // what is wrong with them, ports or set says
	for _, upstream := range slices.Sorted(maps.Keys(names)) {
		if hostname(api(upstream)) == c.host() {
			errs = append(errs, fmt.Errorf("--upstream: %q is at the cache itself (want the registries that it pulls from)", upstream))
		}
	}
	if c.ca != "" && !c.https() {
		errs = append(errs, errors.New("--ca: the cache speaks no tls (want --cache https://…)"))
	}
	return errors.Join(errs...)
}

// ports are those of the upstreams, where they have some.
func (c cache) ports(registries []string) (map[string]int, error) {
	ports := map[string]int{}
	if len(c.upstreams) == 0 {
		for i, registry := range registries {
			ports[registry] = c.firstPort + i
		}
		return ports, nil
	}
	names, err := c.named()
	var errs []error
	for _, upstream := range slices.Sorted(maps.Keys(names)) {
		port, err := strconv.Atoi(names[upstream])
		if err != nil {
			errs = append(errs, fmt.Errorf("--upstream: %q is no port of %s (want NAME=PORT)", names[upstream], upstream))
		}
		ports[upstream] = port
	}
	return ports, errors.Join(append(errs, err)...)
}

// named are the upstreams that were given, with what stands behind the =.
func (c cache) named() (map[string]string, error) {
	names := map[string]string{}
	var errs []error
	for _, text := range c.upstreams {
		upstream, value, ok := strings.Cut(text, "=")
		if _, twice := names[upstream]; twice {
			errs = append(errs, fmt.Errorf("--upstream: %q is there twice", upstream))
		}
		if !ok || upstream == "" || value == "" {
			errs = append(errs, fmt.Errorf("--upstream: %q is no upstream (want NAME=PORT or NAME=PROJECT)", text))
			continue
		}
		names[upstream] = value
	}
	return names, errors.Join(errs...)
}

// set is the Set in which every upstream is pulled through the cache and
// nowhere else. ports is nil where upstreams are told apart by a path.
func (c cache) set(registries []string) (set mirrors.Set, ports map[string]int, err error) {
	switch c.shape {
	case byPort:
		if ports, err = c.ports(registries); err != nil {
			return mirrors.Set{}, nil, err
		}
		set, err = mirrors.CachePerPort(c.origin, ports, true)
	case byProject, byRepository:
		var projects map[string]string
		if projects, err = c.named(); err != nil {
			return mirrors.Set{}, nil, err
		}
		if len(projects) == 0 {
			for _, registry := range registries {
				projects[registry] = strings.ToLower(strings.Trim(strings.NewReplacer(":", "-", "[", "", "]", "").Replace(registry), "-"))
			}
		}
		path := mirrors.ProjectPath
		if c.shape == byRepository {
			path = mirrors.RepositoryPath
		}
		set, err = mirrors.CachePerPath(c.origin, path, projects, true)
	}
	return set, ports, err
}

// trust adds the certificates, for each host of the Set.
func (c cache) trust(set mirrors.Set) (mirrors.Set, error) {
	if c.ca == "" {
		return set, nil
	}
	set.Config = map[string]mirrors.HostConfig{}
	for _, m := range set.Mirrors {
		for _, e := range m.Endpoints {
			u, err := url.Parse(e.URL)
			if err != nil {
				return mirrors.Set{}, err
			}
			set.Config[u.Host] = mirrors.HostConfig{TLS: &mirrors.TLS{CA: c.ca}}
		}
	}
	return set, set.Check().Err()
}

// registriesOf are those of the images, sorted, each once.
func registriesOf(images []image) []string {
	var registries []string
	for _, im := range images {
		registries = append(registries, im.registry)
	}
	slices.Sort(registries)
	return slices.Compact(registries)
}
