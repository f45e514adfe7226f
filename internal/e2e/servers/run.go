package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Result is one run of a program.
type Result struct {
	Stdout, Stderr string
	Exit           int // -1 when it could not be run, or did not end by itself: Stderr says so at its end
}

// information begins a line that client-go logs, of no error and no warning: on a
// busy machine it says that it waits ("Waited for 1.2s due to client-side throttling").
var information = regexp.MustCompile(`^I\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^ ]+\.go:\d+\] `)

// Complaints are the lines of standard error, without those that client-go logs
// for information.
func (r Result) Complaints() (lines string) {
	for line := range strings.Lines(r.Stderr) {
		if !information.MatchString(line) {
			lines += line
		}
	}
	return lines
}

// Run runs a program to its end, but not longer than [Patience]: then it gets
// SIGTERM, and a tenth of that later SIGKILL. On Linux it gets SIGTERM as well when the
// test binary ends, however that ends.
func Run(env []string, stdin []byte, name string, args ...string) Result {
	return run(Patience, Patience/10, env, stdin, name, args...)
}

func run(patience, wait time.Duration, env []string, stdin []byte, name string, args ...string) Result {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, bytes.NewReader(stdin), &stdout, &stderr
	cmd.WaitDelay = wait // its children may hold the pipes
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	// Linux takes the end of the thread that starts the process for that of the test binary.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	endWithThread(cmd, syscall.SIGTERM)
	err := cmd.Run()
	r := Result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	late := err != nil && ctx.Err() != nil
	if exit := (*exec.ExitError)(nil); late || err != nil && (r.Exit == -1 || !errors.As(err, &exit)) {
		if late {
			err = fmt.Errorf("%s did not end within %s", strings.Join(append([]string{filepath.Base(name)}, args[:min(len(args), 1)]...), " "), patience)
		}
		r.Stderr, r.Exit = strings.TrimLeft(r.Stderr+"\n"+err.Error(), "\n"), -1
	}
	return r
}
