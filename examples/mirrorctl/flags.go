package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "word" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		last := len(c.allowed) - 1
		return fmt.Errorf("want %s or %s", strings.Join(c.allowed[:last], ", "), c.allowed[last])
	}
	c.value = s
	return nil
}

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
		return errors.New("given twice")
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
}

func (v *version) String() string { return v.text }
func (v *version) Type() string   { return "version" }

func (v *version) Set(s string) error {
	parsed, err := configpatch.ParseVersion(s)
	if err != nil {
		return err
	}
	v.version, v.text = parsed, "v"+strings.TrimPrefix(s, "v")
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
