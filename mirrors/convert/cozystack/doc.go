// Package cozystack reads and writes which registries a node may pull from in
// the values of cozystack's charts. In those of its Kubernetes charts that is the
// map talos.registryMirrors.
//
//	talos:
//	  registryMirrors:
//	    ghcr.io:
//	      endpoints: [https://harbor.example.com/v2/ghcr-proxy]
//	      overridePath: true
//	      skipFallback: false
//
// The charts put that map under machine.registries.mirrors as it is, so its
// entries mean what they mean to Talos. They have no place for credentials or
// TLS settings. The chart's other values are ignored, and the report names
// them. A key that is likely meant for one of the two, such as registryMirror or
// Registries, is an error where there are no registries beside it, and else a loss.
//
// The values of the platform have another shape, keyed by the URL of an endpoint:
//
//	registries:
//	  mirrors:
//	    ghcr.io: {endpoints: [https://harbor.example.com]}
//	  config:
//	    https://harbor.example.com:
//	      tls: {insecureSkipVerify: true}
//	      auth: {username: robot, password: secret}
//
// Read takes either; Write makes the one or, with [ForPlatform], the other.
package cozystack
