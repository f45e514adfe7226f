package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// TestPlaced: each entry of a writer gets the place of its field, whatever the
// key has in it, and the work grows with the entries alone.
func TestPlaced(t *testing.T) {
	keys := []string{"ghcr.io", `a"]b`, `a"]b.c`, "*", "[fd00::1]:5000", "ü\n", `\`, strings.Repeat("a", 1000)}
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	source := mirrors.NewSource(set)
	var report convert.Report
	for i, key := range keys {
		set.Mirrors[key], set.Config[key] = mirrors.Mirror{}, mirrors.HostConfig{}
		for j, p := range []mirrors.Place{
			{Section: "mirrors", Key: key}, {Section: "mirrors", Key: key, Field: "endpoints[1].overridePath"},
			{Section: "config", Key: key, Field: "auth"},
		} {
			source.Mark(p, mirrors.Position{Path: fmt.Sprintf("%d/hosts.toml: x", i), Line: i + 1, Column: j + 1})
			report.Entries = append(report.Entries, convert.Entry{File: "of-the-result", Path: p.String()})
		}
	}
	report.Entries = append(report.Entries, convert.Entry{Path: `mirrors["other"].skipFallback`}, convert.Entry{Path: ""}, convert.Entry{Path: "mirrors["})
	got := placed(report, source, "hosts", "k3s").Entries
	for i := range keys {
		for j := range 3 {
			e := got[3*i+j]
			assert.Equal(t, [3]any{fmt.Sprintf("%d/hosts.toml", i), i + 1, j + 1}, [3]any{e.File, e.Line, e.Column}, "%s", e.Path)
		}
	}
	assert.Equal(t, convert.Entry{Path: `for k3s: mirrors["other"].skipFallback`}, got[3*len(keys)])
	assert.Equal(t, convert.Entry{Path: "for k3s"}, got[3*len(keys)+1])
	assert.Equal(t, convert.Entry{Path: "for k3s: mirrors["}, got[3*len(keys)+2])

	// A key's path is made once, not once for each entry.
	many := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}}
	var entries []convert.Entry
	for i := range 2000 {
		many.Mirrors[fmt.Sprint(i)] = mirrors.Mirror{}
		entries = append(entries, convert.Entry{Path: mirrors.Place{Section: "mirrors", Key: fmt.Sprint(i)}.String()})
	}
	allocations := testing.AllocsPerRun(1, func() {
		placed(convert.Report{Entries: append([]convert.Entry(nil), entries...)}, mirrors.NewSource(many), "registries", "k3s")
	})
	assert.Less(t, allocations, 2000*30.0)
}
