package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// The defaults of the options.
const (
	DefaultTimeout     = 10 * time.Second
	DefaultConcurrency = 8
	DefaultTTL         = 5 * time.Minute
)

// Option changes a default of a [Prober].
type Option func(*Prober) error

// WithTimeout bounds one question with all its redirects and its login; it must
// be above zero.
func WithTimeout(d time.Duration) Option {
	return func(p *Prober) error {
		if d <= 0 {
			return &Error{Path: "timeout", Reason: fmt.Sprintf("invalid duration %q", d), Fix: "want more than 0"}
		}
		p.timeout = d
		return nil
	}
}

// WithConcurrency bounds how many questions a Prober asks at once; at least one.
func WithConcurrency(n int) Option {
	return func(p *Prober) error {
		if n < 1 {
			return &Error{Path: "concurrency", Reason: fmt.Sprintf("invalid number %d", n), Fix: "want at least 1"}
		}
		p.turns = make(chan struct{}, n)
		return nil
	}
}

// WithTTL says how long a yes or a no is kept; 0 keeps nothing. A yes whose login
// could not be tried to its end is asked again: who reads it wants to know.
func WithTTL(d time.Duration) Option {
	return func(p *Prober) error {
		if d < 0 {
			return &Error{Path: "ttl", Reason: fmt.Sprintf("invalid duration %q", d), Fix: "want 0 or more"}
		}
		p.ttl = d
		return nil
	}
}

// Prober asks endpoints with the credentials and TLS settings of one Set, and
// keeps what they answered. The zero value is not usable: make one with [New].
type Prober struct {
	config  map[string]mirrors.HostConfig
	timeout time.Duration
	ttl     time.Duration
	turns   chan struct{} // holds an element for each question that is being asked
	now     func() time.Time

	mu      sync.Mutex
	kept    map[mirrors.Endpoint]kept
	swept   time.Time // when expired answers were last removed
	flights map[mirrors.Endpoint]*flight
}

type kept struct {
	result  Result
	expires time.Time
}

// A flight is a question that is being asked. It has a context of its own, which
// ends when nobody waits any more: one caller who gives up does not end the
// question of another.
type flight struct {
	cancel  context.CancelFunc
	waiting int // guarded by Prober.mu
	done    chan struct{}
	result  Result // to be read after done
}

// New returns a Prober for a copy of the Set. The Set need not have passed its
// Check: what cannot be used makes the answer unknown. The error is one or more
// [*Error], for options that make no sense.
func New(set mirrors.Set, opts ...Option) (*Prober, error) {
	p := &Prober{
		config:  set.DeepCopy().Config,
		timeout: DefaultTimeout,
		ttl:     DefaultTTL,
		turns:   make(chan struct{}, DefaultConcurrency),
		now:     time.Now,
		kept:    map[mirrors.Endpoint]kept{},
		flights: map[mirrors.Endpoint]*flight{},
	}
	var errs []error
	for _, opt := range opts {
		errs = append(errs, opt(p))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// Endpoints returns each endpoint of the Set once: mirrors by name, their
// endpoints in order. The same URL with another overridePath is another endpoint.
func Endpoints(set mirrors.Set) []mirrors.Endpoint {
	var all []mirrors.Endpoint
	seen := map[mirrors.Endpoint]bool{}
	for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
		for _, e := range set.Mirrors[name].Endpoints {
			if !seen[e] {
				seen[e] = true
				all = append(all, e)
			}
		}
	}
	return all
}

// Ask asks one endpoint, or returns a kept answer. It returns when ctx ends, with
// Unknown and an Err that wraps ctx's.
func (p *Prober) Ask(ctx context.Context, e mirrors.Endpoint) Result {
	start := time.Now()

	p.mu.Lock()
	if k, ok := p.kept[e]; ok && p.now().Before(k.expires) {
		p.mu.Unlock()
		k.result.Cached = true
		return k.result
	}
	if err := ctx.Err(); err != nil {
		p.mu.Unlock()
		return p.gaveUp(ctx, e, start)
	}
	f := p.flights[e]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		var fctx context.Context
		fctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		p.flights[e] = f
		go p.fly(fctx, f, e)
	}
	f.waiting++
	p.mu.Unlock()

	select {
	case <-f.done:
		return f.result
	case <-ctx.Done():
	}

	p.mu.Lock()
	f.waiting--
	if f.waiting == 0 {
		f.cancel()
		if p.flights[e] == f {
			delete(p.flights, e) // who asks from now on wants a question that goes on
		}
	}
	p.mu.Unlock()
	return p.gaveUp(ctx, e, start)
}

