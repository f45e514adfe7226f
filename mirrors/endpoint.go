package mirrors

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"
)

// problem is one thing that is wrong with a value.
type problem struct{ rule, message, fix string }

// parseEndpoint checks one URL by the rules endpoint-syntax, endpoint-scheme,
// endpoint-userinfo and endpoint-query. The URL is nil when there are problems.
//
// The rules are stricter than the pullers, which take anything that Go's
// net/url parses: Talos 1.13.9 and containerd 2.3.3 drop userinfo, query and
// fragment, and take the host of "host:5000" for a scheme.
func parseEndpoint(raw string) (u *url.URL, problems []problem) {
	bad := func(rule, message, fix string) { problems = append(problems, problem{rule, message, fix}) }
	const want = "want an absolute URL, such as https://cache.example.com"

	if raw == "" {
		bad(RuleEndpointSyntax, "the URL is empty", want)
		return nil, problems
	}
	if p := badCharacter(raw); p != nil {
		problems = append(problems, *p)
		if strings.TrimSpace(raw) == "" {
			return nil, problems
		}
		// What else is wrong is judged without the characters that should not be there.
		raw = strings.Map(func(r rune) rune {
			if isForbidden(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(raw, ""))
		_, more := parseEndpoint(raw)
		return nil, append(problems, more...)
	}

	scheme, rest, found := strings.Cut(raw, "://")
	if !found || !redact.IsScheme(scheme) {
		problems = append(problems, noScheme(raw))
		return nil, problems
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
	default:
		bad(RuleEndpointScheme, fmt.Sprintf("unsupported scheme %q", scheme), "want http or https")
	}

	// The authority is judged by hand: net/url lets pass what no node can
	// connect to, and which colons it lets pass depends on the Go version.
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	userinfo := false
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		userinfo = true
		authority = authority[i+1:]
	}
	if userinfo {
		bad(RuleEndpointUserinfo, "the URL holds credentials, which no puller uses and which every log shows",
			fmt.Sprintf("want config[%q].auth", authority))
	}
	if p := badAuthority(authority); p != nil {
		if !userinfo && strings.Contains(tail, "@") {
			// What looks like host and port may be user and password, with a slash in it.
			p = &problem{RuleEndpointSyntax, "the host is not valid, and there is an @ behind it", "want an absolute URL without credentials"}
		}
		problems = append(problems, *p)
	}
	if strings.ContainsAny(tail, "?#") {
		what := "query"
		if i := strings.IndexAny(tail, "?#"); tail[i] == '#' {
			what = "fragment"
		}
		bad(RuleEndpointQuery, "the URL has a "+what+", which no puller sends", "want the URL without it")
	}
	if len(problems) > 0 {
		return nil, problems
	}

	u, err := url.Parse(raw)
	if err != nil {
		// The error's text quotes the whole URL.
		reason := "the URL does not parse"
		if strings.Contains(err.Error(), "invalid URL escape") {
			reason = "the URL has a % that begins no escape"
		}
		bad(RuleEndpointSyntax, reason, `want each % of the path to be followed by two hexadecimal digits; the sign itself is %25`)
		return nil, problems
	}
	return u, nil
}

func isForbidden(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zs, r) || r == utf8.RuneError ||
		r == '\u2028' || r == '\u2029'
}

func badCharacter(raw string) *problem {
	for i, r := range raw {
		if r < utf8.RuneSelf {
			if r > ' ' && r != 0x7f {
				continue
			}
		} else if !isForbidden(r) {
			continue
		}
		what := fmt.Sprintf("the character %U", r)
		switch {
		case r == utf8.RuneError:
			what = fmt.Sprintf("the byte 0x%02x, which is no UTF-8,", raw[i])
		case r == ' ':
			what = "a space"
		case r == '\n':
			what = "a line break"
		case r == '\t':
			what = "a tab"
		}
		return &problem{RuleEndpointSyntax, fmt.Sprintf("%s at offset %d of the URL", what, i), "want a URL without white space and control characters"}
	}
	return nil
}

