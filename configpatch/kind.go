package configpatch

import "fmt"

// Kind says what an entry of a registry configuration is about.
type Kind int

const (
	KindMirror Kind = iota + 1 // a registry's mirrors
	KindAuth                   // a host's credentials
	KindTLS                    // a host's TLS settings
)

// String returns "mirror", "auth" or "tls".
func (k Kind) String() string {
	switch k {
	case KindMirror:
		return "mirror"
	case KindAuth:
		return "auth"
	case KindTLS:
		return "tls"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// document returns the kind of the Talos document.
func (k Kind) document() string {
	switch k {
	case KindMirror:
		return "RegistryMirrorConfig"
	case KindAuth:
		return "RegistryAuthConfig"
	default:
		return "RegistryTLSConfig"
	}
}

// path returns the path of an entry in the shape of a Set.
func (k Kind) path(name string) string {
	switch k {
	case KindMirror:
		return fmt.Sprintf("mirrors[%q]", redactURL(name))
	case KindAuth:
		return hostPath(name) + ".auth"
	default:
		return hostPath(name) + ".tls"
	}
}

// hostPath returns the path of all that a Set says about a host. A key may be a
// URL by mistake.
func hostPath(host string) string { return fmt.Sprintf("config[%q]", redactURL(host)) }
