package mirrors

import "slices"

// Rule is what [Set.Check] or [Decode] knows to look for.
type Rule struct {
	Name     string `json:"rule"`
	Severity string `json:"severity"` // in words, where it depends on something
	Finds    string `json:"finds"`
	Reason   string `json:"reason"` // what the node would do
	Fix      string `json:"fix"`

	// Bad is the input of an example that the rule finds something in, Good what
	// to write instead; empty where there is no short one. They are what
	// Decode reads. When says what the example needs besides: "for Talos 1.8.4".
	Bad  string `json:"bad"`
	Good string `json:"good"`
	When string `json:"when"`

	options []CheckOption
}

// Rules returns all rules: first those of reading, then those of Check.
func Rules() []Rule { return slices.Clone(rules) }

// Certificates of nobody: the first is valid until 2120, the second was until 2021.
const (
	exampleCA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJCakNCdWFBREFnRUNBZ0VCTUFVR0F5dGxjREFTTVJBd0RnWURWUVFERXdkbGVHRnRjR3hsTUNBWERUSXcKTURFd01UQXdNREF3TUZvWUR6SXhNakF3TVRBeE1EQXdNREF3V2pBU01SQXdEZ1lEVlFRREV3ZGxlR0Z0Y0d4bApNQ293QlFZREsyVndBeUVBdFFkTWNucDVpbGg5a1R6YjZQRjhNa1N2R29JaTJwRGFnOEhJN2xlaDh3MmpNakF3Ck1BOEdBMVVkRXdFQi93UUZNQU1CQWY4d0hRWURWUjBPQkJZRUZIbmVlNkk0KzRvODB2dzNZdThmemZ1NWdBaFAKTUFVR0F5dGxjQU5CQUl0c2VWWXRNNzVDaVBTYWkydkxBSXhyYW5sL0NlS0xKQmdlVDloejcxUXVwWGQrOHhFbAptVTlVMU5xcWxHZE5zdDJQd2s5VjNBOUNScnpPTzdEazdBbz0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
	expiredCA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJCRENCdDZBREFnRUNBZ0VCTUFVR0F5dGxjREFTTVJBd0RnWURWUVFERXdkbGVHRnRjR3hsTUI0WERUSXcKTURFd01UQXdNREF3TUZvWERUSXhNREV3TVRBd01EQXdNRm93RWpFUU1BNEdBMVVFQXhNSFpYaGhiWEJzWlRBcQpNQVVHQXl0bGNBTWhBQkZxRkg4ME9pazR2bDRtTUFJYVJrSjU5cXRTQWJiMm1JM3hJWVMxWHlSV296SXdNREFQCkJnTlZIUk1CQWY4RUJUQURBUUgvTUIwR0ExVWREZ1FXQkJUV1JCcnFCV2ErWTB1NUlGcDBPQzc2NEZtdlFEQUYKQmdNclpYQURRUUJESFRuVWEzMWN5ZEtFcDlLSWNBOGYrQWV1RWYreDV1L2hQc3Y2T2wxWXAvZEhvYnVlVXlnUApvSDJiMzhMV3A1UVVRbjRPRmVuU2VZYURWYTBzYzdnSgotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
)

