package servers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Patience is how long anything may take on a busy machine: a server to be
// ready, a program to end. It is there for what hangs, not to measure.
const Patience = 5 * time.Minute

// Process is a server that runs.
type Process struct {
	name string
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{} // closed when it has ended
	err  error         // how it ended; to be read after done
}

// Start starts a server and waits until ready returns nil. What it says goes to
// a file, whose end is in the error. On Linux it ends with the test binary, however
// that ends.
func Start(name, log string, cmd *exec.Cmd, ready func(context.Context) error) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = file, file
	endWithThread(cmd, syscall.SIGKILL)
	p := &Process{name: name, cmd: cmd, log: file, done: make(chan struct{})}

	// The thread that starts the process must not end before the test binary.
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		once, cancel := context.WithTimeout(ctx, 30*time.Second)
		go func() { // no answer is awaited of one that has ended
			select {
			case <-p.done:
				cancel()
			case <-once.Done():
			}
		}()
		err := ready(once)
		cancel()
		select {
		case <-p.done: // whoever else may have answered
			p.log.Close()
			return nil, fmt.Errorf("%s ended: %v\n%s", name, p.err, p.said())
		default:
		}
		if err == nil {
			return p, nil
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			p.Stop()
			return nil, fmt.Errorf("%s is not ready after %s: %w\n%s", name, Patience, err, p.said())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// said is the end of the log.
func (p *Process) said() []byte {
	const most = 4 << 10
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(text[max(0, len(text)-most):])
}

// Stop asks the server to end, insists after ten seconds, and waits for it.
func (p *Process) Stop() {
	defer p.log.Close()
	p.cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
	select {
	case <-p.done:
		return
	case <-time.After(10 * time.Second):
	}
	p.cmd.Process.Kill()
	<-p.done
}

// FreePorts returns ports of 127.0.0.1 on which nothing listens. By the time that
// a server does, one may be another's: [PortTaken] says so of the server's error.
func FreePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at the end, so that no port comes twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// PortTaken says whether an error of [Start] is that the server found another on
// its port.
func PortTaken(err error) bool {
	return strings.Contains(err.Error(), "address already in use")
}
