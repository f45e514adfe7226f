package dockerdaemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Write makes daemon.json, and under certs.d the certificates and keys, as they
// lie in /etc/docker.
func Write(set mirrors.Set) (convert.Files, convert.Report, error) {
	if err := mirrors.Join(set.Check().Err(), tree.Writable(set)); err != nil {
		return nil, convert.Report{}, err
	}
	w := &writer{}
	files := convert.Files{}
	var out struct {
		Mirrors  []string `json:"registry-mirrors,omitempty"`
		Insecure []string `json:"insecure-registries,omitempty"`
	}
	for _, key := range tree.Keys(set.Mirrors) {
		m := set.Mirrors[key]
		if key != "docker.io" {
			w.Add(convert.Loss, "mirrors", key, "", "Docker has mirrors for docker.io only", "pull by the mirror's own name")
			continue
		}
		if m.SkipFallback {
			w.Add(convert.Loss, "mirrors", key, "skipFallback", "Docker always falls back to Docker Hub", "block Docker Hub in the network")
		}
		for i, e := range m.Endpoints {
			prefix, ok := strings.CutSuffix(tree.APIPath(e), "/v2")
			if !ok {
				w.Add(convert.Loss, "mirrors", key, tree.EndpointField(i), "Docker appends /v2 to the URL of a mirror", "want an endpoint whose path ends in /v2")
				continue
			}
			if prefix != "" {
				w.Add(convert.Changed, "mirrors", key, tree.EndpointField(i), "versions of Docker differ in what they make of a path in a mirror's URL", "check that pulls go through the mirror")
			}
			out.Mirrors = append(out.Mirrors, tree.Origin(e)+prefix)
		}
	}
	for _, key := range tree.Keys(set.Config) {
		c := set.Config[key]
		if c.Auth != nil {
			w.Add(convert.Loss, "config", key, "auth", "daemon.json has no credentials", "write them to config.json, the format docker-config")
		}
		t := c.TLS
		if t == nil {
			continue
		}
		hub := key == "docker.io" || key == tree.DockerHub
		if hub && t.InsecureSkipVerify {
			w.Add(convert.Loss, "config", key, "tls.insecureSkipVerify", "to Docker, Docker Hub is never insecure", "add the CA of what answers for it to those of the system")
		} else if t.InsecureSkipVerify {
			out.Insecure = append(out.Insecure, key)
			w.Add(convert.Changed, "config", key, "tls.insecureSkipVerify", "Docker asks an insecure registry with plain http as well", "give Docker the CA of the registry instead")
		}
		folder := "certs.d/" + key + "/"
		if hub && (t.CA != "" || t.ClientIdentity != nil) {
			folder = "certs.d/docker.io/"
			if other := set.Config[tree.DockerHub]; key == "docker.io" && other.TLS != nil && !other.Equal(mirrors.HostConfig{Auth: other.Auth, TLS: t}) {
				w.Add(convert.Loss, "config", key, "tls", fmt.Sprintf("Docker has one folder for Docker Hub, and %q has other settings", tree.DockerHub), "keep one of the two")
				continue
			}
			w.Add(convert.Changed, "config", key, "tls", "for Docker Hub, Docker reads certs.d/docker.io with the containerd image store only, which a new Docker 29 has and one that was upgraded may not have",
				"add the CA to those of the system where the image store is an older one")
		}
		if t.CA != "" {
			files[folder+"ca.crt"] = []byte(t.CA)
		}
		if id := t.ClientIdentity; id != nil {
			files[folder+"client.cert"], files[folder+"client.key"] = []byte(id.Certificate), []byte(id.Key.Reveal())
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return nil, convert.Report{}, fmt.Errorf("daemon.json: %w", err)
	}
	files["daemon.json"] = b.Bytes()
	return files, w.Report, nil
}

type writer struct{ tree.Losses }
