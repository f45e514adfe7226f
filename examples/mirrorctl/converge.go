package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// converging is what plan and apply have in common.
type converging struct {
	in     input
	s      setting
	config string
	own    names
}

func (c *converging) register(cmd *cobra.Command) {
	c.in.register(cmd)
	c.s.register(cmd, "")
	flags := cmd.Flags()
	flags.Var(&once{value: &c.config, what: "CONFIG"}, "config", "the machine configuration; - is standard input (required)")
	flags.Var(&c.own, "own", "the registries and hosts that are yours, with commas or repeated: what is yours and not in FILE is removed;\n* is the mirror *; without it all of them are yours")
	must(cmd.MarkFlagRequired("config"))
	must(cmd.MarkFlagFilename("config", "yaml", "yml"))
	complete(cmd, "own", nil)
}

// run makes the plan, tells a person of it and hands it over.
func (c *converging) run(t *tool, print func(configpatch.Plan) error) func(*cobra.Command, []string) error {
	return t.do(func() error {
		plan, err := c.plan(t)
		if err != nil {
			return err
		}
		if err := t.tell(plan); err != nil {
			return err
		}
		return print(plan)
	})
}

func (c *converging) plan(t *tool) (configpatch.Plan, error) {
	if c.in.file == "-" && c.config == "-" {
		return configpatch.Plan{}, wrongCall("--file and --config are both standard input")
	}
	source, err := c.in.readChecked(t, &c.s, true)
	if err != nil {
		return configpatch.Plan{}, err
	}
	current, err := t.readConfig(c.config)
	if err != nil {
		return configpatch.Plan{}, err
	}
	if _, err := configpatch.Read(current); err != nil {
		return configpatch.Plan{}, inConfig(c.config, current, err)
	}
	plan, err := configpatch.Converge(current, source.Set, c.s.version.version, c.options()...)
	if err != nil {
		return plan, inCall(c.config, err)
	}
	return plan, nil
}

// options leaves the form to Converge unless one was asked for: an entry that
// agrees may stay in the form that it is in.
func (c *converging) options() []configpatch.Option {
	opts := c.s.withoutForm()
	if c.s.form.value != "" {
		opts = c.s.options()
	}
	if c.own.given {
		opts = append(opts, configpatch.Own(c.own.list...))
	}
	return opts
}

func (t *tool) planCommand() *cobra.Command {
	var c converging
	var output encoding
	cmd := &cobra.Command{
		Use:   "plan -f FILE --config CONFIG --talos-version V",
		Short: "Print the one patch that a configuration needs",
		Long: `Plan compares a machine configuration with FILE and prints the least patch that
makes them agree, for exactly this configuration and for one use; nothing when
they agree already. On a terminal it shows on standard error what changes, with
secrets redacted. With -o json or yaml it prints what changes, whether the node
takes it up only when it reboots, and the patch as a text: empty when there is none.`,
		Example: `  mirrorctl plan -f registries.yaml --config worker.yaml --talos-version v1.13
  mirrorctl plan -f registries.yaml --config worker.yaml --talos-version v1.13 --own ghcr.io,docker.io`,
		Args: cobra.NoArgs,
		RunE: c.run(t, func(plan configpatch.Plan) error {
			var patch []byte
			if plan.Patch != nil {
				patch = plan.Patch.Bytes()
			}
			if !output.text() {
				return t.encode(output, planOf(plan, patch))
			}
			t.put(patch)
			return nil
		}),
	}
	c.register(cmd)
	output.register(cmd, "what is printed; text is the patch")
	return cmd
}

// planned is a plan as -o json has it.
type planned struct {
	Changes []change `json:"changes"`
	Reboot  bool     `json:"reboot"` // the node takes it up only when it reboots
	Patch   string   `json:"patch"`
}

type change struct {
	Kind   string `json:"kind"` // mirror, auth or tls
	Name   string `json:"name"`
	Action string `json:"action"` // added, changed, removed or moved
}

