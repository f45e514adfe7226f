package reconcile

import (
	"fmt"
	"io"
	"log/slog"
)

// What holds a patch, a skeleton, a script or a value may hold a secret. With
// fmt and log/slog it says what it is, never what it holds, whatever the verb.

// String returns what t is, as TalosConfigTemplate tenant-a/md0, without what it holds.
func (t Template) String() string { return "TalosConfigTemplate " + t.Namespace + "/" + t.Name }

// Format writes String, whatever the verb.
func (t Template) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// LogValue returns String.
func (t Template) LogValue() slog.Value { return slog.StringValue(t.String()) }

// String returns what j is, as Job tenant-a/md0, without what it holds.
func (j Job) String() string { return "Job " + j.namespace() + "/" + j.name() }

// Format writes String, whatever the verb.
func (j Job) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, j.String()) }

// LogValue returns String.
func (j Job) LogValue() slog.Value { return slog.StringValue(j.String()) }

// String returns what o is, as Job md0-0123456789abcdef, 4711 bytes, the
// script in a command, without what it holds; Bytes returns that.
func (o Objects) String() string {
	return fmt.Sprintf("Job %s, %d bytes, the script in a %s", o.jobName, len(o.yaml), o.transport)
}

// Format writes String, whatever the verb.
func (o Objects) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.String()) }

// LogValue returns String.
func (o Objects) LogValue() slog.Value { return slog.StringValue(o.String()) }

// String returns the input's name and where its value comes from.
func (in Input) String() string { return fmt.Sprintf("%s from %v", in.Name, in.From) }

// Format writes String, whatever the verb.
func (in Input) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, in.String()) }

// LogValue returns String.
func (in Input) LogValue() slog.Value { return slog.StringValue(in.String()) }

// String tells of a value only that there is one.
func (f FromEnv) String() string {
	switch {
	case f.Secret != "" || f.Key != "":
		return "the environment: key " + f.Key + " of Secret " + f.Secret
	case f.Value != "":
		return "the environment: a text"
	}
	return "the environment"
}

// Format writes String, whatever the verb.
func (f FromEnv) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.String()) }

// LogValue returns String.
func (f FromEnv) LogValue() slog.Value { return slog.StringValue(f.String()) }

// String returns how many nodes and patches there are.
func (n Nodes) String() string {
	return fmt.Sprintf("%d patches for %d nodes", len(n.Patches), len(n.Addresses))
}

// Format writes String, whatever the verb.
func (n Nodes) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.String()) }

// LogValue returns String.
func (n Nodes) LogValue() slog.Value { return slog.StringValue(n.String()) }
