// Package probe asks whether an endpoint of a [mirrors.Set] serves the registry
// API, in the way in which a Talos node would ask it.
//
// Make a [Prober] of the Set with [New], then ask about one endpoint with
// [Prober.Ask] or about many with [Prober.AskAll]; [Endpoints] lists those of a Set.
//
// The question is GET of the base URL that a node derives from the endpoint, and
// a slash: https://m becomes https://m/v2/. An overridePath endpoint such as
// https://m/v2/project has no API root of its own: where it answers 404, the path
// up to its first v2 is asked, and the project itself stays unproven.
//
// Yes and no are what the endpoint said over HTTP. All else is unknown.
//
//	yes      2xx, 401 or 403 with Docker-Distribution-Api-Version; 401 with a
//	         Bearer challenge; 2xx with nothing, {} or true in the body, where
//	         the path has a segment v2
//	no       404, 405 or 410; 2xx with HTML
//	unknown  401 with a Basic challenge alone, which any site may send: a login
//	         that goes well brings the answer; no answer in time; name, connection, proxy or TLS failed; 5xx, 429
//	         and every other answer; redirects without end; a Set or a URL that
//	         cannot be used (Err says where)
//
// A 404 is a no even with that header: distribution 2.8.2 sets it on every answer.
//
// A login is tried as Docker's clients do, only when asked for: Basic, or a token
// of the service that a Bearer challenge names. [Result.Login] has its outcome; an
// endpoint that refuses the credentials still answers yes, unless what stands
// behind the login is a no.
//
// Credentials and TLS settings are those under the host exactly as the URL has
// it. Where the node's two pullers differ, the stricter counts: a CA replaces the
// system's pool (machined in Talos 1.13.9; containerd 2.4.2 adds it), and TLS
// settings for an http endpoint are an error (machined; containerd tries https).
// The pool without a CA, the resolver, and the proxy (HTTPS_PROXY and so on) are
// those of the machine that asks.
//
// Up to ten redirects are followed, with the same TLS settings, as a node does.
// Credentials go to the endpoint's scheme and host, and to the token service that
// this very host names; never to a redirect's target, along a redirect of the
// token service, or over http for an https endpoint, where a node is less careful.
//
// Each question is bounded: [WithTimeout] in time, 64 KiB of each body, and
// [WithConcurrency] questions at once. A Prober keeps a yes and a no for
// [WithTTL]; an unknown, of the answer or of the login, it never keeps. Who asks
// about an endpoint while it is being asked waits for that answer. All methods are
// safe for concurrent use. Nothing returned holds a secret.
package probe
