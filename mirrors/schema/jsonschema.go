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
			"type":                 types("object"),
			"properties":           aliasKeys(),
			"patternProperties":    tree{registryName: jsonMirror(o), mappedKey: want("under a key that has the IPv6 address in hexadecimal groups", "registry-name"), "@": true},
			"additionalProperties": want("under a key that is a registry as image references have it: host or host:port in lower case, or *; no scheme, no path, no other pattern", "registry-name"),
			"if":                   noUserinfo(),
			"else":                 want("a mapping whose keys hold no credentials: they belong into config, under the host of the endpoint", "registry-name"),
			"examples":             []any{tree{"ghcr.io": tree{"endpoints": []any{"https://cache.example.com"}}}},
		},
		"config": tree{
			"title": "Credentials and TLS settings by host",
			"description": `A key is the host of an endpoint exactly as its URL has it, with the port if there is one ("cache.example.com:5000", "[fd00::1]:5000"), ` +
				`or a registry that is pulled from directly. Docker Hub's is "registry-1.docker.io".`,
			"type":                 types("object"),
			"properties":           tree{"*": want("under a key for each host: keys are literal, and * is none", "tls-wildcard, auth-wildcard")},
			"patternProperties":    tree{configKey: jsonHost(), "@": true},
			"additionalProperties": want("under a key that is the host of an endpoint, with its port: no scheme, no path, no query, no white space", "config-key"),
			"if":                   noUserinfo(),
			"else":                 want("a mapping whose keys hold no credentials: they belong into auth", "config-key"),
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

// want is a schema of nothing, the text too, of which a validator says that the value
// must be this text. It is used instead of what it is about, since what a validator
// says of a pattern, of a property's name or of not has the value, which may hold a
// password, or says nothing. It is no constant that is an object, since those are
// not shown.
func want(text, rule string) tree {
	text += " [" + rule + "]"
	return tree{"const": text, "not": tree{"const": text}}
}

// aliasKeys are the keys of mirrors that are other names of Docker Hub.
func aliasKeys() tree {
	keys := tree{}
	for _, name := range aliases {
		keys[name] = want("under the key docker.io, which images of Docker Hub have", "registry-alias")
	}
	return keys
}

// noUserinfo is a mapping without an @ in its keys. The others are not looked into,
// since a validator shows the keys on the way to a mistake.
func noUserinfo() tree { return tree{"patternProperties": tree{"@": false}} }

// types is a type that may be null: what is null counts as not there.
func types(t string) []any { return []any{t, "null"} }

// has is that a property is there with this value.
func has(property string, value any) tree {
	return tree{"required": []any{property}, "properties": tree{property: tree{"const": value}}}
}

// step is a condition, and what is said where it does not hold.
type step struct{ condition, otherwise tree }

func matching(pattern, text, rule string) step {
	return step{tree{"pattern": pattern}, want(text, rule)}
}

// inOrder is a schema of steps, of which the first that does not hold is said, and of
// one that holds for what they hold for.
func inOrder(last tree, steps ...step) tree {
	for i := len(steps) - 1; i >= 0; i-- {
		s := tree{"if": steps[i].condition, "else": steps[i].otherwise}
		if last != nil {
			s["then"] = last
		}
		last = s
	}
	return last
}

// either is one of two schemas, by a condition.
func either(condition, then, otherwise tree) tree {
	return tree{"if": condition, "then": then, "else": otherwise}
}

func property(name string, s tree) tree { return tree{"properties": tree{name: s}} }

// jsonMirrorRules is what a mirror says with several of its fields.
func jsonMirrorRules(o options) tree {
	// Strings have the overridePath of the mirror, objects may have their own.
	project := tree{"if": tree{"type": "string", "pattern": projectPath},
		"then": want("a URL beside overridePath: true, since its path has /v2 inside, and a node would append another", "endpoint-path")}
	overridden := inOrder(nil, matching(overriddenPath, "a URL with /v2 in its path, since overridePath keeps it from being appended", "override-path"))
	contrary := func(value bool, text string) tree {
		return tree{"if": tree{"const": value}, "then": want(text, "override-conflict")}
	}
	items := func(s tree) tree { return property("endpoints", tree{"items": s}) }

	none := tree{"type": types("array"), "maxItems": int64(0)}
	whole := merged(overridden, tree{"properties": tree{"url": overridden, "overridePath": contrary(false, "true, as that of its mirror, or absent")}})
	s := either(has("overridePath", true),
		either(property("endpoints", none),
			property("overridePath", want("absent where there is no endpoint", "override-conflict")),
			items(whole)),
		either(has("overridePath", false),
			items(merged(project, tree{"properties": tree{"url": project, "overridePath": contrary(true, "false, as that of its mirror, or absent")}})),
			items(either(tree{"type": "string"}, project,
				either(has("overridePath", true), property("url", overridden), property("url", project))))))
	if o.imageCache {
		return s
	}
	return either(
		tree{"required": []any{"skipFallback"}, "properties": tree{"skipFallback": tree{"const": true}, "endpoints": none}},
		property("skipFallback", want("false where there is no endpoint: machined then refuses to pull, and containerd goes to the registry itself", "skip-fallback-alone")),
		s)
}

func jsonMirror(o options) tree {
	return merged(object(tree{
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
	}), jsonMirrorRules(o))
}

func jsonEndpoint() tree {
	port := func(pattern string) step {
		return matching(pattern, "a URL whose port is a number from 1 to 65535", "endpoint-syntax")
	}
	host := either(tree{"pattern": `^[^/?#]*//\[`},
		inOrder(nil, matching(ipv6Authority, "a URL whose brackets hold an IPv6 address, without a zone", "endpoint-syntax"), port(ipv6Port)),
		inOrder(nil, matching(hostAuthority, "a URL with a host: a name, an IPv4 address, or an IPv6 address in brackets", "endpoint-syntax"), port(hostPort)))
	url := inOrder(host,
		matching(endpointScheme, "a URL that begins with http:// or https://", "endpoint-scheme"),
		matching(endpointUserinfo, "a URL without credentials: they belong into config, under the host", "endpoint-userinfo"),
		matching(endpointQuery, "a URL without query and fragment", "endpoint-query"),
		matching(endpointText, "a URL without white space and control characters", "endpoint-syntax"),
		matching(endpointEscapes, "a URL with two hexadecimal digits behind each %", "endpoint-syntax"),
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
	some := func(names ...string) tree { // they are there, and not empty
		var required []any
		properties := tree{}
		for _, name := range names {
			required = append(required, name)
			properties[name] = tree{"type": "string", "minLength": int64(1)}
		}
		return tree{"required": required, "properties": properties}
	}
	anyOf := func(all ...tree) tree {
		var list []any
		for _, s := range all {
			list = append(list, s)
		}
		return tree{"anyOf": list}
	}
	user := anyOf(some("username"), some("password"))
	auth := merged(secret("Both in one", "Base64 of user:password, as docker's config.json has it."),
		inOrder(nil, matching(authBase64, "base64 of user:password", "auth-encoding")))
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
		"if":                   tree{"type": "object"},
		"then": inOrder(nil,
			step{tree{"not": anyOf(merged(user, some("identityToken")), merged(user, some("auth")), some("identityToken", "auth"))},
				want("one of these alone: username and password; identityToken; auth", "auth-conflict")},
			step{anyOf(some("username", "password"), some("identityToken"), some("auth")),
				want("one of these, and not empty: username and password; identityToken; auth", "auth-incomplete")},
		),
	})
}

func jsonTLS() tree {
	pem := func(title, description string, kind any, steps ...step) tree {
		steps = append(steps, matching(pemText, "PEM, or base64 of PEM", "pem-invalid"))
		return merged(tree{"title": title, "description": description + " PEM, or base64 of PEM.", "type": kind}, inOrder(nil, steps...))
	}
	beside := func(what string) step {
		return step{tree{"minLength": int64(1)}, want(what, "client-identity")}
	}
	return object(tree{
		"ca": pem("CA certificates", "The certificates that the host's certificate is verified with.", types("string")),
		"clientIdentity": object(tree{
			"crt": pem("Client certificate", "What the node shows the host.", "string", beside("the certificate of key")),
			"key": pem("Private key", "The key of crt, not encrypted.", "string", beside("the key of crt")),
		}, tree{
			"title":                "Client certificate and key",
			"type":                 types("object"),
			"required":             []any{"crt", "key"},
			"additionalProperties": false,
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
