package configpatch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// redact returns a copy in which the secrets say that they are one.
func redact(set mirrors.Set) mirrors.Set {
	set = set.DeepCopy()
	for _, m := range set.Mirrors {
		for i := range m.Endpoints {
			m.Endpoints[i].URL = redactURL(m.Endpoints[i].URL)
		}
	}
	hide := func(s *mirrors.Secret) {
		if !s.IsZero() {
			*s = mirrors.NewSecret(s.String())
		}
	}
	for _, c := range set.Config {
		if c.Auth != nil {
			hide(&c.Auth.Password)
			hide(&c.Auth.Auth)
			hide(&c.Auth.IdentityToken)
		}
		if c.TLS != nil && c.TLS.ClientIdentity != nil {
			hide(&c.TLS.ClientIdentity.Key)
		}
	}
	return set
}

// redactURL hides what stands before the last @, which also holds for a URL that
// does not parse.
func redactURL(s string) string {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s
	}
	scheme := ""
	if i := strings.Index(s, "://"); i >= 0 && i < at {
		scheme = s[:i+len("://")]
	}
	return scheme + "[redacted]" + s[at:]
}

var (
	constructed = regexp.MustCompile("(?s)`.*?`")
	parsed      = regexp.MustCompile(`parse "[^\n]*@[^\n]*`)
)

// withoutValues returns an error of machinery (1.13.9) without what it quotes of
// the configuration: the values of unknown keys, scalars of a wrong type, and URLs
// with credentials. Where nothing had to go it is the error itself.
func withoutValues(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if before, listing, found := strings.Cut(text, "unknown keys found during decoding:\n"); found {
		text = before + "unknown keys"
		if keys := keyPaths(listing); len(keys) > 0 {
			text += ": " + strings.Join(keys, ", ")
		}
	}
	text = constructed.ReplaceAllString(text, "[redacted]")
	text = parsed.ReplaceAllString(text, "a URL with credentials does not parse")
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// keyPaths returns the paths in a YAML text, without the values.
func keyPaths(listing string) (paths []string) {
	var root yaml.Node
	if yaml.Unmarshal([]byte(listing), &root) != nil || len(root.Content) != 1 {
		return nil
	}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		switch {
		case n.Kind == yaml.MappingNode && len(n.Content) > 0:
			each(n, func(key, value *yaml.Node) {
				switch {
				case strings.ContainsAny(key.Value, ".[]: "):
					walk(value, fmt.Sprintf("%s[%q]", path, key.Value))
				case path == "":
					walk(value, key.Value)
				default:
					walk(value, path+"."+key.Value)
				}
			})
		case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
			for i, item := range n.Content {
				if item.Kind == yaml.ScalarNode {
					walk(item, path)
					return
				}
				walk(item, fmt.Sprintf("%s[%d]", path, i))
			}
		default:
			paths = append(paths, path)
		}
	}
	walk(root.Content[0], "")
	slices.Sort(paths) // machinery lists the keys of a map in any order
	return paths
}
