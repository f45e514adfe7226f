package mirrors

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Upstreams returns the registries from which a cluster of Talos 1.13 and
// its usual components pull: factory.talos.dev and ghcr.io (installer, kubelet,
// Flannel, Talos's extensions), registry.k8s.io (Kubernetes, etcd, CoreDNS, pause),
// and docker.io, gcr.io and quay.io, from which most else comes.
func Upstreams() []string {
	return []string{"docker.io", "factory.talos.dev", "gcr.io", "ghcr.io", "quay.io", "registry.k8s.io"}
}

// DockerHubMirror pulls Docker Hub's public images through mirror.gcr.io,
// Google's cache of them, and falls back to Docker Hub for what that does not have.
func DockerHubMirror() Set {
	return Set{Mirrors: map[string]Mirror{
		hubName: {Endpoints: []Endpoint{{URL: "https://mirror.gcr.io"}}},
	}}
}

// CachePerPort is a cache host with a port of its own for each upstream, the
// shape of pull-through caches that know one upstream only, such as one
// registry:2 (CNCF Distribution) for each:
//
//	mirrors: {ghcr.io: {endpoints: ["http://192.0.2.10:5001"]}}
//
// origin is scheme and host without a port, "http://192.0.2.10"; ports has the port of each
// upstream. With skipFallback the node never goes to the upstream. The error is for an
// origin, an upstream or a port that is none ("*" is no one upstream), for a port that is
// there twice, and for no upstream at all.
func CachePerPort(origin string, ports map[string]int, skipFallback bool) (Set, error) {
	origin, wrong := checkOrigin(origin, false)
	set := Set{Mirrors: make(map[string]Mirror, len(ports))}
	used := map[int]string{}
	for _, upstream := range slices.Sorted(maps.Keys(ports)) {
		port := ports[upstream]
		p := mirrorPlace(upstream, "").String()
		if upstream == "*" {
			wrong = append(wrong, notOneUpstream(p))
			continue
		}
		if port < 1 || port > 65535 {
			wrong = append(wrong, Finding{Rule: RuleEndpointSyntax, Severity: SeverityError, Path: p,
				Message: fmt.Sprintf("%d is not a port", port), Fix: "want a number from 1 to 65535"})
			continue
		}
		if first, ok := used[port]; ok {
			wrong = append(wrong, Finding{Rule: RuleSharedEndpoint, Severity: SeverityError, Path: p,
				Message: fmt.Sprintf("port %d is that of %q as well", port, first), Fix: "want a port for each upstream"})
			continue
		}
		used[port] = upstream
		set.Mirrors[upstream] = Mirror{SkipFallback: skipFallback,
			Endpoints: []Endpoint{{URL: origin + ":" + strconv.Itoa(port)}}}
	}
	return set.orWrong(wrong)
}

// PathShape is where a cache host has the API of one upstream, under one host and port.
type PathShape int

const (
	// ProjectPath is /v2/<project>, with overridePath, as Harbor's proxy
	// projects have it, and zot's sync under a destination: the project comes after /v2.
	ProjectPath PathShape = iota + 1

	// RepositoryPath is /repository/<project>/v2, as Nexus has it with path-based routing off: the
	// whole API of a repository is below its path, and /v2 is appended.
	RepositoryPath
)

