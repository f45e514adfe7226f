package mirrors

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pullOrderCase is a case of testdata/pull-order.json, which was written by running the code of
// Talos 1.13.9 and containerd 2.3.3 on each configuration.
type pullOrderCase struct {
	Name        string
	Config      string // of a Talos node
	DecodeError string // of containerd, for the hosts.toml of one registry
	HostsError  string // of Talos, which then writes no hosts.toml at all
	HostsToml   map[string]string
	Outcomes    []struct {
		Registry             string
		Containerd, Machined []string
		MachinedError        string
	}
}

func urls(as []Attempt) []string {
	us := []string{}
	for _, a := range as {
		us = append(us, a.URL)
	}
	return us
}

func TestPullOrderIsThatOfTheRealPrograms(t *testing.T) {
	data, err := os.ReadFile("../testdata/pull-order.json")
	require.NoError(t, err)
	var cases []pullOrderCase
	require.NoError(t, json.Unmarshal(data, &cases))
	require.Len(t, cases, 149)

	outcomes := 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			set := readTalos(t, c.Config)
			decodeErrors := 0
			for _, o := range c.Outcomes {
				outcomes++
				p, err := set.PullOrder(o.Registry + "/project/image:v1")
				require.NoError(t, err)
				assert.Equal(t, o.Registry, p.Registry)
				assert.Equal(t, o.Containerd, urls(p.Containerd), "containerd, %s", o.Registry)
				assert.Equal(t, o.Machined, urls(p.Machined), "machined, %s", o.Registry)
				assert.Equal(t, o.MachinedError, p.MachinedError, "machined, %s", o.Registry)
				switch {
				case c.HostsError != "":
					assert.Equal(t, c.HostsError, p.ContainerdError)
				case p.ContainerdError == c.DecodeError && c.DecodeError != "":
					decodeErrors++
				case p.ContainerdError != "":
					// The case has one text, and several registries may have an error.
					assert.NotEmpty(t, c.DecodeError)
					assert.Regexp(t, "^toml: table .* already exists$", p.ContainerdError)
				}
				// What differs has a reason; what does not differ has none.
				if !assert.ObjectsAreEqual(o.Containerd, o.Machined) {
					assert.True(t, p.Differs)
				}
				assert.Equal(t, p.Differs, p.Why != "")
				assert.NotContains(t, p.Why, "the lists differ", "a reason in words")
			}
			if c.DecodeError != "" {
				assert.Positive(t, decodeErrors, "no registry of the case meets %q", c.DecodeError)
			}
		})
	}
	assert.Equal(t, 752, outcomes)
}