var rules = []Rule{
	{
		Name:     RuleSyntax,
		Severity: "error",
		Finds:    "what is no YAML or JSON, no text in UTF-8, empty, or more than one document",
		Reason:   "Nothing can be said about a file that cannot be read; a YAML reader of another kind may read it otherwise.",
		Fix:      "Correct the line. Quote \"*\" as a key, and a value that begins with *, & or @.",
		Bad: `mirrors:
  *: {}
`,
		Good: `mirrors:
  "*": {}
`,
	},
	{
		Name:     RuleInputSize,
		Severity: "error",
		Finds:    "more than 4 MiB, or aliases that stand for more than 200,000 values",
		Reason:   "Such a file is a mistake or an attack.",
		Fix:      "Write out what is meant.",
		Bad:      "",
		Good: `mirrors:
  ghcr.io: {}
`,
	},
	{
		Name:     RuleUnknownKey,
		Severity: "error",
		Finds:    "a key that the format does not have",
		Reason:   "Talos refuses the whole configuration for it, in both forms.",
		Fix:      "Take the key that is named, or another --from.",
		Bad: `mirrors:
  ghcr.io:
    endpoint: []
`,
		Good: `mirrors:
  ghcr.io:
    endpoints: []
`,
	},
	{
		Name:     RuleRepeatedKey,
		Severity: "error",
		Finds:    "a key that is twice in a mapping",
		Reason:   "A YAML reader takes one of the two, or refuses the file.",
		Fix:      "Write it once.",
		Bad: `mirrors: {}
mirrors: {}
`,
		Good: `mirrors:
  ghcr.io: {}
`,
	},
	{
		Name:     RuleWrongKind,
		Severity: "error",
		Finds:    "a list for a mapping, a number for a string, null for an entry, …",
		Reason:   "Talos refuses the configuration, or reads another value than the one that was meant.",
		Fix:      "Write the kind that is named; put numbers and dates in quotes; write true and false for yes and no.",
		Bad: `mirrors:
  ghcr.io: null
`,
		Good: `mirrors:
  ghcr.io: {}
`,
	},
	{
		Name:     RuleOverrideConflict,
		Severity: "error",
		Finds:    "overridePath of a mirror against that of one of its endpoints, or without endpoints",
		Reason:   "One of the two would be lost.",
		Fix:      "Write it at the endpoints or at the mirror.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - {url: https://cache.example.com/v2/ghcr, overridePath: false}
    overridePath: true
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - {url: https://cache.example.com/v2/ghcr, overridePath: true}
`,
	},
	{
		Name:     RuleImageReference,
		Severity: "error",
		Finds:    "an image that PullOrder or AirGapped is asked about and that is no reference",
		Reason:   "containerd refuses it before it asks anyone.",
		Fix:      "Write it as registry/name:tag, in lower case.",
		Bad:      "",
		Good:     "",
	},
	{
		Name:     RuleMissingKey,
		Severity: "error",
		Finds:    "a file of another format that lacks what that format is about",
		Reason:   "It is likely a file of yet another format, and nothing would be read from it.",
		Fix:      "Take the right --from, or write the key; an empty mapping says that there is nothing.",
	},
	{
		Name:     RuleWrongValue,
		Severity: "error",
		Finds:    "a value in another format that the program of that format refuses or ignores",
		Reason:   "What the file means is what its program makes of it.",
		Fix:      "Write a value that the program takes.",
	},
	{
		Name:     RuleEncoding,
		Severity: "error",
		Finds:    "text of a Set that the format to write cannot hold",
		Reason:   "It would come back as another text.",
		Fix:      "Write it in plain UTF-8.",
	},
	{
		Name:     RuleFileName,
		Severity: "error",
		Finds:    "a registry or a host that cannot be the name of a file, where a format has one for each",
		Reason:   "The file would be written elsewhere, or not at all.",
		Fix:      "Correct the key.",
	},
	{
		Name:     RuleEmptySet,
		Severity: "warning",
		Finds:    "neither a mirror nor a host in it",
		Reason:   "Every node pulls from the upstream, as without it; mostly the file is the wrong one.",
		Fix:      "Write mirrors or config.",
		Bad:      "mirrors: {}\n",
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
`,
	},
	{
		Name:     RuleEndpointSyntax,
		Severity: "error",
		Finds:    "not an absolute URL; empty host; bad port; white space or control characters; unbracketed IPv6; bad escape",
		Reason:   "Talos checks next to nothing here. One URL that does not parse keeps Talos 1.13.9 from writing containerd's hosts files, for every registry.",
		Fix:      "Write an absolute URL with a host.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - 'https://cache.example.com '
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
`,
	},
	{
		Name:     RuleEndpointScheme,
		Severity: "error",
		Finds:    "no scheme (host:5000, host/path), or another than http and https",
		Reason:   "machined takes \"cache:5000\" for the scheme \"cache\" and fails; containerd 2.3.3 puts https:// before it, unless it begins with http.",
		Fix:      "Write http:// or https:// before it.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - cache.example.com:5000
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com:5000
`,
	},
	{
		Name:     RuleEndpointUserinfo,
		Severity: "error",
		Finds:    "credentials in the URL",
		Reason:   "No puller uses them, and the URL is in the hosts file, in logs and in errors.",
		Fix:      "Write them under config, with the host as key.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://user:made-up@cache.example.com
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleEndpointQuery,
		Severity: "error",
		Finds:    "a query or a fragment in the URL",
		Reason:   "No puller sends it, and it makes two equal endpoints look different.",
		Fix:      "Leave it out.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com/?ns=ghcr.io
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
`,
	},
	{
		Name:     RuleEndpointCanonical,
		Severity: "error in document form, else warning",
		Finds:    "a URL that Talos would write differently (backtick, braces, non-ASCII, HTTPS://)",
		Reason:   "The documents hold a parsed URL: what comes out is spelled otherwise than what went in, so a patch never converges.",
		Fix:      "Write the spelling that is named.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - HTTPS://cache.example.com
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
`,
		When:    "in document form",
		options: []CheckOption{InForm("documents")},
	},
	{
		Name:     RuleEndpointDuplicate,
		Severity: "error; warning when only a trailing slash or the case of the host differs",
		Finds:    "the same URL twice in a mirror, also with another overridePath",
		Reason:   "containerd cannot read the hosts file then and ignores every mirror of the registry, even with skipFallback. A strategic merge patch that is applied twice makes such lists.",
		Fix:      "Write each URL once.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
      - https://cache.example.com
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
      - https://spare.example.com
`,
	},
	{
		Name:     RuleEndpointPath,
		Severity: "error",
		Finds:    "/v2/ inside the path and no overridePath",
		Reason:   "Both pullers append /v2 to a path that does not end in it: they ask for /v2/<project>/v2.",
		Fix:      "Write overridePath: true.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://harbor.example.com/v2/ghcr
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://harbor.example.com/v2/ghcr
    overridePath: true
`,
	},
	{
		Name:     RuleOverridePath,
		Severity: "error",
		Finds:    "overridePath with no v2 segment in the path, or with no path",
		Reason:   "overridePath keeps /v2 from being appended, so the URL has to have it.",
		Fix:      "Write /v2 before the project, or drop overridePath.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://harbor.example.com/ghcr
    overridePath: true
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://harbor.example.com/v2/ghcr
    overridePath: true
`,
	},
	{
		Name:     RuleTLSOnHttp,
		Severity: "error",
		Finds:    "TLS configuration whose host is that of an http endpoint",
		Reason:   "machined then pulls nothing for that registry: it tries no endpoint of the mirror, not even those before this one, and not the upstream; containerd tries HTTPS first.",
		Fix:      "Write https, or remove tls.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - http://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + exampleCA + `}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RuleTLSWildcard,
		Severity: "error",
		Finds:    "* as a key of config with tls",
		Reason:   "Talos then writes no hosts files, for any registry; beside a mirror \"*\" it ignores the settings.",
		Fix:      "Write a key for each host.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  "*":
    tls: {ca: ` + exampleCA + `}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RuleAuthWildcard,
		Severity: "error",
		Finds:    "* as a key of config with auth, or with nothing",
		Reason:   "Keys are literal: it is never used.",
		Fix:      "Write a key for each host.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  "*":
    auth: {username: user, password: made-up}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleRegistryName,
		Severity: "error",
		Finds:    "a mirror key with a scheme, a path, upper case, a domain wildcard, or nothing in it",
		Reason:   "Keys are compared with the registry of a normalized image reference, literally: such a key never matches.",
		Fix:      "Write host or host:port as image references have it.",
		Bad: `mirrors:
  "*.gcr.io":
    endpoints: [https://cache.example.com]
`,
		Good: `mirrors:
  eu.gcr.io:
    endpoints: [https://cache.example.com]
`,
	},
	{
		Name:     RuleRegistryAlias,
		Severity: "error",
		Finds:    "index.docker.io, registry-1.docker.io, hub.docker.com as mirror key",
		Reason:   "References to Docker Hub, index.docker.io included, are normalized to docker.io; registry-1.docker.io is used only where a reference itself says so.",
		Fix:      "Write docker.io.",
		Bad: `mirrors:
  index.docker.io:
    endpoints: [https://cache.example.com]
`,
		Good: `mirrors:
  docker.io:
    endpoints: [https://cache.example.com]
`,
	},
	{
		Name:     RuleConfigKey,
		Severity: "error",
		Finds:    "a config key with a scheme or a path",
		Reason:   "Keys are the host of a URL, with its port.",
		Fix:      "Write the host alone.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  "https://cache.example.com":
    auth: {username: user, password: made-up}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleConfigUnused,
		Severity: "warning",
		Finds:    "a config key that is neither the host of an endpoint nor a registry that is pulled from directly: port, :443, case, brackets, the upstream's name",
		Reason:   "The settings are looked up under the endpoint's host, exactly as its URL has it. What is spelled otherwise is not found.",
		Fix:      "Write the host as the URL has it.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com:5000
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com:5000
config:
  "cache.example.com:5000":
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleHubAuthKey,
		Severity: "warning",
		Finds:    "credentials for Docker Hub under docker.io",
		Reason:   "containerd gets them for registry-1.docker.io since Talos 1.9.6; machined looks them up under registry-1.docker.io and finds none.",
		Fix:      "Write registry-1.docker.io, which works for both.",
		Bad: `config:
  docker.io:
    auth: {username: user, password: made-up}
`,
		Good: `config:
  registry-1.docker.io:
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleAuthIncomplete,
		Severity: "error",
		Finds:    "auth with nothing usable in it",
		Reason:   "machined refuses to pull; containerd pulls without credentials.",
		Fix:      "Write username and password, identityToken, or auth.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {password: made-up}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleAuthConflict,
		Severity: "error",
		Finds:    "username beside auth or token",
		Reason:   "Talos refuses it in document form, and uses the first of username, identityToken and auth in the legacy form.",
		Fix:      "Write one of them.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up, identityToken: made-up}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {identityToken: made-up}
`,
	},
	{
		Name:     RuleAuthEncoding,
		Severity: "error",
		Finds:    "auth that is not base64 of user:password",
		Reason:   "Both pullers fail on it, at the first request that needs credentials.",
		Fix:      "Write base64 of user:password, or username and password.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {auth: 'user:made-up'}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {auth: dXNlcjptYWRlLXVw}
`,
	},
	{
		Name:     RulePEMInvalid,
		Severity: "error",
		Finds:    "not PEM, or PEM of another kind",
		Reason:   "containerd ends every pull from the host; machined trusts no CA at all then.",
		Fix:      "Write PEM, or base64 of PEM.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: made-up}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RuleClientIdentity,
		Severity: "error",
		Finds:    "key and certificate that do not belong together, or one without the other",
		Reason:   "Both pullers fail when they load them.",
		Fix:      "Write the certificate and the key that it was made for.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {clientIdentity: {crt: ` + exampleCA + `}}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RuleCertificateExpired,
		Severity: "warning",
		Finds:    "a certificate that is no longer, or not yet, valid",
		Reason:   "A server's certificate is not accepted under it. Of several CA certificates one that is valid is enough.",
		Fix:      "Write the current certificate.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + expiredCA + `}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RuleSkipFallbackAlone,
		Severity: "error (info with the image cache)",
		Finds:    "skipFallback and no endpoint",
		Reason:   "machined refuses to pull; containerd goes to the upstream, since its hosts file is empty.",
		Fix:      "Write an endpoint, or drop skipFallback.",
		Bad: `mirrors:
  ghcr.io:
    skipFallback: true
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
    skipFallback: true
`,
	},
	{
		Name:     RuleWildcardBypassed,
		Severity: "warning",
		Finds:    "a host with TLS configuration and no mirror of its own, which containerd no longer sends to the * mirror",
		Reason:   "Talos writes a hosts directory for the host, and containerd takes the first directory that it finds. With skipFallback on \"*\" this is a way out.",
		Fix:      "Write a mirror for the host.",
		Bad: `mirrors:
  "*":
    endpoints: [https://cache.example.com/v2/all]
    overridePath: true
config:
  registry.example.com:
    tls: {ca: ` + exampleCA + `}
`,
		Good: `mirrors:
  "*":
    endpoints: [https://cache.example.com/v2/all]
    overridePath: true
  registry.example.com:
    endpoints: [https://registry.example.com]
    skipFallback: true
config:
  registry.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RuleFallbackTLS,
		Severity: "warning",
		Finds:    "an upstream with TLS settings of its own that is mirrored with fallback",
		Reason:   "containerd does not apply them to the fallback, machined does.",
		Fix:      "Write the upstream as the last endpoint, with skipFallback: true.",
		Bad: `mirrors:
  registry.example.com:
    endpoints: [https://cache.example.com]
config:
  registry.example.com:
    tls: {ca: ` + exampleCA + `}
`,
		Good: `mirrors:
  registry.example.com:
    endpoints: [https://cache.example.com, https://registry.example.com]
    skipFallback: true
config:
  registry.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RulePullerDiffers,
		Severity: "warning",
		Finds:    "any other case in which machined and containerd do not do the same",
		Reason:   "The installer, the kubelet and etcd come through the one, everything else through the other.",
		Fix:      "Write what both understand in the same way.",
		Bad: `config:
  docker.io:
    tls: {ca: ` + exampleCA + `}
`,
		Good: `config:
  docker.io:
    tls: {ca: ` + exampleCA + `}
  registry-1.docker.io:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RuleVersionFeature,
		Severity: "error",
		Finds:    "what the given Talos version does not know: overridePath (1.3), the mirror * (1.4), endpoints with an IPv6 address (1.8), skipFallback (1.9), documents (1.12.0), a RegistryTLSConfig without client identity (1.12.2)",
		Reason:   "Talos refuses the key, ignores it, or panics.",
		Fix:      "Take a later Talos, or do without.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
    skipFallback: true
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
`,
		When:    "for Talos 1.8.4",
		options: []CheckOption{ForTalos("v1.8.4")},
	},
	{
		Name:     RuleLegacyOverride,
		Severity: "error",
		Finds:    "endpoints of one mirror with different overridePath, in the legacy form",
		Reason:   "machine.registries has it once for a mirror.",
		Fix:      "Write the same for all, or take the document form.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - {url: https://harbor.example.com/v2/ghcr, overridePath: true}
      - {url: https://cache.example.com}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - {url: https://harbor.example.com/v2/ghcr, overridePath: true}
      - {url: https://cache.example.com/v2, overridePath: true}
`,
		When:    "in the legacy form",
		options: []CheckOption{InForm("legacy")},
	},
	{
		Name:     RuleSharedEndpoint,
		Severity: "warning",
		Finds:    "the same URL without a path for several upstreams or under *",
		Reason:   "A plain pull-through cache has one upstream. Which one is meant is only in ?ns=, which both pullers send and few caches heed.",
		Fix:      "Write one port or one path for each upstream.",
		Bad: `mirrors:
  ghcr.io:
    endpoints: [https://cache.example.com]
  quay.io:
    endpoints: [https://cache.example.com]
`,
		Good: `mirrors:
  ghcr.io:
    endpoints: ['https://cache.example.com:5001']
  quay.io:
    endpoints: ['https://cache.example.com:5002']
`,
	},
	{
		Name:     RuleHttpCredentials,
		Severity: "warning",
		Finds:    "credentials over http",
		Reason:   "Everyone on the way can read them.",
		Fix:      "Write https.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - http://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleInsecureSkipVerify,
		Severity: "warning",
		Finds:    "verification off",
		Reason:   "Whoever is in between can hand out any image by tag.",
		Fix:      "Write ca.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {insecureSkipVerify: true}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    tls: {ca: ` + exampleCA + `}
`,
	},
	{
		Name:     RulePlaceholderSecret,
		Severity: "warning",
		Finds:    "xxx, <…>, ${…}, changeme as a password",
		Reason:   "A template that was not filled in.",
		Fix:      "Write the value.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: changeme}
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - https://cache.example.com
config:
  cache.example.com:
    auth: {username: user, password: made-up}
`,
	},
	{
		Name:     RuleNodeUnreachable,
		Severity: "info",
		Finds:    "loopback, .svc, .cluster.local as host",
		Reason:   "A node asks its own resolver, not the cluster's DNS, and pulls before anything runs in the cluster.",
		Fix:      "Write an address, or a name that the node's resolver knows.",
		Bad: `mirrors:
  ghcr.io:
    endpoints:
      - http://registry.cache.svc:5000
`,
		Good: `mirrors:
  ghcr.io:
    endpoints:
      - http://192.0.2.10:5000
`,
	},
}
