// Package registriesconf reads and writes registries.conf of Podman and CRI-O
// (/etc/containers/registries.conf), with the drop-ins of registries.conf.d.
//
//	registries.conf                               Set
//	[[registry]] prefix or location = "ghcr.io"   mirrors["ghcr.io"]
//	  [[registry.mirror]] location = "m"          endpoint https://m
//	                      location = "m/p"        endpoint https://m/v2/p with overridePath
//	                      insecure = true         config["m"].tls.insecureSkipVerify
//	  location, other than the prefix             the last endpoint, with skipFallback
//	certs.d/m/ca.crt, client.cert, client.key     config["m"].tls (written, not read;
//	                                              Docker Hub's folder is docker.io)
//
// A mirror comes before the location. insecure is https without verification,
// and then plain http; a Set says one or the other, so each needs a decision and
// is in the report. What Talos has no word for is there too: a prefix with a
// path or a wildcard, a name that a Set cannot have, blocked, mirrors for digests or tags
// only, search lists, aliases and credential helpers.
//
// The reference is containers/image 5.42.1. The old form, [registries.search],
// [registries.insecure] and [registries.block], which it no longer takes, is read
// as 5.36.2 did.
package registriesconf

import "io/fs"

// Option is what Read cannot see in the file.
type Option func(*options)

type options struct{ dropIns fs.FS }

// WithDropIns gives Read the folder in which registries.conf lies: it reads
// registries.conf.d/*.conf there, in the order of the names. A registry in a
// drop-in takes the place of one with the same prefix.
func WithDropIns(fsys fs.FS) Option { return func(o *options) { o.dropIns = fsys } }
