package mirrors

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distribution/reference"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endpointCases are URLs and the rules that find something in them.
var endpointCases = []struct {
	url   string
	rules string // separated by spaces
	fix   string // a part of it
}{
	{"https://cache.example.com", "", ""},
	{"http://cache.example.com:5000", "", ""},
	{"https://cache.example.com/", "", ""},
	{"https://cache.example.com/v2/", "", ""},
	{"https://cache.example.com:65535/repository/docker/v2", "", ""},
	{"https://192.0.2.10", "", ""},
	{"https://[fd00::1]:5000", "", ""},
	{"https://[fd00::1]", "", ""},
	{"https://cache", "", ""},
	{"https://cache_1.example.com", "", ""},
	{"https://CACHE.example.com/A%20b", "", ""},
	{"http://m.example.com/$(BOOTSTRAP_TOKEN)", "", ""},

	{"", "endpoint-syntax", "want an absolute URL"},
	{" ", "endpoint-syntax", "without white space"},
	{"https://cache.example.com ", "endpoint-syntax", "without white space"},
	{"\thttps://cache.example.com", "endpoint-syntax", "without white space"},
	{"https://cache.example.com\n", "endpoint-syntax", "without white space"},
	{"https://cache.exa mple.com", "endpoint-syntax", ""},
	{"https://cache.example.com/\x01", "endpoint-syntax", ""},
	{"https://cache.example.com/\x7f", "endpoint-syntax", ""},
	{"https://cache.example.com/\u200b", "endpoint-syntax", ""},
	{"https://cache.example.com/\u2028", "endpoint-syntax", ""},
	{"https://cache.example.com/\u00a0", "endpoint-syntax", ""},
	{"https://cache.example.com/\xff", "endpoint-syntax", ""},
	{"https://", "endpoint-syntax", "want a host"},
	{"https:///v2", "endpoint-syntax", "want a host"},
	{"https://:5000", "endpoint-syntax", "want a host"},
	{"https://cache.example.com:", "endpoint-syntax", "65535"},
	{"https://cache.example.com:0", "endpoint-syntax", "65535"},
	{"https://cache.example.com:65536", "endpoint-syntax", "65535"},
	{"https://cache.example.com:port", "endpoint-syntax", "65535"},
	{"https://cache.example.com:-1", "endpoint-syntax", "65535"},
	{"https://fd00::1", "endpoint-syntax", "[fd00::1]"},
	{"https://fd00::1:5000", "endpoint-syntax", "bracket"},
	{"https://[fd00::1", "endpoint-syntax", "]"},
	{"https://[fd00::1]x", "endpoint-syntax", ""},
	{"https://[192.0.2.1]", "endpoint-syntax", ""},
	{"https://[fd00::zz]", "endpoint-syntax", ""},
	{"https://cache.example.com/%zz", "endpoint-syntax", "%25"},
	{"https://cache.example.com/%", "endpoint-syntax", "%25"},
	{"https://[fe80::1%25eth0]:5000", "endpoint-syntax", "without a zone"},
	{"https://[fe80::1%2525eth0]", "endpoint-syntax", "without a zone"},
	{"https://cache..example.com", "endpoint-syntax", ""},
	{"https://$(id).example.com", "endpoint-syntax", ""},
	{"https://cache,example.com", "endpoint-syntax", ""},
	{"https:cache.example.com", "endpoint-syntax", "//"},
	{"http:m:5000", "endpoint-syntax", "//"},
	{"https:/cache.example.com", "endpoint-syntax", "//"},

	{"cache.example.com:5000", "endpoint-scheme", `"https://cache.example.com:5000"`},
	{"cache.example.com/path", "endpoint-scheme", `"https://cache.example.com/path"`},
	{"cache", "endpoint-scheme", "https://"},
	{"192.0.2.10:5000", "endpoint-scheme", `"http://192.0.2.10:5000"`},
	{"//cache.example.com", "endpoint-scheme", `"https://cache.example.com"`},
	{"/path", "endpoint-scheme", ""},
	{"https//cache.example.com/x", "endpoint-syntax", `want "https://cache.example.com/x"`},
	{"https:/cache.example.com:5000", "endpoint-syntax", `want "https://cache.example.com:5000"`},
	{"http/cache.example.com", "endpoint-syntax", `want "http://cache.example.com"`},
	{"https//user:made-up@cache.example.com", "endpoint-scheme", "without credentials"},
	{"user:made-up@cache.example.com", "endpoint-scheme", "without credentials"},
	{"http:5000", "endpoint-scheme", "http://"},
	{"ftp://cache.example.com", "endpoint-scheme", "want http or https"},
	{"oci://cache.example.com", "endpoint-scheme", "want http or https"},
	{"://cache.example.com", "endpoint-scheme", ""},

	{"https://user:made-up@cache.example.com", "endpoint-userinfo", `config["cache.example.com"].auth`},
	{"https://user@cache.example.com:5000", "endpoint-userinfo", `config["cache.example.com:5000"].auth`},
	{"https://@cache.example.com", "endpoint-userinfo", ""},
	{"https://cache.example.com?ns=docker.io", "endpoint-query", ""},
	{"https://cache.example.com/v2?", "endpoint-query", ""},
	{"https://cache.example.com#top", "endpoint-query", ""},
	{"https://cache.example.com/v2#", "endpoint-query", ""},
	{"ftp://user@cache.example.com:x/?a", "endpoint-scheme endpoint-userinfo endpoint-syntax endpoint-query", ""},
	{" ftp://cache.example.com", "endpoint-syntax endpoint-scheme", ""},

	{"HTTPS://cache.example.com", "endpoint-canonical", `"https://cache.example.com"`},
	{"https://cache.example.com/`id`", "endpoint-canonical", "%60id%60"},
	{"https://cache.example.com/{a}", "endpoint-canonical", "%7Ba%7D"},
	{"https://cache.example.com/a|b", "endpoint-canonical", "a%7Cb"},
	{"https://cache.example.com/ü", "endpoint-canonical", "%C3%BC"},
	{"https://cäche.example.com", "endpoint-canonical", ""},
	{"https://cache.example.com/v2/ghcr", "endpoint-path", "overridePath: true"},
	{"https://cache.example.com/v2/ghcr/", "endpoint-path", "overridePath: true"},
	{"https://cache.example.com/a/v2/b", "endpoint-path", "overridePath: true"},
	{"https://cache.example.com/v2/../x", "", ""},
	{"https://cache.example.com/myv2/x", "", ""},
	{"https://cache.example.com/v2/proxy/v2", "", ""},
	{"http://127.0.0.1:5000", "node-unreachable", ""},
	{"http://[::1]:5000", "node-unreachable", ""},
	{"http://localhost:5000", "node-unreachable", ""},
	{"http://registry.cache.svc:5000", "node-unreachable", ""},
	{"http://registry.cache.svc.cluster.local.:5000", "node-unreachable", ""},
}

