package configpatch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
)

func TestParseVersion(t *testing.T) {
	for _, tt := range []struct{ in, want, err string }{
		{in: "1.13", want: "v1.13.0"},
		{in: "v1.13", want: "v1.13.0"},
		{in: "1.13.9", want: "v1.13.9"},
		{in: "v1.13.9", want: "v1.13.9"},
		{in: "v1.14.0-alpha.2", want: "v1.14.0-alpha.2"},
		{in: "v1.14.0-alpha.1-12-gabc1234", want: "v1.14.0-alpha.1-12-gabc1234"},
		{in: "v0.14.3", want: "v0.14.3"},
		{in: "", err: `version: cannot read "" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "v", err: `version: cannot read "v" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1", err: `version: cannot read "1" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "latest", err: `version: cannot read "latest" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.13.x", err: `version: cannot read "1.13.x" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "v01.13.9", err: `version: cannot read "v01.13.9" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.13-alpha.1", err: `version: cannot read "1.13-alpha.1" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.13.9-", err: `version: cannot read "1.13.9-" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.13.9 ", err: `version: cannot read "1.13.9 " (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.13\n", err: `version: cannot read "1.13\n" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.13.9.1", err: `version: cannot read "1.13.9.1" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "-1.13", err: `version: cannot read "-1.13" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.99999999999999999999", err: `version: cannot read "1.99999999999999999999" (want a Talos version such as v1.13 or v1.13.9)`},
		{in: "1.14.0-alpha.02", err: `version: cannot read "1.14.0-alpha.02": leading zero in the pre-release (want a Talos version such as v1.14.0-alpha.2)`},
	} {
		t.Run(tt.in, func(t *testing.T) {
			v, err := configpatch.ParseVersion(tt.in)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				assert.True(t, v.IsZero())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, v.String())
			again, err := configpatch.ParseVersion(v.String())
			require.NoError(t, err)
			assert.Equal(t, v, again)
		})
	}
}

// The order is that of semver.org, section 11, and Talos's own releases.
func TestVersionOrder(t *testing.T) {
	order := []string{
		"0.14.3", "1.2.9", "1.3.0", "1.9.0", "1.9.10", "1.10.0",
		"1.14.0-alpha", "1.14.0-alpha.1", "1.14.0-alpha.2", "1.14.0-alpha.10", "1.14.0-alpha.beta",
		"1.14.0-beta", "1.14.0-beta.2", "1.14.0-beta.11", "1.14.0-rc.1", "1.14.0", "1.14.1", "2.0.0",
	}
	for i, a := range order {
		for j, b := range order {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			assert.Equal(t, want, version(t, a).Compare(version(t, b)), "%s, %s", a, b)
			assert.Equal(t, version(t, order[min(i, j)]), configpatch.Oldest(version(t, a), version(t, b)))
		}
	}
}

func TestVersionText(t *testing.T) {
	v := version(t, "v1.13.9")
	text, err := v.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, "v1.13.9", string(text))

	require.Error(t, v.UnmarshalText([]byte("nonsense")))
	assert.Equal(t, "v1.13.9", v.String(), "a failed UnmarshalText changes nothing")

	_, err = configpatch.Version{}.MarshalText()
	require.EqualError(t, err, "version: not set (want a Talos version such as v1.13)")
}

func TestForm(t *testing.T) {
	for in, want := range map[string]configpatch.Form{
		"1.3": configpatch.Legacy, "1.11.6": configpatch.Legacy, "1.12": configpatch.Legacy,
		"1.12.1": configpatch.Legacy, "1.12.2-rc.0": configpatch.Legacy,
		"1.12.2": configpatch.Documents, "1.13": configpatch.Documents, "1.14.0-alpha.2": configpatch.Documents,
	} {
		assert.Equal(t, want, configpatch.FormFor(version(t, in)), in)
	}
	for _, f := range []configpatch.Form{configpatch.Legacy, configpatch.Documents} {
		parsed, err := configpatch.ParseForm(f.String())
		require.NoError(t, err)
		assert.Equal(t, f, parsed)
	}
	_, err := configpatch.ParseForm("document")
	require.EqualError(t, err, `form: unknown form "document" (want legacy or documents)`)
}

func version(t testing.TB, s string) configpatch.Version {
	t.Helper()
	v, err := configpatch.ParseVersion(s)
	require.NoError(t, err)
	return v
}
