package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// maxSkeleton is more than a ConfigMap holds, which is where the script with
// the skeleton would have to be.
const maxSkeleton = 1 << 20

// templateFlags say which TalosConfigTemplate the script applies.
type templateFlags struct {
	input   input
	setting setting

	name, namespace, group string
	apiVersion, generate   choice
	labels, annotations    pairs
	data                   string
	inputs                 inputs
	sensitive, hashed      bool
}

const templateHelp = `
The TalosConfigTemplate has the registries in one of two shapes:

  without --data   generateType worker (or controlplane) and strategicPatches:
                   the provider generates the configuration and patches it
  with --data      generateType none and data: the skeleton, a machine
                   configuration in a file, in which ${NAME} is an --input that
                   the script fills in when it runs. strategicPatches stand
                   beside it: the provider applies them to data. So what FILE
                   says is text that no script expands

A skeleton holds no registries of its own and no untrusted text. An input is
NAME:FORM=SOURCE. The script takes no other value for it than one of its FORM:
` + formsHelp + `. SOURCE is one of

  secret:[NAMESPACE/]NAME:KEY         a key of a Secret, base64 as it is stored;
                                      the form may be left out
  secret-text:[NAMESPACE/]NAME:KEY    the text behind the base64, as one YAML
                                      scalar; it has no FORM
  jsonpath:[NAMESPACE/]RESOURCE/NAME:JSONPATH
                                      what kubectl get -o jsonpath prints
  env:SECRET:KEY                      a key of a Secret in the Job's environment
  env                                 the environment of whoever runs the script
  value:TEXT                          this text, in the Job's environment

The provider refuses a change of a template that is there. With --hashed-name a
change is a template of another name, which standard error tells; the
MachineDeployment must be given it, and Cluster API then replaces the machines.
`

func (tf *templateFlags) register(cmd *cobra.Command) {
	tf.input.register(cmd)
	tf.setting.register(cmd, "v1.13")
	flags := cmd.Flags()
	tf.name, tf.namespace = "workers", "default"
	flags.Var(&once{value: &tf.name, what: "NAME"}, "name", "name of the TalosConfigTemplate")
	flags.Var(&once{value: &tf.namespace, what: "NAMESPACE"}, "namespace", "its namespace")
	flags.Var(&once{value: &tf.group, what: "GROUP"}, "group", "node group: the template's name is then NAME-GROUP")
	tf.apiVersion = choice{value: "v1beta1", allowed: []string{"v1beta1", "v1alpha3"}}
	flags.Var(&tf.apiVersion, "api-version", "of the bootstrap provider's group: v1beta1 or v1alpha3")
	tf.generate = choice{allowed: []string{"worker", "controlplane"}}
	flags.Var(&tf.generate, "generate-type", "what the provider generates: worker or controlplane (default: worker)")
	flags.Var(&tf.labels, "label", "KEY=VALUE, a label of the template; may be repeated")
	flags.Var(&tf.annotations, "annotation", "KEY=VALUE, an annotation of the template; may be repeated")
	flags.Var(&once{value: &tf.data, what: "SKELETON"}, "data", "a machine configuration with ${NAME} for each input; - is standard input")
	flags.Var(&tf.inputs, "input", "NAME:FORM=SOURCE, a value that is known when the script runs; may be repeated")
	flags.BoolVar(&tf.sensitive, "sensitive", false, "the skeleton holds a secret that nothing tells from other text: keep the script in a Secret")
	flags.BoolVar(&tf.hashed, "hashed-name", false, "the template's name ends in a hash of its spec, so that a change is a new template")
	complete(cmd, "api-version", tf.apiVersion.allowed)
	for _, free := range []string{"name", "namespace", "group", "label", "annotation", "input"} {
		complete(cmd, free, nil)
	}
	complete(cmd, "generate-type", tf.generate.allowed)
	must(cmd.MarkFlagFilename("data", "yaml", "yml"))
}

// run makes a RunE of what is made of the template. name is that of the template without a hash.
func (tf *templateFlags) run(t *tool, make func(template reconcile.Template, name string) ([]byte, error)) func(*cobra.Command, []string) error {
	return t.do(func() error {
		template, err := tf.template(t)
		if err != nil {
			return err
		}
		name := template.Name
		if tf.hashed {
			template = template.Hashed()
		}
		out, err := make(template, name)
		if err != nil {
			return tf.callOrInput(err)
		}
		if tf.hashed {
			t.say("the template's name is %s (for bootstrap.configRef of the MachineDeployment)", shown(template.Name))
		}
		t.put(out)
		return nil
	})
}

