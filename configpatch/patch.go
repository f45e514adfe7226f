package configpatch

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
)

// Patch is one strategic-merge patch for a Talos machine configuration, never
// a JSON 6902 one and never an empty one (Talos takes an empty patch for JSON
// 6902). It is made by [Merge], [Replace] and [Converge] only.
//
// A patch may hold credentials: Bytes returns them, while fmt and log/slog
// print its name and size only.
//
// Rendering takes microseconds, the proof as long as machinery takes: its YAML
// library compares every two keys of a mapping, so that the legacy form of
// 30,000 mirrors takes seconds. The patches of Merge and Replace depend on the
// Set, the version and the options only: a controller calls them once for each
// Set and version, and gives the same Patch to all nodes. A Patch may be used by
// several goroutines at once.
type Patch struct {
	name string
	data []byte
}

// Bytes returns the patch as YAML. It is a copy.
func (p Patch) Bytes() []byte { return append([]byte(nil), p.data...) }

// Name returns a file name for talosctl's --config-patch @NAME, such as
// "1-ensure.yaml". The names of patches that belong together sort in the order
// of application.
func (p Patch) Name() string { return p.name }

// Load returns the patch as machinery's own type, for a caller that applies it.
// The error, for a Patch that none of these made, is an [*Error].
func (p Patch) Load() (configpatcher.Patch, error) {
	patch, err := loadPatch(p.data)
	if err != nil {
		return nil, &Error{Path: p.name, Reason: "machinery cannot load the patch", Err: err}
	}
	return patch, nil
}

// String returns the name and the size. It never returns the content.
func (p Patch) String() string { return fmt.Sprintf("%s (%d bytes)", p.name, len(p.data)) }

// Format writes what String returns, for every verb and flag.
func (p Patch) Format(f fmt.State, _ rune) { io.WriteString(f, p.String()) }

// LogValue is String, for log/slog.
func (p Patch) LogValue() slog.Value { return slog.StringValue(p.String()) }

// Patches are patches in the order in which one call must apply them.
type Patches []Patch

// Strings returns the patches as text, as strategicPatches of a Cluster API
// TalosConfigTemplate has them.
func (ps Patches) Strings() []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = string(p.data)
	}
	return out
}

// Load returns the patches as machinery's own type.
func (ps Patches) Load() ([]configpatcher.Patch, error) {
	out := make([]configpatcher.Patch, len(ps))
	for i, p := range ps {
		var err error
		if out[i], err = p.Load(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
