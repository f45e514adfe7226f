// Package k3s reads and writes registries.yaml of k3s and RKE2
// (/etc/rancher/k3s/registries.yaml, /etc/rancher/rke2/registries.yaml).
//
//	registries.yaml                                    Set
//	mirrors.R.endpoint: [m.example.com]                mirrors[R].endpoints: https://m.example.com
//	mirrors.R.endpoint: [localhost:5000]               http://localhost:5000 (loopback, port not 443)
//	mirrors.R.endpoint: [https://m/path]               the same, with overridePath unless the path ends in /v2
//	mirrors.R.rewrite: {"^(.*)$": "p/$1"}              https://m/v2/p with overridePath; any other rewrite is a loss
//	configs.H.auth {username, password, auth, identity_token}
//	                                                   config[H].auth
//	configs.H.tls {ca_file, cert_file, key_file, insecure_skip_verify}
//	                                                   config[H].tls, with the files' contents
//	--disable-default-registry-endpoint                skipFallback of each mirror
//
// The rules are those of k3s's pkg/agent/containerd: an endpoint
// without a scheme is https; a path is used as it is written, nothing
// appended; the registry itself comes last, without rewrites and with the settings
// that configs has for it, unless the node was started with --disable-default-registry-endpoint,
// which is an option here. That flag does nothing for a registry that has an
// entry in configs.
//
// A registry without endpoints is one that the embedded registry mirror serves;
// Talos has no such thing.
package k3s

import "io/fs"

// Option is what Read or Write cannot see in the file.
type Option func(*options)

type options struct {
	noDefault bool
	files     fs.FS
	folder    string
}

func collect(opts []Option) options {
	o := options{folder: "/etc/rancher/k3s"}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// DisableDefaultRegistryEndpoint says that the nodes are started with the flag
// --disable-default-registry-endpoint.
func DisableDefaultRegistryEndpoint() Option { return func(o *options) { o.noDefault = true } }

// WithFiles gives Read the files of a node: fsys has its root folder. Without
// it, certificates that registries.yaml names by path are in the report.
func WithFiles(fsys fs.FS) Option { return func(o *options) { o.files = fsys } }

// InFolder says where Write's files will lie on the nodes; the default is
// /etc/rancher/k3s.
func InFolder(folder string) Option { return func(o *options) { o.folder = folder } }
