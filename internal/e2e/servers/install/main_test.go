package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// TestFits asks whether this test's own binary is the program.
func TestFits(t *testing.T) {
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "half")
	if err := os.WriteFile(text, []byte("\x7fELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	is := servers.Program{Package: info.Path, Version: info.Main.Version}
	tests := []struct {
		name               string
		p                  servers.Program
		file, goarch, goes string
		want               string
	}{
		{"it is", is, file, runtime.GOARCH, runtime.Version(), ""},
		{"a later Go built it", is, file, runtime.GOARCH, "go1.22.1", ""},
		{"an older Go built it", is, file, runtime.GOARCH, "go1.99", "it was built by go"},
		{"another version", servers.Program{Package: info.Path, Version: "v9.9.9"}, file, runtime.GOARCH, runtime.Version(), "@v9.9.9"},
		{"another program", servers.Program{Package: "example.com/cmd/other", Version: info.Main.Version}, file, runtime.GOARCH, runtime.Version(), "want example.com/cmd/other"},
		{"another machine", is, file, "riscv", runtime.Version(), "want " + info.Path + "@" + info.Main.Version + " GOARCH=riscv"},
		{"half a file", is, text, runtime.GOARCH, runtime.Version(), "build info"},
		{"no file", is, text + "-", runtime.GOARCH, runtime.Version(), "no such file"},
	}
	for _, tt := range tests {
		err := fits(tt.p, tt.file, runtime.GOOS, tt.goarch, tt.goes)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	verdict.Proved(t, "a program in the cache is built anew when it is another, half of it, for another machine or of an older Go: %d cases", len(tests))
}
