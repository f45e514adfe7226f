package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

// shownRows is how many images and how many clients the text has.
const shownRows = 10

func (t *tool) servedCommand() *cobra.Command {
	var s served
	cmd := &cobra.Command{
		Use:   "served --image IMAGE < LOG",
		Short: "Tell from a mirror's log whether an image came through it",
		Long: `Served reads the access log of a mirror, of distribution (registry:2 and 3), zot
or nginx, also as kubectl logs prints it and compressed by gzip, and answers:

  yes      the mirror served the image
  no       it was asked for and not there, or it was never asked for
  unknown  the log cannot tell: it was not read to its end, is empty, cannot be
           read for the most part, does not span --since to --until, has HEAD
           alone, may have lines that a client made, …

A request counts once, also where distribution writes two lines for it. Probes
and warm-ups are left out by their user agent; whose requests were served, the
reason says. -o json and yaml have all counts; times are in nanoseconds.

The exit code is 0 for yes, 5 for no, 4 for unknown; 1 when IMAGE is no image, or
FILE is a directory or cannot be opened. Why a log was not read to its end stands
on standard error, too.`,
		Example: `  mirrorctl served --image ghcr.io/siderolabs/kubelet < access.log
  mirrorctl served --image ghcr.io/siderolabs/kubelet:v1.34.1 --client 192.0.2.7 -f access.log -o json
  mirrorctl served --image nginx --path /v2/proxy/hub -f harbor.log`,
		Args: cobra.NoArgs,
		RunE: t.do(func() error { return t.served(&s) }),
	}
	s.file = "-"
	cmd.Flags().Var(&once{value: &s.image, what: "IMAGE"}, "image", "the image as a Pod has it; without a tag or digest, any (required)")
	cmd.Flags().VarP(&once{value: &s.file, what: "FILE"}, "file", "f", "the log; - is standard input")
	cmd.Flags().Var(&once{value: &s.path, what: "PATH"}, "path", "the path of the mirror's endpoint, where it has one: /v2/proxy/ghcr")
	cmd.Flags().Var(&once{value: &s.client, what: "CLIENT"}, "client", "ask about this client alone: an address, or a prefix such as 192.0.2.0/24")
	cmd.Flags().Var(&s.since, "since", "only requests from then on: a time such as 2026-11-30T17:00:00Z, or how long ago, such as 2h")
	cmd.Flags().Var(&s.until, "until", "only requests up to then")
	cmd.Flags().Var(&s.ignore, "ignore", "leave out user agents that begin so, instead of kube-probe/, curl/ and the like")
	cmd.Flags().Var(&s.agents, "agent", "only user agents that begin so, such as containerd/")
	cmd.Flags().BoolVar(&s.ignoreNone, "ignore-none", false, "leave out no user agent")
	must(cmd.MarkFlagRequired("image"))
	for _, flag := range []string{"image", "path", "client", "since", "until", "ignore", "agent"} {
		complete(cmd, flag, nil)
	}
	s.output.register(cmd, "how the answer is printed")
	return cmd
}

// served are the flags of the command.
type served struct {
	image, file, path, client string
	since, until              moment
	ignore, agents            names
	ignoreNone                bool
	output                    encoding
}

// moment is a flag that takes a time, or how long ago it was.
type moment struct {
	single
	time time.Time
	text string
}

func (m *moment) String() string { return m.text }
func (m *moment) Type() string   { return "TIME" }

func (m *moment) Set(s string) error {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		ago, err := time.ParseDuration(s)
		if err != nil || ago < 0 {
			return errors.New("want a time such as 2026-11-30T17:00:00Z, or how long ago it was, such as 90m or 2h")
		}
		at = time.Now().Add(-ago)
	}
	if err := m.take(); err != nil {
		return err
	}
	m.time, m.text = at, s
	return nil
}

// servedFlags are the flags of the options of accesslog, by their errors' paths.
var servedFlags = map[string]string{"from": "--client", "path": "--path", "ignore": "--ignore", "agents": "--agent", "until": "--until"}

