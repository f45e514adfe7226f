package accesslog_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden reads logs that docker-registry 2.8.2 wrote, with each formatter, and
// one of nginx 1.22.1 before it, with a log_format that has more than combined.
func TestGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.log")
	require.NoError(t, err)
	require.Len(t, logs, 4)
	for _, name := range logs {
		log, err := os.ReadFile(name)
		require.NoError(t, err)
		report, err := accesslog.Served(bytes.NewReader(log), "ghcr.io/siderolabs/kubelet:v1.34.1")
		require.NoError(t, err)
		got, err := json.MarshalIndent(report, "", "  ")
		require.NoError(t, err)
		golden := strings.TrimSuffix(name, ".log") + ".json"
		if *update {
			require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got)+"\n", name)

		compare(t, report, log)
		if strings.Contains(name, "nginx") {
			continue
		}
		one, two := newReference(), newReference()
		one.read(log)
		two.unpaired = true
		two.read(log)
		assert.Equal(t, map[string]int{"ghcr.io siderolabs/kubelet": 4, " siderolabs/kubelet": 1}, one.images, name)
		assert.Equal(t, map[string]int{"ghcr.io siderolabs/kubelet": 8, " siderolabs/kubelet": 2}, two.images, name)
	}
}
