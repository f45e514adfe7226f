// Package sandbox runs the container of a Job as a node would run it: its
// command through the kubelet's own expansion, as its user, with its
// environment and its mounts, under a root file system that is read-only.
package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
)

// Pod is what a kubelet needs to know of the Job's Pod.
type Pod struct {
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
		RunAsUser    int  `yaml:"runAsUser"`
		RunAsGroup   int  `yaml:"runAsGroup"`
	} `yaml:"securityContext"`
	Containers []struct {
		Command, Args []string
		Env           []struct {
			Name, Value string
			ValueFrom   struct {
				SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		} `yaml:"securityContext"`
	}
	Volumes []struct {
		Name      string
		EmptyDir  *struct{}             `yaml:"emptyDir"`
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			SecretName string `yaml:"secretName"`
		}
	}
}

// Files are those of each ConfigMap and Secret, by its name.
type Files map[string]map[string]string

// Manifests reads the one Job of a stream, and what it can mount.
func Manifests(t *testing.T, stream []byte) (p Pod, files Files) {
	t.Helper()
	files = Files{}
	jobs := 0
	dec := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var o struct {
			Kind       string
			Metadata   struct{ Name string }
			Data       map[string]string
			StringData map[string]string `yaml:"stringData"`
			Spec       struct {
				Template struct{ Spec Pod }
			}
		}
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch o.Kind {
		case "Job":
			jobs++
			p = o.Spec.Template.Spec
		case "ConfigMap":
			files[o.Metadata.Name] = o.Data
		case "Secret":
			if o.Data != nil {
				t.Fatal("the Secret has data, this test reads stringData")
			}
			files[o.Metadata.Name] = o.StringData
		}
	}
	if jobs != 1 || len(p.Containers) != 1 {
		t.Fatalf("%d Jobs with %d containers, want one with one", jobs, len(p.Containers))
	}
	return p, files
}

// Cluster is what the Job finds where it runs.
type Cluster struct {
	Secrets map[string]string // "name key" of the Job's namespace, for the kubelet
	Gets    map[string]string // "namespace resource name jsonpath", for kubectl
}

// kubectl is a stand-in that answers the gets of the cluster and prints what it
// is to apply. It is strict: it fails on everything else.
func (c Cluster) kubectl(t *testing.T, dir string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("#!/bin/sh\ncase \"$*\" in\n")
	n := 0
	for query, answer := range c.Gets {
		q := strings.SplitN(query, " ", 4)
		n++
		name := fmt.Sprintf("answer-%d", n)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(answer), 0o644); err != nil {
			t.Fatal(err)
		}
		call := fmt.Sprintf("get %s %s -n %s -o jsonpath=%s ", q[1], q[2], q[0], q[3])
		fmt.Fprintf(&b, "'%s'*) exec cat \"${0%%/*}/%s\" ;;\n", strings.ReplaceAll(call, "'", `'\''`), name)
	}
	b.WriteString("'apply '*' -f -') exec cat ;;\n")
	b.WriteString("*) printf 'kubectl: unexpected call: %s\\n' \"$*\" >&2; exit 64 ;;\nesac\n")
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(b.String()), 0o755); err != nil {
		t.Fatal(err)
	}
}

// isolate is run by sh in mount and network namespaces of its own. It makes a
// root file system with the programs of this machine, the mounts of the
// container and nothing else, all of it read-only but for an emptyDir and
// /dev/shm, and starts the command in it as the container's user.
// Arguments: root, directory of kubectl, user, group, number of mounts, for
// each mount its path and its source ("" is an emptyDir), then the command.
const isolate = `set -eu
root=$1 programs=$2 user=$3 group=$4 mounts=$5
shift 5
show() {
	mkdir -p "$root$2"
	mount --bind "$1" "$root$2"
	mount -o remount,bind,ro "$root$2"
}
mount -t tmpfs -o mode=0755 tmpfs "$root"
for d in /bin /sbin /lib /lib32 /lib64 /libx32 /usr; do
	if [ -L "$d" ]; then cp -P "$d" "$root$d"; elif [ -d "$d" ]; then show "$d" "$d"; fi
done
mkdir "$root/etc" "$root/dev"
cp -R /etc/alternatives /etc/ld.so.cache "$root/etc/"
show "$programs" /programs
mount --bind /dev "$root/dev"
mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root/dev/shm"
while [ "$mounts" -gt 0 ]; do
	if [ -n "$2" ]; then
		show "$2" "$1"
	else
		mkdir -p "$root$1"
		mount -t tmpfs -o size=64m,mode=1777 tmpfs "$root$1"
	fi
	shift 2
	mounts=$((mounts - 1))
done
mount -o remount,ro "$root"
# Not even root may write, so that what the container cannot do is not for want of rights.
for d in / /etc /usr /programs; do
	if touch "$root$d/written" 2>/dev/null; then
		printf 'isolate: %s is writable\n' "$d" >&2
		exit 99
	fi
done
exec chroot "$root" setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs --bounding-set=-all "$@"
`

