package configpatch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

// redactURL is [mirrors.RedactURL]. Names go through it too: a key may be a URL by
// mistake.
func redactURL(s string) string { return mirrors.RedactURL(s) }

var (
	// A scalar of a wrong type; machinery's decoder cuts it to ten bytes, which may
	// be any.
	constructed = regexp.MustCompile("(?s)`.{0,10}` into ")
	backtick    = regexp.MustCompile("(?s)`.*`")
	// What net/url says: the whole, and why, which quotes a part.
	parsed = regexp.MustCompile(`parse "(?:[^"\\\n]|\\.)*": ([^\n]*)`)
	quoted = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	anchor = regexp.MustCompile(`(?s)unknown anchor '.*' referenced`)
	urls   = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"]*[@?#][^\s"]*`)
)

// withoutValues returns an error of machinery (1.13.9) without what it quotes of
// the configuration: the values of unknown keys, scalars of a wrong type, URLs
// that do not parse, and what redactURL hides in the names that it has. Where
// nothing had to go it is the error itself. All that machinery says goes through
// here, with the texts that it was given.
func withoutValues(err error, texts ...[]byte) error {
	if err == nil {
		return nil
	}
	var names []string
	for _, t := range texts {
		names = append(names, hiddenNames(t)...)
	}
	text := withoutNames(err.Error(), names)
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

func withoutNames(text string, names []string) string {
	if before, listing, found := strings.Cut(text, "unknown keys found during decoding:\n"); found {
		text = before + "unknown keys"
		if keys := keyPaths(listing); len(keys) > 0 {
			text += ": " + strings.Join(keys, ", ")
		}
	}
	text = constructed.ReplaceAllString(text, "[redacted] into ")
	text = backtick.ReplaceAllString(text, "[redacted]")
	text = anchor.ReplaceAllString(text, "unknown anchor: a text that begins with * wants quotes")
	text = parsed.ReplaceAllStringFunc(text, func(s string) string {
		why := parsed.FindStringSubmatch(s)[1]
		return "a URL does not parse: " + quoted.ReplaceAllString(why, "[redacted]")
	})
	for _, name := range names {
		quote := func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] }
		text = strings.ReplaceAll(text, name, redactURL(name))
		text = strings.ReplaceAll(text, quote(name), quote(redactURL(name)))
	}
	return urls.ReplaceAllStringFunc(text, redactURL)
}

// hiddenNames returns the keys and values of a configuration in which redactURL
// hides something, the longest first. It is best effort, as locate is.
func hiddenNames(data []byte) (names []string) {
	defer func() { _ = recover() }()
	defer func() {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		})
		names = slices.Compact(names)
	}()
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && redactURL(n.Value) != n.Value {
			names = append(names, n.Value)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return names
		}
		walk(&doc)
	}
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

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
				case value.Tag == "!!null": // it may be a value that was written without its key
					walk(value, path+"[[redacted]]")
				case !plainKey.MatchString(key.Value):
					walk(value, fmt.Sprintf("%s[%q]", path, redactURL(key.Value)))
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
