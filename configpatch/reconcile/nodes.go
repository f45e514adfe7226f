package reconcile

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// Nodes are machines that run, and the patches for their configuration.
type Nodes struct {
	Addresses []string // IP addresses or DNS names, as talosctl --nodes takes them
	Patches   [][]byte // strategic-merge patches, all given to one call of talosctl in this order

	// Mode is talosctl's: no-reboot, which an empty one stands for and which
	// fails when the change needs a reboot, auto, reboot, staged or try.
	Mode string
}

var modes = []string{"no-reboot", "auto", "reboot", "staged", "try"}

// NodesScript returns the script that patches one node after the other with
// talosctl (1.8 or later; it takes its credentials from $TALOSCONFIG, as ever). It stops
// at the first node that fails, with talosctl's exit code; the nodes before
// are patched. Patches that converge, as configpatch.Replace makes them, can then be applied to all again.
//
// The patches stand in the script, and in talosctl's arguments: who may see
// either may see a password in them. The error is an [*Error] for each problem that was
// found, joined.
func NodesScript(n Nodes) (escape.Script, error) {
	var p problems
	if len(n.Addresses) == 0 {
		p.add("addresses", "want at least one", "no node")
	}
	for i, a := range n.Addresses {
		at := fmt.Sprintf("addresses[%d]", i)
		if ip, err := netip.ParseAddr(a); (err != nil || ip.Zone() != "") && !isSubdomain(a) {
			p.add(at, "want an IP address without brackets or a DNS name in lower case", "invalid address %q", a)
		} else if slices.Contains(n.Addresses[:i], a) {
			p.add(at, "want each node once", "repeated address %q", a)
		}
	}
	mode := n.Mode
	if mode == "" {
		mode = modes[0]
	} else if !slices.Contains(modes, mode) {
		p.add("mode", "want "+strings.Join(modes[:len(modes)-1], ", ")+" or "+modes[len(modes)-1], "unknown mode %q", mode)
	}
	if len(n.Patches) == 0 {
		p.add("patches", "want at least one", "no patch")
	}
	var sensitive bool
	arguments := escape.Join(escape.Lit(" --mode "), escape.Word(mode))
	for i, patch := range n.Patches {
		at := fmt.Sprintf("patches[%d]", i)
		p.patch(at, string(patch), &sensitive)
		if size := len(patch); size > escape.MaxArgument {
			p.add(at, fmt.Sprintf("want at most %d, which is what Linux takes as one argument", escape.MaxArgument), "%d bytes", size)
		}
		arguments = escape.Join(arguments, escape.Lit(" --patch "), escape.Word(string(patch)))
	}
	if p != nil {
		return escape.Script{}, errors.Join(p...)
	}
	var parts []escape.Shell
	for _, a := range n.Addresses {
		parts = append(parts,
			escape.Lit("printf 'mirrorpatch: patching node %s\\n' "), escape.Word(a), escape.Lit(" >&2\n"),
			escape.Lit("talosctl patch machineconfig --nodes "), escape.Word(a), arguments, escape.Lit("\n"))
	}
	script, err := escape.Program(parts...)
	if err != nil {
		return escape.Script{}, &Error{Path: "script", Err: err}
	}
	return script, nil
}
