// Command storesweep prints the start script of a k3s node whose containerd
// store outlives it, such as a container or a VM with a volume at
// /var/lib/rancher/k3s:
//
//	go run ./examples/storesweep -- k3s server >start-node
//	sh start-node --node-name a     # on the node, as root
//
// What the last run left (tasks, containers, sandboxes, leases) keeps names and
// snapshots that the next one wants: "failed to reserve sandbox name". The images
// are worth keeping. On the first start of a boot the script starts containerd by
// k3s's own configuration on a private socket, removes all that through ctr, stops
// containerd, and then becomes the entry point, with its own arguments added.
// Where that cannot be done, the whole store is thrown away; where that cannot be done
// either, the node is not started, with exit status 1 and the reason on standard error.
//
//	a file of the boot's ID in -run        the entry point at once
//	no store                               the marker, the entry point
//	swept through containerd               the marker, the entry point
//	containerd or ctr missing, failing,    the store is emptied, never through a symbolic
//	hanging, not ready in time, dying      link and never where something is mounted in it,
//	                                       then the marker, the entry point
//	a store that is a symbolic link,       exit status 1, nothing touched
//	a marker that cannot be written,
//	a containerd that runs already,
//	another start, a -run of others
//	a store that cannot be emptied         exit status 1; the next start goes on with it
//	SIGHUP, SIGINT, SIGTERM                128 + its number; no marker, so it begins anew
//
// The script is built with package escape: every setting is a Go value, and goes
// through escape.Word. It is tested in dash 0.5.12, busybox 1.35 and the other
// shells that escape promises, with stand-ins for containerd and ctr. The entry point gets the
// script's environment with LC_ALL=C. The script needs Linux, and cat, id, ls, mkdir, mv, rm,
// rmdir, sleep and tail.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process. Exit codes: 0 done; 1 a setting is wrong; 2 the call is wrong.
func run(args []string, stdout, stderr io.Writer) int {
	c := K3s()
	flags := flag.NewFlagSet("storesweep", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: storesweep [flags] [-- ENTRY ARGS…]\nThe default entry point is %s.\n", strings.Join(c.Entry, " "))
		flags.PrintDefaults()
	}
	flags.StringVar(&c.Store, "store", c.Store, "containerd's root `folder`, which is swept")
	flags.StringVar(&c.State, "state", c.State, "containerd's state `folder`")
	flags.StringVar(&c.Socket, "socket", c.Socket, "`socket` of the entry point's containerd; nothing is swept while one listens there")
	flags.StringVar(&c.Settings, "config", c.Settings, "containerd's configuration `file`")
	flags.StringVar(&c.Run, "run", c.Run, "`folder` for the marker and the private socket, best in tmpfs")
	flags.StringVar(&c.Namespace, "namespace", c.Namespace, "containerd's `namespace` of the kubelet's containers")
	flags.StringVar(&c.Containerd, "containerd", c.Containerd, "`program`")
	flags.StringVar(&c.Ctr, "ctr", c.Ctr, "`program`")
	flags.DurationVar(&c.Ready, "ready", c.Ready, "how long containerd may take to answer")
	flags.DurationVar(&c.Call, "call", c.Call, "how long one call of ctr may take")
	flags.DurationVar(&c.Stop, "stop", c.Stop, "how long containerd may take to end, before it is killed")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if flags.NArg() > 0 {
		c.Entry = flags.Args()
	}
	script, err := Script(c)
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			fmt.Fprintf(stderr, "storesweep: %s\n", line)
		}
		return 1
	}
	if _, err := fmt.Fprintf(stdout, "#!/bin/sh\n%s", script); err != nil {
		fmt.Fprintf(stderr, "storesweep: standard output: %v\n", err)
		return 1
	}
	return 0
}