// Result is one run of the container.
type Result struct {
	Applied string // what kubectl apply got
	Stderr  string
	Exit    int
}

// Start runs the container with sh in the place of /bin/sh.
func (c Cluster) Start(t *testing.T, p Pod, files Files, sh []string) Result {
	t.Helper()
	container := p.Containers[0]
	if !container.SecurityContext.ReadOnlyRootFilesystem || !p.SecurityContext.RunAsNonRoot || p.SecurityContext.RunAsUser != 65532 {
		t.Fatalf("the Pod is not as strict as this test runs it: %+v %+v", p.SecurityContext, container.SecurityContext)
	}

	known := map[string]string{}
	env := []string{"PATH=/programs:/usr/bin:/bin"}
	for _, e := range container.Env {
		value := expansion.Expand(e.Value, expansion.MappingFuncFor(known))
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
			secret, found := c.Secrets[ref.Name+" "+ref.Key]
			if !found {
				t.Fatalf("there is no key %q in the Secret %q", ref.Key, ref.Name)
			}
			value = secret
		}
		known[e.Name] = value
		env = append(env, e.Name+"="+value)
	}
	var command []string
	for _, word := range append(append([]string{}, container.Command...), container.Args...) {
		command = append(command, expansion.Expand(word, expansion.MappingFuncFor(known)))
	}
	if command[0] != "/bin/sh" {
		t.Fatalf("command %q", command)
	}
	if sh[0] == "yash" {
		// yash 2.52 decodes its script by the locale before it runs the first line.
		env = append(env, "LC_ALL=C.UTF-8")
	}
	command = append(append([]string{}, sh...), command[1:]...)

	// Everybody may enter: the user of the container is nobody here.
	dir, top := t.TempDir(), filepath.Clean(os.TempDir()) // top is everybody's, and stays as it is
	for d := filepath.Clean(dir); strings.HasPrefix(d, top+"/"); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, programs := filepath.Join(dir, "root"), filepath.Join(dir, "programs")
	for _, d := range []string{root, programs} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.kubectl(t, programs)
	var mounts []string
	for _, m := range container.VolumeMounts {
		found := false
		for _, v := range p.Volumes {
			if v.Name != m.Name {
				continue
			}
			found = true
			source := ""
			if v.EmptyDir == nil {
				source = filepath.Join(dir, "volume-"+v.Name)
				if err := os.Mkdir(source, 0o755); err != nil {
					t.Fatal(err)
				}
				content, there := files[v.ConfigMap.Name+v.Secret.SecretName]
				if !there {
					t.Fatalf("the volume %q is of nothing that was printed", v.Name)
				}
				for name, text := range content {
					if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o444); err != nil {
						t.Fatal(err)
					}
				}
			}
			mounts = append(mounts, m.MountPath, source)
		}
		if !found {
			t.Fatalf("the mount %q has no volume", m.Name)
		}
	}

	args := []string{"-m", "-n", "--propagation", "private", "/bin/sh", "-c", isolate, "isolate",
		root, programs, fmt.Sprint(p.SecurityContext.RunAsUser), fmt.Sprint(p.SecurityContext.RunAsGroup), fmt.Sprint(len(mounts) / 2)}
	args = append(append(args, mounts...), "env", "-i")
	args = append(append(args, env...), command...)
	r := servers.Run(os.Environ(), nil, "unshare", args...)
	if r.Exit < 0 || strings.Contains(r.Stderr, "isolate: ") || strings.Contains(r.Stderr, "chroot: ") {
		t.Fatalf("the container in %q did not start or end: %s", sh, r.Stderr)
	}
	return Result{r.Stdout, r.Stderr, r.Exit}
}

// Needed ends a test on a machine that gives us no mount namespace.
func Needed(t *testing.T) {
	t.Helper()
	r := servers.Run(os.Environ(), nil, "unshare", "-m", "-n", "--propagation", "private", "setpriv", "--reuid", "65532", "true")
	if r.Exit != 0 {
		servers.Missing(t, "a mount namespace is needed (unshare, setpriv and root): "+strings.TrimSpace(r.Stderr))
	}
}
