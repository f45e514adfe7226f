package schema

// ID is the $id of [JSONSchema].
const ID = "https://raw.githubusercontent.com/mirrorpatch/mirrorpatch/main/docs/registries.schema.json"

// JSONSchema returns the JSON Schema, draft 2020-12, of the input that
// mirrors.Decode reads. What it refuses, Decode or Check refuses; [Coverages] says
// what else they refuse. It has none of their warnings.
//
// It has the keywords of draft-07 only, with the same meaning, and no $ref. So it
// is usable, without its $schema and $id, as a part of any larger schema, and so are its
// parts: properties.mirrors for a chart that has the mirrors alone.
func JSONSchema(opts ...Option) map[string]any {
	o := newOptions(opts)
	return object(tree{
		"mirrors": tree{
			"title": "Mirrors by registry",
			"description": `The endpoints that stand in for a registry. A key is the host, or host:port, as image references have it ("ghcr.io", "docker.io", ` +
				`"registry.example.com:5000"), or "*" for every registry without a key of its own.`,
			"type": types("object"),
			"propertyNames": tree{"allOf": []any{
				tree{"$comment": "registry-alias: images of Docker Hub have the registry docker.io", "not": tree{"enum": list(aliases)}},
				either(`^\[`,
					tree{
						"$comment": "registry-name: an IPv6 address in brackets, in lower case, and perhaps a port; not one that ends in an IPv4 address and stands for it",
						"pattern":  ipv6Key, "not": tree{"pattern": mappedKey},
					},
					inOrder(nil,
						"registry-name: host or host:port in lower case, or *; no scheme, no path, no other pattern", hostKey,
						"registry-name: a port is a number from 1 to 65535", keyPort)),
			}},
			"additionalProperties": jsonMirror(o),
			"examples":             []any{tree{"ghcr.io": tree{"endpoints": []any{"https://cache.example.com"}}}},
		},
		"config": tree{
			"title": "Credentials and TLS settings by host",
			"description": `A key is the host of an endpoint exactly as its URL has it, with the port if there is one ("cache.example.com:5000", "[fd00::1]:5000"), ` +
				`or a registry that is pulled from directly. Docker Hub's is "registry-1.docker.io".`,
			"type": types("object"),
			"propertyNames": tree{"allOf": []any{
				tree{"$comment": "config-key: a host, without scheme and path", "pattern": configKey},
				tree{"$comment": "tls-wildcard, auth-wildcard: keys are literal", "not": tree{"const": "*"}},
			}},
			"additionalProperties": jsonHost(),
			"examples":             []any{tree{"cache.example.com:5000": tree{"auth": tree{"username": "user", "password": "made-up"}}}},
		},
	}, tree{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"$id":                  ID,
		"title":                "Registries of Talos nodes",
		"description":          "Which registries a Talos node may pull from, and how: the shape of machine.registries.",
		"additionalProperties": false,
	})
}

// aliases are names of Docker Hub that are no registry of its images.
var aliases = []string{"index.docker.io", "registry-1.docker.io", "hub.docker.com"}

// types is a type that may be null: what is null counts as not there.
func types(t string) []any { return []any{t, "null"} }

func list(texts []string) (l []any) {
	for _, t := range texts {
		l = append(l, t)
	}
	return l
}

// has is that a property is there with this value.
func has(property string, value any) tree {
	return tree{"required": []any{property}, "properties": tree{property: tree{"const": value}}}
}

// inOrder is a string with these patterns, of which a validator names the first that
// does not match. They come in pairs: what a pattern is about, and the pattern.
func inOrder(last tree, patterns ...string) tree {
	for i := len(patterns) - 2; i >= 0; i -= 2 {
		s := tree{"$comment": patterns[i], "pattern": patterns[i+1]}
		if last != nil {
			s["if"], s["then"] = tree{"pattern": patterns[i+1]}, last
		}
		last = s
	}
	return last
}

