package hosts_test

import (
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
)

func TestGolden(t *testing.T) {
	goldentest.Each(t, func(path string) (*mirrors.Source, convert.Report, error) {
		return hosts.Read(archive(t, path))
	})
}

// archive is a directory in a text file: folders of registries with a port have
// names that not every file system takes.
func archive(t testing.TB, path string) fstest.MapFS {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	for _, f := range a.Files {
		dir[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return dir
}
