package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOutOnFullDisk: where there is no room for all files there is none of them,
// and no folder that was made for them; what was there stays.
func TestOutOnFullDisk(t *testing.T) {
	disk := t.TempDir()
	file := write(t, "registries.yaml", "mirrors: {ghcr.io: {endpoints: [https://m.internal]}}\n")
	sh := func(script string) ([]byte, error) {
		cmd := exec.Command("unshare", "--mount", "--map-root-user", "sh", "-euc", script)
		cmd.Env = append(os.Environ(), "DISK="+disk, "FILE="+file)
		return cmd.CombinedOutput()
	}
	// Two pages: one is full, one file more has room.
	const mount = `mount -t tmpfs -o size=8k none "$DISK"; page=$(getconf PAGESIZE); test "$page" = 4096; head -c 4096 /dev/zero >"$DISK/full"; cd "$DISK"; `
	if out, err := sh(mount); err != nil {
		t.Skipf("no small file system: %v: %s", err, out)
	}
	for _, dir := range []string{"new/dir", "old"} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			out, err := sh(mount + `mkdir old; echo mine >full; : >old/mine
head -c 4096 /dev/zero >full
code=0; mirrorctl patch -f "$FILE" --talos-version v1.13 --mode replace --out ` + dir + ` || code=$?
echo "code $code"; find . | sort`)
			require.NoError(t, err, "%s", out)
			assert.Regexp(t, `^mirrorctl: .*no space left on device\ncode 1\n\.\n\./full\n\./old\n\./old/mine\n$`, string(out))
		})
	}
}
