package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
)

// programVersion is what --version prints of this program.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "mirrorctl (built without module information)"
	}
	return versionOf(info)
}

// versionOf has a line for each: the version of the module, the revision that
// it was built from, Go, and Talos's machinery, whose rules it knows.
func versionOf(info *debug.BuildInfo) string {
	const machinery = "github.com/siderolabs/talos/pkg/machinery"
	lines := []string{"mirrorctl " + cmp.Or(info.Main.Version, "(devel)")}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		var about []string
		if at := settings["vcs.time"]; at != "" {
			about = append(about, at)
		}
		if settings["vcs.modified"] == "true" {
			about = append(about, "dirty")
		}
		line := "revision " + revision
		if about != nil {
			line += " (" + strings.Join(about, ", ") + ")"
		}
		lines = append(lines, line)
	}
	lines = append(lines, fmt.Sprintf("%s %s/%s", info.GoVersion, settings["GOOS"], settings["GOARCH"]))
	for _, dep := range info.Deps {
		if dep.Path == machinery {
			if dep.Replace != nil {
				dep = dep.Replace
			}
			lines = append(lines, "Talos machinery "+cmp.Or(dep.Version, "at "+dep.Path))
		}
	}
	return strings.Join(lines, "\n")
}
