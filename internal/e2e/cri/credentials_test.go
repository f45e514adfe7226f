package cri_test

import (
	"encoding/base64"
	"net/url"
	"slices"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// password has what a TOML file, a header or a shell could trip over.
const password = "made up: \"quoted\" 'twice' \\ $HOME `id` #é"

func basic(userinfo string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(userinfo))
}

// challenged is what a registry that wants credentials is asked for the whole
// of an image: containerd sends them once it was asked for them, to resolve and
// for the manifest, and from then on. For an identity token it asks for an access
// token each of these two times; what the registry refuses it sends four times.
func challenged(host, query, authorization string) []string {
	path := host + ": GET /v2/acme/app"
	head := host + ": HEAD /v2/acme/app/manifests/v1" + query
	return []string{
		head, head + " " + authorization,
		path + "/manifests/MANIFEST" + query, path + "/manifests/MANIFEST" + query + " " + authorization,
		path + "/blobs/CONFIG" + query + " " + authorization,
		path + "/blobs/LAYER" + query + " " + authorization,
	}
}

// TestCredentials has containerd's CRI send the credentials of a Set, which it
// finds where Talos puts them: in its configuration, beside the path of the
// hosts directory.
func TestCredentials(t *testing.T) {
	needsRoot(t)
	const user, identity = "robot$acme", "made-up-identity-token"
	byUser := &mirrors.Auth{Username: user, Password: mirrors.NewSecret(password)}
	sent := basic(user + ":" + password)
	const resolves = "mirror.internal: HEAD /v2/acme/app/manifests/v1" + ns
	asksForToken := "mirror.internal: POST /token " + url.Values{
		"client_id": {"containerd-client"}, "grant_type": {"refresh_token"}, "refresh_token": {identity},
		"scope": {"repository:acme/app:pull"}, "service": {"registry.internal"},
	}.Encode()
	pulls, lines := 0, 0
	for _, tt := range []struct {
		name     string
		mirror   server
		upstream server // registry-1.docker.io for an image of docker.io, else ghcr.io
		key      string // of the credentials; the mirror's host:port when empty
		ref      string // ghcr.io/acme/app:v1 when empty
		auth     *mirrors.Auth
		skip     bool
		want     []string
		fails    string
	}{
		{name: "user and password", mirror: server{image: has, user: user + ":" + password}, auth: byUser, want: challenged("mirror.internal", ns, sent)},
		{name: "auth", mirror: server{image: has, user: user + ":" + password},
			auth: &mirrors.Auth{Auth: mirrors.NewSecret(base64.StdEncoding.EncodeToString([]byte(user + ":" + password)))}, want: challenged("mirror.internal", ns, sent)},
		{name: "identity token", mirror: server{image: has, token: identity},
			auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret(identity)}, want: append(challenged("mirror.internal", ns, "Bearer "+accessToken), asksForToken, asksForToken)},
		{name: "another password", mirror: server{image: has, user: user + ":another"}, auth: byUser, skip: true,
			want: append([]string{resolves}, slices.Repeat([]string{resolves + " " + sent}, 4)...), fails: "401 Unauthorized"},
		{name: "the key without the port", mirror: server{image: has, user: user + ":" + password}, key: "mirror.internal", auth: byUser, skip: true,
			want: []string{resolves}, fails: "no basic auth credentials"},
		{name: "the key is the name of the registry that is mirrored", mirror: server{image: has, user: user + ":" + password}, key: "ghcr.io", auth: byUser, skip: true,
			want: []string{resolves}, fails: "no basic auth credentials"},
		{name: "the mirror's are not the upstream's", mirror: server{user: user + ":" + password}, upstream: server{image: has}, auth: byUser,
			want: append(whole("ghcr.io", "acme/app", ""), challenged("mirror.internal", ns, sent)...)},
		{name: "the key docker.io is for the host that serves it", ref: "docker.io/acme/app:v1", upstream: server{image: has, user: user + ":" + password}, key: "docker.io", auth: byUser,
			want: append(whole("mirror.internal", "acme/app", "?ns=docker.io"), challenged("registry-1.docker.io", "", sent)...)},
	} {
		for _, form := range forms {
			t.Run(tt.name+", "+form.String(), func(t *testing.T) {
				n := newNode(t)
				image, registry := ref, "ghcr.io"
				if tt.ref != "" {
					image, registry = tt.ref, "docker.io"
					n.upstream(t, "registry-1.docker.io", tt.upstream)
				} else {
					n.upstream(t, "ghcr.io", tt.upstream)
				}
				hostport, ca := n.mirror(t, "mirror.internal", tt.mirror)
				key := tt.key
				if key == "" {
					key = hostport
				}
				set := mirrors.Set{
					Mirrors: map[string]mirrors.Mirror{registry: {Endpoints: endpoints("https://" + hostport), SkipFallback: tt.skip}},
					Config:  map[string]mirrors.HostConfig{key: {Auth: tt.auth}},
				}
				c := set.Config[hostport]
				c.TLS = &mirrors.TLS{CA: mirrors.PEM(ca)}
				set.Config[hostport] = c
				lines += n.pulls(t, set, form, image, tt.want, tt.fails)
				pulls++
			})
		}
	}
	if pulls == 0 {
		t.Skip("no pull could be made")
	}
	verdict.Proved(t, "the CRI of containerd 2.4.2 sends the credentials that Talos configurations have, and only where they belong: %d pulls, and all of the %d requests with their Authorization", pulls, lines)
}
