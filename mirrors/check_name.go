package mirrors

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// registryName judges a key of mirrors.
func (c *checker) registryName(name string) {
	p := mirrorPlace(name, "")
	switch name {
	case "*":
		return
	case "index.docker.io", hubHost, "hub.docker.com":
		c.explained[name] = true
		c.mirrorProblem(RuleRegistryAlias, SeverityError, p,
			aliasReason(name),
			fmt.Sprintf("want the key %q", hubName))
		return
	}
	if reason, fix := badRegistryName(name); reason != "" {
		c.explained[name] = true
		c.mirrorProblem(RuleRegistryName, SeverityError, p, reason, fix)
	}
}

// aliasReason says what containerd and machined make of a name of Docker Hub: of
// the others a reference's index.docker.io alone is taken for docker.io.
func aliasReason(name string) string {
	switch name {
	case "index.docker.io":
		return fmt.Sprintf("images of Docker Hub have the registry %q, also where their reference says index.docker.io: this mirror is never used", hubName)
	case hubHost:
		return fmt.Sprintf("images of Docker Hub have the registry %q: this mirror is used only where a reference itself says %s", hubName, hubHost)
	}
	return fmt.Sprintf("images of Docker Hub have the registry %q, and %s serves none", hubName, name)
}

// badRegistryName says why no image reference has this registry.
func badRegistryName(name string) (reason, fix string) {
	const want = "want host or host:port, such as ghcr.io"
	switch {
	case name == "":
		return "the name of the registry is empty", `want host or host:port, such as ghcr.io, or "*"`
	case strings.Contains(name, "@"):
		return "a registry has no credentials, and no @", want // what stands before the @ may be a password
	case strings.Contains(name, "://"):
		_, rest, _ := strings.Cut(name, "://")
		host, _, _ := strings.Cut(rest, "/")
		if r, _ := badRegistryName(host); r == "" {
			return "a registry has no scheme", fmt.Sprintf("want the key %q", hubAlias(host))
		}
		return "a registry has no scheme", want
	case strings.Contains(name, "/"):
		host, _, _ := strings.Cut(name, "/")
		fix = want
		if r, _ := badRegistryName(host); r == "" {
			fix = fmt.Sprintf("want the key %q; a mirror is for a whole registry", hubAlias(host))
		}
		return "a registry has no path", fix
	case strings.Contains(name, "*"):
		return "a pattern matches nothing: keys are literal", `want each registry by its name, or "*" alone for all that have no mirror of their own`
	case strings.ToLower(name) != name:
		if r, _ := badRegistryName(strings.ToLower(name)); r != "" {
			return "a registry is spelled in lower case in image references", want
		}
		return "a registry is spelled in lower case in image references", fmt.Sprintf("want the key %q", strings.ToLower(name))
	}
	host, port := name, ""
	if h := hostname(name); h != name {
		host, port = h, name[len(h)+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Sprintf("%s is not a port", quote(port)), "want a number from 1 to 65535"
		}
	}
	if strings.HasPrefix(host, "[") {
		ip, err := netip.ParseAddr(strings.TrimSuffix(host[1:], "]"))
		if err != nil || !strings.HasSuffix(host, "]") || !ip.Is6() || ip.Zone() != "" || ip.Is4In6() && strings.Contains(host, ".") {
			return fmt.Sprintf("%s is not an IPv6 address in brackets", quote(host)), want
		}
		return "", ""
	}
	if strings.Count(host, ":") > 0 {
		if _, err := netip.ParseAddr(host); err == nil {
			return "an IPv6 address without brackets", fmt.Sprintf("want the key %q", "["+host+"]")
		}
		return "several colons", want
	}
	start := 0
	for i := 0; i <= len(host); i++ {
		if i < len(host) && host[i] != '.' {
			b := host[i]
			if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' {
				r := []rune(host[i:])[0]
				return fmt.Sprintf("%q is no character of a registry's name", string(r)), want
			}
			continue
		}
		if label := host[start:i]; label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Sprintf("%s is not a host", quote(host)), want
		}
		start = i + 1
	}
	if port == "" && host != "localhost" && !strings.Contains(host, ".") {
		return fmt.Sprintf("an image reference takes %q for a part of a Docker Hub name: it has no dot and no port", name), want
	}
	return "", ""
}

// hubAlias is the registry that a name of Docker Hub stands for.
func hubAlias(host string) string {
	switch host {
	case "index.docker.io", hubHost, "hub.docker.com":
		return hubName
	}
	return host
}
