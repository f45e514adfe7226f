package probe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/probe"
)

func Example() {
	// Two servers of a test stand for a registry cache and for something else.
	cache := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		if _, _, ok := r.BasicAuth(); !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="cache"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer cache.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()

	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"docker.io": {Endpoints: []mirrors.Endpoint{{URL: cache.URL}}},
			"ghcr.io":   {Endpoints: []mirrors.Endpoint{{URL: other.URL}, {URL: "cache.internal:5000"}}},
		},
		Config: map[string]mirrors.HostConfig{
			cache.Listener.Addr().String(): {Auth: &mirrors.Auth{Username: "robot", Password: mirrors.NewSecret("made-up")}},
		},
	}
	p, err := probe.New(set)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range p.AskAll(context.Background(), probe.Endpoints(set), nil) {
		fmt.Printf("%s, login %s\n", r.Answer, r.Login)
		if r.URL == "" {
			fmt.Println(r.Err)
		}
	}

	// A yes is kept. (The addresses of these servers differ from run to run, so
	// the reasons, which name them, are not printed.)
	r := p.Ask(context.Background(), mirrors.Endpoint{URL: cache.URL})
	fmt.Println(r.Answer, r.Cached, r.Err)

	// Output:
	// yes, login accepted
	// no, login unasked
	// unknown, login unasked
	// cache.internal:5000: not an absolute URL (want an absolute URL such as https://mirror.example.com:5000)
	// yes true <nil>
}
