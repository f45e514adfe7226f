package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value   string
	allowed []string
	given   bool
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "WORD" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		last := len(c.allowed) - 1
		return fmt.Errorf("want %s or %s", strings.Join(c.allowed[:last], ", "), c.allowed[last])
	}
	if c.given {
		return errTwice
	}
	c.value, c.given = s, true
	return nil
}

var errTwice = errors.New("given twice")

// once is a flag that is given once: of two files, one would be ignored.
type once struct {
	value *string
	what  string
	given bool
}

func (o *once) String() string { return *o.value }
func (o *once) Type() string   { return o.what }

func (o *once) Set(s string) error {
	if o.given {
		return errTwice
	}
	if s == "" {
		return errors.New("empty")
	}
	*o.value, o.given = s, true
	return nil
}

// names is a flag that takes names, with commas between them or repeated.
type names struct {
	list  []string
	given bool
}

func (n *names) String() string { return "" }
func (n *names) Type() string   { return "NAMES" }

func (n *names) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		if name == "" {
			return errors.New("an empty name")
		}
		n.list = append(n.list, name)
	}
	n.given = true
	return nil
}

// version is a flag that takes a version of Talos.
type version struct {
	version configpatch.Version
	text    string // as given, with the v in front that Talos writes
	given   bool
}

func (v *version) String() string { return v.text }
func (v *version) Type() string   { return "VERSION" }

func (v *version) Set(s string) error {
	parsed, err := configpatch.ParseVersion(s)
	if err != nil {
		return err
	}
	if parsed.IsZero() {
		return errors.New("there was no such version (want 1.3 or later)")
	}
	if v.given {
		return errTwice
	}
	v.version, v.text, v.given = parsed, "v"+strings.TrimPrefix(s, "v"), true
	return nil
}

// span is a flag that takes a duration of whole seconds.
type span struct {
	duration time.Duration
	given    bool
}

func (d *span) String() string {
	if d.duration == 0 {
		return ""
	}
	return d.duration.String()
}

func (d *span) Type() string { return "DURATION" }

func (d *span) Set(s string) error {
	parsed, err := time.ParseDuration(s)
	switch {
	case err != nil || parsed%time.Second != 0 || parsed <= 0:
		return errors.New("want whole seconds, 1s or more, such as 90s or 10m")
	case d.given:
		return errTwice
	}
	d.duration, d.given = parsed, true
	return nil
}

// complete offers a flag's words to the shell.
func complete(cmd *cobra.Command, flag string, words []string) {
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// must is for what can only fail when a flag's name is misspelt in this source.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
