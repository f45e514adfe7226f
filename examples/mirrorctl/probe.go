package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/probe"
)

// maxQuestions is more than anybody wants at once, and less than a process may
// have files open.
const maxQuestions = 256

func (t *tool) probeCommand() *cobra.Command {
	var in input
	var output encoding
	timeout := span{duration: probe.DefaultTimeout}
	concurrency := probe.DefaultConcurrency
	cmd := &cobra.Command{
		Use:   "probe -f FILE",
		Short: "Ask each endpoint whether it serves the registry API",
		Long: `Probe asks each endpoint of a file once, from this machine, in the way in which
a Talos node would ask it, with the credentials and TLS settings that the file
has for it. It prints a line for each:

  ANSWER  URL: reason [mirrors that have this endpoint]

  yes      it serves the registry API
  no       something answers there, and it is not the registry API
  unknown  it could not be asked, or its answer says nothing

The exit code is 0 when a node can use them all; 5 when the answer of one is no,
or its login is refused or missing; else 4 when one is unknown. On Ctrl-C probe
prints what is known by then; the exit code is 130, or 143 after SIGTERM.`,
		Example: `  mirrorctl probe -f registries.yaml
  mirrorctl probe --from talos -f worker.yaml --timeout 3s -o json`,
		Args: cobra.NoArgs,
		RunE: t.do(func() error { return t.probe(&in, timeout, concurrency, output) }),
	}
	in.register(cmd)
	cmd.Flags().Var(&timeout, "timeout", "how long one endpoint may take, with redirects and login")
	cmd.Flags().IntVar(&concurrency, "concurrency", concurrency, fmt.Sprintf("ask `N` at once, %d at most", maxQuestions))
	complete(cmd, "timeout", nil)
	complete(cmd, "concurrency", nil)
	output.register(cmd, "how the answers are printed")
	return cmd
}

// probed is one line of the answer.
type probed struct {
	probe.Result
	Error   string   `json:"error"`   // why a node cannot use it, or why that is not known; empty when it can
	Mirrors []string `json:"mirrors"` // which of the file have it
}

func (t *tool) probe(in *input, timeout span, concurrency int, output encoding) error {
	if concurrency < 1 || concurrency > maxQuestions {
		return wrongCall("--concurrency %d (want 1 to %d)", concurrency, maxQuestions)
	}
	source, err := in.readTold(t)
	if err != nil {
		return err
	}
	endpoints := probe.Endpoints(source.Set)
	if len(endpoints) == 0 {
		return fmt.Errorf("%s: no endpoint in it", shown(in.file))
	}
	prober, err := probe.New(source.Set, probe.WithTimeout(timeout.duration), probe.WithConcurrency(concurrency))
	if err != nil {
		return err
	}
	ctx, interruptedBy := interruptible()
	answers := prober.AskAll(ctx, endpoints, t.progress(len(endpoints)))
	code := interruptedBy()

	results := make([]probed, len(answers))
	worst := exitDone
	for i, r := range answers {
		results[i] = probed{Result: r, Mirrors: mirrorsOf(source.Set, endpoints[i])}
		if r.Err != nil {
			results[i].Error = r.Err.Error()
		}
		switch {
		case r.Err == nil:
		case r.Answer == probe.No, r.Answer == probe.Yes && (r.Login == probe.LoginRefused || r.Login == probe.LoginMissing):
			worst = exitNo
		case worst == exitDone:
			worst = exitUnknown
		}
	}
	if output.text() {
		t.printProbed(results)
	} else if err := t.encode(output, map[string][]probed{"results": results}); err != nil {
		return err
	}
	if code == exitDone {
		code = worst
	}
	if code != exitDone {
		return &toldError{code}
	}
	return nil
}

// interruptible returns a context that ends at the first SIGINT or SIGTERM; the
// second ends the process as ever. stop ends the waiting for one and returns the
// exit code of a process that the signal ended, or 0 when there was none.
func interruptible() (ctx context.Context, stop func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var code atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			if number, ok := s.(syscall.Signal); ok {
				code.Store(128 + int64(number))
			}
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, func() int {
		signal.Stop(signals)
		cancel()
		<-done
		return int(code.Load())
	}
}

// mirrorsOf are the mirrors that have an endpoint, by name.
func mirrorsOf(set mirrors.Set, e mirrors.Endpoint) (names []string) {
	for name, m := range set.Mirrors {
		if slices.Contains(m.Endpoints, e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// progress tells on a terminal how many endpoints have answered; the line is gone
// when all have.
func (t *tool) progress(total int) func(done, total int, r probe.Result) {
	if !t.person || os.Getenv("TERM") == "dumb" {
		return nil
	}
	shown := ""
	show := func(text string) {
		// Without escapes: the old text is overwritten with spaces.
		fmt.Fprintf(t.stderr, "\r%*s\r%s", len(shown), "", text)
		shown = text
	}
	show(fmt.Sprintf("asking %d endpoints", total))
	return func(done, total int, _ probe.Result) {
		if done == total {
			show("")
			return
		}
		show(fmt.Sprintf("%d of %d endpoints have answered", done, total))
	}
}

func (t *tool) printProbed(results []probed) {
	colours := map[probe.Answer]string{probe.Yes: green, probe.No: red, probe.Unknown: yellow}
	for _, r := range results {
		where := r.URL
		if where == "" {
			where = r.Endpoint.URL
		}
		// An error has the place before its reason, and what is wanted behind it.
		text := where + ": " + r.Reason
		var wrong *probe.Error
		if errors.As(r.Err, &wrong) && wrong.Fix != "" && !strings.Contains(r.Reason, wrong.Fix) {
			text += " (" + wrong.Fix + ")"
		}
		answer := paint(t.colour, colours[r.Answer], r.Answer.String()) + strings.Repeat(" ", len("unknown")-len(r.Answer.String()))
		fmt.Fprintf(&t.result, "%s  %s [%s]\n", answer, visibleLine(text), visibleLine(strings.Join(r.Mirrors, ", ")))
	}
}