// template reads the input and the skeleton.
func (tf *templateFlags) template(t *tool) (reconcile.Template, error) {
	none := reconcile.Template{}
	switch {
	case tf.data == "" && len(tf.inputs.list) > 0:
		return none, wrongCall("--input names what is in a skeleton (want --data SKELETON too)")
	case tf.data != "" && tf.generate.value != "":
		return none, wrongCall("--generate-type %s beside --data: a skeleton is the whole configuration, nothing is generated", tf.generate.value)
	case tf.data == "-" && tf.input.file == "-":
		return none, wrongCall("--file and --data are both standard input")
	}
	source, err := tf.input.readChecked(t, &tf.setting, false)
	if err != nil {
		return none, err
	}
	patch, err := configpatch.Merge(source.Set, tf.setting.version.version, tf.setting.options()...)
	if err != nil {
		return none, inCall(tf.input.file, err)
	}
	name := tf.name
	if tf.group != "" {
		name += "-" + tf.group
	}
	template := reconcile.Template{
		Name:         name,
		Namespace:    tf.namespace,
		Labels:       tf.labels.values,
		Annotations:  tf.annotations.values,
		APIVersion:   tf.apiVersion.value,
		TalosVersion: tf.setting.version.text,
		GenerateType: cmp.Or(tf.generate.value, "worker"),
		Inputs:       tf.inputs.list,
		Sensitive:    tf.sensitive,

		StrategicPatches: [][]byte{patch.Bytes()},
	}
	if tf.data != "" {
		data, err := t.readFile(tf.data, maxSkeleton)
		if err != nil {
			return none, err
		}
		if err := tf.judgeSkeleton(data); err != nil {
			return none, err
		}
		template.GenerateType = "none"
		template.Skeleton = string(data)
		tf.warnOfPlainNames(t, template.Skeleton)
	}
	return template, nil
}

var nameInSkeleton = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// warnOfPlainNames tells of each ${NAME} that is no input: it stays these characters.
func (tf *templateFlags) warnOfPlainNames(t *tool, skeleton string) {
	number := 0
	for line := range strings.Lines(skeleton) {
		number++
		for _, at := range nameInSkeleton.FindAllStringIndex(line, -1) {
			if name := line[at[0]+2 : at[1]-1]; !tf.inputs.has(name) && !strings.HasPrefix(strings.TrimSpace(line), "#") {
				t.say("%s:%d:%d: warning: ${%s} is no --input and stays as it is", shown(tf.data), number, at[0]+1, name)
			}
		}
	}
}

// judgeSkeleton finds what is wrong with the skeleton as YAML, and then has
// Talos's own code load it with a value for each input, so that a mistake shows
// here and not at the provider. Registries in it are refused: the patch would
// append to their lists.
func (tf *templateFlags) judgeSkeleton(data []byte) error {
	if len(data) > maxSkeleton {
		return tf.wrongSkeleton(mirrors.Finding{Rule: "input-size", Message: fmt.Sprintf("more than %d bytes", maxSkeleton),
			Fix: "want a skeleton that fits into a ConfigMap"})
	}
	_, findings := documents(data)
	if findings != nil {
		return tf.wrongSkeleton(findings...)
	}
	filled := string(data)
	for _, in := range tf.inputs.list {
		filled = strings.ReplaceAll(filled, "${"+in.Name+"}", sample(in))
	}
	effective, err := configpatch.Read([]byte(filled))
	if err != nil {
		return inConfig(tf.data, []byte(filled), err)
	}
	for _, e := range effective.Entries {
		findings = append(findings, mirrors.Finding{Rule: ruleOwnRegistries, Line: e.Line,
			Message: fmt.Sprintf("the skeleton has registries of its own: %s %q", e.Kind, e.Name),
			Fix:     "want all of them in the file that -f names; the patch would append to their lists"})
	}
	if findings != nil {
		return tf.wrongSkeleton(findings...)
	}
	return nil
}

func (tf *templateFlags) wrongSkeleton(findings ...mirrors.Finding) error {
	for i := range findings {
		findings[i].Severity = mirrors.SeverityError
	}
	return &findingsError{file: tf.data, findings: findings}
}

