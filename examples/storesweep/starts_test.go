package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// hostile are names of a store.
var hostile = []string{
	"a b", " ", "\n", "it's \"q\" tab\t", "new\nline\n", "$(touch pwned)`touch pwned`$HOME", `back\040slash\`, "*?[a]", "-rf", "--", "~",
	"#;touch pwned&|", "{a,b}!", "caf\u00e9\xff\xfe\x01", "store) %s", "=ls",
}

// TestHostileNames: a store of any name is swept, or thrown away and nothing else.
func TestHostileNames(t *testing.T) {
	eachOnNodes(t, func(t *testing.T, sh []string) {
		t.Parallel()
		for _, name := range hostile {
			t.Run(strconv.QuoteToASCII(name), func(t *testing.T) {
				t.Parallel()
				n := newNode(t, name)
				n.fill(t)
				n.write(t, "agent/other/io.containerd.metadata.v1.bolt/x", "")
				code, stderr := n.run(t, sh)
				n.end(t, want{store: "swept"}, code, stderr)

				// The next boot.
				n.write(t, "proc/1/stat", strings.Replace(n.read("proc/1/stat"), "4711", "4712", 1))
				os.RemoveAll(n.config.Store)
				n.fill(t)
				n.write(t, "ctl/containerd", "ends")
				code, stderr = n.run(t, sh)
				n.end(t, want{store: "empty"}, code, stderr)
				entries, err := os.ReadDir(n.file("agent"))
				if err != nil || len(entries) != 4 { // the store, the other, a canary and the settings
					t.Errorf("beside the store there is %v, %v", entries, err)
				}
				for _, path := range []string{"pwned", "agent/pwned"} {
					if _, err := os.Lstat(n.file(path)); err == nil {
						t.Errorf("%s was made", path)
					}
				}
				if got := n.read("ctl/containerd.args"); !strings.HasSuffix(got, "\n--root\n"+n.config.Store+"\n") {
					t.Errorf("containerd was called with %q", got)
				}
			})
		}
	})
}

// TestStarts: a second start in the same boot touches nothing, the next boot is swept again.
func TestStarts(t *testing.T) {
	each(t, func(t *testing.T, sh []string) {
		t.Parallel()
		n := newNode(t, "store")
		for i, step := range []struct {
			boot, store string
		}{{"11", "swept"}, {"11", "filled"}, {"11", "filled"}, {"12", "swept"}, {"12", "filled"}} {
			os.RemoveAll(n.config.Store)
			n.fill(t)
			n.write(t, "proc/1/stat", "1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "+step.boot+" 9 9\n")
			code, stderr := n.run(t, sh)
			n.end(t, want{store: step.store}, code, stderr)
			if t.Failed() {
				t.Fatalf("start %d", i)
			}
		}
	})
}

// TestRealProc: the script tells a boot by the proc file system of this machine.
func TestRealProc(t *testing.T) {
	n := newNode(t, "store")
	n.fill(t)
	n.config.proc = "/proc"
	code, stderr := n.run(t, []string{"/bin/sh"})
	n.end(t, want{store: "swept"}, code, stderr)
	if got := n.read("run/sweep/boot"); !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} [0-9]+\n$`).MatchString(got) {
		t.Errorf("the marker is %q", got)
	}
	os.RemoveAll(n.config.Store)
	n.fill(t)
	code, stderr = n.run(t, []string{"/bin/sh"})
	n.end(t, want{store: "filled"}, code, stderr)
}

// TestListening: while the entry point's containerd runs, nothing is swept. A
// socket that a dead one left does not hinder.
func TestListening(t *testing.T) {
	eachOnNodes(t, func(t *testing.T, sh []string) {
		t.Parallel()
		n := newNode(t, "store")
		n.fill(t)
		if err := os.Remove(n.file("proc/net/unix")); err != nil {
			t.Fatal(err)
		}
		symlink(t, "/proc/net/unix", n.file("proc/net/unix"))
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: n.config.Socket})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		code, stderr := n.run(t, sh)
		n.end(t, want{code: 1, store: "filled", says: []string{"a process listens on " + n.config.Socket}}, code, stderr)
		l.Close()
		code, stderr = n.run(t, sh)
		n.end(t, want{store: "swept"}, code, stderr)

		// A connection to a containerd that has gone has its path, and does not listen.
		n.write(t, "proc/1/stat", strings.Replace(n.read("proc/1/stat"), "4711", "4712", 1))
		if err := errors.Join(os.RemoveAll(n.config.Store), os.Remove(n.file("proc/net/unix"))); err != nil {
			t.Fatal(err)
		}
		n.fill(t)
		n.write(t, "proc/net/unix", "Num RefCount Protocol Flags Type St Inode Path\n0000000000000000: 00000003 00000000 00000000 0001 03 12345 "+n.config.Socket+"\n")
		code, stderr = n.run(t, sh)
		n.end(t, want{store: "swept"}, code, stderr)
	})
}

