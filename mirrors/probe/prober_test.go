package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// TestCache holds the Prober to the rule of the package's doc: a yes and a no are
// kept for the TTL, an unknown of the answer or of the login never.
func TestCache(t *testing.T) {
	const ttl = time.Minute
	tests := []struct {
		name   string
		code   int
		header string // of WWW-Authenticate
		ttl    time.Duration
		answer Answer
		login  Login
		asked  []int32 // requests after the 1st, the 2nd and, past the TTL, the 3rd question
	}{
		{"yes", 200, "", ttl, Yes, LoginUnasked, []int32{1, 1, 2}},
		{"no", 404, "", ttl, No, LoginUnasked, []int32{1, 1, 2}},
		{"unknown", 500, "", ttl, Unknown, LoginUnasked, []int32{1, 2, 3}},
		{"yes without credentials", 401, "Basic realm=x", ttl, Yes, LoginMissing, []int32{1, 1, 2}},
		{"unknown behind a login", 401, "Basic realm=x", ttl, Unknown, LoginMissing, []int32{1, 2, 3}},
		{"yes with an unknown login", 401, "Bearer", ttl, Yes, LoginUnknown, []int32{1, 2, 3}},
		{"TTL of 0", 200, "", 0, Yes, LoginUnasked, []int32{1, 2, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if tt.answer == Yes {
					w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
				}
				if tt.header != "" {
					w.Header().Set("WWW-Authenticate", tt.header)
				}
				w.WriteHeader(tt.code)
			}))
			defer s.Close()
			p, err := New(mirrors.Set{}, WithTTL(tt.ttl))
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			p.now = func() time.Time { return now }
			var first Result
			for i, wait := range []time.Duration{0, ttl - 1, 1} {
				now = now.Add(wait)
				r := p.Ask(t.Context(), mirrors.Endpoint{URL: s.URL})
				if r.Answer != tt.answer || r.Login != tt.login {
					t.Errorf("question %d: %s, %s, want %s, %s", i, r.Answer, r.Login, tt.answer, tt.login)
				}
				if n := asked.Load(); n != tt.asked[i] {
					t.Errorf("question %d: %d requests, want %d", i, n, tt.asked[i])
				}
				if cached := i > 0 && tt.asked[i] == tt.asked[i-1]; r.Cached != cached {
					t.Errorf("question %d: cached %v, want %v", i, r.Cached, cached)
				}
				if i == 0 {
					first = r
				}
				if r.Cached {
					r.Cached = false
					if fmt.Sprintf("%#v", r) != fmt.Sprintf("%#v", first) {
						t.Errorf("kept %#v, was %#v", r, first)
					}
				}
			}
		})
	}
}

// A kept answer needs no time, so a context that ended does not hide it; and
// another overridePath is another endpoint.
func TestCacheKey(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1) }))
	defer s.Close()
	p, err := New(mirrors.Set{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	e := mirrors.Endpoint{URL: s.URL + "/v2"}
	p.Ask(ctx, e)
	cancel()
	if r := p.Ask(ctx, e); r.Answer != Yes || !r.Cached {
		t.Errorf("got %v, cached %v", r, r.Cached)
	}
	e.OverridePath = true
	if r := p.Ask(t.Context(), e); r.Answer != Yes || r.Cached || asked.Load() != 2 {
		t.Errorf("got %v, cached %v, %d requests", r, r.Cached, asked.Load())
	}
}

// Expired answers do not pile up in a Prober that lives long.
func TestCacheIsSwept(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	p, err := New(mirrors.Set{}, WithTTL(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	p.now = func() time.Time { return now }
	for i := range 30 {
		p.Ask(t.Context(), mirrors.Endpoint{URL: fmt.Sprintf("%s/%d", s.URL, i)})
		now = now.Add(20 * time.Second)
	}
	if n := len(p.kept); n > 6 {
		t.Errorf("%d answers are kept, want those of the last two minutes", n)
	}
	if n := len(p.flights); n != 0 {
		t.Errorf("%d questions are in flight", n)
	}
}

// The Prober has a copy: what happens to the Set later does not reach it.
func TestSetIsCopied(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, p, _ := r.BasicAuth(); p != "made-up" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(401)
		}
	}))
	defer s.Close()
	auth := &mirrors.Auth{Username: "robot", Password: mirrors.NewSecret("made-up")}
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{s.Listener.Addr().String(): {Auth: auth}}}
	p, err := New(set)
	if err != nil {
		t.Fatal(err)
	}
	auth.Password = mirrors.NewSecret("other")
	clear(set.Config)
	if r := p.Ask(t.Context(), mirrors.Endpoint{URL: s.URL}); r.Login != LoginAccepted {
		t.Errorf("got %v", r)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		value fmt.Stringer
		want  string
	}{
		{Unknown, "unknown"}, {Yes, "yes"}, {No, "no"}, {Answer(9), "Answer(9)"},
		{LoginUnasked, "unasked"}, {LoginAnonymous, "anonymous"}, {LoginAccepted, "accepted"},
		{LoginRefused, "refused"}, {LoginMissing, "missing"}, {LoginUnknown, "unknown"}, {Login(-1), "Login(-1)"},
	} {
		if got := tt.value.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
