package cozystack_test

import (
	"os"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
)

func TestGolden(t *testing.T) {
	goldentest.Each(t, func(path string) (*mirrors.Source, convert.Report, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return cozystack.Read(data)
	})
}
