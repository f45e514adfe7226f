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
