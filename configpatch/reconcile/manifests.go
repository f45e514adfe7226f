package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// maxMounted is how many bytes the data of a ConfigMap or a Secret may have, Kubernetes 1.36.
const maxMounted = 1 << 20

// A mounted script lies at scriptDir/scriptFile.
const (
	scriptDir  = "/etc/mirrorpatch"
	scriptFile = "apply.sh"
)

// Transport is how a script gets into its container.
type Transport string

const (
	InCommand   Transport = "command"   // it is in the container's command, behind the kubelet's layer
	InConfigMap Transport = "configmap" // it is too large for one argument, and mounted
	InSecret    Transport = "secret"    // it holds a secret, and is mounted
)

// Objects are what [Manifests] made of a [Job].
type Objects struct {
	yaml      []byte
	jobName   string
	transport Transport
	script    escape.Script
}

// Bytes returns the objects as one YAML stream, in the order in which they can be created.
func (o Objects) Bytes() []byte { return slices.Clone(o.yaml) }

// JobName returns the name of the Job, at most 63 bytes.
func (o Objects) JobName() string { return o.jobName }

// Transport tells where in the objects the script is.
func (o Objects) Transport() Transport { return o.transport }

// Script returns the script that the Job runs.
func (o Objects) Script() escape.Script { return o.script }

// Manifests returns the objects that run j's script in a cluster: a
// ServiceAccount, a Role and a RoleBinding that allow exactly what the script
// does, in further namespaces too when an input lies there, a ConfigMap or a
// Secret when the script is mounted, and the Job.
//
// The same j gives the same bytes, and any other the Job another name. The
// error is an [*Error] for each problem that was found, joined.
//
// A mounted script of more than 192 KiB is more than kubectl apply takes on the
// client (262144 bytes of annotations): give the objects to kubectl create or
// kubectl apply --server-side.
func Manifests(j Job) (Objects, error) {
	t := j.Template
	sensitive, p := t.check()
	j.check(&p)
	if p != nil {
		return Objects{}, errors.Join(p...)
	}
	script, err := t.script()
	if err != nil {
		return Objects{}, err
	}
	o := Objects{script: script, transport: InCommand}
	command := list{"/bin/sh", "-c"}
	if arg, err := script.Kubelet(); t.Sensitive || sensitive {
		o.transport = InSecret
	} else if err != nil {
		o.transport = InConfigMap
	} else {
		command = append(command, arg)
	}
	if o.transport != InCommand {
		if n := len(script.Bytes()); n > maxMounted {
			return Objects{}, &Error{
				Path: "template", Reason: fmt.Sprintf("a script of %d bytes", n),
				Fix: fmt.Sprintf("want at most %d, the limit of a ConfigMap and of a Secret", maxMounted),
			}
		}
		command = list{"/bin/sh", scriptDir + "/" + scriptFile}
	}
	// The hash covers every byte but the names that it is a part of.
	sum := sha256.Sum256([]byte(j.stream("", command, o)))
	o.jobName = hashedName(j.name(), hex.EncodeToString(sum[:8]))
	o.yaml = []byte(j.stream(o.jobName, command, o))
	return o, nil
}

// hashedName joins the two to a label of at most 63 bytes, in which hash is whole.
func hashedName(name, hash string) string {
	name = strings.ReplaceAll(name, ".", "-")
	name = name[:min(len(name), 63-1-len(hash))]
	return strings.TrimRight(name, "-") + "-" + hash
}