// either is one of two schemas, by a pattern.
func either(pattern string, then, otherwise tree) tree {
	return tree{"if": tree{"pattern": pattern}, "then": then, "else": otherwise}
}

func jsonMirror(o options) tree {
	someEndpoints := func(items tree) tree {
		endpoints := tree{"type": "array", "minItems": int64(1)}
		if items != nil {
			endpoints["items"] = items
		}
		return tree{"required": []any{"endpoints"}, "properties": tree{"endpoints": endpoints}}
	}
	// Strings have the overridePath of the mirror, objects may have their own.
	project := tree{"$comment": "endpoint-path: /v2/ inside the path wants overridePath: true", "not": tree{"type": "string", "pattern": projectPath}}
	overridden := tree{"$comment": "override-path: overridePath wants /v2 in the path", "pattern": overriddenPath}
	own := has("overridePath", true)
	url := func(s tree) tree { return tree{"properties": tree{"url": s}} }

	all := []any{
		tree{
			"$comment": "override-conflict: overridePath of the mirror is that of each endpoint, and needs one",
			"if":       has("overridePath", true),
			"then": someEndpoints(tree{"allOf": []any{
				overridden, url(overridden),
				tree{"properties": tree{"overridePath": tree{"not": tree{"const": false}}}},
			}}),
			"else": tree{"properties": tree{"endpoints": tree{"items": tree{"allOf": []any{
				project,
				tree{"if": own, "then": url(overridden), "else": url(project)},
			}}}}},
		},
		tree{
			"$comment": "override-conflict: overridePath of an endpoint against that of its mirror",
			"if":       has("overridePath", false),
			"then": tree{"properties": tree{"endpoints": tree{"items": tree{
				"properties": tree{"overridePath": tree{"not": tree{"const": true}}},
			}}}},
		},
	}
	if !o.imageCache {
		all = append(all, tree{
			"$comment": "skip-fallback-alone: without an endpoint machined refuses to pull, and containerd goes to the upstream",
			"if":       has("skipFallback", true),
			"then":     someEndpoints(nil),
		})
	}
	return object(tree{
		"endpoints": tree{
			"title":       "Endpoints, tried in order",
			"description": "Absolute URLs, or objects with url and overridePath, each URL once. Credentials and TLS settings of their hosts stand in config.",
			"type":        types("array"),
			"uniqueItems": true,
			"items":       jsonEndpoint(),
			"examples":    []any{[]any{"https://cache.example.com"}, []any{tree{"url": "https://harbor.example.com/v2/ghcr", "overridePath": true}}},
		},
		"overridePath": tree{
			"title": "Do not append /v2 to the path",
			"description": "For each endpoint that does not say it itself. true where the path has /v2 inside, as that of a Harbor project: " +
				"https://harbor.example.com/v2/project.",
			"type":    types("boolean"),
			"default": false,
		},
		"skipFallback": tree{
			"title":       "Do not fall back to the registry itself",
			"description": "Pull from the endpoints only; it needs one. Talos 1.9 and later.",
			"type":        types("boolean"),
			"default":     false,
		},
	}, tree{
		"title":                "Mirror of a registry",
		"additionalProperties": false,
		"allOf":                all,
	})
}

