package probe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

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

func ExampleEndpoints() {
	hub := mirrors.Endpoint{URL: "https://cache.example.com"}
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"quay.io":   {Endpoints: []mirrors.Endpoint{hub}},
		"docker.io": {Endpoints: []mirrors.Endpoint{hub, {URL: "https://mirror.gcr.io"}}},
	}}
	for _, e := range probe.Endpoints(set) {
		fmt.Println(e.URL)
	}
	// Output:
	// https://cache.example.com
	// https://mirror.gcr.io
}

func ExampleNew() {
	_, err := probe.New(mirrors.Set{}, probe.WithTimeout(0), probe.WithConcurrency(0))
	fmt.Println(err)
	// Output:
	// timeout: invalid duration "0s" (want more than 0)
	// concurrency: invalid number 0 (want at least 1)
}

// A page of a web server is no registry, whatever its status says.
func ExampleProber_Ask() {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintln(w, "<!doctype html><title>Harbor</title>")
	}))
	defer page.Close()
	p, err := probe.New(mirrors.Set{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := p.Ask(context.Background(), mirrors.Endpoint{URL: page.URL})
	fmt.Println(r.Answer, strings.ReplaceAll(r.Reason, page.URL, "https://harbor.example.com"))

	r = p.Ask(context.Background(), mirrors.Endpoint{URL: page.URL, OverridePath: true})
	fmt.Println(r.Answer, strings.ReplaceAll(r.Reason, page.URL, "https://harbor.example.com"))

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r = p.Ask(ctx, mirrors.Endpoint{URL: "https://192.0.2.1"})
	fmt.Println(r.Answer, r.Err)
	// Output:
	// no 200 OK with HTML: a web page, not the registry API
	// no 200 OK with HTML: a web page, not the registry API
	// unknown https://192.0.2.1/v2/: the caller stopped waiting before there was an answer
}

// With a progress line, as a command on a terminal has it.
func ExampleProber_AskAll() {
	cache := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	}))
	defer cache.Close()
	p, err := probe.New(mirrors.Set{})
	if err != nil {
		fmt.Println(err)
		return
	}
	endpoints := []mirrors.Endpoint{{URL: cache.URL}, {URL: cache.URL + "/v2/ghcr", OverridePath: true}}
	results := p.AskAll(context.Background(), endpoints, func(done, total int, r probe.Result) {
		fmt.Printf("%d of %d\n", done, total)
	})
	for _, r := range results { // in the order of the endpoints
		fmt.Println(r.Answer, strings.TrimPrefix(r.URL, cache.URL))
	}
	// Output:
	// 1 of 2
	// 2 of 2
	// yes /v2/
	// yes /v2/ghcr/
}