func planOf(plan configpatch.Plan, patch []byte) planned {
	p := planned{Changes: []change{}, Reboot: plan.Reboot, Patch: string(patch)}
	for _, c := range plan.Changes {
		p.Changes = append(p.Changes, change{c.Kind.String(), c.Name, c.Action.String()})
	}
	return p
}

func (t *tool) applyCommand() *cobra.Command {
	var c converging
	cmd := &cobra.Command{
		Use:   "apply -f FILE --config CONFIG --talos-version V",
		Short: "Print a configuration as it is after the patch that plan prints",
		Long: `Apply prints the machine configuration with its registries as FILE has them.
What agrees already comes back as it was, byte for byte; else Talos's own
encoding is printed, which keeps no comments.`,
		Example: `  mirrorctl apply -f registries.yaml --config worker.yaml --talos-version v1.13 > new.yaml`,
		Args:    cobra.NoArgs,
		RunE: c.run(t, func(plan configpatch.Plan) error {
			if plan.Patch != nil {
				t.tellOfComments()
			}
			t.put(plan.Result())
			return nil
		}),
	}
	c.register(cmd)
	return cmd
}

func (t *tool) tellOfComments() {
	t.say("mirrorctl: the configuration is encoded anew: its comments are not kept")
}

// tell writes for a person what a plan does.
func (t *tool) tell(plan configpatch.Plan) error {
	if t.person {
		before, err := plan.Before.Registries(false)
		if err != nil {
			return err
		}
		after, err := markChanged(plan)
		if err != nil {
			return err
		}
		for _, c := range plan.Changes {
			fmt.Fprintln(t.stderr, paint(t.personColour, bold, c.String()))
		}
		t.printDiff(udiff.Unified("before", "after", withoutLines(before), withoutLines(after)))
		if plan.Patch == nil {
			fmt.Fprintln(t.stderr, "nothing to do")
		}
	}
	if plan.Reboot {
		t.say("mirrorctl: the node takes the new credentials up when it reboots (before Talos 1.14)")
	}
	return nil
}

// markChanged is the redacted configuration after the plan, which says of a
// secret that it is another one than before: else a diff would not show it.
func markChanged(plan configpatch.Plan) ([]byte, error) {
	out, err := plan.After.Registries(false)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(out, &root); err != nil {
		return nil, err
	}
	nodes := map[string]*yaml.Node{}
	values(&root, nil, nodes)
	marked := false
	for host, now := range plan.After.Set.Config {
		was := secretsOf(plan.Before.Set.Config[host])
		for field, secret := range secretsOf(now) {
			old := was[field]
			if node := nodes[joined("config", host, field)]; node != nil && !old.IsZero() && !secret.IsZero() && old != secret {
				node.SetString("[redacted, changed]")
				marked = true
			}
		}
	}
	if !marked {
		return out, nil
	}
	var b bytes.Buffer
	if err := yaml.NewEncoder(&b).Encode(&root); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// secretsOf are the secrets of a host by what keys, joined, lead to them.
func secretsOf(c mirrors.HostConfig) map[string]mirrors.Secret {
	secrets := map[string]mirrors.Secret{}
	if a := c.Auth; a != nil {
		secrets[joined("auth", "password")] = a.Password
		secrets[joined("auth", "auth")] = a.Auth
		secrets[joined("auth", "identityToken")] = a.IdentityToken
	}
	if c.TLS != nil && c.TLS.ClientIdentity != nil {
		secrets[joined("tls", "clientIdentity", "key")] = c.TLS.ClientIdentity.Key
	}
	return secrets
}

// joined is a path whose keys may hold any printable character.
func joined(keys ...string) string { return strings.Join(keys, "\x00") }

// values collects the scalars of nested mappings by their joined keys.
func values(n *yaml.Node, path []string, nodes map[string]*yaml.Node) {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, item := range n.Content {
			values(item, path, nodes)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			values(n.Content[i+1], append(slices.Clone(path), n.Content[i].Value), nodes)
		}
	case yaml.ScalarNode:
		nodes[joined(path...)] = n
	}
}

