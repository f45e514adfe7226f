package mirrors

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// largeSet has n mirrors with two endpoints each, and credentials for every tenth cache.
func largeSet(n int) Set {
	s := Set{Mirrors: make(map[string]Mirror, n), Config: make(map[string]HostConfig, n/10)}
	for i := range n {
		cache := fmt.Sprintf("cache-%d.example.com:5000", i)
		s.Mirrors[fmt.Sprintf("registry-%d.example.com", i)] = Mirror{
			Endpoints: []Endpoint{
				{URL: "https://" + cache},
				{URL: fmt.Sprintf("https://harbor-%d.example.com/v2/project", i), OverridePath: true},
			},
			SkipFallback: i%2 == 0,
		}
		if i%10 == 0 {
			s.Config[cache] = HostConfig{Auth: &Auth{Username: "user", Password: NewSecret("made-up")}}
		}
	}
	return s
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := largeSet(n)
			b.ReportAllocs()
			for b.Loop() {
				if fs := s.Check(); len(fs) > 0 {
					b.Fatal(fs)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/mirror")
		})
	}
}

func BenchmarkPullOrder(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := largeSet(n)
			b.ReportAllocs()
			for b.Loop() {
				p, err := s.PullOrder("registry-7.example.com/image:v1")
				if err != nil || len(p.Containerd) != 3 {
					b.Fatal(p, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/mirror")
		})
	}
}

// The cost of a mirror does not grow with their number.
func TestCheckIsLinear(t *testing.T) {
	const n = 10_000
	s := largeSet(n)
	require.Empty(t, s.Check())
	allocs := testing.AllocsPerRun(3, func() { s.Check() })
	require.Less(t, allocs/n, 20.0, "allocations for each mirror")
}

// Hosts that differ in their port alone, and keys of config for them, are
// looked up, not gone through: what is kept for a host is one value without a
// list, a fixed number of times, and so is what is kept for a misnamed mirror.
func TestLookupsAreBoundedByStructure(t *testing.T) {
	const n = 2_000
	s := Set{Mirrors: map[string]Mirror{}, Config: map[string]HostConfig{}}
	images := make([]string, n)
	for i := range n {
		s.Mirrors[fmt.Sprintf("https://registry-%d.example.com", i)] = Mirror{Endpoints: []Endpoint{{URL: fmt.Sprintf("https://cache.example.com:%d", 1000+i)}}}
		s.Config[fmt.Sprintf("cache.example.com:%d", 10000+i)] = HostConfig{Auth: &Auth{Username: "user", Password: NewSecret("made-up")}}
		images[i] = fmt.Sprintf("registry-%d.example.com/image:v1", i)
	}
	c := newChecker(s, nil)
	require.Empty(t, byRule(findings(c.run()), RuleConfigUnused), "another port is another server")
	require.LessOrEqual(t, len(c.near.servers), 2*n+3)
	require.Len(t, c.near.ports, 1)

	leaks, err := s.AirGapped(images)
	require.NoError(t, err)
	require.Len(t, leaks, 2*n)
	require.Equal(t, RuleRegistryName, leaks[2*n-1].Rule)
	node := newNode(s, newFacts(nil))
	require.LessOrEqual(t, len(node.misnamed()), 2*n)
	allocs := testing.AllocsPerRun(3, func() { _, _ = s.AirGapped(images) })
	require.Less(t, allocs/n, 60.0, "allocations for each image")
}

// What is kept has no list to go through: this does not compile if it has.
var (
	_ = nearHost{} == nearHost{}
	_ = misnamed{} == misnamed{}
)

func findings(found []finding) (fs Findings) {
	for _, f := range found {
		fs = append(fs, f.Finding)
	}
	return fs
}
