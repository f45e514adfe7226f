package mirrors

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestPresets(t *testing.T) {
	for _, u := range Upstreams() {
		reason, _ := badRegistryName(u)
		assert.Empty(t, reason, u)
	}
	assert.IsIncreasing(t, Upstreams())
	assert.Empty(t, DockerHubMirror().Check(ForTalos("1.13")))
	p, err := DockerHubMirror().PullOrder("nginx")
	require.NoError(t, err)
	assert.Equal(t, []string{"https://mirror.gcr.io/v2", "https://registry-1.docker.io/v2"}, urls(p.Containerd))

	for _, c := range []struct {
		name string
		make func() (Set, error)
		want string // the Set, or the start of the error
		url  string // where ghcr.io goes
	}{
		{"a port for each", func() (Set, error) {
			return CachePerPort("http://192.0.2.10", map[string]int{"docker.io": 5000, "ghcr.io": 5001}, false)
		}, "mirrors:\n    docker.io:\n        endpoints:\n            - http://192.0.2.10:5000\n    ghcr.io:\n        endpoints:\n            - http://192.0.2.10:5001\n", "http://192.0.2.10:5001/v2"},
		{"an IPv6 host", func() (Set, error) {
			return CachePerPort("http://[fd00::10]/", map[string]int{"ghcr.io": 5001}, true)
		}, "mirrors:\n    ghcr.io:\n        endpoints:\n            - http://[fd00::10]:5001\n        skipFallback: true\n", "http://[fd00::10]:5001/v2"},
		{"a port twice", func() (Set, error) {
			return CachePerPort("http://192.0.2.10", map[string]int{"docker.io": 5000, "ghcr.io": 5000}, false)
		}, `mirrors["ghcr.io"]: port 5000 is that of "docker.io" as well`, ""},
		{"no port", func() (Set, error) { return CachePerPort("http://192.0.2.10", map[string]int{"ghcr.io": 0}, false) }, `mirrors["ghcr.io"]: 0 is not a port`, ""},
		{"a port in the origin", func() (Set, error) {
			return CachePerPort("http://192.0.2.10:80", map[string]int{"ghcr.io": 5000}, false)
		}, `origin: "http://192.0.2.10:80" has a port`, ""},
		{"no scheme", func() (Set, error) { return CachePerPort("192.0.2.10", map[string]int{"ghcr.io": 5000}, false) }, `origin: "192.0.2.10" has no scheme`, ""},
		{"an alias", func() (Set, error) {
			return CachePerPort("http://192.0.2.10", map[string]int{"index.docker.io": 5000}, false)
		}, `mirrors["index.docker.io"]: images of Docker Hub`, ""},
		{"Harbor", func() (Set, error) {
			return CachePerPath("https://harbor.example.com", ProjectPath, map[string]string{"ghcr.io": "ghcr", "quay.io": "proxy/quay"}, true)
		}, "mirrors:\n    ghcr.io:\n        endpoints:\n            - https://harbor.example.com/v2/ghcr\n        overridePath: true\n        skipFallback: true\n    quay.io:\n        endpoints:\n            - https://harbor.example.com/v2/proxy/quay\n        overridePath: true\n        skipFallback: true\n", "https://harbor.example.com/v2/ghcr"},
		{"Nexus", func() (Set, error) {
			return CachePerPath("https://nexus.example.com:8443/", RepositoryPath, map[string]string{"ghcr.io": "ghcr"}, false)
		}, "mirrors:\n    ghcr.io:\n        endpoints:\n            - https://nexus.example.com:8443/repository/ghcr\n", "https://nexus.example.com:8443/repository/ghcr/v2"},
		{"a project with a space", func() (Set, error) {
			return CachePerPath("https://h", ProjectPath, map[string]string{"ghcr.io": "a b"}, false)
		}, `mirrors["ghcr.io"]: "a b" is not a project`, ""},
		{"a project twice", func() (Set, error) {
			return CachePerPath("https://h", ProjectPath, map[string]string{"ghcr.io": "a", "quay.io": "a"}, false)
		}, `mirrors["quay.io"]: the project "a" is that of "ghcr.io" as well`, ""},
		{"a path in the origin", func() (Set, error) {
			return CachePerPath("https://h/x", ProjectPath, map[string]string{"ghcr.io": "a"}, false)
		}, `origin: "https://h/x" has a path`, ""},
		{"no shape", func() (Set, error) { return CachePerPath("https://h", 0, map[string]string{"ghcr.io": "a"}, false) }, "shape: unknown shape 0", ""},
		{"a port that is none", func() (Set, error) { return CachePerPort("http://192.0.2.10", map[string]int{"ghcr.io": 65536}, false) }, `mirrors["ghcr.io"]: 65536 is not a port`, ""},
		{"a port for all", func() (Set, error) { return CachePerPort("http://192.0.2.10", map[string]int{"*": 5000}, false) }, `mirrors["*"]: this is every registry`, ""},
		{"a project for all", func() (Set, error) {
			return CachePerPath("https://h", ProjectPath, map[string]string{"*": "a"}, false)
		}, `mirrors["*"]: this is every registry`, ""},
		{"no ports", func() (Set, error) { return CachePerPort("http://192.0.2.10", nil, false) }, `there is no upstream`, ""},
		{"no projects", func() (Set, error) { return CachePerPath("https://h", ProjectPath, nil, false) }, `there is no upstream`, ""},
		{"no upstreams", func() (Set, error) { return SharedCache("https://h", nil, false) }, `there is no upstream`, ""},
		{"one for all", func() (Set, error) {
			return SharedCache("http://127.0.0.1:30021", []string{"ghcr.io", "quay.io"}, false)
		}, "mirrors:\n    ghcr.io:\n        endpoints:\n            - http://127.0.0.1:30021\n    quay.io:\n        endpoints:\n            - http://127.0.0.1:30021\n", "http://127.0.0.1:30021/v2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, err := c.make()
			if c.url == "" {
				require.Error(t, err)
				assert.True(t, strings.HasPrefix(err.Error(), c.want), "%v", err)
				assert.NotContains(t, err.Error(), "\n", "one mistake is one line")
				assert.Equal(t, Set{}, set)
				return
			}
			require.NoError(t, err)
			text, err := yaml.Marshal(set)
			require.NoError(t, err)
			assert.Equal(t, c.want, string(text))
			p, err := set.PullOrder("ghcr.io/x:v1")
			require.NoError(t, err)
			assert.Equal(t, c.url, p.Machined[0].URL)
			assert.Equal(t, c.url, p.Containerd[0].URL)
		})
	}
}

