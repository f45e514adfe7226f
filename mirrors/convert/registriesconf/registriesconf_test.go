package registriesconf_test

import (
	"os"
	"strings"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/registriesconf"
)

func TestGolden(t *testing.T) {
	goldentest.Each(t, func(path string) (*mirrors.Source, convert.Report, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSuffix(path, ".conf") + ".d"
		if _, err := os.Stat(dir); err == nil {
			return registriesconf.Read(data, registriesconf.WithDropIns(os.DirFS(dir)))
		}
		return registriesconf.Read(data)
	})
}
