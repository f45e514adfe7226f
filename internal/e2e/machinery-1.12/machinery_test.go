// Package machinery tests the patches with the machinery of Talos 1.12.5:
// both forms.
package machinery

import (
	"flag"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/machinery-1.11/judge"
)

var cases = flag.Int("cases", 200, "number of generated configurations")

func TestMachinery(t *testing.T) { judge.Run(t, "../../..", 12, *cases) }