// callOrInput tells whose mistake an error of reconcile is. What it says of the
// skeleton gets the file's name; what it says of a setting, the flag's.
func (tf *templateFlags) callOrInput(err error) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var findings mirrors.Findings
	call := false
	var lines []string
	for _, e := range all {
		var one *reconcile.Error
		if !errors.As(e, &one) {
			lines = append(lines, e.Error())
			continue
		}
		said := *one
		if strings.HasPrefix(one.Path, "skeleton") && tf.data != "" {
			said.Path, said.Line, said.Fix = "", 0, ""
			for text := range strings.SplitSeq(said.Error(), "\n") {
				findings = append(findings, mirrors.Finding{Rule: ruleSkeleton, Line: one.Line, Message: text, Fix: one.Fix})
			}
			continue
		}
		for _, f := range flagPaths {
			if rest, ok := strings.CutPrefix(one.Path, f.path); ok && (rest == "" || strings.ContainsAny(rest[:1], "[.")) {
				said.Path = "--" + f.flag + rest
				call = true
				break
			}
		}
		lines = append(lines, said.Error())
	}
	switch {
	case lines == nil:
		return tf.wrongSkeleton(findings...)
	case call:
		return &callError{errors.New(strings.Join(lines, "\n"))}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// flagPaths has the flag for each path that reconcile names.
var flagPaths = []struct{ path, flag string }{
	{"name", "name"}, {"namespace", "namespace"}, {"labels", "label"}, {"annotations", "annotation"},
	{"apiVersion", "api-version"}, {"talosVersion", "talos-version"}, {"generateType", "generate-type"}, {"inputs", "input"},
	{"job.name", "name"}, {"job.namespace", "namespace"}, {"job.image", "image"}, {"job.serviceAccount", "service-account"},
	{"job.runID", "run-id"}, {"job.ttl", "ttl"}, {"job.deadline", "deadline"},
}

func (t *tool) scriptCommand() *cobra.Command {
	var tf templateFlags
	cmd := &cobra.Command{
		Use:   "script -f FILE",
		Short: "Print a shell script that applies a TalosConfigTemplate",
		Long: `Script prints a POSIX shell script that applies a TalosConfigTemplate for the
Cluster API bootstrap provider for Talos with kubectl. It is for a mounted file
or a terminal, not for a container's command: the kubelet would expand $(NAME)
in it. Job makes that, too.
` + templateHelp,
		Example: `  mirrorctl script --from cozystack -f values.yaml | sh
  mirrorctl script -f registries.yaml --name dev --group md0 --namespace tenant-dev`,
		Args: cobra.NoArgs,
		RunE: tf.run(t, func(template reconcile.Template, _ string) ([]byte, error) {
			script, err := reconcile.Script(template)
			return script.Bytes(), err
		}),
	}
	tf.register(cmd)
	return cmd
}

func (t *tool) jobCommand() *cobra.Command {
	var tf templateFlags
	var job reconcile.Job
	var ttl, deadline span
	cmd := &cobra.Command{
		Use:   "job -f FILE",
		Short: "Print a Job that applies a TalosConfigTemplate, with its rights",
		Long: `Job prints the manifests of a Job that applies a TalosConfigTemplate for the
Cluster API bootstrap provider for Talos: the Job, its ServiceAccount, and a
Role and a RoleBinding that allow exactly what it does. The same input gives
the same bytes and another one the Job another name. The script is in the
Job's command when it fits and holds no secret, else in a mounted ConfigMap or
Secret.
` + templateHelp,
		Example: `  mirrorctl job --from cozystack -f values.yaml | kubectl apply -f -
  mirrorctl job --from cozystack -f values.yaml --data skeleton.yaml \
    --input SERVICE_IP:address=jsonpath:services/kubernetes-dev:{.spec.clusterIP} \
    --input TALOS_CA=secret:kubernetes-dev-talos-ca:tls.crt \
    --input BOOTSTRAP_TOKEN:token=env:kubernetes-dev-tokens:bootstrap`,
		Args: cobra.NoArgs,
		RunE: tf.run(t, func(template reconcile.Template, name string) ([]byte, error) {
			job.Template, job.TTL, job.Deadline = template, ttl.duration, deadline.duration
			if template.Name != name {
				job.Name = name // the rights keep theirs from one template to the next
			}
			objects, err := reconcile.Manifests(job)
			return objects.Bytes(), err
		}),
	}
	tf.register(cmd)
	flags := cmd.Flags()
	flags.Var(&once{value: &job.Image, what: "IMAGE"}, "image", "the Job's image, with kubectl and a shell (default: "+reconcile.DefaultImage+")")
	flags.Var(&once{value: &job.ServiceAccount, what: "NAME"}, "service-account", "one that is there already; without it one is made")
	flags.Var(&once{value: &job.RunID, what: "TEXT"}, "run-id", "any text: gives the Job another name, to run the same content again")
	flags.Var(&ttl, "ttl", "how long the Job stays after its end (default: 10m)")
	flags.Var(&deadline, "deadline", "how long it may take (default: what its inputs may take to appear, and 5m)")
	for _, free := range []string{"image", "service-account", "run-id", "ttl", "deadline"} {
		complete(cmd, free, nil)
	}
	return cmd
}
