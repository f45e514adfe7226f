package mirrors

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Set says which registries a node may pull from and how. It is plain data in
// the shape of machine.registries of a Talos machine configuration; write it
// as a struct literal, or read it with [Decode].
//
// A Set is not checked by being made: [Set.Check] does that.
type Set struct {
	// Mirrors has a key for each upstream registry that is pulled through
	// mirrors: the host[:port] as image references have it after they are
	// normalized ("docker.io", "registry.example.com:5000"), or "*" for every
	// registry that has no key of its own.
	Mirrors map[string]Mirror `json:"mirrors,omitempty"`

	// Config has a key for each host that needs credentials or TLS settings:
	// the host of an endpoint exactly as its URL spells it, port and IPv6
	// brackets included, or a registry that is pulled from directly.
	Config map[string]HostConfig `json:"config,omitempty"`
}

// Mirror lists the endpoints that stand in for one upstream registry.
type Mirror struct {
	// Endpoints are tried in order.
	Endpoints []Endpoint `json:"endpoints,omitempty"`

	// SkipFallback keeps a node from going to the upstream registry when no
	// endpoint has the image (Talos 1.9 and later).
	SkipFallback bool `json:"skipFallback,omitempty"`
}

// Endpoint is one base URL of the registry API.
type Endpoint struct {
	// URL is absolute, http or https, with a host.
	URL string `json:"url"`

	// OverridePath keeps the node from appending /v2 to the URL's path. The
	// legacy form of Talos has it once for a mirror, the document form once
	// for an endpoint.
	OverridePath bool `json:"overridePath,omitempty"`
}

// HostConfig holds the credentials and the TLS settings of one host.
type HostConfig struct {
	Auth *Auth `json:"auth,omitempty"`
	TLS  *TLS  `json:"tls,omitempty"`
}

// Auth holds the credentials of one host: a user name and a password, or an
// identity token, or Auth, which is base64 of "user:password".
type Auth struct {
	Username      string `json:"username,omitempty"`
	Password      Secret `json:"password,omitzero"`
	Auth          Secret `json:"auth,omitzero"`
	IdentityToken Secret `json:"identityToken,omitzero"`
}

// TLS holds the TLS settings of one host.
type TLS struct {
	// CA is one or more certificates, as PEM.
	CA PEM `json:"ca,omitempty"`

	// ClientIdentity is what the node shows the host.
	ClientIdentity *ClientIdentity `json:"clientIdentity,omitempty"`

	// InsecureSkipVerify turns the verification of the host's certificate off.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// ClientIdentity is a client certificate and its private key, both as PEM.
type ClientIdentity struct {
	Certificate PEM    `json:"crt,omitempty"`
	Key         Secret `json:"key,omitzero"`
}

// PEM is text in the PEM format. [Decode] takes it also as base64 of PEM, which
// is how machine.registries holds it, and stores the PEM.
type PEM string

// UnmarshalJSON reads a JSON string, as [Decode] does: PEM, or base64 of PEM. What
// is neither stays as it is, for Check.
func (p *PEM) UnmarshalJSON(data []byte) error {
	text := string(*p) // null leaves it alone
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*p = PEM(decodePEM(text))
	return nil
}

// Equal reports whether both Sets say the same. A nil map or slice is equal to
// an empty one; a HostConfig that says nothing is not equal to an absent one.
func (s Set) Equal(o Set) bool {
	return maps.EqualFunc(s.Mirrors, o.Mirrors, Mirror.Equal) &&
		maps.EqualFunc(s.Config, o.Config, HostConfig.Equal)
}

// Equal reports whether both mirrors say the same.
func (m Mirror) Equal(o Mirror) bool {
	return m.SkipFallback == o.SkipFallback && slices.Equal(m.Endpoints, o.Endpoints)
}

// Equal reports whether both hosts have the same credentials and TLS settings.
func (c HostConfig) Equal(o HostConfig) bool { return reflect.DeepEqual(c, o) }

// DeepCopy returns a copy that shares nothing with s.
func (s Set) DeepCopy() Set {
	var c Set
	if s.Mirrors != nil {
		c.Mirrors = make(map[string]Mirror, len(s.Mirrors))
		for k, m := range s.Mirrors {
			c.Mirrors[k] = m.DeepCopy()
		}
	}
	if s.Config != nil {
		c.Config = make(map[string]HostConfig, len(s.Config))
		for k, h := range s.Config {
			c.Config[k] = h.DeepCopy()
		}
	}
	return c
}

// DeepCopy returns a copy that shares nothing with m.
func (m Mirror) DeepCopy() Mirror {
	m.Endpoints = slices.Clone(m.Endpoints)
	return m
}

// DeepCopy returns a copy that shares nothing with c.
func (c HostConfig) DeepCopy() HostConfig {
	if c.Auth != nil {
		auth := *c.Auth
		c.Auth = &auth
	}
	if c.TLS != nil {
		tls := *c.TLS
		if tls.ClientIdentity != nil {
			id := *tls.ClientIdentity
			tls.ClientIdentity = &id
		}
		c.TLS = &tls
	}
	return c
}
