// Package mirrors is a model of which registries a Talos node may pull from,
// of the mistakes in it, and of what the node will really do.
//
// A [Set] is plain data in the shape of machine.registries. Write it as a struct
// literal, take a preset ([DockerHubMirror], [CachePerPort], [CachePerPath],
// [SharedCache]), or read it with [Decode]. Then ask:
//
//	Source.Check   what is wrong with it, by line and column
//	Set.Check      the same without a file
//	Set.Fix        the Set with the certain mistakes corrected, and a list of them
//	Set.PullOrder  where a node looks for an image, in order
//	Set.AirGapped  which ways lead out of the configured endpoints
//	Rules          what Check knows
//
// A node has two pullers, and they do not agree in everything. machined, Talos's
// own, pulls the installer, the kubelet and etcd. containerd pulls everything
// else, from hosts files that Talos writes for it.
//
//	                          machined                    containerd
//	a URL that is no URL      that mirror fails           no hosts files at all, for any registry
//	the same URL twice        is tried twice              every mirror of the registry is ignored
//	"cache:5000"              scheme "cache", fails       https://cache:5000
//	TLS for http://           nothing is tried            HTTPS first, then HTTP
//	skipFallback alone        nothing is tried            the upstream
//	TLS for a host beside *   goes to *                   goes to the host itself
//	TLS for a fallback        is used                     is not used
//	auth of docker.io         is not used                 is that of registry-1.docker.io
//
// Both append /v2 to the path of an endpoint that does not end in it, unless it
// has overridePath; both look for credentials and TLS settings under the host of
// the URL, exactly as it is spelled. The behaviour is that of Talos 1.13.9 and
// containerd 2.3.3, taken from running their code, and compared with containerd 2.4.2.
//
// Promised: Check looks at everything and reports all at once, in time linear in
// the size of the Set. Nothing is changed or dropped silently. Neither a finding
// nor an error nor a printed value holds a password, a token, a private key or the
// userinfo of a URL; only encoding a Set, and [Secret.Reveal], gives them out.
// Decode of what a Set is written as gives an equal Set.
package mirrors