func ruleNames(fs Findings) string {
	var rs []string
	for _, f := range fs {
		rs = append(rs, f.Rule)
	}
	return strings.Join(rs, " ")
}

func TestEndpoints(t *testing.T) {
	for _, c := range endpointCases {
		fs := Set{Mirrors: map[string]Mirror{"ghcr.io": {Endpoints: []Endpoint{{URL: c.url}}}}}.Check()
		if assert.Equal(t, c.rules, ruleNames(fs), "%q: %v", c.url, fs) && c.fix != "" {
			assert.Contains(t, fs[0].Fix, c.fix, "%q", c.url)
		}
		for _, f := range fs {
			assert.Equal(t, `mirrors["ghcr.io"].endpoints[0]`, f.Path)
			assert.NotContains(t, f.String(), "made-up")
		}
	}
}

// overridePath keeps /v2 from being appended.
func TestOverridePath(t *testing.T) {
	for url, want := range map[string]string{
		"https://h.example.com/v2/x":    "",
		"https://h.example.com/v2/x/":   "",
		"https://h.example.com/v2":      "",
		"https://h.example.com/x/v2/y":  "",
		"https://h.example.com":         "override-path",
		"https://h.example.com/":        "override-path",
		"https://h.example.com/x":       "override-path",
		"https://h.example.com/myv2":    "override-path",
		"https://h.example.com/v2/../x": "override-path",
	} {
		fs := Set{Mirrors: map[string]Mirror{"ghcr.io": {Endpoints: []Endpoint{{URL: url, OverridePath: true}}}}}.Check()
		assert.Equal(t, want, ruleNames(fs), url)
	}
}

