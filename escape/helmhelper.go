package escape

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
)

// HelmCommand is the script as a YAML scalar for the command of a Job in a
// chart's template: the kubelet's layer, then YAML, then Helm, in the one order
// that is right. The scalar holds no { and no <, so that Helm finds no action in
// it, and no <no value>, which it would delete. It refuses what
// [Script.Kubelet] refuses.
func (s Script) HelmCommand() (string, error) {
	arg, err := s.Kubelet()
	if err != nil {
		return "", err
	}
	return string(appendYAML(make([]byte, 0, len(arg)+len(arg)/8), arg, true)), nil
}

//go:embed helpers.tpl
var helpersFile string

// helpers is the file with the names that no live variable may have.
var helpers = strings.Replace(helpersFile, "RESERVED", "^("+strings.Join(append([]string{ownPrefix}, reservedPrefixes...), "|")+")|^("+
	strings.Join(slices.Sorted(maps.Keys(reservedNames)), "|")+")\\\\z", 1)

// HelmHelper is two definitions for a chart's _helpers.tpl, for charts that
// build a script out of values.
//
// mirrorpatch.heredoc prints a whole here-document, from the command to the
// line behind the delimiter. It takes a dict: command, a string that the chart's
// author writes; and either text, a string of any content, or parts, a list of
// (dict "text" STRING) and (dict "live" "NAME"). It fails the rendering on NUL,
// 0x01, a body without a final newline, a body in which every letter from A to
// Z begins a line, and a body that holds <no value>: Helm 3.22.0 deletes that
// from what it has rendered, and the rest of such a line could be the delimiter.
// It also fails on an argument that is something else than that: another key,
// no parts, a live name that [Live] refuses, a command that ends in a comment or
// before its end. What stands in front of it must be LC_ALL=C, export LC_ALL and
// set -eu, as [Program] writes them.
//
// mirrorpatch.command takes a finished script, a string, and prints it as one
// YAML double-quoted scalar for a container's command, kubelet layer included.
// It fails on an empty script, on NUL, on invalid UTF-8 and on more than
// [MaxArgument] bytes.
func HelmHelper() string { return helpers }
