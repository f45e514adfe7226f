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
// /etc/cri/conf.d/hosts, byte for byte. [Read] follows containerd 2.4.2, which
// asks the hosts in the order of the file, then the server; without a server
// that is the registry itself (as in 2.3.3, 1.7.27 and 1.6.38: leaving it out never
// kept containerd from the registry). What Talos has no word for is in the report:
// other capabilities, other headers, dial_timeout, several client certificates,
// and TLS settings that differ between registries for one host.
//
// Of capabilities, push and referrers are reported where a file names them. A host
// without the key has all four for containerd and two on Talos; that is not
// reported: a node pulls and resolves, it does not push.
//
// TLS settings alone, in a folder docker.io or registry-1.docker.io, become those of
// that name, as Talos writes them. Docker Hub needs both names, the one for
// containerd, the other for machined: [mirrors.Source.Check] says so. Hosts in a
// folder of a name that a Set cannot have are a loss in the report; a name that is none
// at all (..data, lost+found) is ignored.
//
// Credentials are not part of these files but for a header. Talos gives them to
// containerd in another file, so Write reports them.
package hosts

import (
	"io/fs"
	"path"
)

// Option is what Read or Write cannot see in the directory or the Set.
type Option func(*options)

type options struct {
	files  fs.FS
	base   string
	placed bool // base was given
}

// directories are where containerd's directory lies on Talos, elsewhere, with k3s
// and with RKE2.
var directories = []string{
	"/etc/cri/conf.d/hosts",
	"/etc/containerd/certs.d",
	"/var/lib/rancher/k3s/agent/etc/containerd/certs.d",
	"/var/lib/rancher/rke2/agent/etc/containerd/certs.d",
}

func collect(opts []Option) options {
	o := options{base: directories[0]}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithFiles gives Read the files of the node: fsys has its root folder. Read
// takes certificates with an absolute path from there. Without it, it takes
// them from the directory itself when they lie below the folder of [InFolder],
// /etc/cri/conf.d/hosts, /etc/containerd/certs.d or that of k3s and RKE2. A path
// that is only likely the directory's, such as /etc/docker/certs.d/ghcr.io/ca.crt
// where ghcr.io has a ca.crt, is a decision in the report.
func WithFiles(fsys fs.FS) Option { return func(o *options) { o.files = fsys } }

// InFolder says where the directory that Write makes will lie, or that Read reads
// did lie: an absolute path; the default is that of Talos, /etc/cri/conf.d/hosts.
// Empty: Write names certificates relative to their folder, which containerd allows.
func InFolder(folder string) Option {
	return func(o *options) {
		o.base, o.placed = folder, folder != ""
		if o.placed {
			o.base = path.Clean(folder)
		}
	}
}