func jsonEndpoint() tree {
	const portText = "endpoint-syntax: a port is a number from 1 to 65535"
	host := either(`^[^/?#]*//\[`,
		inOrder(nil, "endpoint-syntax: an IPv6 address in brackets", ipv6Authority, portText, ipv6Port),
		inOrder(nil, "endpoint-syntax: a name or an IPv4 address; an IPv6 address in brackets", hostAuthority, portText, hostPort))
	url := inOrder(host,
		"endpoint-scheme: http:// or https:// comes first", endpointScheme,
		"endpoint-userinfo: credentials belong into config, under the host", endpointUserinfo,
		"endpoint-query: no query and no fragment", endpointQuery,
		"endpoint-syntax: no white space and no control characters", endpointText,
		"endpoint-syntax: two hexadecimal digits behind each %", endpointEscapes,
	)
	described := tree{
		"title":       "URL of the registry's API",
		"description": "Absolute, with http:// or https://. A node appends /v2 to the path unless it ends in it, or overridePath is true.",
		"type":        "string",
		"examples":    []any{"https://cache.example.com", "http://192.0.2.10:5000", "https://[fd00::1]:5000"},
	}
	s := object(tree{
		"url": merged(described, url),
		"overridePath": tree{
			"title":       "Do not append /v2 to the path",
			"description": "true where the path has /v2 inside, as that of a Harbor project.",
			"type":        types("boolean"),
		},
	}, tree{
		"title":                "Endpoint",
		"description":          "A URL, or an object with url and overridePath.",
		"required":             []any{"url"},
		"additionalProperties": false,
	})
	s["type"] = []any{"string", "object"}
	return merged(s, url) // of a string, which properties do not concern
}

// merged is both; the second has other keywords.
func merged(a, b tree) tree {
	s := tree{}
	for k, v := range a {
		s[k] = v
	}
	for k, v := range b {
		s[k] = v
	}
	return s
}

func jsonHost() tree {
	return object(tree{"auth": jsonAuth(), "tls": jsonTLS()}, tree{
		"title":                "Settings of a host",
		"additionalProperties": false,
	})
}

func jsonAuth() tree {
	secret := func(title, description string) tree {
		return tree{"title": title, "description": description, "type": types("string")}
	}
	some, none := tree{"type": "string", "minLength": int64(1)}, tree{"maxLength": int64(0)} // null is none
	auth := secret("Both in one", "Base64 of user:password, as docker's config.json has it.")
	auth["pattern"] = authBase64
	auth["$comment"] = "auth-encoding"
	return object(tree{
		"username":      tree{"title": "User name", "description": "Beside it: password.", "type": types("string")},
		"password":      secret("Password", "Beside it: username."),
		"auth":          auth,
		"identityToken": secret("Identity token", "A token instead of user name and password."),
	}, tree{
		"title":                "Credentials",
		"description":          "One of: username and password; identityToken; auth.",
		"type":                 types("object"),
		"additionalProperties": false,
		"$comment":             "auth-incomplete, auth-conflict",
		"anyOf": []any{
			tree{"title": "username and password", "required": []any{"username", "password"},
				"properties": tree{"username": some, "password": some, "auth": none, "identityToken": none}},
			tree{"title": "identityToken", "required": []any{"identityToken"},
				"properties": tree{"identityToken": some, "username": none, "password": none, "auth": none}},
			tree{"title": "auth", "required": []any{"auth"},
				"properties": tree{"auth": some, "username": none, "password": none, "identityToken": none}},
			tree{"title": "null", "type": "null"},
		},
	})
}

func jsonTLS() tree {
	pem := func(title, description string, more tree) tree {
		return merged(tree{"title": title, "description": description + " PEM, or base64 of PEM.", "$comment": "pem-invalid", "pattern": pemText}, more)
	}
	return object(tree{
		"ca": pem("CA certificates", "The certificates that the host's certificate is verified with.", tree{"type": types("string")}),
		"clientIdentity": object(tree{
			"crt": pem("Client certificate", "What the node shows the host.", tree{"type": "string", "minLength": int64(1)}),
			"key": pem("Private key", "The key of crt, not encrypted.", tree{"type": "string", "minLength": int64(1)}),
		}, tree{
			"title":                "Client certificate and key",
			"type":                 types("object"),
			"required":             []any{"crt", "key"},
			"additionalProperties": false,
			"$comment":             "client-identity",
		}),
		"insecureSkipVerify": tree{
			"title":       "Do not verify the host's certificate",
			"description": "Whoever is in between can then hand out any image: better write ca.",
			"type":        types("boolean"),
			"default":     false,
		},
	}, tree{
		"title":                "TLS settings",
		"description":          "For https endpoints only: machined refuses them for an http endpoint.",
		"type":                 types("object"),
		"additionalProperties": false,
	})
}
