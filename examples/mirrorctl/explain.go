package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func (t *tool) explainCommand() *cobra.Command {
	var in input
	var imageCache bool
	var list string
	var output encoding
	cmd := &cobra.Command{
		Use:   "explain -f FILE IMAGE…",
		Short: "Tell where a node will look for an image, and in which order",
		Long: `Explain prints the base URLs that a node tries for each image, in order, as
Talos 1.13.9 and containerd 2.3.3 do. A node has two pullers: machined pulls
the installer, the kubelet and etcd, containerd everything else. They read the
same configuration and do not always agree; where they differ, explain says
why. It tells what happens also for a file in which check finds errors.`,
		Example: `  mirrorctl explain -f registries.yaml nginx ghcr.io/siderolabs/installer:v1.13.0
  mirrorctl explain --from talos -f worker.yaml --images images.txt -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.do(func() error { return t.explain(&in, list, args, imageCache, output) })(cmd, args)
		},
	}
	in.register(cmd)
	cmd.Flags().Var(&once{value: &list, what: "LIST"}, "images", "a file with an image on each line, # begins a comment; - is standard input")
	cmd.Flags().BoolVar(&imageCache, "image-cache", false, "the nodes have Talos's image cache enabled")
	output.register(cmd, "how the orders are printed")
	return cmd
}

func (t *tool) explain(in *input, file string, images []string, imageCache bool, output encoding) error {
	if file == "-" && in.file == "-" {
		return wrongCall("--file and --images are both standard input")
	}
	if file == "" && len(images) == 0 {
		return wrongCall("no image (want one or more, or --images LIST)")
	}
	if file != "" {
		data, err := t.readFile(file, mirrors.MaxSize)
		if err != nil {
			return err
		}
		if len(data) > mirrors.MaxSize {
			return &findingsError{file: file, findings: findingsOf(tooLarge())}
		}
		images = slices.Clone(images)
		// Editors on Windows begin a file with a byte order mark.
		for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); line != "" {
				images = append(images, line)
			}
		}
		if len(images) == 0 {
			return fmt.Errorf("%s: no image in it (want one on each line)", shown(file))
		}
	}
	source, err := in.readTold(t)
	if err != nil {
		return err
	}
	var opts []mirrors.CheckOption
	if imageCache {
		opts = append(opts, mirrors.WithImageCache())
	}
	orders, err := source.Set.PullOrders(images, opts...)
	if err != nil {
		return imageErrors(err)
	}
	if !output.text() {
		for i := range orders {
			orders[i].Containerd, orders[i].Machined = list(orders[i].Containerd), list(orders[i].Machined)
		}
		return t.encode(output, orders)
	}
	for i, order := range orders {
		if i > 0 {
			t.result.WriteByte('\n')
		}
		t.printOrder(order)
	}
	return nil
}

// imageErrors has a line for each reference that is none.
func imageErrors(err error) error {
	var wrong *mirrors.Error
	if !errors.As(err, &wrong) {
		return err
	}
	var lines []string
	for _, f := range wrong.Findings {
		lines = append(lines, f.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}

// printOrder prints, for one image:
//
//	nginx: docker.io
//	  containerd and machined
//	    1  https://m.internal/v2            credentials of m.internal
//	    2  https://registry-1.docker.io/v2  fallback: the registry itself
func (t *tool) printOrder(o mirrors.PullOrder) {
	p := &t.result
	fmt.Fprintf(p, "%s: from the registry %s\n", paint(t.colour, bold, o.Image), visible(o.Registry))
	if !o.Differs {
		t.printPuller("containerd and machined", o.Containerd, o.ContainerdError)
		return
	}
	t.printPuller("containerd (pods)", o.Containerd, o.ContainerdError)
	t.printPuller("machined (installer, kubelet, etcd)", o.Machined, o.MachinedError)
	fmt.Fprintf(p, "  %s\n", paint(t.colour, yellow, "they differ: "+o.Why))
}

func (t *tool) printPuller(name string, attempts []mirrors.Attempt, problem string) {
	p := &t.result
	fmt.Fprintf(p, "  %s\n", paint(t.colour, cyan, name))
	if problem != "" {
		fmt.Fprintf(p, "    %s\n", paint(t.colour, red, "error: "+problem))
	}
	if len(attempts) == 0 {
		fmt.Fprintf(p, "    %s\n", paint(t.colour, red, "nothing is tried: the pull fails"))
	}
	width := 0
	for _, a := range attempts {
		width = max(width, utf8.RuneCountInString(visible(a.URL)))
	}
	for i, a := range attempts {
		var notes []string
		if a.Fallback {
			notes = append(notes, paint(t.colour, yellow, "fallback: the registry itself"))
		}
		if a.Auth != "" {
			notes = append(notes, visible("credentials of "+a.Auth))
		}
		if a.TLS != "" {
			notes = append(notes, visible("TLS settings of "+a.TLS))
		}
		if a.HTTPFallback {
			notes = append(notes, paint(t.colour, yellow, "plain HTTP when the server speaks no TLS"))
		}
		line := fmt.Sprintf("    %d  %-*s  %s", i+1, width, visible(a.URL), strings.Join(notes, ", "))
		fmt.Fprintln(p, strings.TrimRight(line, " "))
	}
}
