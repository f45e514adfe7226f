package schema

import (
	"fmt"
	"strings"
)

// What the OpenAPI form has room for: the API server estimates what its rules may
// cost from these.
const (
	MaxMirrors   = 32    // keys of mirrors
	MaxConfig    = 32    // keys of config
	MaxEndpoints = 10    // of one mirror
	MaxURL       = 512   // characters, which are bytes here: a URL is ASCII
	MaxKey       = 259   // of mirrors and config: a DNS name of 253 characters, a colon and a port
	MaxPEM       = 32768 // of one tls.ca
	MaxName      = 253   // of a Secret
)

// OpenAPI returns the structural OpenAPI v3 schema of an object with mirrors and
// config, for a CustomResourceDefinition (apiextensions.k8s.io/v1), with CEL rules.
// It needs the fieldPath of rules, which Kubernetes has since 1.28; it was tried with
// kube-apiserver 1.36.3. Put it where the object is, at spec or below it; add
// properties as you like. What it refuses, Check refuses in document form, or it is
// above a maximum; [Coverages] says what else Check refuses. Below a list or a mapping
// of such objects it needs smaller maxima: [WithMaxima].
//
//	mirrors:
//	  ghcr.io:
//	    endpoints: [{url: …, overridePath: …}]      # no strings
//	    skipFallback: false
//	config:
//	  cache.example.com:
//	    auth: {secretRef: {name: …}}
//	    tls: {ca: …, clientIdentity: {secretRef: {name: …}}, insecureSkipVerify: false}
//
// encoding/json decodes mirrors into a map[string]mirrors.Mirror, and ca, which is PEM
// or base64 of it, into a mirrors.PEM. Credentials are in
// Secrets, which the controller reads: username and password, identityToken, or
// auth; tls.crt and tls.key for a client identity. A URL is ASCII.
func OpenAPI(opts ...Option) map[string]any {
	o := newOptions(opts)
	return object(tree{
		"mirrors": tree{
			"description": `The endpoints that stand in for a registry. A key is the host, or host:port, as image references have it ("ghcr.io", "docker.io", ` +
				`"registry.example.com:5000"), or "*" for every registry without a key of its own.`,
			"type":                  "object",
			"maxProperties":         int64(o.mirrors),
			"additionalProperties":  openMirror(o),
			"x-kubernetes-map-type": "granular",
			"x-kubernetes-validations": rules(
				longKey,
				keyRule("registry-name", fmt.Sprintf(`!(%s) && !k.matches(%s)`, isIn("k", aliases), cel(registryName)),
					"a key of mirrors is the host, or host:port, of a registry as image references have it, in lower case, such as ghcr.io, "+
						`or "*" alone: no scheme, no path, no other pattern`),
				keyRule("registry-name", fmt.Sprintf(`k.matches(%s)`, cel(mappedKey)),
					"an IPv6 address that ends in an IPv4 address is no registry that an image reference can have: write it in hexadecimal groups"),
				keyRule("registry-alias", isIn("k", aliases), "images of Docker Hub have the registry docker.io: write the key docker.io"),
			),
		},
		"config": tree{
			"description": `Credentials and TLS settings. A key is the host of an endpoint exactly as its URL has it, with the port if there is one ` +
				`("cache.example.com:5000", "[fd00::1]:5000"), or a registry that is pulled from directly. Docker Hub's is "registry-1.docker.io".`,
			"type":                  "object",
			"maxProperties":         int64(o.hosts),
			"additionalProperties":  openHost(),
			"x-kubernetes-map-type": "granular",
			"x-kubernetes-validations": rules(
				longKey,
				keyRule("tls-wildcard, auth-wildcard", `k == '*'`, `a key of config is literal, and "*" is not supported: write a key for each host`),
				keyRule("config-key", fmt.Sprintf(`!k.matches(%s)`, cel(`^[^\x00- #?@\x7f]+$`)),
					"a key of config is the host of an endpoint, with its port, such as cache.example.com:5000: no credentials, no query, no white space"),
				keyRule("config-key", `k.contains('/')`,
					"a key of config is the host of an endpoint, with its port, such as cache.example.com:5000: no scheme and no path"),
			),
		},
	}, tree{
		"description": "Which registries a Talos node may pull from, and how.",
		"x-kubernetes-validations": rules(celRule{
			name: "tls-on-http",
			rule: `!has(self.config) || !has(self.mirrors) || self.mirrors.all(m, !has(self.mirrors[m].endpoints) || ` +
				`self.mirrors[m].endpoints.all(e, !e.url.startsWith('http://') || ` +
				`!(e.url.substring(7).split('/')[0] in self.config) || !has(self.config[e.url.substring(7).split('/')[0]].tls)))`,
			message:    tlsOnHTTP,
			expression: fmt.Sprintf(`'host "' + self.config.filter(h, !h.contains('@') && %s)[0] + '": ' + %s`, tlsBesideHTTP, cel(tlsOnHTTP+" [tls-on-http]")),
			field:      ".config",
		}),
	})
}

