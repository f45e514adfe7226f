package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionOf(t *testing.T) {
	const machinery = "github.com/siderolabs/talos/pkg/machinery"
	for _, tt := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"a release", debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"},
			Deps:     []*debug.Module{{Path: "other", Version: "v9"}, {Path: machinery, Version: "v1.13.9"}},
			Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}}},
			"mirrorctl v0.1.0\ngo1.26.8 linux/arm64\nTalos machinery v1.13.9"},
		{"a work tree", debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "(devel)"},
			Deps:     []*debug.Module{{Path: machinery, Version: "v1.13.9", Replace: &debug.Module{Path: "../machinery"}}},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}, {Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "amd64"}}},
			"mirrorctl (devel)\nrevision 0123abc (2026-01-02T03:04:05Z, dirty)\ngo1.26.8 linux/amd64\nTalos machinery at ../machinery"},
		{"clean", debug.BuildInfo{GoVersion: "go1.26.8",
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "false"}, {Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "amd64"}}},
			"mirrorctl (devel)\nrevision 0123abc\ngo1.26.8 linux/amd64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, versionOf(&tt.info))
		})
	}

	code, stdout, stderr := mirrorctl("", "--version")
	assert.Zero(t, code)
	assert.Regexp(t, `^mirrorctl .+\n(revision .+\n)?go1\..+\n(Talos machinery v1\..+\n)?$`, stdout)
	assert.Empty(t, stderr)
}
