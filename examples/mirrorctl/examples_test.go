package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commands calls f with the root and every command below it.
func commands(f func(*cobra.Command)) {
	root := newTool(strings.NewReader(""), &strings.Builder{}, &strings.Builder{}).command(nil)
	root.InitDefaultHelpCmd()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		f(cmd)
		for _, below := range cmd.Commands() {
			if !below.Hidden {
				walk(below)
			}
		}
	}
	walk(root)
}

// standInPrograms are functions of a shell. What mirrorctl exits with is kept, also
// before a pipe. talosctl has a node, and reads the patches that it is given.
const standInPrograms = `
mirrorctl() { c=0; command mirrorctl "$@" || c=$?; echo "$c" >>"$CODES"; return "$c"; }
talosctl() {
  case $1 in
  get) cat worker.yaml ;;
  patch) for a do case $a in @*) cat "${a#@}" >/dev/null || return ;; esac; done ;;
  *) echo "talosctl $*" >&2; return 1 ;;
  esac
}
name="it's"
`

// standInCluster is what kubectl does: it has every object, and takes what it is given.
const standInCluster = `
case $1 in
get) echo 192.0.2.1 ;;
*) cat >/dev/null ;;
esac
`

// TestHelpExamples runs each example of each command's help in a folder that has
// the files that they name, one after the other.
func TestHelpExamples(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Write([]byte("{}"))
	}))
	defer registry.Close()
	standIn := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(standIn, "calls.sh"), []byte(standInCluster), 0o600))

	commands(func(cmd *cobra.Command) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			require.NotEmpty(t, cmd.Example)
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/examples")))
			values, err := os.ReadFile(valuesFile)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "values.yaml"), values, 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "templates"), 0o700))

			codes := filepath.Join(dir, "codes")
			calls, own := 0, false
			for example := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", "")) {
				example = strings.TrimSpace(example)
				calls += strings.Count(example, "mirrorctl ")
				own = own || strings.Contains(example+" ", cmd.CommandPath()+" ")
				sh := exec.Command("/bin/sh", "-euc", standInPrograms+example)
				sh.Dir = dir
				sh.Env = append(os.Environ(), "CODES="+codes, "STAND_IN="+standIn, "PATH="+binDir()+":"+os.Getenv("PATH"),
					"HTTP_PROXY="+registry.URL, "http_proxy="+registry.URL, "NO_PROXY=", "no_proxy=")
				var out, errs strings.Builder
				sh.Stdout, sh.Stderr = &out, &errs
				assert.NoError(t, sh.Run(), "%s\n%s%s", example, out.String(), errs.String())
				if strings.HasPrefix(example, "mirrorctl") && !strings.ContainsAny(example, ">|") && !strings.Contains(example, "--out") && cmd.Name() != "check" && cmd.HasParent() {
					assert.NotEmpty(t, out.String(), "%s", example)
				}
			}
			assert.True(t, own, "no example calls the command")
			got, err := os.ReadFile(codes)
			require.NoError(t, err)
			assert.Equal(t, strings.Repeat("0\n", calls), string(got))
		})
	})
}

// TestHelp: the help of each command fits a screen, and the root's is short.
func TestHelp(t *testing.T) {
	commands(func(cmd *cobra.Command) {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		code, stdout, stderr := mirrorctl("", args...)
		assert.Zero(t, code, "%s", stderr)
		assert.Empty(t, stderr)
		assert.Contains(t, stdout, "\nUsage:\n  "+cmd.CommandPath())
		assert.Contains(t, stdout, "\nExamples:\n")
		assert.Contains(t, stdout, "--color WHEN")
		if !cmd.HasParent() {
			assert.LessOrEqual(t, strings.Count(stdout, "\n"), 49)
			for line := range strings.Lines(stdout) {
				assert.LessOrEqual(t, len(line), 81, "%s", line)
			}
			for _, below := range cmd.Commands() {
				assert.Contains(t, stdout, "\n  "+below.Name()+" ", "%s is in no group", below.Name())
			}
		}
	})
}
