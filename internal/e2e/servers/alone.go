package servers

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// alone is run by sh in a mount namespace of its own.
const alone = `set -eu
over() {
	[ ! -e "$2" ] || mount --bind "$1" "$2"
}
over "$1" /etc/hosts
over /dev/null /etc/resolv.conf
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /opt
echo 'hosts: files' >/run/nsswitch.conf
over /run/nsswitch.conf /etc/nsswitch.conf
shift
exec "$@"
`

// Alone returns the command line that runs a program in a mount namespace of its
// own: what it mounts, and what it writes in /run and /opt, is gone with it, and
// it finds hosts by the lines of one file alone, in the place of /etc/hosts. The
// process is the program's. It needs what [NeedsMounts] asks for.
func Alone(hosts string, argv ...string) []string {
	return append([]string{"unshare", "-m", "--propagation", "private", "/bin/sh", "-c", alone, "alone", hosts}, argv...)
}

// NeedsMounts ends the test as [Missing] does where it can have no mount
// namespace.
func NeedsMounts(t testing.TB) {
	t.Helper()
	r := Run(os.Environ(), nil, "unshare", "-m", "--propagation", "private", "true")
	if r.Exit != 0 || os.Getuid() != 0 {
		Missing(t, fmt.Sprintf("unshare, root and a mount namespace are needed: exit code %d, user %d, %s", r.Exit, os.Getuid(), strings.TrimSpace(r.Stderr)))
	}
}
