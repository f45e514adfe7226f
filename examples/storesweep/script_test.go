package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

var update = flag.Bool("update", false, "write the golden files")

// root has all files of the tests, and bin, in it, the stand-ins. They are written before any
// process is started: Linux does not run a file that a process, forked in between, still holds open.
var root, bin string

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))) // the tests wait most of the time
	// A shell cannot trap a signal that was ignored when it began. What Go ignores is ignored in
	// what it starts, what it catches is not.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	dir, err := os.MkdirTemp("", "sweep-") // short: the path of a socket has at most 107 bytes
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		panic(err)
	}
	root, bin = dir, filepath.Join(dir, "bin")
	for name, text := range standIns {
		path := filepath.Join(bin, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755)); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if left := leftovers(); len(left) > 0 {
		code = 1
		fmt.Printf("FAIL: processes are left\n%s\n", strings.Join(left, "\n"))
	}
	if err := os.RemoveAll(dir); err != nil {
		code = 1
		fmt.Printf("FAIL: %v\n", err)
	}
	os.Exit(code)
}

// started says which test made which node.
var started sync.Map

// leftovers kills what the tests, or a script in them, started and did not end. What is left is
// known by the environment. A shell's sleep of a second may still be there at first.
func leftovers() []string {
	var left []string
	for try := 0; try < 600; try++ {
		left = nil
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			env, err := os.ReadFile(file)
			_, ctl, found := strings.Cut("\x00"+string(env), "\x00CTL="+root+"/")
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil || !found || !running(pid) {
				continue
			}
			name, _, _ := strings.Cut(ctl, "/")
			test, _ := started.Load(filepath.Join(root, name))
			args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			left = append(left, fmt.Sprintf("%v: %d: %q", test, pid, args))
			if try == 599 {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if len(left) == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return left
}

// standIns are what the script runs. Their settings are in the folder $CTL, so
// that a test can change them while they run, and their metadata is in the store.
var standIns = map[string]string{
	"entry": `
for word in "$@"; do printf '%s\n' "$word"; done >"$CTL/entered"
printf '%s' "${NOTIFY_SOCKET-none}" >"$CTL/entry.notify"
umask >"$CTL/entry.umask"
`,
	"k3s": `echo "k3s $*"
`,
	"containerd": `
printf '%s\n' "$@" >"$CTL/containerd.args"
printf '%s' "${NOTIFY_SOCKET-none}" >"$CTL/containerd.notify"
echo $$ >"$CTL/containerd.pid"
echo start >>"$CTL/containerd.log"
mode=$(cat "$CTL/containerd" 2>/dev/null)
case $mode in
ends) echo 'containerd: the database is broken' >&2; exit 1 ;;
silent) exec sleep 600 ;;
esac
stop() { rm -f "$CTL/up"; echo stop >>"$CTL/containerd.log"; exit 0; }
trap stop TERM
if [ "$mode" = deaf ]; then trap 'echo deaf >>"$CTL/containerd.log"' TERM; fi
: >"$CTL/up"
while :; do sleep 0.2 & wait $! || :; done
`,
	"ctr": `
[ "$1 $3" = '--address --namespace' ] && [ "$4" = k8s.io ] || { echo "ctr: called with $*" >&2; exit 64; }
grep -qxF -e "$2" "$CTL/containerd.args" || { echo 'ctr: another socket than that of containerd' >&2; exit 64; }
noun=$5 verb=${6-}
do=$(cat "$CTL/ctr" 2>/dev/null)
case $do in "hang $noun $verb") echo $$ >"$CTL/hangs" ;; esac
printf '%s %s\n' "$noun" "$verb" >>"$CTL/ctr.log"
case $do in
"hang $noun $verb") exec sleep 600 ;;
"pause $noun $verb") until [ -e "$CTL/go" ]; do sleep 0.05; done ;;
"fail $noun $verb") echo 'ctr: first line' >&2; echo 'ctr: it is broken' >&2; exit 3 ;;
"die $noun $verb") kill -KILL "$(cat "$CTL/containerd.pid")"; rm -f "$CTL/up" ;;
"strange $noun $verb") printf -- '-rf\n'; exit 0 ;;
esac
case $noun$(cat "$CTL/containerd" 2>/dev/null) in
version | versiondeaf) until [ -e "$CTL/up" ]; do sleep 0.02; done ;; # as ctr waits for the connection
esac
[ -e "$CTL/up" ] || { echo 'ctr: connection refused' >&2; exit 1; }
[ "$noun" = version ] && exit 0
db=$STORE/io.containerd.metadata.v1.bolt/$noun
case $verb in
ls)
	if [ "$noun" = sandboxes ]; then
		[ "$#" = 6 ] || exit 64
		echo 'ID     CREATED                         RUNTIME'
		while read -r id; do printf '%s 2026-01-02 03:04:05 +0000 UTC io.containerd.runc.v2 \n' "$id"; done <"$db"
	else
		[ "${7-}" = -q ] || exit 64
		cat "$db"
	fi ;;
delete | rm)
	shift 6
	case "$noun ${1-}" in
	'tasks --force' | 'sandboxes --force' | 'leases --sync') shift ;;
	containers*) [ ! -s "$STORE/io.containerd.metadata.v1.bolt/tasks" ] || { echo 'ctr: a task runs' >&2; exit 1; } ;;
	*) exit 64 ;;
	esac
	[ "$#" -gt 0 ] || exit 64
	[ "$do" = "leave $noun" ] && exit 0
	for id in "$@"; do
		grep -qxF -e "$id" "$db" || { echo "ctr: $id: not found" >&2; exit 1; }
		grep -vxF -e "$id" "$db" >"$db.new"
		mv "$db.new" "$db"
	done ;;
*) exit 64 ;;
esac
`,
	// A disk on which nothing can be removed, and a power cut at the second entry.
	"norm/rm": `
case "$*" in *-rf*) echo 'rm: read-only file system' >&2; exit 1 ;; esac
exec /bin/rm "$@"
`,
	"cut/rm": `
case "$*" in
*-rf*)
	echo x >>"$CTL/removed"
	[ "$(wc -l <"$CTL/removed")" -lt 2 ] || { kill -KILL "$PPID"; exit 1; } ;;
esac
exec /bin/rm "$@"
`,
}

// node is a machine with a store that a run before this one left.
type node struct {
	dir    string
	config Config
	path   string // folders before PATH
	edit   func(script string) string
}

// newNode makes one whose store has the name.
func newNode(t *testing.T, store string) *node {
	t.Helper()
	dir, err := os.MkdirTemp(root, "")
	if err != nil {
		t.Fatal(err)
	}
	started.Store(dir, t.Name())
	n := &node{dir: dir, path: bin}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	c := K3s()
	c.Store, c.State, c.Run = n.file("agent/"+store), n.file("state"), n.file("run/sweep")
	c.Socket, c.Settings = n.file("state/containerd.sock"), n.file("agent/config.toml")
	c.Entry = []string{"entry", "server", "a b", "$(id)", "it's"}
	c.Ready, c.Call, c.Stop = 5*time.Minute, 5*time.Minute, 5*time.Minute // on a busy machine
	c.proc = n.file("proc")
	n.config = c
	for name, text := range map[string]string{
		"agent/config.toml":              "version = 3\n",
		"agent/canary":                   "of another\n",
		"state/canary":                   "of another\n",
		"proc/sys/kernel/random/boot_id": "0f6f0c4e-96f4-4f6c-9d5e-2f2f6f1f0001\n",
		"proc/1/stat":                    "1 (a (b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9\n",
		"proc/net/unix":                  "Num       RefCount Protocol Flags    Type St Inode Path\n",
		"proc/self/mountinfo":            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
	} {
		n.write(t, name, text)
	}
	if err := os.Mkdir(n.file("ctl"), 0o755); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

func (n *node) write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(n.file(name)), 0o755), os.WriteFile(n.file(name), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (n *node) read(name string) string {
	text, err := os.ReadFile(n.file(name))
	if err != nil {
		return ""
	}
	return string(text)
}

// fill puts into the store what a node leaves that lost its power.
func (n *node) fill(t *testing.T) {
	t.Helper()
	store := strings.TrimPrefix(n.config.Store, n.dir)
	const bolt = "/io.containerd.metadata.v1.bolt/"
	n.write(t, store+bolt+"tasks", "t1\n")
	n.write(t, store+bolt+"containers", "c1\nc2\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n")
	n.write(t, store+bolt+"sandboxes", "s1\ns2\n")
	n.write(t, store+bolt+"leases", "1234-Ab_c/d\n")
	n.write(t, store+bolt+"meta.db", "")
	n.write(t, store+"/io.containerd.content.v1.content/blobs/sha256/00", "an image\n")
	n.write(t, store+"/.hidden/file", "x")
	n.write(t, store+"/..also", "x")
	n.write(t, store+"/a b\nc/-rf", "x")
	if err := os.Symlink(n.file("agent/canary"), n.config.Store+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(n.file("state"), n.config.Store+"/folder link"); err != nil {
		t.Fatal(err)
	}
}

// command is the script in a shell, with two arguments of its own.
func (n *node) command(t *testing.T, sh []string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	script, err := Script(n.config)
	if err != nil {
		t.Fatal(err)
	}
	text := script.String()
	if n.edit != nil {
		text = n.edit(text)
	}
	n.write(t, "script", text)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, sh[0], append(sh[1:], n.file("script"), "last", "x y\n")...)
	cmd.Dir = n.dir
	cmd.Env = append(os.Environ(), "PATH="+n.path+":"+os.Getenv("PATH"), "CTL="+n.file("ctl"), "STORE="+n.config.Store, "NOTIFY_SOCKET=/run/made-up")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Minute
	return cmd, &stderr
}

func (n *node) run(t *testing.T, sh []string) (code int, stderr string) {
	t.Helper()
	cmd, text := n.command(t, sh)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(out) > 0 {
		t.Errorf("standard output: %q", out)
	}
	return cmd.ProcessState.ExitCode(), text.String()
}

// store says what is in the store: missing, empty, filled (untouched), swept
// (nothing but the image and files of others), or its entries.
func (n *node) store(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(n.config.Store)
	if errors.Is(err, fs.ErrNotExist) {
		return "missing"
	} else if errors.Is(err, syscall.ENOTDIR) {
		return "a file"
	} else if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		return "empty"
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if slices.Contains(names, "io.containerd.content.v1.content") && !slices.Contains(names, ".storesweep-discarding") {
		var left []string
		for _, noun := range []string{"tasks", "containers", "sandboxes", "leases"} {
			text, err := os.ReadFile(filepath.Join(n.config.Store, "io.containerd.metadata.v1.bolt", noun))
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > 0 {
				left = append(left, noun)
			}
		}
		switch len(left) {
		case 0:
			return "swept"
		case 4:
			return "filled"
		}
		return "half swept: " + strings.Join(left, " ")
	}
	return strings.Join(names, " ")
}

// want is how a start must end.
type want struct {
	code   int    // of the script; 0: the entry point was executed
	store  string // what is left
	says   []string
	silent []string // what may not be said
	calls  string   // of ctr, where they matter
}

// end checks what holds in every case, and then w.
func (n *node) end(t *testing.T, w want, code int, stderr string) {
	t.Helper()
	if code != w.code {
		t.Errorf("exit code %d, want %d", code, w.code)
	}
	if got := n.store(t); got != w.store {
		t.Errorf("the store is %q, want %q", got, w.store)
	}
	for _, text := range w.says {
		if !strings.Contains(stderr, text) {
			t.Errorf("standard error does not say %q", text)
		}
	}
	for _, text := range w.silent {
		if strings.Contains(stderr, text) {
			t.Errorf("standard error says %q", text)
		}
	}
	entered := n.read("ctl/entered")
	if w.code == 0 {
		if want := "server\na b\n$(id)\nit's\nlast\nx y\n\n"; entered != want {
			t.Errorf("the entry point got %q, want %q", entered, want)
		}
		if n.read("ctl/entry.notify") != "/run/made-up" {
			t.Error("the entry point has no NOTIFY_SOCKET")
		}
		if n.read("run/sweep/boot") == "" {
			t.Error("there is no marker")
		}
	} else {
		if entered != "" {
			t.Errorf("the entry point was executed with %q", entered)
		}
		if n.read("run/sweep/boot") != "" {
			t.Error("there is a marker")
		}
		if w.code == 1 && !strings.HasSuffix(stderr, "storesweep: the node is not started\n") {
			t.Error("standard error does not end with the node")
		}
	}
	got := n.read("ctl/ctr.log")
	for strings.HasPrefix(got, "version \nversion \n") { // containerd was not ready at once
		got = strings.TrimPrefix(got, "version \n")
	}
	if w.calls != "" && got != w.calls {
		t.Errorf("ctr was called\n%swant\n%s", got, w.calls)
	}
	if n.read("ctl/containerd.notify") != "none" && n.read("ctl/containerd.log") != "" {
		t.Error("containerd has NOTIFY_SOCKET")
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(n.read("ctl/containerd.pid"))); err == nil && running(pid) {
		t.Errorf("containerd, process %d, still runs", pid)
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, canary := range []string{"agent/canary", "state/canary"} {
		if n.read(canary) != "of another\n" {
			t.Errorf("%s is gone", canary)
		}
	}
	if t.Failed() {
		t.Logf("standard error:\n%s", stderr)
	}
}

func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

const allCalls = "version \ntasks ls\ntasks delete\ntasks ls\ncontainers ls\ncontainers delete\ncontainers ls\n" +
	"sandboxes ls\nsandboxes rm\nsandboxes ls\nleases ls\nleases delete\nleases ls\n"

type branch struct {
	name    string
	arrange func(t *testing.T, n *node)
	want
}

func ctl(name, text string) func(*testing.T, *node) {
	return func(t *testing.T, n *node) { n.fill(t); n.write(t, "ctl/"+name, text) }
}

// branches are all ways through the script but those of signals.
func branches() []branch {
	const thrown = ": throwing the whole store away\n"
	bs := []branch{
		{"swept", func(t *testing.T, n *node) { n.fill(t) }, want{store: "swept", calls: allCalls,
			says: []string{"removing what the last run left: 3 containers\n", "removing what the last run left: 2 sandboxes\n", "the store is swept\n"}, silent: []string{"away"}}},
		{"nothing left", func(t *testing.T, n *node) {
			n.fill(t)
			for _, noun := range []string{"tasks", "containers", "sandboxes", "leases"} {
				n.write(t, "agent/store/io.containerd.metadata.v1.bolt/"+noun, "")
			}
		}, want{store: "swept", calls: "version \ntasks ls\ncontainers ls\nsandboxes ls\nleases ls\n", silent: []string{"removing"}}},
		{"containerd missing", func(t *testing.T, n *node) { n.fill(t); n.config.Containerd = "no containerd" },
			want{store: "empty", says: []string{"there is no program no containerd" + thrown}}},
		{"ctr missing", func(t *testing.T, n *node) { n.fill(t); n.config.Ctr = n.file("ctr") },
			want{store: "empty", says: []string{"there is no program "}, silent: []string{"containerd ended"}}},
		{"containerd is a file that cannot run", func(t *testing.T, n *node) { n.fill(t); n.config.Containerd = n.file("agent") },
			want{store: "empty", says: []string{thrown}}},
		{"containerd ends", ctl("containerd", "ends"),
			want{store: "empty", says: []string{"containerd ended before it was ready" + thrown, "containerd: the database is broken\n"}}},
		{"containerd is never ready", func(t *testing.T, n *node) {
			ctl("containerd", "silent")(t, n)
			n.config.Ready = 2 * time.Second
		}, want{store: "empty", says: []string{"containerd was not ready after 2 seconds" + thrown}}},
		{"containerd does not end", func(t *testing.T, n *node) {
			ctl("containerd", "deaf")(t, n)
			n.config.Stop = time.Second
		}, want{store: "swept", calls: allCalls}},
		{"containerd dies and ctr hangs", func(t *testing.T, n *node) {
			ctl("ctr", "hang containers delete")(t, n)
			n.config.Call = time.Second
		}, want{store: "empty", says: []string{" was killed after 1 seconds" + thrown}}},
		{"ctr version hangs", func(t *testing.T, n *node) {
			ctl("ctr", "hang version ")(t, n)
			n.config.Ready = 2 * time.Second
		}, want{store: "empty", says: []string{"containerd was not ready after 2 seconds" + thrown}, calls: "version \n"}},
		{"ctr lists what is no name", ctl("ctr", "strange leases ls"),
			want{store: "empty", says: []string{"ctr leases ls prints what is no name" + thrown}}},

		{"swept in this boot", func(t *testing.T, n *node) {
			n.fill(t)
			n.write(t, "run/sweep/boot", "0f6f0c4e-96f4-4f6c-9d5e-2f2f6f1f0001 4711\n")
		}, want{store: "filled", says: []string{"swept in this boot already\n"}}},
		{"marker of another boot", func(t *testing.T, n *node) {
			n.fill(t)
			n.write(t, "run/sweep/boot", "0f6f0c4e-96f4-4f6c-9d5e-2f2f6f1f0002 4711\n")
		}, want{store: "swept"}},
		{"marker of another container on the same machine", func(t *testing.T, n *node) {
			n.fill(t)
			n.write(t, "run/sweep/boot", "0f6f0c4e-96f4-4f6c-9d5e-2f2f6f1f0001 4710\n")
		}, want{store: "swept"}},
		{"empty marker", func(t *testing.T, n *node) { n.fill(t); n.write(t, "run/sweep/boot", "") }, want{store: "swept"}},
		{"marker's folder cannot be made", func(t *testing.T, n *node) { n.fill(t); n.write(t, "run", "a file") },
			want{code: 1, store: "filled", says: []string{"cannot make the folder"}}},
		{"marker cannot be written", func(t *testing.T, n *node) { n.fill(t); n.write(t, "run/sweep/boot.new/x", "") },
			want{code: 1, store: "filled", says: []string{"cannot write"}}},
		{"run is a link", func(t *testing.T, n *node) {
			n.fill(t)
			n.write(t, "other/x", "")
			os.Mkdir(n.file("run"), 0o755)
			symlink(t, n.file("other"), n.file("run/sweep"))
		}, want{code: 1, store: "filled", says: []string{"is a symbolic link"}}},
		{"others may write in run", func(t *testing.T, n *node) {
			n.fill(t)
			n.write(t, "run/sweep/x", "")
			os.Chmod(n.file("run/sweep"), 0o757)
		}, want{code: 1, store: "filled", says: []string{"others may write in "}}},
		{"run is a link's way into the store", func(t *testing.T, n *node) {
			n.fill(t)
			symlink(t, n.config.Store, n.file("run"))
		}, want{code: 1, store: "filled", says: []string{" is in the store"}}},
		{"run is a link's way to the store itself", func(t *testing.T, n *node) {
			n.fill(t)
			os.Chmod(n.config.Store, 0o755)
			symlink(t, filepath.Dir(n.config.Store), n.file("way"))
			n.config.Run = n.file("way/" + filepath.Base(n.config.Store))
		}, want{code: 1, store: "filled", says: []string{" is in the store"}}},
		{"the mark is a link", func(t *testing.T, n *node) {
			n.fill(t)
			symlink(t, n.file("agent/canary"), n.file("agent/store/.storesweep-discarding"))
		}, want{store: "empty", says: []string{thrown}}},
		{"the mark is a link to nothing", func(t *testing.T, n *node) {
			n.fill(t)
			symlink(t, n.file("agent/nothing"), n.file("agent/store/.storesweep-discarding"))
		}, want{store: "empty", says: []string{thrown}}},
		{"the mark is a pipe", func(t *testing.T, n *node) {
			n.fill(t)
			if err := syscall.Mkfifo(n.file("agent/store/.storesweep-discarding"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, want{store: "empty", says: []string{thrown}}},
		{"links and pipes in run", func(t *testing.T, n *node) {
			n.fill(t)
			n.write(t, "run/sweep/x", "")
			for _, name := range []string{"out", "err", "names", "containerd.log", "containerd.pid"} {
				symlink(t, n.file("agent/canary"), n.file("run/sweep/"+name))
			}
			if err := syscall.Mkfifo(n.file("run/sweep/boot.new"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, want{store: "swept"}},
		{"marker is a folder", func(t *testing.T, n *node) { n.fill(t); n.write(t, "run/sweep/boot/x", "") },
			want{code: 1, store: "filled", says: []string{"/boot is a folder"}}},
		{"no boot ID", func(t *testing.T, n *node) { n.fill(t); n.write(t, "proc/sys/kernel/random/boot_id", "") },
			want{code: 1, store: "filled", says: []string{"boot_id holds no ID"}}},
		{"no first process", func(t *testing.T, n *node) {
			n.fill(t)
			n.write(t, "proc/1/stat", "1 (a b c d e f g h i j k l m n o p q r s t u v w) S 0\n")
		},
			want{code: 1, store: "filled", says: []string{"does not say when the first process began"}}},
		{"no list of sockets", func(t *testing.T, n *node) { n.fill(t); os.Remove(n.file("proc/net/unix")) },
			want{code: 1, store: "filled", says: []string{"cannot read"}}},

		{"no store", func(t *testing.T, n *node) {}, want{store: "missing", says: []string{"nothing to sweep"}}},
		{"empty store", func(t *testing.T, n *node) { os.Mkdir(n.config.Store, 0o755) }, want{store: "empty", says: []string{"nothing to sweep"}}},
		{"no containerd's store", func(t *testing.T, n *node) { n.write(t, "agent/store/log", "of k3s") },
			want{store: "log", says: []string{"nothing to sweep"}}},
		{"store is a file", func(t *testing.T, n *node) { n.write(t, "agent/store", "") },
			want{code: 1, store: "a file", says: []string{"is not a folder"}}},
		{"store is a link", func(t *testing.T, n *node) {
			n.fill(t)
			rename(t, n.config.Store, n.file("agent/real"))
			symlink(t, "real", n.config.Store)
		}, want{code: 1, store: "filled", says: []string{"is a symbolic link"}}},
		{"store is a link to nothing", func(t *testing.T, n *node) { symlink(t, "nothing", n.config.Store) },
			want{code: 1, store: "missing", says: []string{"is a symbolic link"}}},
		{"a part of the store's path is a link", func(t *testing.T, n *node) {
			n.fill(t)
			symlink(t, "agent", n.file("link"))
			n.config.Store = n.file("link/store")
		}, want{code: 1, store: "filled", says: []string{"a part of its path is a symbolic link"}}},
		{"mounted in the store", func(t *testing.T, n *node) {
			ctl("containerd", "ends")(t, n)
			n.write(t, "proc/self/mountinfo", "1 0 8:1 / / rw - ext4 x rw\n2 1 8:2 / "+n.config.Store+" rw - ext4 x rw\n3 2 8:3 / "+n.config.Store+`/a\040b rw - ext4 x rw`+"\n")
		}, want{code: 1, store: "filled", says: []string{"is not thrown away: ", `/a\040b is mounted in it`}}},
		{"the store is a mount itself", func(t *testing.T, n *node) {
			ctl("containerd", "ends")(t, n)
			n.write(t, "proc/self/mountinfo", "2 1 8:2 / "+n.config.Store+" rw - ext4 x rw\n3 2 8:3 / "+n.config.Store+"2/x rw - ext4 x rw\n")
		}, want{store: "empty"}},
		{"store cannot be emptied", func(t *testing.T, n *node) {
			ctl("containerd", "ends")(t, n)
			n.path = filepath.Join(bin, "norm") + ":" + bin
		}, want{code: 1, store: "..also .hidden .storesweep-discarding a b\nc folder link io.containerd.content.v1.content io.containerd.metadata.v1.bolt link", says: []string{"rm: read-only file system", "cannot be thrown away"}}},
	}
	// Each step of the sweep: ctr fails, containerd dies before it, nothing is removed.
	calls := strings.Split(strings.TrimSuffix(allCalls, "\n"), "\n")
	slices.Sort(calls)
	for _, call := range slices.Compact(calls) {
		noun, verb, _ := strings.Cut(call, " ")
		if noun == "version" {
			continue
		}
		bs = append(bs,
			branch{"ctr fails at " + call, ctl("ctr", "fail "+call), want{store: "empty", says: []string{"ctr " + call + " failed with 3: ctr: it is broken" + thrown}}},
			branch{"containerd dies before " + call, ctl("ctr", "die "+call), want{store: "empty", says: []string{"ctr " + call + " failed with 1: ctr: connection refused" + thrown}}})
		if verb != "ls" {
			bs = append(bs, branch{"left: " + noun, ctl("ctr", "leave "+noun), want{store: "empty", says: []string{" " + noun + " are left" + thrown}}})
		}
	}
	return bs
}

// everywhere are the branches in which shells are most likely to differ.
var everywhere = []string{"swept", "nothing left", "containerd missing", "containerd ends", "containerd dies and ctr hangs", "swept in this boot", "no store",
	"no boot ID", "store is a link", "mounted in the store", "store cannot be emptied", "ctr fails at leases delete"}

func symlink(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// each is shelltest.Each; zsh plays sh, as it does where it is /bin/sh.
func each(t *testing.T, f func(t *testing.T, sh []string)) {
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		if sh.Name == "posh" {
			t.Skip("posh 0.14.1 now and then, on a busy machine, has the status 1 for a background ctr that said nothing: the store is emptied then, and the node starts")
		}
		args := slices.Clone(sh.Args)
		if sh.Name == "zsh" {
			args = append(args, "--emulate", "sh")
		}
		f(t, args)
	})
}

// onNodes tells whether a shell is one that the images of nodes have.
func onNodes(sh []string) bool { return sh[0] == "dash" || sh[0] == "busybox" }

// eachOnNodes is each for these alone.
func eachOnNodes(t *testing.T, f func(t *testing.T, sh []string)) {
	each(t, func(t *testing.T, sh []string) {
		if !onNodes(sh) {
			t.Skip("what this test is about does not differ between shells")
		}
		f(t, sh)
	})
}

// TestBranches: every way that a start can go in dash and busybox, the shells
// that images of a node have, and those that differ most in the others.
func TestBranches(t *testing.T) {
	all := branches()
	for _, name := range everywhere {
		if !slices.ContainsFunc(all, func(b branch) bool { return b.name == name }) {
			t.Fatalf("no branch is called %q", name)
		}
	}
	each(t, func(t *testing.T, sh []string) {
		t.Parallel()
		for _, b := range all {
			if !onNodes(sh) && !slices.Contains(everywhere, b.name) {
				continue
			}
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				n := newNode(t, "store")
				b.arrange(t, n)
				code, stderr := n.run(t, sh)
				n.end(t, b.want, code, stderr)
			})
		}
	})
}