// ruleCases are small inputs and the rules that find something: "rule severity".
var ruleCases = []struct {
	name, in string
	opts     []CheckOption
	want     []string
	text     string // in the first finding
}{
	{name: "duplicate with another overridePath", in: `mirrors: {ghcr.io: {endpoints: [{url: https://a/v2/x, overridePath: true}, {url: https://a/v2/x}]}}`,
		want: []string{"endpoint-duplicate error", "endpoint-path error"}},
	{name: "three times", in: `mirrors: {ghcr.io: {endpoints: [https://a, https://b, https://a, https://a]}}`,
		want: []string{"endpoint-duplicate error", "endpoint-duplicate error"}, text: `endpoints[0]`},
	{name: "a slash more", in: `mirrors: {ghcr.io: {endpoints: [https://a, https://a/]}}`, want: []string{"endpoint-duplicate warning"}},
	{name: "another case", in: `mirrors: {ghcr.io: {endpoints: [https://a.example.com, https://A.example.com]}}`, want: []string{"endpoint-duplicate warning"}},
	// Paths differ by case (RFC 3986, 6.2.2.1): containerd 2.4.2 has two tables for them, and asks both.
	{name: "another case of the path", in: `mirrors: {ghcr.io: {endpoints: [https://a.example.com/x, https://a.example.com/X]}}`, want: nil},
	{name: "the case of a path matters", in: `mirrors: {ghcr.io: {endpoints: [https://a.example.com/x, https://a.example.com/X]}}`},
	{name: "canonical in document form", in: `mirrors: {ghcr.io: {endpoints: ['https://a.example.com/{x}']}}`, opts: []CheckOption{InForm("documents")}, want: []string{"endpoint-canonical error"}},
	{name: "canonical in legacy form", in: `mirrors: {ghcr.io: {endpoints: ['https://a.example.com/{x}']}}`, opts: []CheckOption{InForm("legacy")}, want: []string{"endpoint-canonical warning"}},
	{name: "canonical by version", in: `mirrors: {ghcr.io: {endpoints: ['https://a.example.com/{x}']}}`, opts: []CheckOption{ForTalos("1.13")}, want: []string{"endpoint-canonical error"}},
	{name: "canonical by an older version", in: `mirrors: {ghcr.io: {endpoints: ['https://a.example.com/{x}']}}`, opts: []CheckOption{ForTalos("v1.11.6")}, want: []string{"endpoint-canonical warning"}},

	{name: "a mirror with a scheme", in: `mirrors: {'https://ghcr.io': {}}`, want: []string{"registry-name error"}, text: `"ghcr.io"`},
	{name: "a mirror with a path", in: `mirrors: {ghcr.io/siderolabs: {}}`, want: []string{"registry-name error"}, text: `"ghcr.io"`},
	{name: "a mirror in upper case", in: `mirrors: {GHCR.io: {}}`, want: []string{"registry-name error"}, text: `"ghcr.io"`},
	{name: "a mirror without a name", in: `mirrors: {'': {}}`, want: []string{"registry-name error"}},
	{name: "a mirror that no image can name", in: `mirrors: {cache: {}}`, want: []string{"registry-name error"}},
	{name: "a mirror with IPv6", in: `mirrors: {'[fd00::1]:5000': {}, '[fd00::1]': {}, 'localhost': {}, 'cache:5000': {}, 'a-b.example.com': {}}`},
	{name: "a mirror with IPv6 and no brackets", in: `mirrors: {'fd00::1': {}}`, want: []string{"registry-name error"}, text: `"[fd00::1]"`},
	{name: "a mirror with a bad port", in: `mirrors: {'ghcr.io:70000': {}}`, want: []string{"registry-name error"}},
	{name: "Docker Hub's other names", in: `mirrors: {index.docker.io: {}, registry-1.docker.io: {}, hub.docker.com: {}}`,
		want: []string{"registry-alias error", "registry-alias error", "registry-alias error"}, text: `"docker.io"`},

	{name: "Docker Hub's host as a registry", in: `mirrors: {registry-1.docker.io: {}}`, want: []string{"registry-alias error"}, text: "used only where a reference itself says registry-1.docker.io"},
	{name: "Docker Hub's site as a registry", in: `mirrors: {hub.docker.com: {}}`, want: []string{"registry-alias error"}, text: "serves none"},
	{name: "Docker Hub's index as a registry", in: `mirrors: {index.docker.io: {}}`, want: []string{"registry-alias error"}, text: "never used"},
	{name: "a key of config with a scheme", in: `config: {'https://a.example.com:5000/': {}}`, want: []string{"config-key error"}, text: `want "a.example.com:5000"`},
	{name: "Docker's own key", in: `config: {'https://index.docker.io/v1/': {}}`, want: []string{"config-key error"}, text: `want "registry-1.docker.io"`},
	{name: "a key of config with a path", in: `config: {a.example.com/project: {}}`, want: []string{"config-key error"}, text: `want "a.example.com"`},
	{name: "a key of config without a name", in: `config: {'': {}}`, want: []string{"config-key error"}},
	{name: "the default port", in: `{mirrors: {ghcr.io: {endpoints: [https://a.example.com]}}, config: {'a.example.com:443': {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}, text: `want "a.example.com"`},
	{name: "no port", in: `{mirrors: {ghcr.io: {endpoints: ['https://a.example.com:5000']}}, config: {'a.example.com': {tls: {ca: ` + exampleCA + `}}}}`,
		want: []string{"config-unused warning"}, text: `want "a.example.com:5000"`},
	{name: "case", in: `{mirrors: {ghcr.io: {endpoints: [https://A.example.com]}}, config: {a.example.com: {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}, text: `want "A.example.com"`},
	{name: "brackets", in: `{mirrors: {ghcr.io: {endpoints: ['https://[fd00::1]']}}, config: {'fd00::1': {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}, text: `want "[fd00::1]"`},
	{name: "brackets and port", in: `{mirrors: {ghcr.io: {endpoints: ['https://[fd00::1]:5000']}}, config: {'[fd00::1]': {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}, text: `want "[fd00::1]:5000"`},
	{name: "the upstream's name, which is never asked", in: `{mirrors: {ghcr.io: {endpoints: [https://a.example.com], skipFallback: true}}, config: {ghcr.io: {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}, text: `"a.example.com"`},
	{name: "the upstream's name, which is the fallback", in: `{mirrors: {ghcr.io: {endpoints: [https://a.example.com]}}, config: {ghcr.io: {auth: {username: u, password: made-up}}}}`},
	{name: "an upstream that * keeps away from", in: `{mirrors: {'*': {endpoints: [https://a.example.com/x], skipFallback: true}}, config: {ghcr.io: {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}},
	{name: "TLS of Docker Hub's name with a mirror", in: `{mirrors: {docker.io: {endpoints: [https://a.example.com]}}, config: {docker.io: {tls: {ca: ` + exampleCA + `}}}}`,
		want: []string{"config-unused warning"}, text: `"a.example.com"`},
	{name: "another name of Docker Hub", in: `config: {index.docker.io: {auth: {username: u, password: made-up}}}`, want: []string{"config-unused warning"}, text: hubHost},
	{name: "a registry without a mirror", in: `config: {registry.example.com: {auth: {username: u, password: made-up}, tls: {ca: ` + exampleCA + `}}}`},
	{name: "a host that no image can name", in: `config: {cache: {auth: {username: u, password: made-up}}}`, want: []string{"config-unused warning"}},
	{name: "both spellings are there", in: `{mirrors: {ghcr.io: {endpoints: ['https://a.example.com:5000']}}, config: {'a.example.com:5000': {auth: {username: u, password: made-up}}, a.example.com: {auth: {username: u, password: made-up}}}}`},
	{name: "another port is another server", in: `{mirrors: {ghcr.io: {endpoints: ['http://reg.corp:5001']}, quay.io: {endpoints: ['http://reg.corp:5002']}}, config: {'reg.corp:5000': {auth: {username: u, password: made-up}}}}`},
	{name: "a registry beside its caches", in: `{mirrors: {ghcr.io: {endpoints: ['http://reg.corp:5001']}}, config: {reg.corp: {auth: {username: u, password: made-up}}}}`},
	{name: "no registry beside its caches", in: `{mirrors: {ghcr.io: {endpoints: ['http://cache:5001']}}, config: {cache: {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}, text: `want "cache:5001"`},
	{name: "the default port of another scheme", in: `{mirrors: {ghcr.io: {endpoints: ['http://a.example.com']}}, config: {'a.example.com:443': {auth: {username: u, password: made-up}}}}`},
	{name: "the default port of registries", in: `{mirrors: {ghcr.io: {endpoints: [https://a.example.com/x]}}, config: {'ghcr.io:443': {auth: {username: u, password: made-up}}, 'registry-1.docker.io:443': {auth: {username: u, password: made-up}}, 'docker.io:443': {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning", "config-unused warning", "config-unused warning"}, text: `want "ghcr.io"`},
	{name: "the default port of a registry that is kept away from", in: `{mirrors: {ghcr.io: {endpoints: [https://a.example.com/x], skipFallback: true}}, config: {'ghcr.io:443': {auth: {username: u, password: made-up}}}}`},
	{name: "credentials of Docker Hub's name", in: `config: {docker.io: {auth: {username: u, password: made-up}}}`, opts: []CheckOption{ForTalos("1.9.6")}, want: []string{"hub-auth-key warning"}, text: "containerd uses"},
	{name: "credentials of Docker Hub's name of old", in: `config: {docker.io: {auth: {username: u, password: made-up}}}`, opts: []CheckOption{ForTalos("1.9.5")}, want: []string{"hub-auth-key warning"}, text: "neither puller"},
	{name: "both keys of Docker Hub", in: `config: {docker.io: {auth: {username: u, password: made-up}}, registry-1.docker.io: {auth: {username: u, password: made-up}}}`},

	{name: "empty auth", in: `config: {a.example.com: {auth: {}}}`, want: []string{"auth-incomplete error"}},
	{name: "empty auth of Docker Hub beside credentials", in: `config: {docker.io: {auth: {username: u, password: made-up}}, registry-1.docker.io: {auth: {}}}`, want: []string{"auth-incomplete error"}, text: hubHost},
	{name: "no password", in: `config: {a.example.com: {auth: {username: u}}}`, want: []string{"auth-incomplete error"}},
	{name: "auth and username", in: `config: {a.example.com: {auth: {username: u, password: made-up, auth: dTptYWRlLXVw}}}`, want: []string{"auth-conflict error"}},
	{name: "auth and password", in: `config: {a.example.com: {auth: {password: made-up, auth: dTptYWRlLXVw}}}`, want: []string{"auth-conflict error"}},
	{name: "auth without a colon", in: `config: {a.example.com: {auth: {auth: bWFkZXVw}}}`, want: []string{"auth-encoding error"}},
	{name: "auth without a password", in: `config: {a.example.com: {auth: {auth: dTo=}}}`, want: []string{"auth-encoding error"}},
	{name: "placeholders", in: `config: {a.io: {auth: {username: u, password: xxx}}, b.io: {auth: {username: u, password: <token>}}, c.io: {auth: {username: u, password: '${TOKEN}'}}, d.io: {auth: {username: u, password: Change-Me}}, e.io: {auth: {identityToken: '{{ .token }}'}}, f.io: {auth: {auth: dTpjaGFuZ2VtZQ==}}, g.io: {auth: {username: <user>, password: made-up}}}`,
		want: strings.Split(strings.TrimSuffix(strings.Repeat("placeholder-secret warning,", 7), ","), ",")},
	{name: "no placeholders", in: `config: {a.io: {auth: {username: u, password: xx}}, b.io: {auth: {username: u, password: 'a<b>'}}, c.io: {auth: {username: $oauthtoken, password: changement}}}`},
	{name: "credentials over http to the node itself", in: `{mirrors: {ghcr.io: {endpoints: ['http://127.0.0.1:5000']}}, config: {'127.0.0.1:5000': {auth: {username: u, password: made-up}}}}`,
		want: []string{"node-unreachable info"}},
	{name: "http and https to one host", in: `{mirrors: {ghcr.io: {endpoints: ['http://a.example.com/x', 'https://a.example.com/y']}}, config: {a.example.com: {tls: {ca: ` + exampleCA + `}}}}`,
		want: []string{"tls-on-http error"}},

	{name: "a key for a certificate", in: `config: {a.example.com: {tls: {ca: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmJXRmtaUzExY0E9PQotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg==}}}`,
		want: []string{"pem-invalid error"}, text: `"PRIVATE KEY"`},
	{name: "a certificate for a key", in: `config: {a.example.com: {tls: {clientIdentity: {crt: ` + exampleCA + `, key: ` + exampleCA + `}}}}`, want: []string{"pem-invalid error"}, text: `"CERTIFICATE"`},
	{name: "PEM that is cut", in: `config: {a.example.com: {tls: {ca: ` + exampleCA[:300] + `}}}`, want: []string{"pem-invalid error"}, text: "damaged"},
	{name: "PEM that is cut after a certificate", in: caOf(decodePEM(exampleCA) + decodePEM(exampleCA)[:200]), want: []string{"pem-invalid error"}, text: "damaged PEM after the first certificates"},
	{name: "text after a certificate", in: caOf(decodePEM(exampleCA) + "# of nobody\n")},
	{name: "an encrypted key", in: identityOf("-----BEGIN ENCRYPTED PRIVATE KEY-----\nbWFkZS11cA==\n-----END ENCRYPTED PRIVATE KEY-----\n"), want: []string{"pem-invalid error"}, text: "an encrypted private key"},
	{name: "an encrypted key of old", in: identityOf("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nbWFkZS11cA==\n-----END RSA PRIVATE KEY-----\n"), want: []string{"pem-invalid error"}, text: "an encrypted private key"},
	{name: "a key that does not parse", in: identityOf("-----BEGIN PRIVATE KEY-----\nbWFkZS11cA==\n-----END PRIVATE KEY-----\n"), want: []string{"pem-invalid error"}, text: "a private key that does not parse"},
	{name: "a bundle of which none is valid", in: caOf(decodePEM(expiredCA) + decodePEM(expiredCA)), want: []string{"certificate-expired warning"}, text: "none of the certificates is valid; of the last, the certificate expired on 2021-01-01"},
	{name: "a bundle of which one is valid", in: caOf(decodePEM(expiredCA) + decodePEM(exampleCA))},
	{name: "a key alone", in: `config: {a.example.com: {tls: {clientIdentity: {key: made-up}}}}`, want: []string{"client-identity error", "pem-invalid error"}},
	{name: "an empty identity", in: `config: {a.example.com: {tls: {clientIdentity: {}}}}`, want: []string{"client-identity error"}},
	{name: "expired", in: `config: {a.example.com: {tls: {ca: ` + expiredCA + `}}}`, want: []string{"certificate-expired warning"}, text: "2021-01-01"},
	{name: "not expired then", in: `config: {a.example.com: {tls: {ca: ` + expiredCA + `}}}`, opts: []CheckOption{At(time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC))}},
	{name: "not valid yet", in: `config: {a.example.com: {tls: {ca: ` + exampleCA + `}}}`, opts: []CheckOption{At(time.Date(2019, 6, 1, 0, 0, 0, 0, time.UTC))}, want: []string{"certificate-expired warning"}},

	{name: "cache only", in: `mirrors: {ghcr.io: {skipFallback: true}}`, opts: []CheckOption{WithImageCache()}, want: []string{"skip-fallback-alone info"}},
	{name: "no mirror at all", in: `mirrors: {ghcr.io: {}}`},

	{name: "TLS of the cache itself behind *", in: `{mirrors: {'*': {endpoints: [https://a.example.com/x]}}, config: {a.example.com: {tls: {ca: ` + exampleCA + `}}}}`},
	{name: "credentials alone bypass nothing", in: `{mirrors: {'*': {endpoints: [https://a.example.com/x]}}, config: {b.example.com: {auth: {username: u, password: made-up}}}}`},
	{name: "TLS beside the image cache", in: `config: {b.example.com: {tls: {ca: ` + exampleCA + `}}}`, opts: []CheckOption{WithImageCache()}, want: []string{"wildcard-bypassed warning"}, text: "image cache"},
	{name: "a mirror beside *", in: `mirrors: {'*': {endpoints: [https://a.example.com/x]}, ghcr.io: {endpoints: [https://a.example.com/y]}}`},
	{name: "Docker Hub's TLS with a fallback", in: `{mirrors: {docker.io: {endpoints: [https://a.example.com]}}, config: {registry-1.docker.io: {tls: {ca: ` + exampleCA + `}}}}`,
		want: []string{"fallback-tls warning"}},
	{name: "TLS of an upstream without fallback", in: `{mirrors: {b.example.com: {endpoints: [https://a.example.com, https://b.example.com], skipFallback: true}}, config: {b.example.com: {tls: {ca: ` + exampleCA + `}}}}`},
	{name: "TLS of Docker Hub under the host's name only", in: `config: {registry-1.docker.io: {tls: {ca: ` + exampleCA + `}}}`, want: []string{"puller-differs warning"}},
	{name: "plain HTTP for the node itself", in: `mirrors: {'localhost:80': {endpoints: [https://a.example.com]}}`, want: []string{"puller-differs warning"}},
	{name: "a mirror of Docker Hub with TLS under *", in: `{mirrors: {'*': {endpoints: [https://a.example.com/x]}}, config: {registry-1.docker.io: {tls: {ca: ` + exampleCA + `}}}}`, want: []string{"puller-differs warning"}},

	{name: "one URL under *", in: `mirrors: {'*': {endpoints: [https://a.example.com]}}`, want: []string{"shared-endpoint warning"}},
	{name: "one URL under * with a path", in: `mirrors: {'*': {endpoints: [https://a.example.com/proxy]}}`},
	{name: "one URL for three", in: `mirrors: {ghcr.io: {endpoints: [https://a.example.com]}, gcr.io: {endpoints: [https://a.example.com]}, quay.io: {endpoints: [https://a.example.com]}}`,
		want: []string{"shared-endpoint warning"}, text: `"gcr.io", "ghcr.io", "quay.io"`},
	{name: "one URL for five, spelled otherwise", in: `mirrors: {a.io: {endpoints: [https://m.example.com]}, b.io: {endpoints: [https://m.example.com/]}, c.io: {endpoints: [https://m.example.com/v2]}, d.io: {endpoints: [https://M.example.com]}, e.io: {endpoints: ['https://m.example.com:443']}}`,
		want: []string{"shared-endpoint warning"}, text: `"a.io", "b.io", "c.io", "d.io" and 1 more`},
	{name: "one host by two schemes", in: `mirrors: {a.io: {endpoints: [https://m.example.com]}, b.io: {endpoints: ['http://m.example.com']}, c.io: {endpoints: ['http://m.example.com:443']}}`},
	{name: "three URLs of two mirrors", in: `mirrors: {a.io: {endpoints: [https://m.example.com]}, b.io: {endpoints: [https://m.example.com, 'https://m.example.com/v2']}}`,
		want: []string{"shared-endpoint warning", "shared-endpoint warning"}, text: `("a.io", "b.io")`},
	{name: "TLS settings of the image cache", in: `config: {'127.0.0.1:3172': {tls: {insecureSkipVerify: false}}}`, opts: []CheckOption{WithImageCache()}, want: []string{"tls-on-http error"}},
	{name: "an upstream that is itself a mirror", in: `mirrors: {ghcr.io: {endpoints: ['https://ghcr.io']}, quay.io: {endpoints: ['https://ghcr.io']}}`},
	{name: "credentials of Docker Hub that are never used", in: `{mirrors: {docker.io: {endpoints: [https://a.example.com], skipFallback: true}}, config: {docker.io: {auth: {username: u, password: made-up}}}}`,
		want: []string{"config-unused warning"}, text: `"a.example.com"`},
	{name: "the upstream as an endpoint", in: `mirrors: {ghcr.io: {endpoints: ['https://a.example.com', 'https://ghcr.io']}}`},

	{name: "overridePath of old", in: `mirrors: {ghcr.io: {endpoints: [{url: https://a/v2/x, overridePath: true}]}}`, opts: []CheckOption{ForTalos("1.2.9")}, want: []string{"version-feature error", "version-feature error"}, text: "1.3"},
	{name: "* of old", in: `mirrors: {'*': {endpoints: [https://a.example.com/x]}}`, opts: []CheckOption{ForTalos("v1.3")}, want: []string{"version-feature error"}, text: "1.4"},
	{name: "IPv6 of old", in: `mirrors: {ghcr.io: {endpoints: ['https://[fd00::1]']}}`, opts: []CheckOption{ForTalos("1.7")}, want: []string{"version-feature error"}},
	{name: "documents of old", in: `mirrors: {ghcr.io: {}}`, opts: []CheckOption{ForTalos("1.11.6"), InForm("documents")}, want: []string{"version-feature error"}, text: "1.12.0"},
	{name: "TLS documents that panic", in: `config: {a.example.com: {tls: {ca: ` + exampleCA + `}}}`, opts: []CheckOption{ForTalos("1.12.1"), InForm("documents")}, want: []string{"version-feature error"}, text: "1.12.2"},
	{name: "TLS documents that do not", in: `config: {a.example.com: {tls: {ca: ` + exampleCA + `}}}`, opts: []CheckOption{ForTalos("1.12.2"), InForm("documents")}},
	{name: "everything there is", in: `mirrors: {'*': {endpoints: [{url: 'https://[fd00::1]/v2/x', overridePath: true}], skipFallback: true}}`, opts: []CheckOption{ForTalos("v1.14.0-beta.1+dirty")}},
	{name: "no form", in: `mirrors: {ghcr.io: {}}`, opts: []CheckOption{InForm("document")}, want: []string{"version-feature error"}, text: `"document"`},
	{name: "nothing", in: `{}`, want: []string{"empty-set warning"}},
	{name: "no version", in: `mirrors: {ghcr.io: {}}`, opts: []CheckOption{ForTalos("latest")}, want: []string{"version-feature error"}, text: `"latest"`},
	{name: "mixed overridePath by version", in: `mirrors: {ghcr.io: {endpoints: [https://a, {url: https://b/v2/x, overridePath: true}]}}`, opts: []CheckOption{ForTalos("1.12.1")}, want: []string{"legacy-override error"}},
	{name: "mixed overridePath in documents", in: `mirrors: {ghcr.io: {endpoints: [https://a, {url: https://b/v2/x, overridePath: true}]}}`, opts: []CheckOption{ForTalos("1.12.2")}},
}

func caOf(pem string) string {
	return "config: {a.example.com: {tls: {ca: " + base64.StdEncoding.EncodeToString([]byte(pem)) + "}}}"
}

func identityOf(key string) string {
	return "config: {a.example.com: {tls: {clientIdentity: {crt: " + exampleCA + ", key: " + base64.StdEncoding.EncodeToString([]byte(key)) + "}}}}"
}

func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			src, err := Decode([]byte(c.in))
			require.NoError(t, err)
			fs := src.Check(c.opts...)
			var got []string
			for _, f := range fs {
				got = append(got, f.Rule+" "+f.Severity.String())
				assert.NotContains(t, fmt.Sprint(f), "made-up")
			}
			assert.ElementsMatch(t, c.want, got, "%v", fs)
			if c.text != "" && len(fs) > 0 {
				assert.Contains(t, fs[0].String(), c.text)
			}
		})
	}
}

// What a careful person writes has no errors and no warnings.
var careful = []string{
	// Harbor projects for everything, no way out.
	`
mirrors:
  docker.io:
    endpoints: [https://harbor.example.com/v2/hub]
    overridePath: true
    skipFallback: true
  ghcr.io:
    endpoints: [https://harbor.example.com/v2/ghcr]
    overridePath: true
    skipFallback: true
  registry.k8s.io:
    endpoints: [https://harbor.example.com/v2/k8s]
    overridePath: true
    skipFallback: true
config:
  harbor.example.com:
    auth: {username: robot$talos, password: made-up}
    tls: {ca: ` + exampleCA + `}
`,
	// A port for each upstream, with the upstream behind.
	`
mirrors:
  docker.io: {endpoints: ["http://192.0.2.10:5000"]}
  ghcr.io: {endpoints: ["http://192.0.2.10:5001"]}
  gcr.io: {endpoints: ["http://192.0.2.10:5002"]}
  quay.io: {endpoints: ["http://192.0.2.10:5003", "http://192.0.2.11:5003"]}
`,
	// Credentials of Docker Hub and of a private registry, no mirrors.
	`
config:
  registry-1.docker.io:
    auth: {username: someone, password: made-up}
  registry.example.com:5000:
    auth: {identityToken: made-up}
    tls: {ca: ` + exampleCA + `}
`,
	// Everything else through a path, one registry by itself.
	`
mirrors:
  "*":
    endpoints: [https://cache.internal/v2/all]
    overridePath: true
    skipFallback: true
  registry.internal:5000:
    endpoints: ["https://registry.internal:5000"]
    skipFallback: true
config:
  cache.internal:
    tls: {ca: ` + exampleCA + `}
  registry.internal:5000:
    auth: {username: user, password: made-up}
    tls: {ca: ` + exampleCA + `}
`,
	// IPv6, Nexus, a second cache, Docker Hub through Google's.
	`
mirrors:
  docker.io: {endpoints: [https://mirror.gcr.io]}
  quay.io: {endpoints: ["http://[fd00::10]:5000"]}
  ghcr.io: {endpoints: ["https://nexus.example.com/repository/ghcr", "https://nexus.example.com/repository/ghcr-old"]}
config:
  mirror.gcr.io:
    auth: {username: _json_key, password: made-up}
`,
	// A mirror with credentials for the upstream that it falls back to.
	`
mirrors:
  ghcr.io:
    endpoints: ["https://cache.example.com:5001"]
config:
  cache.example.com:5001:
    auth: {username: user, password: made-up}
  ghcr.io:
    auth: {username: user, password: made-up}
`,
	// Two registries on one host, each with its own port.
	`
mirrors:
  ghcr.io: {endpoints: ["https://registry.example.com:5001"]}
config:
  registry.example.com:5001:
    tls: {ca: ` + exampleCA + `}
  registry.example.com:
    tls: {ca: ` + exampleCA + `}
`,
}

func TestCarefulConfigurationsHaveNoFindings(t *testing.T) {
	for i, text := range careful {
		for _, opts := range [][]CheckOption{nil, {ForTalos("1.13.9")}, {ForTalos("1.10"), InForm("legacy")}} {
			assert.Empty(t, findingsOf(t, text, opts...), "configuration %d", i)
		}
	}
}

// The registry's name is judged as distribution/reference parses it.
func TestRegistryNamesAreThoseOfReferences(t *testing.T) {
	for _, name := range []string{"ghcr.io", "docker.io", "localhost", "cache", "cache:5000", "a_b.example.com", "a.b", "a..b", ".a", "a.", "-a.b", "a-.b", "a.b:", "a.b:0", "a.b:x",
		"[fd00::1]", "[fd00::1]:5000", "[::]", "[fd00::1", "fd00::1", "[192.0.2.1]", "[fd00::1]x", "192.0.2.1", "192.0.2.1:80", "localhost:5000", "a.b:65535", "ä.example.com", "x.y z", "_default", "[fe80::1%25eth0]", "[::ffff:192.0.2.1]"} {
		reason, _ := badRegistryName(name)
		ref, err := reference.ParseNormalizedNamed(name + "/project/image")
		matches := err == nil && reference.Domain(ref) == name
		if name == "a.b:0" || name == "docker.io" {
			continue // a port that is none is none to us
		}
		assert.Equal(t, matches, reason == "", "%q: %q, %v", name, reason, err)
	}
}

// Findings come in the order of the file, whatever order the Set has.
func TestFindingsAreInTheOrderOfTheFile(t *testing.T) {
	fs := findingsOf(t, "config:\n  https://x: {}\nmirrors:\n  z.io:\n    skipFallback: true\n  a.io:\n    endpoints:\n      - ''\n      - ftp://a\n")
	assert.Equal(t, []string{"2:3 config[\"https://x\"]", "5:19 mirrors[\"z.io\"].skipFallback", `8:9 mirrors["a.io"].endpoints[0]`, `9:9 mirrors["a.io"].endpoints[1]`}, func() (ps []string) {
		for _, f := range fs {
			ps = append(ps, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Path))
		}
		return ps
	}())
	src, err := Decode([]byte("config: {https://x: {}}\nmirrors: {z.io: {skipFallback: true}, a.io: {endpoints: ['']}}"))
	require.NoError(t, err)
	var paths []string
	for _, f := range src.Set.Check() {
		paths = append(paths, f.Path)
		assert.Zero(t, f.Line)
	}
	assert.Equal(t, []string{`mirrors["a.io"].endpoints[0]`, `mirrors["z.io"].skipFallback`, `config["https://x"]`}, paths)
}