const (
	// tlsBesideHTTP is that h of config has tls, and is the host of an http endpoint. Asked
	// of every h it costs more than the rule itself, which asks for each endpoint once.
	tlsBesideHTTP = `has(self.config[h].tls) && self.mirrors.exists(m, has(self.mirrors[m].endpoints) && ` +
		`self.mirrors[m].endpoints.exists(e, e.url.startsWith('http://' + h) && (e.url == 'http://' + h || e.url.startsWith('http://' + h + '/'))))`
	tlsOnHTTP = "config has tls for the host of an http:// endpoint: machined refuses that, and then tries no endpoint of the mirror and not the registry either: " +
		"write https:// for the endpoint, or remove tls"
)

// longKey keeps the keys, which have no maxLength of their own, to a size.
var longKey = keyRule("", fmt.Sprintf(`k.size() > %d`, MaxKey), fmt.Sprintf("a key has %d characters at most", MaxKey))

// keyRule refuses keys. The message names the first of them; what stands before
// an @ may be a password, so a key with one is not named.
func keyRule(name, bad, message string) celRule {
	r := celRule{name: name, rule: fmt.Sprintf(`!self.exists(k, %s)`, bad), message: message}
	r.expression = fmt.Sprintf(`'key "' + self.filter(k, (%s) && !k.contains('@'))[0] + '": ' + %s`, bad, cel(r.text()))
	return r
}

// celRule is an entry of x-kubernetes-validations.
type celRule struct{ name, rule, message, expression, field string }

// text ends in the name of the rule of package mirrors.
func (r celRule) text() string {
	if r.name == "" {
		return r.message
	}
	return r.message + " [" + r.name + "]"
}

func rules(all ...celRule) (list []any) {
	for _, r := range all {
		v := tree{"rule": r.rule, "message": r.text()}
		for key, value := range map[string]string{"messageExpression": r.expression, "fieldPath": r.field} {
			if value != "" {
				v[key] = value
			}
		}
		list = append(list, v)
	}
	return list
}

// cel is a string literal of CEL.
func cel(s string) string {
	return `'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + `'`
}

func isIn(name string, texts []string) string {
	var all []string
	for _, t := range texts {
		all = append(all, name+" == "+cel(t))
	}
	return strings.Join(all, " || ")
}

func openMirror(o options) tree {
	m := object(tree{
		"endpoints": tree{
			"description": "Tried in order, each URL once.",
			"type":        "array",
			"maxItems":    int64(o.endpoints),
			// The order says what is asked first, so it is one owner's.
			"x-kubernetes-list-type": "atomic",
			"items":                  openEndpoint(),
			"x-kubernetes-validations": rules(celRule{
				name:    "endpoint-duplicate",
				rule:    `self.all(e, self.exists_one(f, f.url == e.url))`,
				message: "an endpoint is there twice: containerd then ignores every mirror of the registry: write each URL once",
			}),
		},
		"skipFallback": tree{
			"description": "Pull from the endpoints only, never from the registry itself; it needs an endpoint. Talos 1.9 and later.",
			"type":        "boolean",
		},
	}, nil)
	if !o.imageCache {
		m["x-kubernetes-validations"] = rules(celRule{
			name: "skip-fallback-alone",
			rule: `!has(self.skipFallback) || !self.skipFallback || (has(self.endpoints) && self.endpoints.size() > 0)`,
			message: "skipFallback and no endpoint: machined refuses to pull, and containerd goes to the registry itself: " +
				"write an endpoint, or drop skipFallback",
			field: ".skipFallback",
		})
	}
	return m
}

