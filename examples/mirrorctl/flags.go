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

// single is a flag that is given once: of two files, one would be ignored.
type single struct{ given bool }

// take is called for each value that the flag is given.
func (s *single) take() error {
	if s.given && !completing {
		return errors.New("given twice")
	}
	s.given = true
	return nil
}

// choice is a flag that takes one of a few words.
type choice struct {
	single
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "WORD" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		last := len(c.allowed) - 1
		return fmt.Errorf("want %s or %s", strings.Join(c.allowed[:last], ", "), c.allowed[last])
	}
	if err := c.take(); err != nil {
		return err
	}
	c.value = s
	return nil
}

// once is a flag that takes a text.
type once struct {
	single
	value *string
	what  string
}

func (o *once) String() string { return *o.value }
func (o *once) Type() string   { return o.what }

func (o *once) Set(s string) error {
	if s == "" {
		return errors.New("empty")
	}
	if err := o.take(); err != nil {
		return err
	}
	*o.value = s
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
	single
	version configpatch.Version
	text    string // as given, with the v in front that Talos writes
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
	if err := v.take(); err != nil {
		return err
	}
	v.version, v.text = parsed, "v"+strings.TrimPrefix(s, "v")
	return nil
}

// span is a flag that takes a duration of whole seconds.
type span struct {
	single
	duration time.Duration
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
	if err != nil || parsed%time.Second != 0 || parsed <= 0 {
		return errors.New("want whole seconds, 1s or more, such as 90s or 10m")
	}
	if err := d.take(); err != nil {
		return err
	}
	d.duration = parsed
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
