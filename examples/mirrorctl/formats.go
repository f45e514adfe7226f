package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerconfig"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerdaemon"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/k3s"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/registriesconf"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/talosctlflags"
)

// formats are what --from and --to take.
var formats = []string{
	"registries", "talos", "cozystack", "k3s", "hosts", "docker-daemon", "docker-config", "registries-conf", "talosctl-flags",
}

const formatsHelp = `  registries       mirrors and config, as machine.registries has them
  talos            a machine configuration, in either form or both
  cozystack        chart values with talos.registryMirrors
  k3s              registries.yaml of k3s and RKE2
  hosts            containerd's certs.d directory
  docker-daemon    daemon.json of Docker
  docker-config    config.json of Docker, auth.json, a dockerconfigjson Secret
  registries-conf  registries.conf of Podman and CRI-O; drop-ins lie beside it
  talosctl-flags   --registry-mirror of talosctl gen config
`

// reading is what a reader cannot see in the file.
type reading struct {
	root           string // the root folder of the machine that the file is from, or empty
	folder         string // where the directory of hosts lay on that machine, or empty
	disableDefault bool   // k3s's --disable-default-registry-endpoint
}

// writing is what a writer cannot see in the Set.
type writing struct {
	talos         setting
	folder        string // where the files of k3s or hosts will lie, or empty
	secret        string // docker-config: [NAMESPACE/]NAME of a Secret, or empty
	platform      bool   // cozystack: the platform's registries
	clusterCreate bool   // talosctl-flags: for talosctl cluster create
}

// readFormat reads a file, or for hosts a directory, in a format.
func (t *tool) readFormat(in *input) (*mirrors.Source, convert.Report, error) {
	format, file, how := in.from.value, in.file, in.how
	if format == "hosts" {
		var opts []hosts.Option
		if how.root != "" {
			opts = append(opts, hosts.WithFiles(os.DirFS(how.root)))
		}
		if how.folder != "" {
			opts = append(opts, hosts.InFolder(how.folder))
		}
		if info, err := os.Stat(file); err != nil {
			return nil, convert.Report{}, unreadable(file, err)
		} else if !info.IsDir() {
			return nil, convert.Report{}, unreadable(file, errors.New("not a directory, as containerd's certs.d is"))
		}
		return hosts.Read(os.DirFS(file), opts...)
	}
	data, err := t.readFile(file, mirrors.MaxSize)
	if err != nil {
		return nil, convert.Report{}, err
	}
	switch format {
	case "talos":
		effective, report, err := readTalos(data)
		if err != nil {
			return nil, report, inConfig(file, data, err)
		}
		in.judge = effective.Check
		return effective.Source(), report, nil
	case "cozystack":
		if root, err := mirrors.ReadDocument(data); err == nil {
			var values struct{ Talos struct{ Version yaml.Node } }
			if root.Decode(&values) == nil && values.Talos.Version.Value != "" {
				in.talosVersion = &values.Talos.Version
			}
		}
		return cozystack.Read(data)
	case "k3s":
		var opts []k3s.Option
		if how.root != "" {
			opts = append(opts, k3s.WithFiles(os.DirFS(how.root)))
		}
		if how.disableDefault {
			opts = append(opts, k3s.DisableDefaultRegistryEndpoint())
		}
		return k3s.Read(data, opts...)
	case "docker-daemon":
		return dockerdaemon.Read(data)
	case "docker-config":
		return dockerconfig.Read(data)
	case "registries-conf":
		var opts []registriesconf.Option
		if file != "-" {
			opts = append(opts, registriesconf.WithDropIns(os.DirFS(filepath.Dir(file))))
		}
		return registriesconf.Read(data, opts...)
	case "talosctl-flags":
		return talosctlflags.Read(data)
	}
	source, err := mirrors.Decode(data)
	return source, convert.Report{}, err
}

