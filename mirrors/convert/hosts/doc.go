// Package hosts reads and writes containerd's registry configuration: a certs.d
// directory with a folder for each registry, in it hosts.toml and certificates.
//
//	certs.d                                     Set
//	ghcr.io/, m.example.com_5000_/, _default/   mirrors["ghcr.io"], ["m.example.com:5000"], ["*"]
//	[host."https://m.example.com"], in order    endpoints
//	  override_path                             overridePath
//	  ca, client, skip_verify                   config["m.example.com"].tls
//	  header.Authorization: Basic …             config["m.example.com"].auth
//	server, the registry itself                 nothing: that is the fallback
//	server, another                             the last endpoint, with skipFallback
//	no hosts.toml, but .crt, .cert and .key     config["ghcr.io"].tls
//
// [Write] writes the very files that Talos 1.13.9 writes to
// /etc/cri/conf.d/hosts, byte for byte. [Read] follows containerd 2.3.3, which
// asks the hosts in the order of the file, then the server; without a server
// that is the registry itself. What Talos has no word for is in the report:
// other capabilities, other headers, dial_timeout, several client certificates,
// and TLS settings that differ between registries for one host.
//
// Credentials are not part of these files but for a header. Talos gives them to
// containerd in another file, so Write reports them.
package hosts

import "io/fs"

// Option is what Read or Write cannot see in the directory or the Set.
type Option func(*options)

type options struct {
	files fs.FS
	base  string
}

func collect(opts []Option) options {
	o := options{base: "/etc/cri/conf.d/hosts"}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithFiles gives Read the files of the node: fsys has its root folder. Read
// takes certificates with an absolute path from there. Without it, it takes
// them from the directory itself when path and name of the folder are the same:
// /etc/cri/conf.d/hosts/ghcr.io/ca.crt is ghcr.io/ca.crt.
func WithFiles(fsys fs.FS) Option { return func(o *options) { o.files = fsys } }

// InFolder says where the directory that Write makes will lie; the default is
// that of Talos, /etc/cri/conf.d/hosts. Empty: certificates are named relative
// to their folder, which containerd allows.
func InFolder(folder string) Option { return func(o *options) { o.base = folder } }
