package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

const (
	maxBody      = 64 << 10
	maxRedirects = 10 // containerd 2.4.2 stops there too
	maxLogins    = 5  // hosts that want a login, one after the other
)

var (
	errRedirects = fmt.Errorf("more than %d redirects", maxRedirects)
	errRedirect  = errors.New("a redirect to what is no http or https URL")
	errUnread    = errors.New("an answer that cannot be read")
)

// A question is asked over connections of its own, one for each request.
type question struct {
	transport *http.Transport
	home      string // the endpoint's origin: what the Set's credentials belong to
	key       string
	auth      *mirrors.Auth
	timeout   time.Duration
	granted   map[string]grant // by origin
	secrets   []string         // what was sent and may come back in an error's text
}

// A grant is what lets in at one origin.
type grant struct {
	header string
	login  Login
}

// A verdict is what one URL answered.
type verdict struct {
	answer  Answer
	login   Login
	status  int    // of HTTP, 0 when there was no answer
	reason  string // in words
	problem string // what keeps a node out although the answer is yes
	fix     string
	err     error
}

func newQuestion(t target, config mirrors.HostConfig) (*question, *Error) {
	path := fmt.Sprintf("config[%q]", t.key)
	q := &question{home: t.scheme + "://" + t.key, key: path, auth: config.Auth}
	q.transport = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        &tls.Config{},
		MaxResponseHeaderBytes: maxBody,
		// net/http logs what comes unasked over an idle connection, and that can be
		// our own credentials.
		DisableKeepAlives: true,
	}
	if config.TLS == nil {
		return q, nil
	}
	if t.scheme != "https" {
		return nil, &Error{
			Path: path + ".tls", Reason: fmt.Sprintf("TLS settings for the http endpoint %s, which machined refuses", t.base()),
			Fix: "want an https endpoint, or no TLS settings",
		}
	}
	c := q.transport.TLSClientConfig
	c.InsecureSkipVerify = config.TLS.InsecureSkipVerify
	if config.TLS.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(config.TLS.CA)) {
			return nil, &Error{Path: path + ".tls.ca", Reason: "no certificate in it", Fix: "want PEM with at least one certificate"}
		}
	}
	if id := config.TLS.ClientIdentity; id != nil {
		pair, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key.Reveal()))
		if err != nil {
			return nil, &Error{
				Path: path + ".tls.clientIdentity", Reason: "not a certificate and its key",
				Fix: "want both as PEM, and of one pair", Err: err,
			}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return q, nil
}

// ask asks one URL, logging in where it must.
func (q *question) ask(ctx context.Context, url string) verdict {
	q.granted = map[string]grant{}
	var proven *verdict // what a 401 said before the login
	undecided := func(v verdict) verdict {
		if proven == nil {
			return v
		}
		// That it serves the API is known; whether it lets in is not.
		return q.yes(verdict{
			status: v.status, login: LoginUnknown, err: v.err, fix: v.fix,
			problem: "after the login: " + v.reason,
		})
	}
	for range maxLogins {
		resp, at, err := q.get(ctx, url)
		redirected := ""
		if at != q.home {
			redirected = fmt.Sprintf(" (after a redirect to %q)", at)
		}
		if err != nil {
			v := q.failed(err)
			v.reason += redirected
			return undecided(v)
		}
		g, tried := q.granted[at]
		if resp.StatusCode != http.StatusUnauthorized {
			v := q.judge(resp, g.login)
			resp.Body.Close()
			v.reason += redirected
			if v.answer == Unknown {
				return undecided(v)
			}
			return v
		}
		resp.Body.Close()

		offers := challenges(resp.Header)
		if len(offers) == 0 && !servesAPI(resp.Header) {
			return undecided(verdict{status: resp.StatusCode, reason: "401 Unauthorized without a Basic or Bearer challenge, and not from the registry API"})
		}
		v := verdict{status: resp.StatusCode}
		// Registries alone ask for a Bearer token in this way; Basic is asked for
		// by any site, and only the answer behind the login tells.
		api := servesAPI(resp.Header) || slices.ContainsFunc(offers, func(c challenge) bool { return c.scheme == "bearer" })
		decide := q.yes
		if !api && proven == nil {
			decide = func(v verdict) verdict {
				v.reason = "401 Unauthorized with a Basic challenge and without Docker-Distribution-Api-Version, which any site may send; " + v.problem
				return undecided(v)
			}
		}
		if tried {
			v.login, v.problem = LoginRefused, q.refused()
			if g.login == LoginAnonymous {
				v.login, v.problem = LoginMissing, q.missing(at)
			}
			return decide(v)
		}
		g, failure := q.logIn(ctx, at, offers)
		if failure != nil {
			v.login, v.problem, v.fix, v.err = failure.login, failure.problem, failure.fix, failure.err
			return decide(v)
		}
		q.granted[at] = g
		if api {
			proven = &v
		}
	}
	return undecided(verdict{reason: "one redirect after the other wants a login"})
}

