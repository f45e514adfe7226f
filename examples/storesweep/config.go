package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// Config is what the script of [Script] knows about the node. Paths and words
// may hold any byte but NUL: they stand in the script through escape.Word.
type Config struct {
	Store     string // containerd's root, the folder that outlives the node
	State     string // containerd's state
	Socket    string // on which the entry point's containerd listens: while it does, nothing is touched
	Settings  string // containerd's configuration file
	Run       string // a folder of the script's own, best in tmpfs: the marker, a private socket, containerd's log
	Namespace string // of the kubelet's containers

	Containerd string // the program
	Ctr        string // the program; containerd 1.7 or later, which has sandboxes
	Entry      []string

	Ready time.Duration // until containerd answers, in whole seconds
	Call  time.Duration // one call of ctr
	Stop  time.Duration // until containerd has ended

	proc string // the proc file system
}

// K3s is the layout of k3s 1.32 and its image rancher/k3s.
func K3s() Config {
	return Config{
		Store:      "/var/lib/rancher/k3s/agent/containerd",
		State:      "/run/k3s/containerd",
		Socket:     "/run/k3s/containerd/containerd.sock",
		Settings:   "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
		Run:        "/run/storesweep",
		Namespace:  "k8s.io",
		Containerd: "containerd",
		Ctr:        "ctr",
		Entry:      []string{"k3s"},
		Ready:      time.Minute,
		Call:       time.Minute,
		Stop:       20 * time.Second,
		proc:       "/proc",
	}
}

// Linux takes a socket's path of at most 107 bytes, and containerd listens on
// one that is 6 bytes longer as well.
const maxSocket = 107 - len(".ttrpc")

// A namespace and an ID as containerd 2.4.2 takes them.
var identifier = regexp.MustCompile(`^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$`)

// check names everything that is wrong.
func (c Config) check() error {
	var errs []error
	wrong := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	for _, p := range []struct{ field, path string }{
		{"store", c.Store}, {"state", c.State}, {"socket", c.Socket}, {"config", c.Settings}, {"run", c.Run},
	} {
		switch {
		case !path.IsAbs(p.path) || path.Clean(p.path) != p.path:
			wrong(p.field, "%q is not an absolute path without //, . and .. in it", p.path)
		case strings.Count(p.path, "/") < 2:
			wrong(p.field, "%q is too near the root (want a path of two parts at least)", p.path)
		case p.field != "store" && c.Store != "" && strings.HasPrefix(p.path+"/", c.Store+"/"):
			wrong(p.field, "%q is in the store %q, which may be thrown away", p.path, c.Store)
		}
	}
	for _, s := range []struct{ field, path string }{{"socket", c.Socket}, {"run", c.privateSocket()}} {
		if len(s.path) > maxSocket {
			wrong(s.field, "the socket %q has %d bytes (want at most %d)", s.path, len(s.path), maxSocket)
		}
	}
	if strings.TrimSpace(c.Socket) != c.Socket || strings.ContainsFunc(c.Socket, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		wrong("socket", "%q has a control character, or a blank at its end", c.Socket)
	}
	if !identifier.MatchString(c.Namespace) {
		wrong("namespace", "%q is none (want letters and digits, and one of . _ - between them)", c.Namespace)
	}
	for _, w := range []struct{ field, word string }{{"containerd", c.Containerd}, {"ctr", c.Ctr}} {
		if w.word == "" || strings.HasPrefix(w.word, "-") {
			wrong(w.field, "%q is no program", w.word)
		}
	}
	if len(c.Entry) == 0 || c.Entry[0] == "" || strings.HasPrefix(c.Entry[0], "-") {
		wrong("entry", "%q is no program and its arguments (want -- k3s server)", c.Entry)
	}
	for _, d := range []struct {
		field string
		d     time.Duration
	}{{"ready", c.Ready}, {"call", c.Call}, {"stop", c.Stop}} {
		if d.d < time.Second || d.d%time.Second != 0 || d.d > 24*time.Hour {
			wrong(d.field, "%s is not whole seconds, from 1s to 24h", d.d)
		}
	}
	return errors.Join(errs...)
}

func (c Config) privateSocket() string { return c.Run + "/containerd.sock" }

// mountPoint is a path as /proc/self/mountinfo has it.
var mountPoint = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

func seconds(d time.Duration) escape.Shell {
	return escape.Word(strconv.Itoa(int(d / time.Second)))
}
