package probe

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A loginFailure is why a login brought no grant.
type loginFailure struct {
	login   Login
	problem string
	fix     string
	err     error
}

func (q *question) refused() string { return "it refused the credentials of " + q.key }

func (q *question) missing(at string) string {
	if at != q.home {
		return fmt.Sprintf("it redirects to %q, which wants credentials and gets none from a node", at)
	}
	return "it wants credentials, and " + q.key + ".auth has none"
}

// logIn answers the challenges of an origin, as containerd 2.4.2 does: Bearer
// before Basic, and no second try with the other.
func (q *question) logIn(ctx context.Context, at string, offers []challenge) (grant, *loginFailure) {
	var user, secret string
	if at == q.home && q.auth != nil {
		var err error
		if user, secret, err = q.credentials(); err != nil {
			return grant{}, &loginFailure{login: LoginMissing, problem: "it wants credentials, and " + err.Error()}
		}
	}
	if i := slices.IndexFunc(offers, func(c challenge) bool { return c.scheme == "bearer" }); i >= 0 {
		return q.bearer(ctx, at, offers[i], user, secret)
	}
	if len(offers) == 0 {
		return grant{}, &loginFailure{login: LoginUnknown, problem: "it wants a login of a kind that no node knows"}
	}
	if user == "" || secret == "" {
		return grant{}, &loginFailure{login: LoginMissing, problem: q.missing(at)}
	}
	return grant{q.basic(user, secret), LoginAccepted}, nil
}

// credentials picks as machined and containerd do.
func (q *question) credentials() (user, secret string, err error) {
	a := q.auth
	switch {
	case a.Username != "":
		return a.Username, a.Password.Reveal(), nil
	case !a.IdentityToken.IsZero():
		return "", a.IdentityToken.Reveal(), nil
	case !a.Auth.IsZero():
		// The cause would quote the secret.
		plain, err := base64.StdEncoding.DecodeString(a.Auth.Reveal())
		user, secret, ok := strings.Cut(string(plain), ":")
		if err != nil || !ok {
			return "", "", errors.New(q.key + ".auth.auth is not base64 of user:password")
		}
		return user, strings.Trim(secret, "\x00"), nil
	}
	return "", "", errors.New(q.key + ".auth has nothing usable")
}

// basic is the header's value; from here on it is a secret that was sent.
func (q *question) basic(user, secret string) string {
	encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + secret))
	q.secrets = append(q.secrets, secret, encoded)
	return "Basic " + encoded
}

// bearer fetches a token from the service that the challenge names.
func (q *question) bearer(ctx context.Context, at string, c challenge, user, secret string) (grant, *loginFailure) {
	realm, err := url.Parse(c.params["realm"])
	if err != nil || realm.Scheme != "http" && realm.Scheme != "https" || realm.Host == "" {
		return grant{}, &loginFailure{login: LoginUnknown, problem: "its Bearer challenge names no token service"}
	}
	service := origin(realm)
	failed := func(login Login, format string, args ...any) (grant, *loginFailure) {
		return grant{}, &loginFailure{login: login, problem: fmt.Sprintf("its token service %q ", service) + fmt.Sprintf(format, args...)}
	}
	if secret != "" && strings.HasPrefix(q.home, "https:") && realm.Scheme == "http" {
		return failed(LoginUnknown, "is plain http: the credentials were not sent to it, though a node would")
	}

	code := 0
	token := ""
	if secret != "" {
		form := url.Values{"service": {c.params["service"]}, "client_id": {"mirrorpatch-probe"}}
		if scope := c.params["scope"]; scope != "" {
			form.Set("scope", scope)
		}
		if user == "" {
			form.Set("grant_type", "refresh_token")
			form.Set("refresh_token", secret)
		} else {
			form.Set("grant_type", "password")
			form.Set("username", user)
			form.Set("password", secret)
		}
		q.secrets = append(q.secrets, secret, form.Encode())
		body := form.Encode()
		code, token, err = q.token(ctx, http.MethodPost, realm, body, "")
	}
	// Token services that do not know POST answer it so.
	get := secret == "" || code == 400 || code == 401 || code == 404 || code == 405 && user != ""
	if err == nil && get {
		u := *realm
		params := u.Query()
		if s := c.params["service"]; s != "" {
			params.Add("service", s)
		}
		for s := range strings.FieldsSeq(c.params["scope"]) {
			params.Add("scope", s)
		}
		u.RawQuery = params.Encode()
		header := ""
		if secret != "" {
			header = q.basic(user, secret)
		}
		code, token, err = q.token(ctx, http.MethodGet, &u, "", header)
	}

	switch {
	case err != nil:
		v := q.failed(err)
		g, f := failed(LoginUnknown, "did not answer: %s", v.reason)
		f.err, f.fix = err, v.fix
		return g, f
	case (code == 401 || code == 403) && secret != "":
		return failed(LoginRefused, "refused the credentials of %s", q.key)
	case code == 401 || code == 403:
		return failed(LoginMissing, "wants credentials, and a node has none for it: see %s.auth", q.key)
	case code >= 300 && code <= 399:
		return failed(LoginUnknown, "redirects, which is not followed: credentials go to one place")
	case code < 200 || code > 299:
		return failed(LoginUnknown, "answered %d %s", code, http.StatusText(code))
	case token == "":
		return failed(LoginUnknown, "answered without a token")
	}
	q.secrets = append(q.secrets, token)
	login := LoginAccepted
	if secret == "" {
		login = LoginAnonymous
	}
	return grant{"Bearer " + token, login}, nil
}

// token sends one request to a token service and follows no redirect.
func (q *question) token(ctx context.Context, method string, u *url.URL, form, authorization string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(form))
	if err != nil {
		return 0, "", errRedirect // the cause quotes the URL
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := q.do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp.StatusCode, "", nil
	}
	body, err := q.read(resp)
	if err != nil {
		return 0, "", err
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	// What is no JSON has no token; the cause could quote one.
	if json.Unmarshal(body, &answer) != nil {
		return resp.StatusCode, "", nil
	}
	if answer.AccessToken != "" {
		return resp.StatusCode, answer.AccessToken, nil
	}
	return resp.StatusCode, answer.Token, nil
}

// A challenge is one value of WWW-Authenticate: a scheme in lower case and its
// parameters, their names in lower case.
type challenge struct {
	scheme string
	params map[string]string
}

// challenges returns those of the schemes that a node knows. Like containerd
// 2.4.2 it takes one challenge from each header line, and from a line that breaks
// the grammar what stands before the break; no space may stand around an =.
func challenges(h http.Header) []challenge {
	var all []challenge
	for _, line := range h.Values("WWW-Authenticate") {
		scheme, rest := cutToken(line)
		c := challenge{strings.ToLower(scheme), map[string]string{}}
		if c.scheme != "basic" && c.scheme != "bearer" {
			continue
		}
		for {
			var name, value string
			var ok bool
			name, rest = cutToken(skipSpace(rest))
			if rest, ok = strings.CutPrefix(rest, "="); name == "" || !ok {
				break
			}
			value, rest = cutValue(rest)
			c.params[strings.ToLower(name)] = value
			if rest, ok = strings.CutPrefix(skipSpace(rest), ","); !ok {
				break
			}
		}
		all = append(all, c)
	}
	return all
}

func skipSpace(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// cutToken splits a token of RFC 9110 off the front of s; it may be empty.
func cutToken(s string) (token, rest string) {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// cutValue splits a token or a quoted string off the front of s. A quote that is
// not closed leaves nothing that can be relied on.
func cutValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		return cutToken(s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", ""
}