// CachePerPath is a cache host with a path of its own for each upstream:
//
//	mirrors: {ghcr.io: {endpoints: ["https://harbor.example.com/v2/ghcr"], overridePath: true}}   # ProjectPath
//	mirrors: {ghcr.io: {endpoints: ["https://nexus.example.com/repository/ghcr"]}}                # RepositoryPath
//
// origin is scheme and host, with a port where there is one; projects has the name of the
// project or the repository for each upstream, which may have slashes inside. The error is for an origin, an
// upstream or a project that is none ("*" is no one upstream), for a project that is there
// twice, and for no upstream at all.
func CachePerPath(origin string, shape PathShape, projects map[string]string, skipFallback bool) (Set, error) {
	origin, wrong := checkOrigin(origin, true)
	set := Set{Mirrors: make(map[string]Mirror, len(projects))}
	used := map[string]string{}
	if shape != ProjectPath && shape != RepositoryPath {
		wrong = append(wrong, Finding{Rule: RuleEndpointSyntax, Severity: SeverityError, Path: "shape",
			Message: fmt.Sprintf("unknown shape %d", shape), Fix: "want ProjectPath or RepositoryPath"})
	}
	for _, upstream := range slices.Sorted(maps.Keys(projects)) {
		project := projects[upstream]
		p := mirrorPlace(upstream, "").String()
		if upstream == "*" {
			wrong = append(wrong, notOneUpstream(p))
			continue
		}
		if !isProject(project) {
			wrong = append(wrong, Finding{Rule: RuleEndpointSyntax, Severity: SeverityError, Path: p,
				Message: fmt.Sprintf("%q is not a project", project), Fix: "want a name of lower case letters, digits, - _ . and / inside"})
			continue
		}
		if first, ok := used[project]; ok {
			wrong = append(wrong, Finding{Rule: RuleSharedEndpoint, Severity: SeverityError, Path: p,
				Message: fmt.Sprintf("the project %q is that of %q as well", project, first), Fix: "want a project for each upstream"})
			continue
		}
		used[project] = upstream
		e := Endpoint{URL: origin + "/v2/" + project, OverridePath: true}
		if shape == RepositoryPath {
			e = Endpoint{URL: origin + "/repository/" + project}
		}
		set.Mirrors[upstream] = Mirror{Endpoints: []Endpoint{e}, SkipFallback: skipFallback}
	}
	return set.orWrong(wrong)
}

// SharedCache is one cache host for all upstreams, which tells them apart by the
// ns parameter that both pullers send (?ns=ghcr.io): Spegel, or a proxy that heeds it.
// A registry:2 does not. Check warns of it (shared-endpoint), since it cannot know.
// "*" is every upstream. The error is for an origin or an upstream that is none, and for no upstream at all.
func SharedCache(origin string, upstreams []string, skipFallback bool) (Set, error) {
	origin, wrong := checkOrigin(origin, true)
	set := Set{Mirrors: make(map[string]Mirror, len(upstreams))}
	for _, upstream := range upstreams {
		set.Mirrors[upstream] = Mirror{Endpoints: []Endpoint{{URL: origin}}, SkipFallback: skipFallback}
	}
	return set.orWrong(wrong)
}

func notOneUpstream(path string) Finding {
	return Finding{Rule: RuleRegistryName, Severity: SeverityError, Path: path,
		Message: "this is every registry, and what it would go to knows one", Fix: "want the name of the upstream"}
}

// orWrong is the Set, or an error of what is wrong with it.
func (s Set) orWrong(wrong Findings) (Set, error) {
	if len(s.Mirrors) == 0 && !slices.ContainsFunc(wrong, func(f Finding) bool { return strings.HasPrefix(f.Path, "mirrors") }) {
		wrong = append(wrong, Finding{Rule: RuleEmptySet, Severity: SeverityError, Message: "there is no upstream", Fix: "want one at least"})
	}
	if err := Join(wrong.Err(), s.Check().Err()); err != nil {
		return Set{}, err
	}
	return s, nil
}

// checkOrigin wants scheme://host, and no path. What it returns instead of a
// wrong origin is there to judge the rest with.
func checkOrigin(origin string, port bool) (string, Findings) {
	u, problems := parseEndpoint(origin)
	var fs Findings
	for _, p := range problems {
		fs = append(fs, Finding{Rule: p.rule, Severity: SeverityError, Path: "origin", Message: p.message, Fix: p.fix})
	}
	if u != nil && u.Path != "" && u.Path != "/" {
		fs = append(fs, Finding{Rule: RuleEndpointSyntax, Severity: SeverityError, Path: "origin",
			Message: fmt.Sprintf("%s has a path", quote(origin)), Fix: "want scheme and host alone"})
	}
	if u != nil && !port && u.Port() != "" {
		fs = append(fs, Finding{Rule: RuleEndpointSyntax, Severity: SeverityError, Path: "origin",
			Message: fmt.Sprintf("%s has a port", quote(origin)), Fix: "want scheme and host alone: each upstream has its own port"})
	}
	if fs != nil {
		return "https://origin.invalid", fs
	}
	return strings.TrimSuffix(origin, "/"), nil
}

func isProject(s string) bool {
	for _, part := range strings.Split(s, "/") {
		if part == "" || part == "." || part == ".." || part == "v2" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return false
		}
	}
	return true
}
