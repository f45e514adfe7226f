package talosctlflags

import (
	"bytes"
	"encoding/csv"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Write makes the file flags: one flag on a line, for one endpoint, quoted for a
// POSIX shell.
func Write(set mirrors.Set, opts ...Option) (convert.Files, convert.Report, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if err := set.Check().Err(); err != nil {
		return nil, convert.Report{}, err
	}
	var w tree.Losses
	var b bytes.Buffer
	for _, key := range tree.Keys(set.Mirrors) {
		m := set.Mirrors[key]
		if len(m.Endpoints) == 0 {
			w.Add(convert.Loss, "mirrors", key, "", "a flag has an endpoint, and the mirror has none", "drop it, or name its endpoints")
		}
		for i, e := range m.Endpoints {
			plain := e
			plain.OverridePath = false
			if e.OverridePath && tree.APIPath(e) != tree.APIPath(plain) {
				w.Add(convert.Loss, "mirrors", key, tree.EndpointField(i)+".overridePath", "there is no flag for it; without it the node appends /v2 to the path", "patch the configuration instead")
				continue
			}
			b.WriteString(mirrorFlag + " " + shellWord(csvField(key+"="+e.URL)) + "\n")
		}
		if m.SkipFallback {
			w.Add(convert.Loss, "mirrors", key, "skipFallback", "there is no flag for it", "patch the configuration instead")
		}
	}
	for _, key := range tree.Keys(set.Config) {
		c := set.Config[key]
		if c.Auth != nil {
			w.Add(convert.Loss, "config", key, "auth", "there is no flag for credentials", "patch the configuration instead")
		}
		t := c.TLS
		if t == nil {
			continue
		}
		if t.CA != "" || t.ClientIdentity != nil {
			w.Add(convert.Loss, "config", key, "tls", "there is no flag for certificates", "patch the configuration instead")
		}
		switch {
		case t.InsecureSkipVerify && o.clusterCreate:
			b.WriteString(insecureFlag + " " + shellWord(csvField(key)) + "\n")
		case t.InsecureSkipVerify:
			w.Add(convert.Loss, "config", key, "tls.insecureSkipVerify", "talosctl gen config has no flag for it", "patch the configuration instead")
		}
	}
	return convert.Files{"flags": b.Bytes()}, w.Report, nil
}

// csvField quotes a value for a flag that splits at commas.
func csvField(s string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write([]string{s}) // to memory: no error
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// shellWord quotes a word for a POSIX shell, if it needs that.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@%+", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
