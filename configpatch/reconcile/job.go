package reconcile

import (
	"cmp"
	"maps"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// DefaultImage is the image of a [Job] that names none. It has kubectl, a
// POSIX shell, sed and base64, which is all that a script needs.
const DefaultImage = "docker.io/alpine/k8s:1.34.1"

// DeleteAtOnce is the TTL of a [Job] that goes away with its logs as soon as it
// ends: ttlSecondsAfterFinished 0. What it did can then be seen in the TalosConfigTemplate alone.
const DeleteAtOnce time.Duration = -1

// Job is a Kubernetes Job that runs a Template's script once, as a user without rights.
type Job struct {
	Template Template

	// Name is that of the ServiceAccount, the Role and the RoleBinding; the Job's
	// is Name, cut where needed, and a hash. Empty: the template's name.
	Name      string
	Namespace string // of the Job and its ServiceAccount; empty: the template's

	// Image must have kubectl, /bin/sh and sed, and base64 for an input
	// that is decoded. Empty: DefaultImage. The image registry.k8s.io/kubectl has no shell.
	Image string

	// ServiceAccount names one that is there already; it is bound to the Role. Empty: one is made.
	// Jobs of one Name in one namespace share a RoleBinding, which binds the account of the
	// one that was applied last: let all of them name the same account, or none.
	ServiceAccount string

	// Labels and Annotations are put on every object and on the Job's Pods.
	Labels, Annotations map[string]string

	// RunID makes the name of this Job another one, so that a Job that ran with
	// the same content before does not stand in its way. Any text; see the package's doc.
	RunID string

	TTL          time.Duration // the Job is deleted so long after its end, whole seconds; zero: 10 minutes; or DeleteAtOnce
	Deadline     time.Duration // for all attempts together, whole seconds; zero: 5 minutes more than one attempt can take to wait
	BackoffLimit *int          // further attempts after the first; nil: 3
}

func (j Job) name() string      { return cmp.Or(j.Name, j.Template.Name) }
func (j Job) namespace() string { return cmp.Or(j.Namespace, j.Template.Namespace) }
func (j Job) image() string     { return cmp.Or(j.Image, DefaultImage) }
func (j Job) ttl() time.Duration {
	if j.TTL == DeleteAtOnce {
		return 0
	}
	return cmp.Or(j.TTL, 10*time.Minute)
}

// deadlineSeconds counts in seconds: the product may be more than a Duration holds.
func (j Job) deadlineSeconds() int64 {
	if j.Deadline != 0 {
		return int64(j.Deadline / time.Second)
	}
	wait := int64(0)
	for _, in := range j.Template.Inputs {
		if _, env := in.From.(FromEnv); !env {
			wait += int64(j.Template.tries()) * int64(j.Template.interval()/time.Second)
		}
	}
	return wait + 5*60
}

func (j Job) backoffLimit() int {
	if j.BackoffLimit == nil {
		return 3
	}
	return *j.BackoffLimit
}

func (j Job) check(p *problems) {
	// An empty name is the template's, which was checked.
	if j.Name != "" {
		p.subdomain("job.name", j.Name)
	}
	if j.Namespace != "" {
		p.label("job.namespace", j.Namespace)
	}
	if j.ServiceAccount != "" {
		p.subdomain("job.serviceAccount", j.ServiceAccount)
	}
	if j.ServiceAccount == "" && j.name() == "default" {
		// Its automountServiceAccountToken would be that of every Pod that names no ServiceAccount.
		p.add("job.name", "want another name, or a ServiceAccount", "%q is the ServiceAccount that each namespace has", "default")
	}
	for _, namespace := range sortedKeys(j.Template.rules()) {
		if n := len(j.roleName(namespace)); n > 253 {
			p.add("job.name", "want a shorter one: its namespace, a dot and it are at most 253 bytes", "the name of the Role in the namespace %q has %d bytes", namespace, n)
		}
	}
	p.metadata("job.", j.Labels, j.Annotations)
	if p.text("job.image", j.Image) && strings.ContainsFunc(j.Image, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		p.add("job.image", "want an image reference without white space", "invalid image %q", j.Image)
	}
	p.text("job.runID", j.RunID)
	for _, d := range []struct {
		path string
		d    time.Duration
	}{{"job.ttl", j.ttl()}, {"job.deadline", j.Deadline}} {
		if d.d < 0 || d.d%time.Second != 0 || d.d/time.Second > math.MaxInt32 {
			p.add(d.path, "want whole seconds, 1 or more", "%s", d.d)
		}
	}
	if s := j.deadlineSeconds(); s > math.MaxInt32 && j.Deadline == 0 {
		p.add("job.deadline", "want fewer tries or a shorter interval, or a deadline", "the inputs may take %d seconds", s)
	}
	if _, ok := j.Annotations[runIDAnnotation]; ok && j.RunID != "" {
		p.add("job.annotations["+quote(runIDAnnotation)+"]", "want one of the two", "an annotation that the run id has")
	}
	if n := j.backoffLimit(); n < 0 || n > math.MaxInt32 {
		p.add("job.backoffLimit", "want 0 or more", "%d", n)
	}
	for i, in := range j.Template.Inputs {
		if f, ok := in.From.(FromEnv); ok && f == (FromEnv{}) {
			p.add(inputPath(i, in)+".from", "want a value, or the name and key of a Secret", "no source for the Job's environment")
		}
	}
}

func (j Job) stream(hashed string, command list, o Objects) string {
	var b strings.Builder
	account := j.ServiceAccount
	if account == "" {
		account = j.name()
		b.WriteString(document(object{
			{"apiVersion", "v1"},
			{"kind", "ServiceAccount"},
			{"metadata", j.metadata(account, j.namespace())},
			{"automountServiceAccountToken", false},
		}))
	}
	rules := j.Template.rules()
	for _, namespace := range sortedKeys(rules) {
		name := j.roleName(namespace)
		b.WriteString(document(object{
			{"apiVersion", "rbac.authorization.k8s.io/v1"},
			{"kind", "Role"},
			{"metadata", j.metadata(name, namespace)},
			{"rules", rules[namespace]},
		}))
		b.WriteString(document(object{
			{"apiVersion", "rbac.authorization.k8s.io/v1"},
			{"kind", "RoleBinding"},
			{"metadata", j.metadata(name, namespace)},
			{"roleRef", object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", name}}},
			{"subjects", list{object{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", j.namespace()}}}},
		}))
	}
	text := object{{scriptFile, o.script.String()}}
	switch o.transport {
	case InConfigMap:
		b.WriteString(document(object{
			{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", j.metadata(hashed, j.namespace())},
			{"immutable", true}, {"data", text},
		}))
	case InSecret:
		b.WriteString(document(object{
			{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", j.metadata(hashed, j.namespace())},
			{"type", "Opaque"}, {"immutable", true}, {"stringData", text},
		}))
	}
	b.WriteString(document(j.job(hashed, account, command, o.transport)))
	return b.String()
}

// roleName returns the name of the Role and the RoleBinding in a namespace.
func (j Job) roleName(namespace string) string {
	if namespace == j.namespace() {
		return j.name()
	}
	// A namespace has no dot in its name, so that two Jobs of one name do not share a Role here.
	return j.namespace() + "." + j.name()
}

func (j Job) metadata(name, namespace string) object {
	return object{{"name", name}, {"namespace", namespace}}.
		with("labels", stringMap(j.labels())).
		with("annotations", stringMap(j.Annotations))
}

func (j Job) labels() map[string]string {
	labels := map[string]string{"app.kubernetes.io/managed-by": "mirrorpatch"}
	maps.Copy(labels, j.Labels)
	return labels
}

func (j Job) job(hashed, account string, command list, transport Transport) object {
	annotations := maps.Clone(j.Annotations)
	if j.RunID != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[runIDAnnotation] = j.RunID
	}
	mounts := list{object{{"name", "tmp"}, {"mountPath", "/tmp"}}}
	volumes := list{object{{"name", "tmp"}, {"emptyDir", object{{"sizeLimit", "128Mi"}}}}}
	items := list{object{{"key", scriptFile}, {"path", scriptFile}}}
	switch transport {
	case InConfigMap:
		volumes = append(volumes, object{{"name", "script"}, {"configMap", object{{"name", hashed}, {"items", items}}}})
	case InSecret:
		volumes = append(volumes, object{{"name", "script"}, {"secret", object{{"secretName", hashed}, {"items", items}}}})
	}
	if transport != InCommand {
		mounts = append(mounts, object{{"name", "script"}, {"mountPath", scriptDir}, {"readOnly", true}})
	}
	return object{
		{"apiVersion", "batch/v1"},
		{"kind", "Job"},
		{"metadata", object{{"name", hashed}, {"namespace", j.namespace()}}.
			with("labels", stringMap(j.labels())).
			with("annotations", stringMap(annotations))},
		{"spec", object{
			{"ttlSecondsAfterFinished", int(j.ttl() / time.Second)},
			{"activeDeadlineSeconds", int(j.deadlineSeconds())},
			{"backoffLimit", j.backoffLimit()},
			{"template", object{
				{"metadata", object{}.
					with("labels", stringMap(j.labels())).
					with("annotations", stringMap(annotations))},
				{"spec", object{
					{"restartPolicy", "Never"},
					{"serviceAccountName", account},
					{"automountServiceAccountToken", true},
					// The variables of services would be names that $(NAME) and ${NAME} know.
					{"enableServiceLinks", false},
					{"securityContext", object{
						{"runAsNonRoot", true},
						{"runAsUser", 65532},
						{"runAsGroup", 65532},
						{"seccompProfile", object{{"type", "RuntimeDefault"}}},
					}},
					{"containers", list{object{
						{"name", "apply"},
						{"image", j.image()},
						{"command", command},
						{"env", j.env()},
						{"securityContext", object{
							{"allowPrivilegeEscalation", false},
							{"readOnlyRootFilesystem", true},
							{"capabilities", object{{"drop", list{"ALL"}}}},
						}},
						{"resources", object{
							{"requests", object{{"cpu", "50m"}, {"memory", "64Mi"}}},
							{"limits", object{{"cpu", "500m"}, {"memory", "256Mi"}}},
						}},
						{"volumeMounts", mounts},
					}}},
					{"volumes", volumes},
				}},
			}},
		}},
	}
}

// env returns the container's environment: a place for kubectl's cache, and the inputs that come from it.
func (j Job) env() list {
	env := list{object{{"name", "HOME"}, {"value", "/tmp"}}}
	for _, in := range j.Template.Inputs {
		f, ok := in.From.(FromEnv)
		if !ok {
			continue
		}
		if f.Secret != "" {
			env = append(env, object{{"name", in.Name}, {"valueFrom", object{{"secretKeyRef", object{{"name", f.Secret}, {"key", f.Key}}}}}})
			continue
		}
		// The kubelet expands $(NAME) here as it does in command.
		env = append(env, object{{"name", in.Name}, {"value", string(escape.AppendKubelet(nil, f.Value))}})
	}
	return env
}

const runIDAnnotation = "mirrorpatch/run-id"