// TestHeld: a containerd that has the store open is not disturbed, wherever it listens.
func TestHeld(t *testing.T) {
	each(t, func(t *testing.T, sh []string) {
		t.Parallel()
		n := newNode(t, "store")
		n.fill(t)
		db, err := os.Open(filepath.Join(n.config.Store, "io.containerd.metadata.v1.bolt", "meta.db"))
		if err != nil {
			t.Fatal(err)
		}
		says := fmt.Sprintf("process %d has %s open", os.Getpid(), db.Name())
		code, stderr := n.run(t, sh)
		n.end(t, want{code: 1, store: "filled", says: []string{says}}, code, stderr)
		if n.read("ctl/containerd.log") != "" {
			t.Error("containerd was started")
		}
		n.write(t, "agent/store/.storesweep-discarding", "")
		code, stderr = n.run(t, sh)
		if _, err := os.Stat(db.Name()); code != 1 || err != nil || !strings.Contains(stderr, says) {
			t.Errorf("exit code %d, %v\n%s", code, err, stderr)
		}
		db.Close()
		code, stderr = n.run(t, sh)
		n.end(t, want{store: "empty"}, code, stderr)
	})
}

// TestTwoStarts: one that comes while another is under way touches nothing. What one left that
// was killed hinders nobody.
func TestTwoStarts(t *testing.T) {
	each(t, func(t *testing.T, sh []string) {
		t.Parallel()
		n := newNode(t, "store")
		n.fill(t)
		for _, stale := range []string{"0001.4711.999999999.1", "0001.4711." + strconv.Itoa(os.Getpid()) + ".1", "0002.4711.1.0"} {
			n.write(t, "run/sweep/x", "")
			if err := os.Mkdir(n.file("run/sweep/start.0f6f0c4e-96f4-4f6c-9d5e-2f2f6f1f"+stale), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		n.write(t, "ctl/ctr", "pause containers ls")
		cmd, first := n.command(t, sh)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return strings.Contains(n.read("ctl/ctr.log"), "containers ls") })
		code, stderr := n.run(t, sh)
		if code != 1 || !strings.Contains(stderr, fmt.Sprintf("another start, process %d,", cmd.Process.Pid)) || n.read("ctl/entered") != "" {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		n.write(t, "ctl/go", "")
		cmd.Wait()
		n.end(t, want{store: "swept"}, cmd.ProcessState.ExitCode(), first.String())
		if left, _ := filepath.Glob(n.file("run/sweep/start.*")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// TestEntryMissing: the shell says so, with its own exit status; the store is swept.
func TestEntryMissing(t *testing.T) {
	each(t, func(t *testing.T, sh []string) {
		t.Parallel()
		n := newNode(t, "store")
		n.fill(t)
		n.config.Entry = []string{"no entry"}
		code, stderr := n.run(t, sh)
		if code != 127 || !strings.Contains(stderr, "no entry") || n.store(t) != "swept" || n.read("run/sweep/boot") == "" {
			t.Errorf("exit code %d, the store is %s, the marker %q\n%s", code, n.store(t), n.read("run/sweep/boot"), stderr)
		}
	})
}

// until waits for a process to write a file.
func until(t *testing.T, ready func() bool) {
	t.Helper()
	for began := time.Now(); !ready(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			t.Fatal("not after five minutes")
		}
	}
}

// TestSignals: a start that is ended in the middle of the sweep leaves no marker
// and no containerd, and the next one begins anew.
func TestSignals(t *testing.T) {
	eachOnNodes(t, func(t *testing.T, sh []string) {
		t.Parallel()
		for _, tt := range []struct {
			signal syscall.Signal
			code   int
		}{{syscall.SIGTERM, 143}, {syscall.SIGINT, 130}, {syscall.SIGHUP, 129}} {
			t.Run(tt.signal.String(), func(t *testing.T) {
				t.Parallel()
				n := newNode(t, "store")
				n.fill(t)
				n.write(t, "ctl/ctr", "hang containers ls")
				cmd, stderr := n.command(t, sh)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				until(t, func() bool { return strings.Contains(n.read("ctl/ctr.log"), "containers ls") })
				cmd.Process.Signal(tt.signal)
				cmd.Wait()
				n.end(t, want{code: tt.code, store: "half swept: containers sandboxes leases", says: []string{"ended by signal"}}, cmd.ProcessState.ExitCode(), stderr.String())

				n.write(t, "ctl/ctr", "")
				code, text := n.run(t, sh)
				n.end(t, want{store: "swept"}, code, text)
			})
		}
	})
}

// TestSignalWhileStopping: a signal that comes while containerd is waited for does not leave it, and
// not when it does not hear.
func TestSignalWhileStopping(t *testing.T) {
	eachOnNodes(t, func(t *testing.T, sh []string) {
		t.Parallel()
		n := newNode(t, "store")
		n.fill(t)
		n.config.Stop = 2 * time.Second
		n.write(t, "ctl/containerd", "deaf")
		cmd, stderr := n.command(t, sh)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return strings.Contains(n.read("ctl/containerd.log"), "deaf") })
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		n.end(t, want{code: 143, store: "swept", says: []string{"ended by signal TERM"}, silent: []string{"the store is swept"}}, cmd.ProcessState.ExitCode(), stderr.String())
	})
}

// TestSignalWhileStarting: one that comes before the script knows the number of what it has started
// leaves nothing. For each of the three the script gets a line that makes the moment.
func TestSignalWhileStarting(t *testing.T) {
	each(t, func(t *testing.T, sh []string) {
		t.Parallel()
		for _, what := range []string{"pid", "call", "watcher"} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				n := newNode(t, "store")
				n.fill(t)
				n.config.Stop = 2 * time.Second
				line := "  sweep_" + what + "=$!\n"
				n.edit = func(script string) string {
					if strings.Count(script, line) != 1 {
						t.Fatalf("%q is not in the script", line)
					}
					return strings.Replace(script, line, "  if ! [ -e \"$CTL/sent\" ]; then\n  until [ -e \"$CTL/up\" ]; do sleep 0.02; done\n  : >\"$CTL/sent\"\n  kill -TERM \"$$\"\nfi\n"+line, 1)
				}
				code, stderr := n.run(t, sh)
				n.end(t, want{code: 143, store: "filled", says: []string{"ended by signal TERM"}}, code, stderr)
			})
		}
	})
}

