package servers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

func TestAlone(t *testing.T) {
	NeedsMounts(t)
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("192.0.2.7 one.internal\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const script = `
cat /etc/hosts /etc/resolv.conf
ls -A /opt
echo x >/run/mirrorpatch-alone
echo x >/opt/mirrorpatch-alone
getent hosts one.internal
getent hosts localhost || echo unknown
echo "$0 $*"
`
	argv := Alone(hosts, "/bin/sh", "-c", script, "name", "a b")
	r := Run([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, nil, argv[0], argv[1:]...)
	const want = "192.0.2.7 one.internal\n192.0.2.7       one.internal\nunknown\nname a b\n"
	if r != (Result{Stdout: want}) {
		t.Errorf("%+v, want %q", r, want)
	}
	for _, file := range []string{"/run/mirrorpatch-alone", "/opt/mirrorpatch-alone"} {
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("%s is on this machine", file)
			os.Remove(file)
		}
	}
	verdict.Proved(t, "what a program writes in /run and /opt is gone with it, and it knows the hosts of its own file and no other")
}
