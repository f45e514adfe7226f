package dockerconfig

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

type authEntry struct {
	Username      string         `json:"username,omitempty"`
	Password      mirrors.Secret `json:"password,omitzero"`
	Auth          mirrors.Secret `json:"auth,omitzero"`
	IdentityToken mirrors.Secret `json:"identitytoken,omitzero"`
}

// Write makes config.json with the credentials of the Set, or with [AsSecret]
// secret.yaml. It reports mirrors and TLS settings, which the format has not.
func Write(set mirrors.Set, opts ...Option) (convert.Files, convert.Report, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if err := set.Check().Err(); err != nil {
		return nil, convert.Report{}, err
	}
	var w tree.Losses
	for _, key := range tree.Keys(set.Mirrors) {
		w.Add(convert.Loss, "mirrors", key, "", "the format has credentials only", "write the mirrors in another format")
	}
	out := struct {
		Auths map[string]authEntry `json:"auths"`
	}{map[string]authEntry{}}
	for _, key := range tree.Keys(set.Config) {
		c := set.Config[key]
		if c.TLS != nil {
			w.Add(convert.Loss, "config", key, "tls", "the format has credentials only", "write the TLS settings in another format")
		}
		if c.Auth == nil {
			continue
		}
		name := key
		if key == tree.DockerHub {
			name = "https://index.docker.io/v1/"
		}
		// Talos's order of precedence.
		switch a := *c.Auth; {
		case a.Username != "":
			if !a.IdentityToken.IsZero() || !a.Auth.IsZero() {
				w.Add(convert.Loss, "config", key, "auth", "several sorts of credentials; Talos uses the user name and the password, and so does the result", "keep one sort")
			}
			if p := a.Password.Reveal(); strings.Contains(a.Username, ":") || strings.Trim(p, "\x00") != p {
				// In auth, Docker ends the user name at the first colon, and drops
				// NUL bytes around the password.
				if !utf8.ValidString(a.Username + p) {
					return nil, convert.Report{}, notUTF8(key)
				}
				w.Add(convert.Changed, "config", key, "auth", "the user name has a colon, or the password a NUL byte at an end: written as username and password, which Podman does not read",
					"nothing, if the file is for Docker or Kubernetes")
				out.Auths[name] = authEntry{Username: a.Username, Password: a.Password}
				break
			}
			out.Auths[name] = authEntry{Auth: mirrors.NewSecret(base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password.Reveal())))}
		case !utf8.ValidString(a.IdentityToken.Reveal() + a.Auth.Reveal()):
			return nil, convert.Report{}, notUTF8(key)
		case !a.IdentityToken.IsZero():
			if !a.Auth.IsZero() {
				w.Add(convert.Loss, "config", key, "auth", "several sorts of credentials; Talos uses the identity token, and so does the result", "keep one sort")
			}
			out.Auths[name] = authEntry{IdentityToken: a.IdentityToken}
		case !a.Auth.IsZero():
			out.Auths[name] = authEntry{Auth: a.Auth}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return nil, convert.Report{}, fmt.Errorf("config.json: %w", err)
	}
	if o.name == "" {
		return convert.Files{"config.json": b.Bytes()}, w.Report, nil
	}
	metadata := map[string]string{"name": o.name}
	if o.namespace != "" {
		metadata["namespace"] = o.namespace
	}
	secret, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson", "metadata": metadata,
		"data": map[string]string{".dockerconfigjson": base64.StdEncoding.EncodeToString(b.Bytes())},
	})
	if err != nil {
		return nil, convert.Report{}, fmt.Errorf("secret.yaml: %w", err)
	}
	return convert.Files{"secret.yaml": secret}, w.Report, nil
}

func notUTF8(key string) error {
	return mirrors.Findings{{Rule: "encoding", Severity: mirrors.SeverityError,
		Path: mirrors.Place{Section: "config", Key: key, Field: "auth"}.String(), Message: "JSON cannot hold it", Fix: "want UTF-8"}}.Err()
}