// killed starts the script, kills it while ctr hangs, and returns the number of the
// containerd that it leaves.
func (n *node) killed(t *testing.T, sh []string) (pid int) {
	t.Helper()
	n.write(t, "ctl/ctr", "hang containers ls")
	cmd, stderr := n.command(t, sh)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return strings.Contains(n.read("ctl/ctr.log"), "containers ls") })
	cmd.Process.Kill()
	cmd.Process.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(n.read("ctl/containerd.pid")))
	if err != nil || !running(pid) {
		t.Fatalf("containerd does not run: %v, %v\n%s", pid, err, stderr)
	}
	return pid
}

// TestKilled: the containerd of a start that was killed is ended by the next,
// also when it does not want to; a process that has its number by now is not.
func TestKilled(t *testing.T) {
	eachOnNodes(t, func(t *testing.T, sh []string) {
		t.Parallel()
		for _, mode := range []string{"", "deaf"} {
			t.Run("containerd "+mode, func(t *testing.T) {
				t.Parallel()
				n := newNode(t, "store")
				n.fill(t)
				n.config.Stop = time.Second
				n.write(t, "ctl/containerd", mode)
				pid := n.killed(t, sh)
				hangs, err := strconv.Atoi(strings.TrimSpace(n.read("ctl/hangs")))
				if err != nil {
					t.Fatal(err)
				}
				until(t, func() bool { return !running(hangs) })
				n.write(t, "ctl/ctr", "")
				n.write(t, "ctl/containerd", "")
				code, text := n.run(t, sh)
				n.end(t, want{store: "swept", says: []string{"left its containerd, process " + strconv.Itoa(pid)}}, code, text)
				if running(pid) {
					t.Error("the first containerd still runs")
					syscall.Kill(pid, syscall.SIGKILL)
				}
			})
		}
		t.Run("store removed since", func(t *testing.T) {
			t.Parallel()
			n := newNode(t, "store")
			n.fill(t)
			n.config.Stop = time.Second
			pid := n.killed(t, sh)
			os.RemoveAll(n.config.Store)
			n.write(t, "ctl/ctr", "")
			if code, text := n.run(t, sh); code != 0 || !strings.Contains(text, "left its containerd, process "+strconv.Itoa(pid)) || running(pid) {
				t.Errorf("exit status %d, containerd runs: %v\n%s", code, running(pid), text)
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		t.Run("number in use", func(t *testing.T) {
			t.Parallel()
			n := newNode(t, "store")
			n.fill(t)
			other := exec.Command("sleep", "600")
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			n.write(t, "run/sweep/containerd.pid", strconv.Itoa(other.Process.Pid)+" 1\n")
			code, text := n.run(t, sh)
			n.end(t, want{store: "swept", silent: []string{"killed"}}, code, text)
			if !running(other.Process.Pid) {
				t.Error("a process that is none of its own was ended")
			}
			other.Process.Kill()
			other.Wait()
		})
	})
}

// TestInterrupted: half a store is never taken for one, not even by a containerd that would.
func TestInterrupted(t *testing.T) {
	eachOnNodes(t, func(t *testing.T, sh []string) {
		t.Parallel()
		n := newNode(t, "store")
		n.fill(t)
		n.write(t, "ctl/containerd", "ends")
		n.path = filepath.Join(bin, "cut") + ":" + bin
		code, stderr := n.run(t, sh)
		if code == 0 || n.read("ctl/entered") != "" || !strings.Contains(n.store(t), ".storesweep-discarding") {
			t.Fatalf("exit code %d, the store has %q\n%s", code, n.store(t), stderr)
		}
		n.path = bin
		n.write(t, "ctl/containerd", "")
		os.Remove(n.file("ctl/containerd.log"))
		code, stderr = n.run(t, sh)
		n.end(t, want{store: "empty", says: []string{"did not get to the end of throwing it away"}}, code, stderr)
		if n.read("ctl/containerd.log") != "" {
			t.Error("containerd was started on half a store")
		}
	})
}

// TestMounted: a file system of this machine's kernel, in a store of a hostile name.
func TestMounted(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"store", "a b\\\t\n#"} {
		n := newNode(t, name)
		n.fill(t)
		n.write(t, "ctl/containerd", "ends")
		n.config.proc = "/proc"
		if err := os.Mkdir(filepath.Join(n.config.Store, "mount point"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd, stderr := n.command(t, []string{"/bin/sh"})
		if out, err := exec.Command(unshare, "--mount", "true").CombinedOutput(); err != nil {
			t.Skipf("no mount namespace: %v: %s", err, out)
		}
		cmd.Args = append([]string{unshare, "--mount", "/bin/sh", "-c", `mount -t tmpfs none "$STORE/mount point" && exec "$@"`, "sh"}, cmd.Args...)
		cmd.Path = unshare
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), `mount\040point is mounted in it`) || n.read("ctl/entered") != "" {
			t.Errorf("%q: exit code %d, %v\n%s", name, code, err, stderr)
		}
		if _, err := os.Stat(filepath.Join(n.config.Store, ".hidden", "file")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestScript keeps the script for k3s as a person reads it, and what the command says.
func TestScript(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--", "k3s", "server", "--node-name", "it's"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit code %d\n%s", code, &stderr)
	}
	const golden = "testdata/k3s.sh.golden"
	if *update {
		if err := os.WriteFile(golden, stdout.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stdout.Bytes(), want) {
		t.Errorf("not as in %s (run with -update, and look at the difference)", golden)
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		if out, err := exec.Command(sh.Args[0], append(sh.Args[1:], "-n", golden)...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// TestWrongSettings: all that is wrong is said at once.
func TestWrongSettings(t *testing.T) {
	long := "/run/" + strings.Repeat("a", 100)
	for _, tt := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--nope"}, 2, []string{"-nope"}},
		{[]string{"--help"}, 0, []string{"usage: storesweep"}},
		{[]string{"--store", ""}, 1, []string{`store: "" is not an absolute path`}},
		{[]string{"--store", "/"}, 1, []string{`store: "/" is too near the root`}},
		{[]string{"--store", "/var"}, 1, []string{`store: "/var" is too near the root`}},
		{[]string{"--store", "var/lib", "--run", "/run/../etc", "--state", "/run//x", "--config", "/etc/./c", "--socket", "/a/b/"}, 1,
			[]string{`store: "var/lib"`, `run: "/run/../etc"`, `state: "/run//x"`, `config: "/etc/./c"`, `socket: "/a/b/"`}},
		{[]string{"--store", "/srv/k3s", "--run", "/srv/k3s/run", "--state", "/srv/k3s", "--config", "/srv/k3s/config.toml"}, 1,
			[]string{`run: "/srv/k3s/run" is in the store`, `state: "/srv/k3s" is in the store`, `config: "/srv/k3s/config.toml" is in the store`}},
		{[]string{"--run", long, "--socket", long}, 1, []string{"run: the socket", "socket: the socket", "has 105 bytes (want at most 101)"}},
		{[]string{"--socket", "/run/a\nb/c"}, 1, []string{"socket: ", "control character"}},
		{[]string{"--namespace", "-n", "--containerd", "", "--ctr", "-x"}, 1, []string{`namespace: "-n"`, `containerd: ""`, `ctr: "-x"`}},
		{[]string{"--ready", "1500ms", "--call", "0s", "--stop", "25h"}, 1, []string{"ready: 1.5s", "call: 0s", "stop: 25h"}},
		{[]string{"--", ""}, 1, []string{`entry: [""]`}},
		{[]string{"--store", "/srv/a\x00b"}, 1, []string{"0x00"}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(tt.args, &stdout, &stderr); code != tt.code || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, want %d; standard output %q", tt.args, code, tt.code, &stdout)
		}
		for _, want := range tt.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%q: standard error does not say %q:\n%s", tt.args, want, &stderr)
			}
		}
	}
}
