package mirrors

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFix(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		opts           []CheckOption
		did            []string
	}{
		{name: "duplicates", in: `mirrors: {ghcr.io: {endpoints: [https://a, https://b, https://a, https://b], skipFallback: true}}`,
			want: `mirrors: {ghcr.io: {endpoints: [https://a, https://b], skipFallback: true}}`,
			did: []string{
				`mirrors["ghcr.io"].endpoints[2]: "https://a" is there before and goes [endpoint-duplicate]`,
				`mirrors["ghcr.io"].endpoints[3]: "https://b" is there before and goes [endpoint-duplicate]`}},
		{name: "which overridePath is meant is not certain", in: `mirrors: {ghcr.io: {endpoints: [{url: https://a/v2, overridePath: true}, {url: https://a/v2}]}}`,
			want: `mirrors: {ghcr.io: {endpoints: [{url: https://a/v2, overridePath: true}, {url: https://a/v2}]}}`},
		{name: "white space, spelling; a host that Talos would write as no host", in: `mirrors: {ghcr.io: {endpoints: [' https://a ', 'HTTPS://b', 'https://c/{x}', 'https://ü', 'a b']}}`,
			want: `mirrors: {ghcr.io: {endpoints: ['https://a', 'https://b', 'https://c/%7Bx%7D', 'https://ü', 'a b']}}`,
			did: []string{
				`mirrors["ghcr.io"].endpoints[0]: "https://a" instead of " https://a " [endpoint-syntax]`,
				`mirrors["ghcr.io"].endpoints[1]: "https://b" instead of "HTTPS://b" [endpoint-canonical]`,
				`mirrors["ghcr.io"].endpoints[2]: "https://c/%7Bx%7D" instead of "https://c/{x}" [endpoint-canonical]`}},
		{name: "project path", in: `mirrors: {ghcr.io: {endpoints: [https://h/v2/ghcr, https://h/v2/]}}`,
			want: `mirrors: {ghcr.io: {endpoints: [{url: https://h/v2/ghcr, overridePath: true}, https://h/v2/]}}`,
			did:  []string{`mirrors["ghcr.io"].endpoints[0]: overridePath: true for "https://h/v2/ghcr" [endpoint-path]`}},
		{name: "project path that the legacy form cannot say", in: `mirrors: {ghcr.io: {endpoints: [https://h/v2/ghcr, https://i]}, quay.io: {endpoints: [https://h/v2/quay]}}`,
			want: `mirrors: {ghcr.io: {endpoints: [https://h/v2/ghcr, https://i]}, quay.io: {endpoints: [https://h/v2/quay], overridePath: true}}`, opts: []CheckOption{InForm("legacy")},
			did: []string{`mirrors["quay.io"].endpoints[0]: overridePath: true for "https://h/v2/quay" [endpoint-path]`}},
		{name: "keys of mirrors", in: `mirrors: {index.docker.io: {}, 'https://ghcr.io/': {}, Quay.io: {}, '*.gcr.io': {}, a.io/b: {}, '': {}, '*': {}}`,
			want: `mirrors: {docker.io: {}, ghcr.io: {}, quay.io: {}, '*.gcr.io': {}, a.io/b: {}, '': {}, '*': {}}`,
			did: []string{
				`mirrors["Quay.io"]: the key is "quay.io" [registry-name]`,
				`mirrors["https://ghcr.io/"]: the key is "ghcr.io" [registry-name]`,
				`mirrors["index.docker.io"]: the key is "docker.io" [registry-alias]`}},
		{name: "the key is taken", in: `mirrors: {docker.io: {}, index.docker.io: {skipFallback: true}}`, want: `mirrors: {docker.io: {}, index.docker.io: {skipFallback: true}}`},
		{name: "keys of config", in: `{mirrors: {ghcr.io: {endpoints: ['https://a:5000', 'https://B', 'https://[fd00::1]', 'http://d', 'https://e']}}, config: {'https://a:5000/v2': {}, 'b:443': {}, 'fd00::1': {}, 'd:80': {}, 'e:5000': {}, 'https://index.docker.io/v1/': {}}}`,
			want: `{mirrors: {ghcr.io: {endpoints: ['https://a:5000', 'https://B', 'https://[fd00::1]', 'http://d', 'https://e']}}, config: {'a:5000': {}, 'B': {}, '[fd00::1]': {}, 'd': {}, 'e:5000': {}, 'registry-1.docker.io': {}}}`,
			did: []string{
				`config["b:443"]: the key is "B" [config-unused]`,
				`config["d:80"]: the key is "d" [config-unused]`,
				`config["fd00::1"]: the key is "[fd00::1]" [config-unused]`,
				`config["https://a:5000/v2"]: the key is "a:5000" [config-key]`,
				`config["https://index.docker.io/v1/"]: the key is "registry-1.docker.io" [config-key]`}},
		{name: "the key of config is taken", in: `{mirrors: {ghcr.io: {endpoints: ['https://a']}}, config: {'a:443': {auth: {username: u, password: made-up}}, 'a': {tls: {}}}}`,
			want: `{mirrors: {ghcr.io: {endpoints: ['https://a']}}, config: {'a:443': {auth: {username: u, password: made-up}}, 'a': {tls: {}}}}`},
		{name: "credentials of Docker Hub", in: `config: {docker.io: {auth: {username: u, password: made-up}, tls: {insecureSkipVerify: true}}}`,
			want: `config: {docker.io: {tls: {insecureSkipVerify: true}}, registry-1.docker.io: {auth: {username: u, password: made-up}}}`,
			did:  []string{`config["docker.io"].auth: the credentials are under "registry-1.docker.io" [hub-auth-key]`}},
		{name: "credentials of an endpoint that is docker.io", in: `{mirrors: {ghcr.io: {endpoints: [https://docker.io]}}, config: {docker.io: {auth: {username: u, password: made-up}}}}`,
			want: `{mirrors: {ghcr.io: {endpoints: [https://docker.io]}}, config: {docker.io: {auth: {username: u, password: made-up}}}}`},
		{name: "a key that is no mistake", in: `{mirrors: {'m.internal:443': {endpoints: ['https://m.internal']}}, config: {'m.internal:443': {auth: {username: u, password: made-up}}}}`,
			want: `{mirrors: {'m.internal:443': {endpoints: ['https://m.internal']}}, config: {'m.internal:443': {auth: {username: u, password: made-up}}}}`},
		{name: "a new error in one mirror, an old one in another", in: `mirrors: {ghcr.io: {endpoints: [' https://a/v2', {url: https://a/v2, overridePath: true}]}, quay.io: {endpoints: [https://b, https://b]}}`,
			want: `mirrors: {ghcr.io: {endpoints: [' https://a/v2', {url: https://a/v2, overridePath: true}]}, quay.io: {endpoints: [https://b]}}`,
			did:  []string{`mirrors["quay.io"].endpoints[1]: "https://b" is there before and goes [endpoint-duplicate]`}},
		{name: "one change that is not made keeps no other", in: `mirrors: {ghcr.io: {endpoints: [' https://a', {url: https://a, overridePath: true}, ' https://e']}, quay.io: {endpoints: ['HTTPS://c', ' https://d']}}`,
			want: `mirrors: {ghcr.io: {endpoints: [' https://a', {url: https://a, overridePath: true}, 'https://e']}, quay.io: {endpoints: ['https://c', 'https://d']}}`,
			did: []string{
				`mirrors["ghcr.io"].endpoints[2]: "https://e" instead of " https://e" [endpoint-syntax]`,
				`mirrors["quay.io"].endpoints[0]: "https://c" instead of "HTTPS://c" [endpoint-canonical]`,
				`mirrors["quay.io"].endpoints[1]: "https://d" instead of " https://d" [endpoint-syntax]`}},
		{name: "what is told apart by white space", in: `mirrors: {ghcr.io: {endpoints: ['https://b', ' https://a', 'https://c', 'https://a', 'HTTPS://d']}}`,
			want: `mirrors: {ghcr.io: {endpoints: ['https://b', 'https://a', 'https://c', 'https://d']}}`,
			did: []string{
				`mirrors["ghcr.io"].endpoints[1]: "https://a" instead of " https://a" [endpoint-syntax]`,
				`mirrors["ghcr.io"].endpoints[3]: "https://a" is there before and goes [endpoint-syntax]`,
				`mirrors["ghcr.io"].endpoints[4]: "https://d" instead of "HTTPS://d" [endpoint-canonical]`}},
		{name: "two spellings of one server", in: `{mirrors: {ghcr.io: {endpoints: ['https://B', 'https://b:443/x']}}, config: {'[b]:443': {}, 'B:443': {auth: {username: u, password: made-up}}}}`,
			want: `{mirrors: {ghcr.io: {endpoints: ['https://B', 'https://b:443/x']}}, config: {'[b]:443': {}, 'B:443': {auth: {username: u, password: made-up}}}}`},
		{name: "one spelling of two servers", in: `{mirrors: {ghcr.io: {endpoints: ['http://a', 'https://a']}}, config: {'a:443': {auth: {username: u, password: made-up}}}}`,
			want: `{mirrors: {ghcr.io: {endpoints: ['http://a', 'https://a']}}, config: {'a:443': {auth: {username: u, password: made-up}}}}`},
		{name: "the port of a registry itself", in: `{mirrors: {ghcr.io: {endpoints: ['https://m.internal/x']}}, config: {'ghcr.io:443': {auth: {username: u, password: made-up}}, 'docker.io:443': {auth: {username: v, password: made-up}}}}`,
			want: `{mirrors: {ghcr.io: {endpoints: ['https://m.internal/x']}}, config: {ghcr.io: {auth: {username: u, password: made-up}}, registry-1.docker.io: {auth: {username: v, password: made-up}}}}`,
			did: []string{
				`config["docker.io:443"]: the key is "registry-1.docker.io" [config-unused]`,
				`config["ghcr.io:443"]: the key is "ghcr.io" [config-unused]`}},
		{name: "not certain", in: `{mirrors: {ghcr.io: {endpoints: [a:5000, 'https://u:made-up@b', 'https://c/x?y']}, quay.io: {skipFallback: true}}, config: {'*': {tls: {}}}}`,
			want: `{mirrors: {ghcr.io: {endpoints: [a:5000, 'https://u:made-up@b', 'https://c/x?y']}, quay.io: {skipFallback: true}}, config: {'*': {tls: {}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, want := decodeSet(t, c.in), decodeSet(t, c.want)
			before := set.DeepCopy()
			fixed, did := set.Fix(c.opts...)
			assert.True(t, before.Equal(set), "the Set itself is as it was")
			assert.True(t, want.Equal(fixed), "%+v", fixed)
			var texts []string
			for _, d := range did {
				texts = append(texts, d.String())
				assert.NotContains(t, d.String(), "made-up")
			}
			assert.Equal(t, c.did, texts)
			again, more := fixed.Fix(c.opts...)
			assert.Empty(t, more, "a fixed Set needs no fix")
			assert.True(t, fixed.Equal(again))
		})
	}
}

func decodeSet(t testing.TB, text string) Set {
	t.Helper()
	src, err := Decode([]byte(text))
	require.NoError(t, err)
	return src.Set
}
