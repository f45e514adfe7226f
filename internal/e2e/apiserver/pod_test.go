package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
)

// job is what the server has of a Job.
type job struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		Template json.RawMessage // of the Pod
	}
}

// pod is what a kubelet needs to know of it.
type pod struct {
	Spec struct {
		ServiceAccountName string
		Containers         []struct {
			Command, Args []string
			Env           []struct {
				Name, Value string
				ValueFrom   struct{ SecretKeyRef struct{ Name, Key string } }
			}
			VolumeMounts []struct{ Name, MountPath string }
		}
		Volumes []struct {
			Name      string
			ConfigMap struct{ Name string }
			Secret    struct{ SecretName string }
		}
	}
}

// shells are the two that images with kubectl have as /bin/sh, dash and
// busybox, and what takes the place of /bin/sh for them.
var shells = map[string][]string{"dash": {"dash"}, "busybox": {"busybox", "sh"}}

// container is the one container of the Job's Pod, and how it is run.
type container struct {
	cluster    cluster
	command    []string // after the kubelet's expansion, without /bin/sh
	env        []string
	kubeconfig string
}

// container reads the Job from the server, and what the kubelet would read for
// it: Secrets of its environment, and mounted files. It has the rights of the
// Job's ServiceAccount.
func (c cluster) container(t *testing.T, j job) container {
	t.Helper()
	var p pod
	if err := json.Unmarshal(j.Spec.Template, &p); err != nil {
		t.Fatal(err)
	}
	namespace := j.Metadata.Namespace
	if len(p.Spec.Containers) != 1 {
		t.Fatalf("%d containers, want one", len(p.Spec.Containers))
	}
	spec := p.Spec.Containers[0]
	r := container{cluster: c, kubeconfig: c.account(t, namespace, p.Spec.ServiceAccountName)}

	known := map[string]string{}
	for _, e := range spec.Env {
		value := expansion.Expand(e.Value, expansion.MappingFuncFor(known))
		if ref := e.ValueFrom.SecretKeyRef; ref.Name != "" {
			value = c.secret(t, namespace, ref.Name)[ref.Key]
		}
		known[e.Name] = value
		if e.Name == "HOME" {
			value = t.TempDir() // the Pod has an emptyDir there
		}
		r.env = append(r.env, e.Name+"="+value)
	}
	for _, word := range append(spec.Command, spec.Args...) {
		r.command = append(r.command, expansion.Expand(word, expansion.MappingFuncFor(known)))
	}
	if r.command[0] != "/bin/sh" {
		t.Fatalf("command %q", r.command)
	}
	r.command = r.command[1:]

	for _, m := range spec.VolumeMounts {
		for _, v := range p.Spec.Volumes {
			if v.Name != m.Name || v.ConfigMap.Name+v.Secret.SecretName == "" {
				continue
			}
			var files map[string]string
			if v.Secret.SecretName != "" {
				files = c.secret(t, namespace, v.Secret.SecretName)
			} else {
				var o struct{ Data map[string]string }
				c.get(t, &o, "configmap", v.ConfigMap.Name, "-n", namespace)
				files = o.Data
			}
			dir := t.TempDir()
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o444); err != nil {
					t.Fatal(err)
				}
			}
			for i, word := range r.command {
				if rest, found := strings.CutPrefix(word, m.MountPath+"/"); found {
					r.command[i] = filepath.Join(dir, rest)
				}
			}
		}
	}
	return r
}

func (c cluster) secret(t *testing.T, namespace, name string) map[string]string {
	t.Helper()
	var o struct{ Data map[string]string }
	c.get(t, &o, "secret", name, "-n", namespace)
	for key, value := range o.Data {
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			t.Fatal(err)
		}
		o.Data[key] = string(text)
	}
	return o.Data
}

// run runs the container with sh in the place of /bin/sh.
func (r container) run(sh []string) servers.Result {
	words := append(slices.Clone(sh), r.command...)
	return servers.Run(append(r.cluster.Env(r.kubeconfig), r.env...), nil, words[0], words[1:]...)
}

// edit changes one place of the script, be it in the command or mounted.
func (r container) edit(t *testing.T, old, new string) {
	t.Helper()
	last := &r.command[len(r.command)-1]
	script, mounted := *last, filepath.IsAbs(*last)
	if mounted {
		text, err := os.ReadFile(*last)
		if err != nil {
			t.Fatal(err)
		}
		script = string(text)
	}
	// On the server a second document follows: the names of the fields.
	before, after, found := strings.Cut(script, old)
	if !found || !mounted && strings.Contains(after, old) {
		t.Fatalf("%q is not once in the script:\n%.2000s", old, script)
	}
	script = before + new + after
	if !mounted {
		*last = script
	} else if err := errors.Join(os.Remove(*last), os.WriteFile(*last, []byte(script), 0o444)); err != nil {
		t.Fatal(err)
	}
}
