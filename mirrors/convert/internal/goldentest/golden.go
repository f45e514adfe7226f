// Package goldentest compares what the readers of foreign formats make of a file
// with a golden file beside it. It is for tests.
package goldentest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each calls read for each input in testdata, a file or a directory, and
// compares the Set, the report and the error with the file INPUT.golden.
func Each(t *testing.T, read func(path string) (*mirrors.Source, convert.Report, error)) {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".golden") || strings.HasSuffix(name, ".d") || name == "fuzz" || name == "files" {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			src, report, err := read(filepath.Join("testdata", name))
			Compare(t, filepath.Join("testdata", name+".golden"), Describe(t, src, report, err))
		})
	}
	if n == 0 {
		t.Fatal("testdata has no input")
	}
}

// Describe is the content of a golden file.
func Describe(t *testing.T, src *mirrors.Source, report convert.Report, err error) []byte {
	t.Helper()
	var b bytes.Buffer
	if (src == nil) != (err != nil) {
		t.Errorf("want a result or an error: %v, %v", src, err)
	}
	if err != nil {
		b.WriteString("# error\n" + err.Error() + "\n")
	}
	if src != nil {
		b.WriteString("# set\n")
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		if err := enc.Encode(src.Set); err != nil {
			t.Fatal(err)
		}
		// Where Check finds errors, and by which rule: how it says so is not
		// this test's.
		for _, f := range src.Check() {
			if f.Severity == mirrors.SeverityError {
				fmt.Fprintf(&b, "# check: line %d, column %d: %s [%s]\n", f.Line, f.Column, f.Path, f.Rule)
			}
		}
	}
	if s := report.String(); s != "" {
		b.WriteString("# report\n" + s + "\n")
	}
	return b.Bytes()
}

// Compare compares with a golden file, or writes it when the test has the flag -update.
func Compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew)\ngot:\n%s\nwant:\n%s", golden, got, want)
	}
}