// withoutLines drops the line numbers in the comments that Registries writes:
// they change with every line above.
func withoutLines(registries []byte) string {
	return lineNumber.ReplaceAllString(string(registries), "$1")
}

var lineNumber = regexp.MustCompile(`(?m)^( *# .*), line \d+$`)

func (t *tool) printDiff(diff string) {
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		colour, on := "", t.personColour
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			colour = bold
		case strings.HasPrefix(line, "@@"):
			colour = cyan
		case strings.HasPrefix(line, "+"):
			colour = green
		case strings.HasPrefix(line, "-"):
			colour = red
		default:
			on = false
		}
		fmt.Fprintln(t.stderr, paint(on, colour, line))
	}
}

// withConfig makes a RunE of work with the machine configuration that the one argument names.
func (t *tool) withConfig(work func(file string, data []byte) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return t.do(func() error {
			data, err := t.readConfig(args[0])
			if err != nil {
				return err
			}
			return work(args[0], data)
		})(cmd, args)
	}
}

func (t *tool) readCommand() *cobra.Command {
	var reveal bool
	var output encoding
	cmd := &cobra.Command{
		Use:   "read CONFIG",
		Short: "Print which registries a machine configuration says, all told",
		Long: `Read prints what a machine configuration says about registries once both forms
are taken together, in the shape of machine.registries, with a comment at each
entry that says where it is from. Secrets are redacted unless --reveal is given.
With -o json or yaml that shape is under registries; entries say where each is
from, and ignored names what is not about registries.`,
		Example: `  mirrorctl read worker.yaml
  talosctl get machineconfig -o jsonpath='{.spec}' | mirrorctl read -`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFiles("yaml", "yml"),
		RunE: t.withConfig(func(file string, data []byte) error {
			effective, err := configpatch.Read(data)
			if err != nil {
				return inConfig(file, data, err)
			}
			out, err := effective.Registries(reveal)
			if err != nil {
				return inFile(file, err)
			}
			if !output.text() {
				shown, err := effectiveOf(effective, out)
				if err != nil {
					return inFile(file, err)
				}
				return t.encode(output, shown)
			}
			t.put(out)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&reveal, "reveal", false, "print passwords, tokens and keys")
	output.register(cmd, "what is printed; text is YAML with comments")
	return cmd
}

// effective is what a configuration says as -o json has it.
type effective struct {
	Registries any      `json:"registries"` // in the shape of machine.registries
	Entries    []origin `json:"entries"`
	Ignored    []string `json:"ignored"`
}

type origin struct {
	Kind   string `json:"kind"` // mirror, auth or tls
	Name   string `json:"name"`
	Origin string `json:"origin"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// effectiveOf puts together what a configuration says and where; registries is
// what Registries made of it.
func effectiveOf(e *configpatch.Effective, registries []byte) (effective, error) {
	shown := effective{Entries: []origin{}, Ignored: list(e.Ignored)}
	if err := yaml.Unmarshal(registries, &shown.Registries); err != nil {
		return shown, err
	}
	for _, entry := range e.Entries {
		shown.Entries = append(shown.Entries, origin{entry.Kind.String(), entry.Name, entry.Origin.String(), entry.Line, entry.Column})
	}
	return shown, nil
}

func (t *tool) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate CONFIG",
		Short: "Print a configuration with its registries as documents",
		Long: `Migrate prints a machine configuration whose machine.registries became the
documents of Talos 1.12.2 and later. What it says about registries stays the
same. Without machine.registries it comes back as it was, byte for byte; else
Talos's own encoding is printed, which keeps no comments.`,
		Example:           `  mirrorctl migrate worker.yaml > new.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeFiles("yaml", "yml"),
		RunE: t.withConfig(func(file string, data []byte) error {
			migrated, err := configpatch.Migrate(data)
			if err != nil {
				return inConfig(file, data, err)
			}
			if string(migrated) != string(data) {
				t.tellOfComments()
			}
			t.put(migrated)
			return nil
		}),
	}
}
