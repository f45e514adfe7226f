package convert_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

func TestReport(t *testing.T) {
	r := convert.Report{
		Entries: []convert.Entry{
			{Kind: convert.Loss, Path: `mirrors["ghcr.io"].skipFallback`, Reason: "there is none", Fix: "drop it"},
			{Kind: convert.Changed, File: "ghcr.io/hosts.toml", Path: "server", Line: 3, Column: 1, Reason: "it is other"},
			{Kind: convert.Decision, File: "ghcr.io", Reason: "one of two", Fix: "choose"},
		},
		Ignored: []string{"log-driver", "hosts"},
	}
	assert.Equal(t, `loss: mirrors["ghcr.io"].skipFallback: there is none (drop it)
ghcr.io/hosts.toml: line 3, column 1: changed: server: it is other
ghcr.io: decision: one of two (choose)
ignored: log-driver, hosts`, r.String())
	assert.False(t, r.Lossless())
	assert.True(t, convert.Report{Ignored: r.Ignored}.Lossless(), "what is ignored is no loss")
	assert.Empty(t, convert.Report{}.String())

	out, err := json.Marshal(r.Entries[1])
	assert.NoError(t, err)
	assert.JSONEq(t, `{"kind":"changed","file":"ghcr.io/hosts.toml","path":"server","line":3,"column":1,"reason":"it is other","fix":""}`, string(out))
	assert.Equal(t, "Kind(0)", fmt.Sprint(convert.Kind(0)))
}

func TestFilesNames(t *testing.T) {
	assert.Equal(t, []string{"a", "b/c"}, convert.Files{"b/c": nil, "a": nil}.Names())
}