// Whatever is wrong with the arguments is told at once.
func TestPresetMistakes(t *testing.T) {
	_, err := CachePerPath("h/x", 7, map[string]string{"Ghcr.io": "a", "quay.io": "a b", "*": "c"}, false)
	assert.EqualError(t, err, `origin: "h/x" has no scheme (want "https://h/x" or "http://h/x")
shape: unknown shape 7 (want ProjectPath or RepositoryPath)
mirrors["*"]: this is every registry, and what it would go to knows one (want the name of the upstream)
mirrors["quay.io"]: "a b" is not a project (want a name of lower case letters, digits, - _ . and / inside)
mirrors["Ghcr.io"]: a registry is spelled in lower case in image references (want the key "ghcr.io")`)
	_, err = CachePerPort("h", nil, false)
	assert.EqualError(t, err, "origin: \"h\" has no scheme (want a URL, such as \"https://h\")\nthere is no upstream (want one at least)")
	_, err = SharedCache("h", []string{"https://ghcr.io"}, false)
	assert.EqualError(t, err, "origin: \"h\" has no scheme (want a URL, such as \"https://h\")\nmirrors[\"https://ghcr.io\"]: a registry has no scheme (want the key \"ghcr.io\")")
}

func TestProjects(t *testing.T) {
	for project, want := range map[string]bool{
		"a": true, "a/b": true, "a-b_c.d": true, "v2a": true, "...": true,
		"": false, "a//b": false, "/a": false, "a/": false, ".": false, "..": false, "a/.": false, "a/..": false, "../a": false,
		"v2": false, "a/v2": false, "v2/a": false, "A": false, "a b": false, "a?b": false,
	} {
		assert.Equal(t, want, isProject(project), "%q", project)
	}
}