// readTalos reads the effective Set of a machine configuration. A legacy entry
// that a document of its name hides has no effect, which its author may not know.
func readTalos(data []byte) (*configpatch.Effective, convert.Report, error) {
	if len(data) > mirrors.MaxSize {
		return nil, convert.Report{}, tooLarge()
	}
	effective, err := configpatch.Read(data)
	if err != nil {
		return nil, convert.Report{}, err
	}
	report := convert.Report{Ignored: effective.Ignored}
	for _, e := range effective.Entries {
		if e.Origin == configpatch.OriginBoth {
			report.Entries = append(report.Entries, convert.Entry{Kind: convert.Decision, Path: e.HiddenPath(), Line: e.Hidden, Column: e.HiddenColumn,
				Reason: fmt.Sprintf("Talos ignores it: the document in line %d has the same name, and counts whole", e.Line), Fix: "remove one of the two"})
		}
	}
	return effective, report, nil
}

// tooLarge is the error of a file of more than [mirrors.MaxSize] bytes.
func tooLarge() error {
	return mirrors.Findings{{Rule: mirrors.RuleInputSize, Severity: mirrors.SeverityError,
		Message: fmt.Sprintf("more than %d bytes", mirrors.MaxSize), Fix: "want a smaller file"}}.Err()
}

// writeFormat writes a Set in a format.
func writeFormat(format string, set mirrors.Set, how *writing, disableDefault bool) (convert.Files, convert.Report, error) {
	switch format {
	case "talos":
		patch, err := configpatch.Merge(set, how.talos.version.version, how.talos.options()...)
		if err != nil {
			return nil, convert.Report{}, err
		}
		return convert.Files{patch.Name(): patch.Bytes()}, convert.Report{}, nil
	case "k3s":
		var opts []k3s.Option
		if disableDefault {
			opts = append(opts, k3s.DisableDefaultRegistryEndpoint())
		}
		if how.folder != "" {
			opts = append(opts, k3s.InFolder(how.folder))
		}
		return k3s.Write(set, opts...)
	case "hosts":
		var opts []hosts.Option
		switch how.folder {
		case "":
		case ".":
			opts = append(opts, hosts.InFolder(""))
		default:
			opts = append(opts, hosts.InFolder(how.folder))
		}
		return hosts.Write(set, opts...)
	case "docker-daemon":
		return dockerdaemon.Write(set)
	case "docker-config":
		var opts []dockerconfig.Option
		if how.secret != "" {
			namespace, name := "", how.secret
			if before, after, ok := strings.Cut(how.secret, "/"); ok {
				namespace, name = before, after
			}
			opts = append(opts, dockerconfig.AsSecret(namespace, name))
		}
		return dockerconfig.Write(set, opts...)
	case "registries-conf":
		return registriesconf.Write(set)
	case "talosctl-flags":
		var opts []talosctlflags.Option
		if how.clusterCreate {
			opts = append(opts, talosctlflags.ForClusterCreate())
		}
		return talosctlflags.Write(set, opts...)
	case "cozystack":
		var opts []cozystack.Option
		if how.platform {
			opts = append(opts, cozystack.ForPlatform())
		}
		return cozystack.Write(set, opts...)
	}
	data, err := yaml.Marshal(set)
	if err != nil {
		return nil, convert.Report{}, err
	}
	return convert.Files{"registries.yaml": data}, convert.Report{}, nil
}

// located is a file's name and its finding, whose path does not name it again.
func located(file, format string, f mirrors.Finding) (string, mirrors.Finding) {
	within, path := cutFile(format, f.Path)
	f.Path = path
	return inFolder(file, format, within), f
}

// cutFile cuts the file off a path of a directory, or of a file with drop-ins,
// which begins with it. The file is empty where the path names none.
func cutFile(format, path string) (within, rest string) {
	within, rest, _ = strings.Cut(path, ": ")
	if format == "hosts" && strings.HasSuffix(within, "/hosts.toml") || format == "registries-conf" && strings.HasSuffix(within, ".conf") {
		return within, rest
	}
	return "", path
}

// inFolder is the name of a file that a directory has, or that lies beside file.
func inFolder(file, format, within string) string {
	switch {
	case within == "":
		return file
	case format == "registries-conf":
		file = filepath.Dir(file)
	}
	return filepath.Join(file, filepath.FromSlash(within))
}
