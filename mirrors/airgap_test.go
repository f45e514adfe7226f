package mirrors

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAirGapped(t *testing.T) {
	for _, c := range []struct {
		name, in, image string
		opts            []CheckOption
		want            []string // "puller url rule"
	}{
		{name: "held", in: `mirrors: {ghcr.io: {endpoints: [https://a.internal], skipFallback: true}}`, image: "ghcr.io/x/y:v1"},
		{name: "held by *", in: `mirrors: {'*': {endpoints: [https://a.internal], skipFallback: true}}`, image: "nginx"},
		{name: "the cache itself", in: `mirrors: {ghcr.io: {endpoints: [https://a.internal], skipFallback: true}}`, image: "a.internal/x:v1"},
		{name: "the node itself", in: `{}`, image: "localhost:5000/x:v1"},
		{name: "no mirror", in: `{}`, image: "nginx", want: []string{"containerd https://registry-1.docker.io/v2 no-mirror", "machined https://registry-1.docker.io/v2 no-mirror"}},
		{name: "fallback", in: `mirrors: {ghcr.io: {endpoints: [https://a.internal]}}`, image: "ghcr.io/x:v1", want: []string{"containerd https://ghcr.io/v2 fallback", "machined https://ghcr.io/v2 fallback"}},
		{name: "duplicates", in: `mirrors: {ghcr.io: {endpoints: [https://a.internal, https://a.internal, https://b.internal], skipFallback: true}}`, image: "ghcr.io/x:v1",
			want: []string{"containerd https://ghcr.io/v2 endpoint-duplicate"}},
		{name: "a duplicate at the end is no table of its own", in: `mirrors: {ghcr.io: {endpoints: [https://a.internal, https://b.internal, https://a.internal], skipFallback: true}}`, image: "ghcr.io/x:v1"},
		{name: "no endpoint", in: `mirrors: {ghcr.io: {skipFallback: true}}`, image: "ghcr.io/x:v1", want: []string{"containerd https://ghcr.io/v2 skip-fallback-alone"}},
		{name: "no endpoint but the image cache", in: `mirrors: {ghcr.io: {skipFallback: true}}`, image: "ghcr.io/x:v1", opts: []CheckOption{WithImageCache()}},
		{name: "image cache with fallback", in: `{}`, image: "ghcr.io/x:v1", opts: []CheckOption{WithImageCache()}, want: []string{"containerd https://ghcr.io/v2 fallback", "machined https://ghcr.io/v2 fallback"}},
		{name: "TLS past *", in: `{mirrors: {'*': {endpoints: [https://a.internal/x], skipFallback: true}}, config: {ghcr.io: {tls: {insecureSkipVerify: true}}}}`, image: "ghcr.io/x:v1",
			want: []string{"containerd https://ghcr.io/v2 wildcard-bypassed"}},
		{name: "one bad URL anywhere", in: `mirrors: {quay.io: {endpoints: ['10.0.0.1:5000']}, ghcr.io: {endpoints: [https://a.internal], skipFallback: true}}`, image: "ghcr.io/x:v1",
			want: []string{"containerd https://ghcr.io/v2 endpoint-syntax"}},
		{name: "TLS of *", in: `{mirrors: {ghcr.io: {endpoints: [https://a.internal], skipFallback: true}}, config: {'*': {tls: {insecureSkipVerify: true}}}}`, image: "ghcr.io/x:v1",
			want: []string{"containerd https://ghcr.io/v2 tls-wildcard"}},
		{name: "another name of Docker Hub", in: `mirrors: {index.docker.io: {endpoints: [https://a.internal], skipFallback: true}}`, image: "index.docker.io/library/nginx",
			want: []string{"containerd https://registry-1.docker.io/v2 registry-alias", "machined https://registry-1.docker.io/v2 registry-alias"}},
		{name: "another case", in: `mirrors: {GHCR.io: {endpoints: [https://a.internal], skipFallback: true}}`, image: "ghcr.io/x:v1",
			want: []string{"containerd https://ghcr.io/v2 registry-name", "machined https://ghcr.io/v2 registry-name"}},
		{name: "a URL for a name", in: `mirrors: {'https://ghcr.io': {endpoints: [https://a.internal], skipFallback: true}}`, image: "ghcr.io/x:v1",
			want: []string{"containerd https://ghcr.io/v2 registry-name", "machined https://ghcr.io/v2 registry-name"}},
		{name: "a name that ends the same", in: `mirrors: {xghcr.io: {endpoints: [https://a.internal], skipFallback: true}}`, image: "ghcr.io/x:v1",
			want: []string{"containerd https://ghcr.io/v2 no-mirror", "machined https://ghcr.io/v2 no-mirror"}},
		{name: "an empty last endpoint", in: `mirrors: {ghcr.io: {endpoints: ['https://a.internal', ''], skipFallback: true}}`, image: "ghcr.io/x:v1", want: []string{"containerd https://ghcr.io/v2 endpoint-scheme"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaks, err := decodeSet(t, c.in).AirGapped([]string{c.image}, c.opts...)
			require.NoError(t, err)
			var got []string
			for _, l := range leaks {
				got = append(got, l.Puller+" "+l.URL+" "+l.Rule)
				assert.NotEmpty(t, l.Reason)
				assert.Equal(t, c.image, l.Image)
			}
			assert.Equal(t, c.want, got)
		})
	}

	leaks, err := Set{}.AirGapped([]string{"ghcr.io/x:v1"}, WithImageCache())
	require.NoError(t, err)
	require.Len(t, leaks, 2)
	assert.Equal(t, LeakFallback, leaks[0].Rule)
	assert.NotContains(t, leaks[0].Reason, "*", "there is no such mirror")

	_, err = Set{}.AirGapped([]string{"ok", "Not/An/Image", "x:y:z"})
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Len(t, e.Findings, 2, "each wrong reference is named")
}