// noScheme says what a URL without "scheme://" should be. It suggests nothing
// where there is an @: what stands before it may be a password.
func noScheme(raw string) problem {
	if strings.Contains(raw, "@") {
		return problem{RuleEndpointScheme, quote(raw) + " has no scheme", "want an absolute URL without credentials, such as https://cache.example.com"}
	}
	for _, scheme := range []string{"http", "https"} {
		for _, broken := range []string{"//", ":/", ":", "/"} {
			rest, ok := strings.CutPrefix(strings.ToLower(raw), scheme+broken)
			if !ok || rest == "" {
				continue
			}
			if broken == ":" {
				// "http:5000" may be a host that is called http, "http:m" may not.
				if _, err := strconv.Atoi(rest); err == nil {
					continue
				}
			}
			whole := scheme + "://" + strings.TrimLeft(raw[len(scheme)+len(broken):], "/")
			if u, _ := parseEndpoint(whole); u != nil {
				return problem{RuleEndpointSyntax, quote(raw) + " is not an absolute URL", fmt.Sprintf("want %q", whole)}
			}
		}
	}
	lower := strings.ToLower(raw)
	for _, scheme := range []string{"http", "https"} {
		if rest, ok := strings.CutPrefix(lower, scheme+":"); ok {
			if _, err := strconv.Atoi(rest); err == nil || strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "//") && len(rest) == 1 {
				break // a host that is called http, with a port
			}
			return problem{RuleEndpointSyntax, quote(raw) + " is not an absolute URL",
				fmt.Sprintf("want %q after the scheme, such as %s://cache.example.com", "//", scheme)}
		}
	}
	if strings.HasPrefix(raw, "/") && !strings.HasPrefix(raw, "//") {
		return problem{RuleEndpointScheme, quote(raw) + " has no scheme and no host", "want an absolute URL, such as https://cache.example.com"}
	}
	bare := strings.TrimPrefix(raw, "//")
	fix := "want http:// or https:// before it"
	if u, _ := parseEndpoint("https://" + bare); u != nil {
		fix = fmt.Sprintf("want %q or %q", "https://"+bare, "http://"+bare)
		if u.Path == "" && strings.Count(u.Host, ":") == 0 && !strings.Contains(u.Host, ".") {
			fix = fmt.Sprintf("want a URL, such as %q", "https://"+bare)
		}
	}
	return problem{RuleEndpointScheme, quote(raw) + " has no scheme", fix}
}

// badAuthority checks host[:port].
func badAuthority(authority string) *problem {
	syntax := func(message, fix string) *problem { return &problem{RuleEndpointSyntax, message, fix} }
	if authority == "" {
		return syntax("the URL has no host", "want a host after //")
	}
	host, port, hasPort := authority, "", false
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return syntax("an IPv6 address without the closing bracket", "want ] after the address")
		}
		inside, rest := authority[1:end], authority[end+1:]
		address, _, _ := strings.Cut(inside, "%25")
		if ip, err := netip.ParseAddr(address); err != nil || !ip.Is6() || strings.Contains(address, "%") {
			return syntax(fmt.Sprintf("%q is not an IPv6 address", inside), "want an IPv6 address between the brackets")
		}
		if rest == "" {
			return nil
		}
		if rest[0] != ':' {
			return syntax(fmt.Sprintf("%q after the IPv6 address", rest), "want a port, or a path")
		}
		port, hasPort = rest[1:], true
	} else {
		if strings.Count(authority, ":") > 1 {
			fix := "want the IPv6 address in brackets, such as https://[fd00::1]:5000"
			if _, err := netip.ParseAddr(authority); err == nil {
				fix = fmt.Sprintf("want it in brackets: %q", "["+authority+"]")
				i := strings.LastIndexByte(authority, ':')
				if n, err := strconv.ParseUint(authority[i+1:], 10, 16); err == nil && n > 9 && authority[i-1] != ':' {
					fix += fmt.Sprintf(", or %q if the last part is the port", "["+authority[:i]+"]"+authority[i:])
				}
			}
			return syntax(fmt.Sprintf("%q has several colons and no brackets", authority), fix)
		}
		host, port, hasPort = strings.Cut(authority, ":")
		if host == "" {
			return syntax("the URL has no host", "want a host before the port")
		}
		if p := badHost(host); p != nil {
			return p
		}
	}
	if hasPort {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return syntax(fmt.Sprintf("%q is not a port", port), "want a number from 1 to 65535, or no colon")
		}
	}
	return nil
}

// badHost checks a name or an IPv4 address. Names with an underscore or in
// other scripts than Latin are left to the resolver.
func badHost(host string) *problem {
	for i, r := range host {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
		case r >= utf8.RuneSelf:
		case r == '.' && i > 0 && host[i-1] != '.':
		default:
			return &problem{RuleEndpointSyntax, fmt.Sprintf("%q is not a host", host),
				"want a name of letters, digits, - and . or an IP address"}
		}
	}
	return nil
}