// get follows redirects by itself: net/http's client would decide by its own
// rule where Authorization goes, and would log in with the userinfo of a redirect.
// It returns the origin that was asked last as well.
func (q *question) get(ctx context.Context, text string) (*http.Response, string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, q.home, errRedirect // not reached: newTarget parsed it
	}
	for n := 0; ; n++ {
		req := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}).WithContext(ctx)
		if g, ok := q.granted[origin(u)]; ok {
			req.Header.Set("Authorization", g.header)
		}
		resp, err := q.do(req)
		if err != nil {
			return nil, origin(u), err
		}
		switch resp.StatusCode {
		case 301, 302, 303, 307, 308:
		default:
			return resp, origin(u), nil
		}
		if resp.Header.Get("Location") == "" {
			return resp, origin(u), nil
		}
		next, err := resp.Location()
		resp.Body.Close()
		if err != nil || next.Scheme != "http" && next.Scheme != "https" || next.Host == "" {
			return nil, origin(u), errRedirect
		}
		if n == maxRedirects {
			return nil, origin(u), errRedirects
		}
		u = next
	}
}

func (q *question) do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "mirrorpatch-probe")
	resp, err := q.transport.RoundTrip(req)
	if err != nil {
		return nil, q.safe(err)
	}
	return resp, nil
}

// safe keeps an error from quoting an answer that quotes our credentials.
func (q *question) safe(err error) error {
	for _, s := range q.secrets {
		if strings.Contains(err.Error(), s) {
			return errUnread
		}
	}
	return err
}

func (q *question) read(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, q.safe(err)
	}
	return bytes.TrimSpace(body), nil
}

// judge decides what an answer other than 401 says.
func (q *question) judge(resp *http.Response, login Login) verdict {
	code := resp.StatusCode
	v := verdict{status: code, login: login}
	status := fmt.Sprintf("%d %s", code, http.StatusText(code))
	switch {
	case code >= 200 && code <= 299:
		if servesAPI(resp.Header) {
			return q.yes(v)
		}
		body, err := q.read(resp)
		if err != nil {
			return q.failed(err)
		}
		media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		inV2 := strings.Contains(resp.Request.URL.Path, "/v2/")
		switch text := string(body); {
		case (text == "" || text == "{}" || text == "true") && inV2:
			// Talos 1.13.9's image cache answers with nothing and no header.
			return q.yes(v)
		case text != "" && (media == "text/html" || text[0] == '<'):
			v.answer, v.reason = No, status+" with HTML: a web page, not the registry API"
		case !inV2:
			// distribution 2.8.2 answers 200 at / for load balancers.
			v.reason = status + " without Docker-Distribution-Api-Version, at a path without v2"
			v.fix = "want a path with v2"
		default:
			v.reason = status + " without Docker-Distribution-Api-Version, and with a body that no registry sends"
		}
	case code == 404 || code == 405 || code == 410:
		v.answer, v.reason = No, status+": the registry API is not at this path"
	case code == 403 && servesAPI(resp.Header):
		v.login, v.problem = LoginMissing, q.missing(origin(resp.Request.URL))
		if login == LoginAccepted {
			v.login, v.problem = LoginRefused, q.refused()
		}
		return q.yes(v)
	default:
		v.reason = status + ", which says nothing about the registry API"
		if code == 400 && resp.Request.URL.Scheme == "http" {
			v.fix = "the port may want https"
		}
	}
	return v
}

// yes completes a verdict.
func (q *question) yes(v verdict) verdict {
	v.answer = Yes
	v.reason = "it serves the registry API; "
	switch {
	case v.problem != "":
		v.reason += v.problem
	case v.login == LoginAccepted:
		v.reason += "it accepted the credentials of " + q.key
	case v.login == LoginAnonymous:
		v.reason += "its token service lets everybody in"
	default:
		v.reason += "it asked for no login"
	}
	return v
}

// failed is the verdict when there was no answer of HTTP.
func (q *question) failed(err error) verdict {
	v := verdict{err: err, reason: err.Error()}
	var (
		dns       *net.DNSError
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
	)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		v.reason = fmt.Sprintf("no answer within %s", q.timeout)
	case errors.Is(err, context.Canceled):
		v.reason = "stopped before there was an answer"
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		v.reason, v.fix = "it speaks http, not https", "want http://, if that is meant"
	case errors.As(err, &dns) && dns.IsNotFound:
		v.reason = fmt.Sprintf("no address for host %q", dns.Name)
	case errors.As(err, &authority):
		v.fix = "want the certificate of its CA in " + q.key + ".tls.ca"
	case errors.As(err, &hostname):
		v.fix = "want a host that the certificate names"
	case strings.Contains(v.reason, "tls: certificate required"), strings.Contains(v.reason, "tls: bad certificate"),
		strings.Contains(v.reason, "tls: unknown certificate authority"):
		v.reason, v.fix = "it wants a client certificate that it knows: "+v.reason, "see "+q.key+".tls.clientIdentity"
	case strings.Contains(v.reason, "tls: handshake failure"):
		// Below TLS 1.3 that may be all that a missing client certificate says.
		v.fix = "it may want a client certificate: see " + q.key + ".tls.clientIdentity"
	}
	return v
}

// servesAPI reports whether the header is there that the registry API sets.
func servesAPI(h http.Header) bool {
	for _, v := range h.Values("Docker-Distribution-Api-Version") {
		if strings.HasPrefix(strings.TrimSpace(v), "registry/2") {
			return true
		}
	}
	return false
}
