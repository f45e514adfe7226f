package k3s_test

import (
	"os"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/k3s"
)

func TestGolden(t *testing.T) {
	files := os.DirFS("testdata/files")
	goldentest.Each(t, func(path string) (*mirrors.Source, convert.Report, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return k3s.Read(data, k3s.WithFiles(files))
	})
}