func openEndpoint() tree {
	return object(tree{
		"url": tree{
			"description": "The absolute URL of a registry's API, with http:// or https://. A node appends /v2 to the path unless it ends in it, or overridePath is true.",
			"type":        "string",
			"minLength":   int64(1),
			"maxLength":   int64(MaxURL),
		},
		"overridePath": tree{
			"description": "Do not append /v2 to the path: true where the path has /v2 inside, as that of a Harbor project, https://harbor.example.com/v2/project.",
			"type":        "boolean",
		},
	}, tree{
		"required": []any{"url"},
		// Not at the url itself: the API server shows the value of a string that a
		// rule refuses, and here it may hold a password.
		"x-kubernetes-validations": rules(
			celRule{
				name:    "endpoint-scheme",
				rule:    `self.url.startsWith('http://') || self.url.startsWith('https://')`,
				message: "the URL does not begin with http:// or https://, in lower case: write one of them before the host",
				field:   ".url",
			},
			celRule{
				name:    "endpoint-userinfo",
				rule:    `!self.url.matches('^[^/?#]*//[^/?#]*@')`,
				message: "the URL holds credentials, which no puller uses and every log shows: write them into a Secret, and its name under config, at the host, as auth.secretRef",
				field:   ".url",
			},
			celRule{
				name:    "endpoint-query",
				rule:    `!self.url.contains('?') && !self.url.contains('#')`,
				message: "the URL has a query or a fragment, which no puller sends: leave it out",
				field:   ".url",
			},
			celRule{
				name:    "endpoint-syntax",
				rule:    `self.url.matches('^[!-~]*$')`,
				message: "the URL has white space, control characters or characters beyond ASCII: leave them out, or write them as % and two hexadecimal digits",
				field:   ".url",
			},
			celRule{
				name: "endpoint-syntax",
				rule: fmt.Sprintf(`!self.url.contains('://') || (self.url.matches(%s) ? self.url.matches(%s) : self.url.matches(%s))`,
					cel(bracketed), cel(ipv6Groups), cel(nameAuthority)),
				message: "the URL has no valid host: write a name, an IPv4 address, or an IPv6 address in brackets, and perhaps a colon and a port",
				field:   ".url",
			},
			celRule{
				name: "endpoint-syntax",
				rule: fmt.Sprintf(`!self.url.matches(%s) || !self.url.matches(%s) && (self.url.matches(%s) ? !self.url.matches(%s) : self.url.matches(%s))`,
					cel(ipv6Start), cel(looseColon), cel(shortened), cel(notShorter), cel(eightLong)),
				message: "the URL has no valid IPv6 address in the brackets: write eight groups, or fewer and :: once",
				field:   ".url",
			},
			celRule{
				name:    "endpoint-syntax",
				rule:    fmt.Sprintf(`!self.url.matches(%s) || self.url.matches(%s)`, cel(anyPort), cel(goodPort)),
				message: "the URL has no valid port: write a number from 1 to 65535, or no colon",
				field:   ".url",
			},
			celRule{
				name:    "endpoint-syntax",
				rule:    fmt.Sprintf(`self.url.matches(%s)`, cel(endpointEscapes)),
				message: "the URL has a % that begins no escape: write two hexadecimal digits behind it; the sign itself is %25",
				field:   ".url",
			},
			celRule{
				name:    "endpoint-path",
				rule:    fmt.Sprintf(`(has(self.overridePath) && self.overridePath) || !self.url.matches(%s)`, cel(projectPath)),
				message: "the path has /v2 inside, and without overridePath a node appends another /v2 to it: write overridePath: true",
				field:   ".url",
			},
			celRule{
				name:    "override-path",
				rule:    fmt.Sprintf(`!has(self.overridePath) || !self.overridePath || self.url.matches(%s)`, cel(overriddenPath)),
				message: "overridePath keeps /v2 from being appended, and the path has none: write it into the path, as in https://harbor.example.com/v2/project, or drop overridePath",
				field:   ".overridePath",
			},
		),
	})
}

// secretRef names a Secret of the same namespace.
func secretRef(description string) tree {
	return object(tree{
		"secretRef": object(tree{
			"name": tree{
				"description": "The name of the Secret, in the namespace of this object.",
				"type":        "string",
				"minLength":   int64(1),
				"maxLength":   int64(MaxName),
				"pattern":     `^[a-z0-9](?:[a-z0-9.\-]*[a-z0-9])?$`,
			},
		}, tree{
			"description":           "The Secret that holds them.",
			"required":              []any{"name"},
			"x-kubernetes-map-type": "atomic",
		}),
	}, tree{"description": description, "required": []any{"secretRef"}})
}

func openHost() tree {
	return object(tree{
		"auth": secretRef("The credentials: a Secret with username and password (type kubernetes.io/basic-auth), with identityToken, or with auth."),
		"tls": object(tree{
			"ca": tree{
				"description": "The CA certificates that the host's certificate is verified with, as PEM or base64 of it.",
				"type":        "string",
				"maxLength":   int64(MaxPEM),
			},
			"clientIdentity": secretRef("The client certificate and its key: a Secret with tls.crt and tls.key (type kubernetes.io/tls)."),
			"insecureSkipVerify": tree{
				"description": "Do not verify the host's certificate. Whoever is in between can then hand out any image: better write ca.",
				"type":        "boolean",
			},
		}, tree{
			"description": "TLS settings, for https endpoints only.",
			// Not at ca itself, whose value the API server would show: it may be a key.
			"x-kubernetes-validations": rules(celRule{
				name:    "pem-invalid",
				rule:    fmt.Sprintf(`!has(self.ca) || self.ca.contains('-----BEGIN CERTIFICATE-----') || !self.ca.matches(%s)`, cel(notBase64)),
				message: "ca has no certificate as PEM in it: write the text that begins with -----BEGIN CERTIFICATE-----, or base64 of it",
				field:   ".ca",
			}),
		}),
	}, nil)
}