func (t *tool) served(s *served) error {
	var opts []accesslog.Option
	if s.path != "" {
		opts = append(opts, accesslog.UnderPath(s.path))
	}
	if s.client != "" {
		opts = append(opts, accesslog.From(s.client))
	}
	if s.since.given {
		opts = append(opts, accesslog.Since(s.since.time))
	}
	if s.until.given {
		opts = append(opts, accesslog.Until(s.until.time))
	}
	switch {
	case s.ignoreNone && s.ignore.given:
		return wrongCall("--ignore and --ignore-none exclude each other")
	case s.ignoreNone || s.ignore.given:
		opts = append(opts, accesslog.Ignore(s.ignore.list...))
	}
	if s.agents.given {
		opts = append(opts, accesslog.Agents(s.agents.list...))
	}

	log := t.stdin
	if s.file == "-" && isTerminal(t.stdin) {
		t.say("reading the log from standard input")
	}
	if s.file != "-" {
		f, err := os.Open(s.file)
		if err != nil {
			return unreadable(s.file, err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return unreadable(s.file, syscall.EISDIR)
		}
		log = f
	}
	report, err := accesslog.Served(log, s.image, opts...)
	if err != nil {
		var wrong *accesslog.Error
		if errors.As(err, &wrong) && servedFlags[wrong.Path] != "" {
			return wrongCall("%s: %s (%s)", servedFlags[wrong.Path], wrong.Reason, wrong.Fix)
		}
		return err
	}
	if report.Err != nil {
		t.say("mirrorctl: %s", inFile(s.file, report.Err))
	}
	if s.output.text() {
		t.printServed(report)
	} else {
		value := struct {
			*accesslog.Report
			Error string `json:"error"` // why the log was not read to its end
		}{Report: report}
		if report.Err != nil {
			value.Error = report.Err.Error()
		}
		if err := t.encode(s.output, value); err != nil {
			return err
		}
	}
	switch report.Answer {
	case accesslog.Yes:
		return nil
	case accesslog.No:
		return &toldError{exitNo}
	}
	return &toldError{exitUnknown}
}

// printServed prints the answer, then what the log has:
//
//	yes  ghcr.io/siderolabs/kubelet: served 2 manifests and 1 blob …
//
//	6 lines, 5 requests, from 2026-11-30T17:48:41Z to 2026-11-30T17:48:45Z (4s)
//
//	IMAGE                       SERVED  MISSING  OTHER  FIRST  LAST  TOOK
func (t *tool) printServed(r *accesslog.Report) {
	colours := map[accesslog.Answer]string{accesslog.Yes: green, accesslog.No: red, accesslog.Unknown: yellow}
	p := &t.result
	fmt.Fprintf(p, "%s  %s: %s\n", paint(t.colour, colours[r.Answer], r.Answer.String()), visibleLine(r.Image), visibleLine(r.Reason))
	if r.Lines.Read == 0 {
		return
	}
	fmt.Fprintf(p, "\nlines read: %d, requests: %d", r.Lines.Read, r.Lines.Requests())
	for _, n := range []struct {
		text  string
		count int
	}{
		{"left out by user agent", r.Ignored}, {"out of the period", r.Outside},
		{"unreadable lines", r.Lines.Unreadable}, {"lines too long", r.Lines.TooLong},
	} {
		if n.count > 0 {
			fmt.Fprintf(p, ", %s: %d", n.text, n.count)
		}
	}
	if !r.First.IsZero() {
		fmt.Fprintf(p, "\n%s to %s (%s)", r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339), r.Span().Round(time.Second))
	}
	fmt.Fprintln(p)

	var images, clients []row
	for _, i := range r.Images {
		name := i.Repository
		if i.Registry != "" {
			name = i.Registry + "/" + name
		}
		images = append(images, row{name, i.Count})
	}
	for _, c := range r.Clients {
		clients = append(clients, row{c.Address, c.Count})
	}
	printRows(p, "IMAGE", images, r.Total)
	printRows(p, "CLIENT", clients, r.Total)
}

type row struct {
	name string
	accesslog.Count
}

// printRows prints a table; the response times are the sum of them.
func printRows(w io.Writer, what string, rows []row, total accesslog.Count) {
	if len(rows) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\n%s\tSERVED\tMISSING\tOTHER\tFIRST\tLAST\tRESPONSE TIME\n", what)
	last := row{"all", total}
	for _, r := range append(slices.Clone(rows[:min(len(rows), shownRows)]), last) {
		took := "-"
		if r.Timed > 0 {
			took = r.Took.Round(time.Millisecond).String()
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\t%s\n", visibleLine(r.name), r.Served(), r.Missing, r.Challenged+r.Moved+r.Failed,
			r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339), took)
	}
	table.Flush()
	if more := len(rows) - shownRows; more > 0 {
		fmt.Fprintf(w, "%d more are not shown; -o json has them\n", more)
	}
}
