package reconcile

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

func TestNodesScript(t *testing.T) {
	n := Nodes{Addresses: []string{"192.0.2.1", "fd00::1", "n3.example.com"}}
	for _, text := range hostile(t) {
		patch := []byte("a: b\n# " + text + "\n")
		if _, err := NodesScript(Nodes{Addresses: n.Addresses, Patches: [][]byte{patch}}); err == nil {
			n.Patches = append(n.Patches, patch)
		}
	}
	require.Greater(t, len(n.Patches), 100)
	n.Patches = slices.DeleteFunc(n.Patches, func(p []byte) bool { return len(p) > 20000 }) // all of them must fit into one call
	want := func(node, mode string, patches [][]byte) []string {
		args := []string{"patch", "machineconfig", "--nodes", node, "--mode", mode}
		for _, p := range patches {
			args = append(args, "--patch", string(p))
		}
		return args
	}
	script, err := NodesScript(n)
	require.NoError(t, err)
	failing := Nodes{Addresses: []string{"192.0.2.1", "fails.example.com", "192.0.2.3"}, Patches: [][]byte{[]byte("a: b"), []byte("c: d")}, Mode: "staged"}
	fails, err := NodesScript(failing)
	require.NoError(t, err)
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		run := func(script escape.Script) (run, [][]string) {
			r := execute(t, append(slices.Clone(sh.Args), "-c", script.String()), []string{"LC_ALL=C.UTF-8"}, cluster{})
			calls := make([][]string, len(r.calls))
			for i, call := range r.calls {
				calls[i] = strings.Split(call, "\x00")
			}
			return r, calls
		}
		r, calls := run(script)
		require.Zero(t, r.exit, r.stderr)
		require.Len(t, calls, 3)
		for i, node := range n.Addresses {
			require.Equal(t, want(node, "no-reboot", n.Patches), calls[i])
		}
		r, calls = run(fails)
		require.Equal(t, 3, r.exit)
		require.Equal(t, [][]string{want("192.0.2.1", "staged", failing.Patches), want("fails.example.com", "staged", failing.Patches)}, calls)
		require.Contains(t, r.stderr, "mirrorpatch: patching node fails.example.com\nerror")
	})
}

func TestNodesErrors(t *testing.T) {
	_, err := NodesScript(Nodes{})
	require.EqualError(t, err, "addresses: no node (want at least one)\npatches: no patch (want at least one)")
	_, err = NodesScript(Nodes{
		Addresses: []string{"[fd00::1]", "-n", "fe80::1%eth0", "192.0.2.1", "192.0.2.1"},
		Patches:   [][]byte{[]byte("a: b # " + strings.Repeat("x", 131072)), []byte("- op: remove"), []byte("\x00")},
		Mode:      "now",
	})
	require.EqualError(t, err, `addresses[0]: invalid address "[fd00::1]" (want an IP address without brackets or a DNS name in lower case)
addresses[1]: invalid address "-n" (want an IP address without brackets or a DNS name in lower case)
addresses[2]: invalid address "fe80::1%eth0" (want an IP address without brackets or a DNS name in lower case)
addresses[4]: repeated address "192.0.2.1" (want each node once)
mode: unknown mode "now" (want no-reboot, auto, reboot, staged or try)
patches[0]: 131079 bytes (want at most 131071, which is what Linux takes as one argument)
patches[1]: line 1: a list, as a JSON 6902 patch is (want a map: Talos applies JSON 6902 to no configuration of several documents)
patches[2]: line 1: NUL byte (want text: no shell carries this byte)`)
}
