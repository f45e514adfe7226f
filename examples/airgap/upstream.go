package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// known is what is known of the registries from which a Talos cluster pulls: where
// the API is, when not at the registry's own name, and which other hosts a pull leads to. A token
// comes from another host, or blobs are redirected to a store. These lists are what the
// registries did in 2025 and may change; that of factory.talos.dev and gcr.io is not published.
// --fqdn adds to them, and what is missing shows as a dropped DNS name in Hubble.
var known = map[string]struct {
	api  string
	more []string
}{
	"docker.io": {"registry-1.docker.io", []string{"auth.docker.io", "production.cloudflare.docker.com",
		"docker-images-prod.*.r2.cloudflarestorage.com"}},
	"gcr.io":          {"", []string{"storage.googleapis.com"}},
	"ghcr.io":         {"", []string{"pkg-containers.githubusercontent.com"}},
	"quay.io":         {"", []string{"cdn.quay.io", "cdn01.quay.io", "cdn02.quay.io", "cdn03.quay.io", "cdn04.quay.io", "cdn05.quay.io", "cdn06.quay.io"}},
	"registry.k8s.io": {"", []string{"*-docker.pkg.dev", "prod-registry-k8s-io-*.s3.dualstack.*.amazonaws.com"}},
}

// public are other registries that many pull from, and other names of Docker Hub. None is a cache.
var public = []string{"docker.com", "docker.elastic.co", "factory.talos.dev", "hub.docker.com", "index.docker.io", "k8s.gcr.io", "mcr.microsoft.com",
	"mirror.gcr.io", "nvcr.io", "public.ecr.aws", "registry.access.redhat.com", "registry.gitlab.com", "registry.hub.docker.com", "registry.redhat.io"}

// registryAt is the public registry that answers at a host, be it its API, its tokens
// or its blobs; empty for a host that is none's.
func registryAt(host string) string {
	for _, registry := range slices.Sorted(maps.Keys(known)) {
		if host == registry || host == hostname(api(registry)) || slices.Contains(known[registry].more, host) {
			return registry
		}
	}
	if slices.Contains(public, host) {
		return host
	}
	return ""
}

// api is host[:port] of a registry's API.
func api(upstream string) string {
	if k := known[upstream]; k.api != "" {
		return k.api
	}
	return upstream
}

var fqdn = regexp.MustCompile(`^[a-z0-9*]([a-z0-9*-]*[a-z0-9*])?(\.[a-z0-9*]([a-z0-9*-]*[a-z0-9*])?)+$`)

// fqdns are the hosts that the cache of each upstream must reach, its API first. more has "ghcr.io=HOST".
func fqdns(upstreams, more []string) (map[string][]string, error) {
	hosts := map[string][]string{}
	var errs []error
	for _, upstream := range upstreams {
		name := hostname(api(upstream))
		if net.ParseIP(name) != nil {
			errs = append(errs, fmt.Errorf("--cilium: the upstream %q is an address (want a name, which a policy by names can allow)", upstream))
		}
		hosts[upstream] = append([]string{strings.ToLower(name)}, known[upstream].more...)
	}
	for _, text := range more {
		upstream, host, _ := strings.Cut(text, "=")
		switch _, ok := hosts[upstream]; {
		case !fqdn.MatchString(host):
			errs = append(errs, fmt.Errorf("--fqdn: %q is no host of an upstream (want UPSTREAM=HOST, in lower case, with * for any characters but a dot)", text))
		case !ok:
			errs = append(errs, fmt.Errorf("--fqdn: %q is not an upstream of this cache (want one of %s)", upstream, strings.Join(upstreams, ", ")))
		case !slices.Contains(hosts[upstream], host):
			hosts[upstream] = append(hosts[upstream], host)
		}
	}
	return hosts, errors.Join(errs...)
}

// port is that of an upstream's API.
func port(upstream string) string {
	if _, p, err := net.SplitHostPort(upstream); err == nil {
		return p
	}
	return strconv.Itoa(443)
}
