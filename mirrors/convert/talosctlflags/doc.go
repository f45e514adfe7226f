// Package talosctlflags reads and writes the registry flags of talosctl:
//
//	talosctl gen config … --registry-mirror docker.io=https://m.example.com
//	                      --registry-mirror 'ghcr.io=https://a.example.com,ghcr.io=https://b.example.com'
//	talosctl cluster create … --registry-insecure-skip-verify m.example.com
//
// A flag may be there several times, or hold several values with commas; the
// endpoints of a registry are in the order in which they come. The flags have
// neither skipFallback nor overridePath nor credentials. Talos 1.13.9 is the
// reference; --registry-insecure-skip-verify is a flag of talosctl cluster
// create only.
package talosctlflags

// Option is what Write cannot see in the Set.
type Option func(*options)

type options struct{ clusterCreate bool }

// ForClusterCreate makes Write write flags for talosctl cluster create, which
// has --registry-insecure-skip-verify, instead of talosctl gen config.
func ForClusterCreate() Option { return func(o *options) { o.clusterCreate = true } }
