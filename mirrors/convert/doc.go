// Package convert holds what the packages below it share: what a conversion
// between a foreign format and a mirrors.Set could not carry over, and the
// files that it writes.
//
// Each format has a package of its own:
//
//	cozystack      values of the chart (talos.registryMirrors), the platform's registries
//	k3s            registries.yaml of k3s and RKE2
//	hosts          a certs.d directory of containerd (hosts.toml and certificates)
//	dockerdaemon   daemon.json of Docker
//	dockerconfig   config.json, auth.json, a Secret of type kubernetes.io/dockerconfigjson
//	registriesconf registries.conf of Podman and CRI-O, with drop-ins
//	talosctlflags  --registry-mirror of talosctl gen config
//
// (machine.registries itself needs none: mirrors.Decode reads it, and a Set is
// encoded in that shape.)
//
// All of them read with
//
//	Read(data []byte, opts ...Option) (*mirrors.Source, convert.Report, error)
//
// (hosts reads a directory, an fs.FS) and write with
//
//	Write(set mirrors.Set, opts ...Option) (convert.Files, convert.Report, error)
//
// An error means that there is no result: the input is not what the program
// whose format it is would accept, or the Set has errors. It is a
// *mirrors.Error with every problem and its place. Whatever the other side
// cannot say is in the [Report] instead, each thing with its path, the reason
// and what to do. A report in which [Report.Lossless] is true means that
// nothing was lost: the result means what the input meant.
//
// A reader does not judge what it read: Source.Check of package mirrors does. A
// writer refuses a Set in which Check finds an error.
//
// No value of a password, token or key is ever in a report or in an error.
package convert
