package reconcile

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The rules of Kubernetes 1.36 for names (k8s.io/apimachinery, util/validation).
var (
	dnsLabel      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	dnsSubdomain  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	qualifiedName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	secretKey     = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)
	// What machinery's ParseContractFromVersion reads, Talos 1.13.9, without what it would ignore.
	talosVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

const (
	wantLabel     = "want an RFC 1123 label: at most 63 of a-z, 0-9 and -, a letter or digit first and last"
	wantSubdomain = "want an RFC 1123 subdomain: at most 253 of a-z, 0-9, - and ., a letter or digit first and last in each part"
	wantKey       = "want a key of a Secret: at most 253 of A-Z, a-z, 0-9, -, _ and ."
	wantLabelKey  = "want [prefix/]name as in app.kubernetes.io/name"
	wantLabelVal  = "want at most 63 of A-Z, a-z, 0-9, -, _ and ., a letter or digit first and last, or nothing"
)

func isLabel(s string) bool     { return len(s) <= 63 && dnsLabel.MatchString(s) }
func isSubdomain(s string) bool { return len(s) <= 253 && dnsSubdomain.MatchString(s) }

func isSecretKey(s string) bool {
	return len(s) <= 253 && secretKey.MatchString(s) && s != "." && !strings.HasPrefix(s, "..")
}

func isLabelKey(s string) bool {
	prefix, name, found := strings.Cut(s, "/")
	if !found {
		prefix, name = "a", s
	}
	return isSubdomain(prefix) && len(name) <= 63 && qualifiedName.MatchString(name)
}

func isLabelValue(s string) bool {
	return s == "" || len(s) <= 63 && qualifiedName.MatchString(s)
}

func (p *problems) label(path, s string) {
	if !isLabel(s) {
		p.add(path, wantLabel, "invalid name %q", s)
	}
}

func (p *problems) subdomain(path, s string) {
	if !isSubdomain(s) {
		p.add(path, wantSubdomain, "invalid name %q", s)
	}
}

func (p *problems) metadata(path string, labels, annotations map[string]string) {
	if n := annotationsSize(annotations); n > maxAnnotations {
		p.add(path+"annotations", fmt.Sprintf("want at most %d, the limit of the API server", maxAnnotations), "keys and values of %d bytes", n)
	}
	for _, k := range sortedKeys(labels) {
		at := path + "labels[" + quote(k) + "]"
		if !isLabelKey(k) {
			p.add(at, wantLabelKey, "invalid key")
		}
		if !isLabelValue(labels[k]) {
			p.add(at, wantLabelVal, "invalid value %q", labels[k])
		}
	}
	for _, k := range sortedKeys(annotations) {
		at := path + "annotations[" + quote(k) + "]"
		// The API server compares the prefix in lower case.
		if prefix, name, found := strings.Cut(k, "/"); found && !isLabelKey(strings.ToLower(prefix)+"/"+name) || !found && !isLabelKey(k) {
			p.add(at, wantLabelKey, "invalid key")
		}
		p.text(at, annotations[k])
	}
}

// maxAnnotations is how many bytes the annotations of an object may have, keys and values, Kubernetes 1.36.
const maxAnnotations = 256 << 10

func annotationsSize(annotations map[string]string) (n int) {
	for k, v := range annotations {
		n += len(k) + len(v)
	}
	return n
}

// lineAt returns the line, from 1, of a byte of s.
func lineAt(s string, offset int) int { return strings.Count(s[:offset], "\n") + 1 }

// text reports what a string of the Kubernetes API cannot hold.
func (p *problems) text(path, s string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				*p = append(*p, &Error{Path: path, Line: lineAt(s, i), Offset: i, Reason: "invalid UTF-8", Fix: "want UTF-8: Kubernetes holds no other text"})
				return false
			}
		}
		if r == 0 {
			*p = append(*p, &Error{Path: path, Line: lineAt(s, i), Offset: i, Reason: "NUL byte", Fix: "want text: no shell carries this byte"})
			return false
		}
	}
	return true
}