// fly waits for its turn and asks.
func (p *Prober) fly(ctx context.Context, f *flight, e mirrors.Endpoint) {
	defer f.cancel()
	start := time.Now()
	select {
	case p.turns <- struct{}{}:
		f.result = p.ask(ctx, e)
		<-p.turns
	case <-ctx.Done():
		f.result = p.gaveUp(ctx, e, start)
	}

	p.mu.Lock()
	if p.flights[e] == f {
		delete(p.flights, e)
	}
	if p.ttl > 0 && f.result.keep() {
		now := p.now()
		if now.Sub(p.swept) >= p.ttl {
			p.swept = now
			maps.DeleteFunc(p.kept, func(_ mirrors.Endpoint, k kept) bool { return !now.Before(k.expires) })
		}
		p.kept[e] = kept{f.result, now.Add(p.ttl)}
	}
	p.mu.Unlock()
	close(f.done)
}

// AskAll asks all endpoints and returns their results in the order of the input,
// one for each element, repeated ones included. A nil progress is allowed;
// otherwise it is called after each result, never twice at the same time, with
// how many of how many there are. When ctx ends, what is not answered is Unknown.
func (p *Prober) AskAll(ctx context.Context, endpoints []mirrors.Endpoint, progress func(done, total int, r Result)) []Result {
	results := make([]Result, len(endpoints))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(cap(p.turns), len(endpoints)) {
		wg.Go(func() {
			for i := range next {
				results[i] = p.Ask(ctx, endpoints[i])
				if progress != nil {
					mu.Lock()
					done++
					progress(done, len(endpoints), results[i])
					mu.Unlock()
				}
			}
		})
	}
	for i := range endpoints {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// ask asks, now that it is its turn.
func (p *Prober) ask(ctx context.Context, e mirrors.Endpoint) Result {
	start := time.Now()
	tctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()

	r := Result{Endpoint: redactEndpoint(e)}
	t, err := newTarget(e)
	if err != nil {
		return r.unknown(err, start)
	}
	r.URL, r.Key = t.base(), t.key
	q, err := newQuestion(t, p.config[t.key])
	if err != nil {
		return r.unknown(err, start)
	}
	q.timeout = p.timeout

	v := q.ask(tctx, t.base())
	if root, ok := t.root(); ok && v.status == 404 {
		if above := q.ask(tctx, root); above.answer == Yes {
			v = above
			v.reason = fmt.Sprintf("it serves the registry API at %s, which %s is below; whether that is a project there was not asked", root, t.base())
			if v.problem != "" {
				v.reason += "; " + v.problem
			}
		} else if above.answer == Unknown {
			v = above
		}
	}
	if v.status == 404 && v.fix == "" && t.wantsOverride() {
		v.fix = "a path with /v2/ inside wants overridePath"
	}
	r.Answer, r.Login, r.Reason = v.answer, v.login, v.reason
	if r.Answer != Yes || v.problem != "" {
		r.Err = &Error{Path: r.URL, Reason: v.reason, Fix: v.fix, Err: v.err}
	}
	r.Took = time.Since(start)
	return r
}

// unknown is the result when the Set or the URL does not let anything be asked.
func (r Result) unknown(err *Error, start time.Time) Result {
	r.Reason = err.Error()
	r.Err = err
	r.Took = time.Since(start)
	return r
}

// gaveUp is the result for a caller whose context ended.
func (p *Prober) gaveUp(ctx context.Context, e mirrors.Endpoint, start time.Time) Result {
	r := Result{Endpoint: redactEndpoint(e), Took: time.Since(start)}
	if t, err := newTarget(e); err == nil {
		r.URL, r.Key = t.base(), t.key
	}
	r.Reason = "the caller stopped waiting before there was an answer"
	path := r.URL
	if path == "" {
		path = r.Endpoint.URL
	}
	r.Err = &Error{Path: path, Reason: r.Reason, Err: ctx.Err()}
	return r
}
