package probe_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/probe"
)

func newProber(t *testing.T, config map[string]mirrors.HostConfig, opts ...probe.Option) *probe.Prober {
	t.Helper()
	p, err := probe.New(mirrors.Set{Config: config}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func endpoint(url string) mirrors.Endpoint { return mirrors.Endpoint{URL: url} }

// want is compared with a Result; reason and err are parts of the text, and an
// empty err wants none.
type want struct {
	answer probe.Answer
	login  probe.Login
	reason string
	err    string
}

func (w want) check(t *testing.T, r probe.Result) {
	t.Helper()
	if r.Answer != w.answer || r.Login != w.login {
		t.Errorf("answer %s, login %s, want %s, %s\n%v", r.Answer, r.Login, w.answer, w.login, r)
	}
	if r.Reason == "" || !strings.Contains(r.Reason, w.reason) {
		t.Errorf("reason %q, want %q in it", r.Reason, w.reason)
	}
	switch {
	case w.err == "" && r.Err != nil:
		t.Errorf("error %v, want none", r.Err)
	case w.err != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), w.err)):
		t.Errorf("error %v, want %q in it", r.Err, w.err)
	}
	var perr *probe.Error
	if r.Err != nil && !errors.As(r.Err, &perr) {
		t.Errorf("error is %T, want *probe.Error", r.Err)
	}
	if r.Took <= 0 {
		t.Errorf("took %v", r.Took)
	}
	noSecret(t, r)
}

// noSecret looks for the tests' secrets in all the ways a Result is shown.
func noSecret(t *testing.T, r probe.Result) {
	t.Helper()
	j, err := json.Marshal(r)
	if err != nil {
		t.Error(err)
	}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "r", r, "err", r.Err)
	text := fmt.Sprintf("%v %+v %#v %s %s %s", r, r, r, r.Reason, j, logged.String())
	for err := r.Err; err != nil; err = errors.Unwrap(err) {
		text += fmt.Sprintf(" %v %+v %#v", err, err, err)
	}
	for _, secret := range []string{password, token, "made-up", base64.StdEncoding.EncodeToString([]byte(user + ":" + password))} {
		if strings.Contains(text, secret) {
			t.Errorf("shows %q: %s", secret, text)
		}
	}
}

func TestAnswers(t *testing.T) {
	const api = "Docker-Distribution-Api-Version: registry/2.0"
	tests := []struct {
		name    string
		handler http.HandlerFunc
		path    string
		over    bool
		config  mirrors.HostConfig
		want    want
	}{
		{name: "distribution", handler: registry, want: want{answer: probe.Yes, reason: "it asked for no login"}},
		{name: "credentials not asked for", handler: registry, config: basicAuth(), want: want{answer: probe.Yes}},
		{name: "trailing slash", handler: registry, path: "/", want: want{answer: probe.Yes}},
		{name: "v2 written out", handler: registry, path: "/v2/", want: want{answer: probe.Yes}},
		{name: "dots in the path", handler: registry, path: "/x/../v2", want: want{answer: probe.Yes}},
		{name: "empty 200, as the image cache of Talos", handler: status(200, ""), want: want{answer: probe.Yes}},
		{name: "true, as quay", handler: status(200, "true\n", "Content-Type: text/html", api), want: want{answer: probe.Yes}},
		{name: "braces alone", handler: status(200, " {}\n"), want: want{answer: probe.Yes}},
		{name: "204", handler: status(204, ""), want: want{answer: probe.Yes}},
		{name: "empty 200 at /, as the health check of distribution", handler: status(200, ""), over: true,
			want: want{answer: probe.Unknown, reason: "path without v2", err: "want a path with v2"}},
		{name: "override on a path without v2", handler: registry, path: "/proxy", over: true,
			want: want{answer: probe.No, reason: "404", err: "404"}},
		{name: "404", handler: status(404, "nothing"), want: want{answer: probe.No, reason: "404 Not Found", err: "/v2/: 404"}},
		{name: "404 with the header", handler: registry, path: "/elsewhere", want: want{answer: probe.No, err: "/elsewhere/v2/: 404"}},
		{name: "405", handler: status(405, ""), want: want{answer: probe.No, err: "405"}},
		{name: "410", handler: status(410, ""), want: want{answer: probe.No, err: "410"}},
		{name: "HTML", handler: status(200, "<!doctype html><p>hello", "Content-Type: text/html; charset=utf-8"),
			want: want{answer: probe.No, reason: "HTML", err: "HTML"}},
		{name: "HTML that says it is text", handler: status(200, "\n <html>", "Content-Type: text/plain"), want: want{answer: probe.No, err: "HTML"}},
		{name: "HTML without a tag", handler: status(200, "hello", "Content-Type: text/html"), want: want{answer: probe.No, err: "HTML"}},
		{name: "other text", handler: status(200, "ok"), want: want{answer: probe.Unknown, err: "no registry sends"}},
		{name: "other JSON", handler: status(200, `{"status":"ok"}`, "Content-Type: application/json"), want: want{answer: probe.Unknown, err: "no registry sends"}},
		{name: "header of version 1", handler: status(200, "ok", "Docker-Distribution-Api-Version: registry/1.0"), want: want{answer: probe.Unknown, err: "no registry sends"}},
		{name: "400", handler: status(400, ""), want: want{answer: probe.Unknown, err: "may want https"}},
		{name: "429 with the header", handler: status(429, "", api), want: want{answer: probe.Unknown, err: "429"}},
		{name: "500 with the header", handler: status(500, "", api), want: want{answer: probe.Unknown, err: "500"}},
		{name: "503", handler: status(503, "<html>"), want: want{answer: probe.Unknown, err: "503"}},
		{name: "302 to nowhere", handler: status(302, ""), want: want{answer: probe.Unknown, err: "302"}},
		{name: "304", handler: status(304, ""), want: want{answer: probe.Unknown, err: "304"}},
		{name: "403", handler: status(403, ""), want: want{answer: probe.Unknown, err: "403"}},
		{name: "403 with the header", handler: status(403, "", api), want: want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}},

		{name: "project of Harbor", handler: registry, path: "/v2/proxy", over: true,
			want: want{answer: probe.Yes, reason: "whether that is a project there was not asked"}},
		{name: "project of Harbor behind a path", handler: func(w http.ResponseWriter, r *http.Request) {
			http.StripPrefix("/harbor", http.HandlerFunc(registry)).ServeHTTP(w, r)
		}, path: "/harbor/v2/a/b/", over: true, want: want{answer: probe.Yes, reason: "/harbor/v2/, which"}},
		{name: "project without overridePath", handler: registry, path: "/v2/proxy",
			want: want{answer: probe.No, reason: "404", err: "wants overridePath"}},
		{name: "project, and no registry above", handler: status(404, ""), path: "/v2/proxy", over: true, want: want{answer: probe.No, err: "404"}},
		{name: "project, and trouble above", handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				w.WriteHeader(502)
				return
			}
			w.WriteHeader(404)
		}, path: "/v2/proxy", over: true, want: want{answer: probe.Unknown, err: "502"}},
		{name: "project whose registry wants a login", handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				basicRegistry(registry)(w, r)
				return
			}
			w.WriteHeader(404)
		}, path: "/v2/proxy", over: true, want: want{answer: probe.Yes, login: probe.LoginMissing, reason: "was not asked; it wants credentials", err: "wants credentials"}},

		{name: "Basic", handler: basicRegistry(registry), config: basicAuth(), want: want{answer: probe.Yes, login: probe.LoginAccepted, reason: "accepted"}},
		{name: "Basic out of auth", handler: basicRegistry(registry), config: mirrors.HostConfig{Auth: &mirrors.Auth{
			Auth: mirrors.NewSecret(base64.StdEncoding.EncodeToString([]byte(user + ":" + password + "\x00")))}},
			want: want{answer: probe.Yes, login: probe.LoginAccepted}},
		{name: "Basic, wrong password", handler: basicRegistry(registry), config: wrongAuth(),
			want: want{answer: probe.Yes, login: probe.LoginRefused, reason: "refused the credentials of config[", err: "refused"}},
		{name: "Basic, none", handler: basicRegistry(registry), want: want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}},
		{name: "Basic, an identity token does not fit", handler: basicRegistry(registry),
			config: mirrors.HostConfig{Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret(token)}},
			want:   want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}},
		{name: "Basic, auth is not base64", handler: basicRegistry(registry),
			config: mirrors.HostConfig{Auth: &mirrors.Auth{Auth: mirrors.NewSecret("made-up!")}},
			want:   want{answer: probe.Yes, login: probe.LoginMissing, err: ".auth.auth is not base64"}},
		{name: "Basic, auth without a colon", handler: basicRegistry(registry),
			config: mirrors.HostConfig{Auth: &mirrors.Auth{Auth: mirrors.NewSecret("bWFkZS11cA==")}},
			want:   want{answer: probe.Yes, login: probe.LoginMissing, err: ".auth.auth is not base64"}},
		{name: "Basic, auth is empty", handler: basicRegistry(registry), config: mirrors.HostConfig{Auth: &mirrors.Auth{}},
			want: want{answer: probe.Yes, login: probe.LoginMissing, err: "nothing usable"}},
		{name: "Basic, and no registry behind", handler: basicRegistry(status(404, "")), config: basicAuth(),
			want: want{answer: probe.No, login: probe.LoginAccepted, err: "404"}},
		{name: "Basic, and trouble behind", handler: basicRegistry(status(500, "")), config: basicAuth(),
			want: want{answer: probe.Yes, login: probe.LoginUnknown, reason: "after the login: 500", err: "500"}},
		{name: "Basic, and 403 behind", handler: basicRegistry(status(403, "", api)), config: basicAuth(),
			want: want{answer: probe.Yes, login: probe.LoginRefused, err: "refused"}},
		{name: "Basic of any site, none", handler: basicSite(registry), want: want{answer: probe.Unknown, login: probe.LoginMissing, reason: "any site may send", err: "wants credentials"}},
		{name: "Basic of any site, wrong password", handler: basicSite(registry), config: wrongAuth(),
			want: want{answer: probe.Unknown, login: probe.LoginRefused, reason: "any site may send", err: "refused"}},
		{name: "Basic of any site, a registry behind", handler: basicSite(registry), config: basicAuth(), want: want{answer: probe.Yes, login: probe.LoginAccepted}},
		{name: "Basic of any site, no registry behind", handler: basicSite(status(404, "")), config: basicAuth(), want: want{answer: probe.No, login: probe.LoginAccepted, err: "404"}},
		{name: "Basic of any site, a page behind", handler: basicSite(status(200, "<html>")), config: basicAuth(), want: want{answer: probe.No, login: probe.LoginAccepted, err: "HTML"}},
		{name: "Basic of any site, and trouble behind", handler: basicSite(status(500, "")), config: basicAuth(), want: want{answer: probe.Unknown, login: probe.LoginAccepted, err: "500"}},
		{name: "401 without a challenge", handler: status(401, ""), config: basicAuth(), want: want{answer: probe.Unknown, err: "without a Basic or Bearer challenge"}},
		{name: "401 with another challenge", handler: status(401, "", "WWW-Authenticate: Negotiate"), want: want{answer: probe.Unknown, err: "without a Basic or Bearer challenge"}},
		{name: "401 with the header alone", handler: status(401, "", api), want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "no node knows"}},
		{name: "Bearer without a realm", handler: status(401, "", `WWW-Authenticate: Bearer service="x"`), want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "names no token service"}},
		{name: "Bearer with a relative realm", handler: status(401, "", `WWW-Authenticate: Bearer realm="/token"`), want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "names no token service"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, host := serve(t, tt.handler)
			p := newProber(t, map[string]mirrors.HostConfig{host: tt.config})
			r := p.Ask(t.Context(), mirrors.Endpoint{URL: url + tt.path, OverridePath: tt.over})
			tt.want.check(t, r)
			if r.Key != host {
				t.Errorf("key %q, want %q", r.Key, host)
			}
		})
	}
}

// The key is the host exactly as the URL has it, so other spellings get nothing.
func TestKeyIsLiteral(t *testing.T) {
	url, host := serve(t, basicRegistry(registry))
	_, port, _ := net.SplitHostPort(host)
	for _, key := range []string{"127.0.0.1", "localhost:" + port, "http://" + host, "*", host + "/"} {
		r := newProber(t, map[string]mirrors.HostConfig{key: basicAuth()}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}.check(t, r)
	}
	r := newProber(t, map[string]mirrors.HostConfig{"LocalHost:" + port: basicAuth()}).Ask(t.Context(), endpoint("http://LocalHost:"+port))
	want{answer: probe.Yes, login: probe.LoginAccepted}.check(t, r)
}

func TestBearer(t *testing.T) {
	tests := []struct {
		name    string
		service http.HandlerFunc
		config  mirrors.HostConfig
		want    want
	}{
		{name: "anonymous", service: func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "GET" || r.Header.Get("Authorization") != "" || r.FormValue("service") != `reg, with "quotes"` ||
				strings.Join(r.Form["scope"], "|") != "registry:catalog:*|a:b:c" {
				w.WriteHeader(418)
				return
			}
			io.WriteString(w, `{"token":"`+token+`"}`)
		}, want: want{answer: probe.Yes, login: probe.LoginAnonymous, reason: "lets everybody in"}},
		{name: "password by POST", service: func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "POST" || r.PostFormValue("grant_type") != "password" || r.PostFormValue("username") != user ||
				r.PostFormValue("password") != password || r.PostFormValue("scope") != "registry:catalog:* a:b:c" {
				w.WriteHeader(418)
				return
			}
			io.WriteString(w, `{"access_token":"`+token+`"}`)
		}, config: basicAuth(), want: want{answer: probe.Yes, login: probe.LoginAccepted}},
		{name: "identity token by POST", service: func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "POST" || r.PostFormValue("grant_type") != "refresh_token" || r.PostFormValue("refresh_token") != password {
				w.WriteHeader(418)
				return
			}
			io.WriteString(w, `{"access_token":"`+token+`"}`)
		}, config: mirrors.HostConfig{Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret(password)}}, want: want{answer: probe.Yes, login: probe.LoginAccepted}},
		{name: "password by GET, since there is no POST", service: func(w http.ResponseWriter, r *http.Request) {
			if u, p, _ := r.BasicAuth(); r.Method != "GET" || u != user || p != password {
				w.WriteHeader(405)
				return
			}
			io.WriteString(w, `{"token":"`+token+`"}`)
		}, config: basicAuth(), want: want{answer: probe.Yes, login: probe.LoginAccepted}},
		{name: "password by GET, since POST is not found", service: func(w http.ResponseWriter, r *http.Request) {
			if u, p, _ := r.BasicAuth(); r.Method != "GET" || u != user || p != password {
				w.WriteHeader(404)
				return
			}
			io.WriteString(w, `{"token":"`+token+`"}`)
		}, config: basicAuth(), want: want{answer: probe.Yes, login: probe.LoginAccepted}},
		{name: "refused", service: status(401, ""), config: wrongAuth(), want: want{answer: probe.Yes, login: probe.LoginRefused, err: "refused the credentials of config["}},
		{name: "refused by POST", service: status(403, ""), config: wrongAuth(), want: want{answer: probe.Yes, login: probe.LoginRefused, err: "refused"}},
		{name: "nobody without credentials", service: status(401, ""), want: want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}},
		{name: "trouble", service: status(502, ""), config: basicAuth(), want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "502"}},
		{name: "no token", service: status(200, "{}"), want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "without a token"}},
		{name: "no JSON", service: status(200, token), want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "without a token"}},
		{name: "a token that is no header", service: status(200, `{"token":"made-up\nX: y"}`), want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "after the login"}},
		{name: "a token that the registry refuses", service: status(200, `{"token":"other"}`), config: basicAuth(), want: want{answer: probe.Yes, login: probe.LoginRefused, err: "refused"}},
		{name: "an anonymous token that the registry refuses", service: status(200, `{"token":"other"}`), want: want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}},
		{name: "endless", service: func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}, want: want{answer: probe.Yes, login: probe.LoginUnknown, err: "without a token"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service, _ := serve(t, tt.service)
			url, host := serve(t, bearerRegistry(service+"/token"))
			tt.want.check(t, newProber(t, map[string]mirrors.HostConfig{host: tt.config}).Ask(t.Context(), endpoint(url)))
		})
	}
}

// Bearer is taken before Basic whatever their order, as containerd does.
func TestBearerBeforeBasic(t *testing.T) {
	service, _ := serve(t, status(200, `{"token":"`+token+`"}`))
	url, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+token {
			registry(w, r)
			return
		}
		status(401, "", `WWW-Authenticate: Basic realm="x"`, `WWW-Authenticate: BEARER Realm="`+service+`"`)(w, r)
	})
	want{answer: probe.Yes, login: probe.LoginAccepted}.check(t, newProber(t, map[string]mirrors.HostConfig{host: basicAuth()}).Ask(t.Context(), endpoint(url)))
}

func TestTLS(t *testing.T) {
	good, other := newCA(t), newCA(t)
	inAnHour := time.Now().Add(time.Hour)
	plain := good.serverConfig(t, inAnHour)
	mutual := good.serverConfig(t, inAnHour)
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, good.pool()
	mutual12 := mutual.Clone()
	mutual12.MaxVersion = tls.VersionTLS12
	expired := good.serverConfig(t, time.Now().Add(-time.Hour))

	pair := good.identity(t)
	swapped := &mirrors.ClientIdentity{Certificate: pair.Certificate, Key: good.identity(t).Key}
	noKey := &mirrors.ClientIdentity{Certificate: pair.Certificate, Key: mirrors.NewSecret("made-up-key")}

	tests := []struct {
		name   string
		server *tls.Config
		host   string // instead of 127.0.0.1
		tls    *mirrors.TLS
		want   want
	}{
		{name: "CA", server: plain, tls: &mirrors.TLS{CA: good.pem()}, want: want{answer: probe.Yes}},
		{name: "two CAs", server: plain, tls: &mirrors.TLS{CA: other.pem() + good.pem()}, want: want{answer: probe.Yes}},
		{name: "wrong CA", server: plain, tls: &mirrors.TLS{CA: other.pem()}, want: want{answer: probe.Unknown, reason: "x509", err: ".tls.ca)"}},
		{name: "no CA", server: plain, want: want{answer: probe.Unknown, reason: "x509", err: ".tls.ca)"}},
		{name: "no verification", server: plain, tls: &mirrors.TLS{InsecureSkipVerify: true}, want: want{answer: probe.Yes}},
		{name: "wrong name", server: plain, host: "localhost", tls: &mirrors.TLS{CA: good.pem()}, want: want{answer: probe.Unknown, reason: "x509", err: "want a host that the certificate names"}},
		{name: "expired", server: expired, tls: &mirrors.TLS{CA: good.pem()}, want: want{answer: probe.Unknown, reason: "expired", err: "expired"}},
		{name: "client certificate", server: mutual, tls: &mirrors.TLS{CA: good.pem(), ClientIdentity: pair}, want: want{answer: probe.Yes}},
		{name: "client certificate missing", server: mutual, tls: &mirrors.TLS{CA: good.pem()}, want: want{answer: probe.Unknown, err: ".tls.clientIdentity"}},
		{name: "client certificate missing, TLS 1.2", server: mutual12, tls: &mirrors.TLS{CA: good.pem()}, want: want{answer: probe.Unknown, err: ".tls.clientIdentity"}},
		{name: "client certificate of another CA", server: mutual, tls: &mirrors.TLS{CA: good.pem(), ClientIdentity: other.identity(t)}, want: want{answer: probe.Unknown, err: ".tls.clientIdentity"}},
		{name: "CA is no PEM", server: plain, tls: &mirrors.TLS{CA: "made up"}, want: want{answer: probe.Unknown, err: ".tls.ca: no certificate in it"}},
		{name: "CA is a key", server: plain, tls: &mirrors.TLS{CA: mirrors.PEM(pair.Key.Reveal())}, want: want{answer: probe.Unknown, err: ".tls.ca: no certificate in it"}},
		{name: "key of another pair", server: mutual, tls: &mirrors.TLS{CA: good.pem(), ClientIdentity: swapped}, want: want{answer: probe.Unknown, err: ".tls.clientIdentity: not a certificate and its key"}},
		{name: "key is no PEM", server: mutual, tls: &mirrors.TLS{CA: good.pem(), ClientIdentity: noKey}, want: want{answer: probe.Unknown, err: ".tls.clientIdentity: not a certificate and its key"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, host := serveTLS(t, tt.server, registry)
			if tt.host != "" {
				url = strings.Replace(url, "127.0.0.1", tt.host, 1)
				host = strings.Replace(host, "127.0.0.1", tt.host, 1)
			}
			r := newProber(t, map[string]mirrors.HostConfig{host: {TLS: tt.tls}}).Ask(t.Context(), endpoint(url))
			tt.want.check(t, r)
		})
	}

	t.Run("for an http endpoint", func(t *testing.T) {
		url, host := serve(t, registry)
		r := newProber(t, map[string]mirrors.HostConfig{host: {TLS: &mirrors.TLS{}}}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Unknown, reason: "machined refuses", err: `config["` + host + `"].tls: TLS settings for the http endpoint`}.check(t, r)
	})
	t.Run("https to an http port", func(t *testing.T) {
		url, _ := serve(t, registry)
		r := newProber(t, nil).Ask(t.Context(), endpoint(strings.Replace(url, "http:", "https:", 1)))
		want{answer: probe.Unknown, reason: "it speaks http, not https", err: "want http://"}.check(t, r)
	})
	t.Run("http to an https port", func(t *testing.T) {
		url, _ := serveTLS(t, plain, registry)
		r := newProber(t, nil).Ask(t.Context(), endpoint(strings.Replace(url, "https:", "http:", 1)))
		want{answer: probe.Unknown, reason: "400", err: "may want https"}.check(t, r)
	})
}

func TestIPv6(t *testing.T) {
	c := newCA(t)
	url, host := serveIPv6(t, c.serverConfig(t, time.Now().Add(time.Hour)), basicRegistry(registry))
	config := basicAuth()
	config.TLS = &mirrors.TLS{CA: c.pem()}
	r := newProber(t, map[string]mirrors.HostConfig{host: config}).Ask(t.Context(), endpoint(url))
	want{answer: probe.Yes, login: probe.LoginAccepted}.check(t, r)
	if !strings.HasPrefix(r.Key, "[::1]:") {
		t.Errorf("key %q, want brackets", r.Key)
	}
}

func TestNoAnswer(t *testing.T) {
	const soon = 150 * time.Millisecond
	silent, _ := serveRaw(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	hangsUp, _ := serveRaw(t, func(c net.Conn) {})
	// Each reads first: what comes before the request is logged by net/http.
	gibberish, _ := serveRaw(t, func(c net.Conn) { c.Read(make([]byte, 4096)); io.WriteString(c, "SSH-2.0-made\r\n") })
	drip := func(head string) string {
		url, _ := serveRaw(t, func(c net.Conn) {
			c.Read(make([]byte, 4096))
			io.WriteString(c, head)
			for {
				time.Sleep(5 * time.Millisecond)
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		})
		return url
	}
	longHeaders, _ := serveRaw(t, func(c net.Conn) {
		c.Read(make([]byte, 4096))
		io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(c, "X-Filler: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
				return
			}
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + l.Addr().String()
	l.Close()

	tests := []struct {
		name, url string
		slow      bool
		want      want
	}{
		{"never answers", silent, true, want{reason: "no answer within 150ms", err: "no answer within"}},
		{"never answers the handshake", strings.Replace(silent, "http:", "https:", 1), true, want{reason: "no answer within 150ms", err: "no answer within"}},
		{"drips its header", drip("HTTP/1.1 200 OK\r\nX: "), true, want{reason: "no answer within", err: "no answer within"}},
		{"drips its body", drip("HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"), true, want{reason: "no answer within", err: "no answer within"}},
		{"drips its body, but the header says it all", drip("HTTP/1.1 200 OK\r\nDocker-Distribution-Api-Version: registry/2.0\r\nContent-Length: 60000\r\n\r\n"), false,
			want{answer: probe.Yes}},
		{"refused", refused, false, want{reason: "connection refused", err: "/v2/: dial tcp"}},
		{"hangs up", hangsUp, false, want{err: "/v2/: "}},
		{"speaks something else", gibberish, false, want{reason: "malformed HTTP", err: "malformed HTTP"}},
		{"headers without end", longHeaders, false, want{err: "/v2/: "}},
		{"no such name", "http://registry.invalid:5000", false, want{reason: "registry.invalid", err: "registry.invalid"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			timeout := 5 * time.Second
			if tt.slow {
				timeout = soon
			}
			start := time.Now()
			r := newProber(t, nil, probe.WithTimeout(timeout)).Ask(t.Context(), endpoint(tt.url))
			tt.want.check(t, r)
			if tt.slow && (!errors.Is(r.Err, context.DeadlineExceeded) || r.Took < soon) {
				t.Errorf("took %v, error %v", r.Took, r.Err)
			}
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("returned after %v", d)
			}
		})
	}
}

func TestBodyIsBounded(t *testing.T) {
	var sent atomic.Int64
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < 4096 && r.Context().Err() == nil; i++ { // 64 MiB
			n, err := w.Write(make([]byte, 16<<10))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	want{answer: probe.Unknown, err: "no registry sends"}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(url)))
	// What the server could send includes what the kernel's buffers took.
	if n := sent.Load(); n > 32<<20 {
		t.Errorf("the server could send %d bytes", n)
	}
}

func TestUnusableURL(t *testing.T) {
	for _, tt := range []struct{ url, err string }{
		{"", "not an absolute URL"},
		{"m.internal:5000", "not an absolute URL"},
		{"m.internal", "not an absolute URL"},
		{"//m.internal", "not an absolute URL"},
		{"10.0.0.1:5000", "not a URL"},
		{"ftp://m.internal", `unsupported scheme "ftp" (want http or https)`},
		{"HTTPS://m.internal", `unsupported scheme "HTTPS" (want http or https)`},
		{"https://", "no host"},
		{"https:///v2", "no host"},
		{"https://:5000", "no host"},
		{"https://m.internal:65536", `invalid port "65536"`},
		{"https://m.internal:0", `invalid port "0"`},
		{"https://m.internal:x", "not a URL"},
		{"https://fd00::1", "not a URL"},
		{"https://m.internal/\n", "not a URL"},
		{"https://m.internal ", "not a URL"},
		{"https://m.internal/100%25x", "escapes"},
		{"https://robot:made-up/password@m.internal", "https://[redacted]@m.internal: not a URL"},
		{"https://robot:4711001/made-up@m.internal", "https://[redacted]@m.internal: invalid port (want an"},
		{"https://robot:made-up?#/pass@word@m.internal:x/y?made-up", "https://[redacted]@m.internal:x/y?[redacted]: not a URL"},
	} {
		r := newProber(t, nil).Ask(t.Context(), endpoint(tt.url))
		want{answer: probe.Unknown, reason: tt.err, err: tt.err}.check(t, r)
	}

	// A node ignores userinfo, query and fragment, so they do not reach the server.
	url, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.URL.RawQuery != "" {
			w.WriteHeader(418)
			return
		}
		registry(w, r)
	})
	r := newProber(t, nil).Ask(t.Context(), endpoint(strings.Replace(url, "//", "//robot:made-up-password@", 1)+"/v2?x=made-up"))
	want{answer: probe.Yes}.check(t, r)
	if got, want := r.Endpoint.URL, "http://[redacted]@"+host+"/v2?[redacted]"; got != want {
		t.Errorf("endpoint %q, want %q", got, want)
	}
}

func TestRedirects(t *testing.T) {
	to := func(code int, target string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(code)
		}
	}
	final, finalHost := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(418)
			return
		}
		registry(w, r)
	})
	for _, code := range []int{301, 302, 303, 307, 308} {
		url, _ := serve(t, to(code, strings.Replace(final, "//", "//x:made-up-password@", 1)+"/v2/?made-up=1#made-up"))
		want{answer: probe.Yes, reason: `after a redirect to "http://` + finalHost}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(url)))
	}
	relative, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			to(302, "/v2/")(w, r)
			return
		}
		registry(w, r)
	})
	want{answer: probe.Yes}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(relative+"/x")))
	page, _ := serve(t, status(200, "<html>sign in", "Content-Type: text/html"))
	url, _ := serve(t, to(302, page+"/login"))
	want{answer: probe.No, reason: "HTML", err: "HTML"}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(url)))
	for _, target := range []string{"ftp://made-up", "http://", "javascript:made-up", "http://made-up:x/"} {
		url, _ := serve(t, to(302, target))
		want{answer: probe.Unknown, err: "a redirect to what is no http or https URL"}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(url)))
	}

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	url, _ = serve(t, to(302, "http://"+closed.Addr().String()+"/v2/"))
	want{answer: probe.Unknown, reason: `after a redirect to "http://` + closed.Addr().String(), err: "refused"}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(url)))

	var hops atomic.Int32
	chain := func(length int32) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if hops.Add(1) > length {
				registry(w, r)
				return
			}
			to(302, "/v2/")(w, r)
		}
	}
	url, _ = serve(t, chain(10))
	want{answer: probe.Yes}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(url)))
	hops.Store(0)
	url, _ = serve(t, chain(11))
	want{answer: probe.Unknown, err: "more than 10 redirects"}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(url)))
}

// thief wants the credentials of everybody and notes what it gets.
type thief struct {
	mu  sync.Mutex
	got []string
}

func (th *thief) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	th.mu.Lock()
	th.got = append(th.got, r.Header.Get("Authorization")+string(body)+r.URL.String())
	th.mu.Unlock()
	w.Header().Set("WWW-Authenticate", `Basic realm="mine"`)
	w.WriteHeader(http.StatusUnauthorized)
}

func (th *thief) check(t *testing.T) {
	t.Helper()
	th.mu.Lock()
	defer th.mu.Unlock()
	if len(th.got) == 0 {
		t.Error("the other host was never asked, so the test shows nothing")
	}
	for _, got := range th.got {
		if strings.Contains(got, "Basic") || strings.Contains(got, "Bearer") || strings.Contains(got, password) {
			t.Errorf("credentials went to another host: %q", got)
		}
	}
}

func TestCredentialsStayAtHome(t *testing.T) {
	c := newCA(t)
	inAnHour := time.Now().Add(time.Hour)
	withCA := basicAuth()
	withCA.TLS = &mirrors.TLS{CA: c.pem()}

	t.Run("redirect to a host that wants them", func(t *testing.T) {
		th := &thief{}
		other, otherHost := serve(t, th.ServeHTTP)
		url, host := serve(t, status(307, "", "Location: "+other+"/v2/"))
		// A node has nothing for the other host even when the Set does: its
		// credentials are the endpoint's.
		r := newProber(t, map[string]mirrors.HostConfig{host: basicAuth(), otherHost: basicAuth()}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Unknown, login: probe.LoginMissing, err: "gets none from a node"}.check(t, r)
		th.check(t)
	})
	t.Run("redirect after the login", func(t *testing.T) {
		th := &thief{}
		other, _ := serve(t, th.ServeHTTP)
		url, host := serve(t, basicRegistry(status(307, "", "Location: "+other+"/v2/")))
		r := newProber(t, map[string]mirrors.HostConfig{host: basicAuth()}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Yes, login: probe.LoginMissing, err: "gets none from a node"}.check(t, r)
		th.check(t)
	})
	t.Run("another port of the same name", func(t *testing.T) {
		th := &thief{}
		other, _ := serve(t, th.ServeHTTP)
		url, host := serve(t, basicRegistry(status(302, "", "Location: "+strings.Replace(other, "127.0.0.1", "localhost", 1)+"/v2/")))
		r := newProber(t, map[string]mirrors.HostConfig{host: basicAuth()}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}.check(t, r)
		th.check(t)
	})
	t.Run("from https to http of the same host and port", func(t *testing.T) {
		// One port speaks both, so that only the scheme tells the two apart.
		th := &thief{}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		host := l.Addr().String()
		both := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.TLS == nil {
				th.ServeHTTP(w, r)
				return
			}
			basicRegistry(status(302, "", "Location: http://"+host+"/v2/"))(w, r)
		})}
		t.Cleanup(func() { both.Close() })
		go both.Serve(&sniffer{l, c.serverConfig(t, inAnHour)})
		r := newProber(t, map[string]mirrors.HostConfig{host: withCA}).Ask(t.Context(), endpoint("https://"+host))
		want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}.check(t, r)
		th.check(t)
	})
	t.Run("token service over http for an https endpoint", func(t *testing.T) {
		var asked atomic.Bool
		service, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Store(true) })
		url, host := serveTLS(t, c.serverConfig(t, inAnHour), bearerRegistry(service))
		r := newProber(t, map[string]mirrors.HostConfig{host: withCA}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Yes, login: probe.LoginUnknown, err: "plain http"}.check(t, r)
		if asked.Load() {
			t.Error("the token service was asked")
		}
	})
	t.Run("token service that redirects", func(t *testing.T) {
		var asked atomic.Bool
		other, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Store(true) })
		service, _ := serve(t, status(308, "", "Location: "+other))
		url, host := serve(t, bearerRegistry(service))
		r := newProber(t, map[string]mirrors.HostConfig{host: basicAuth()}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Yes, login: probe.LoginUnknown, err: "redirects, which is not followed"}.check(t, r)
		if asked.Load() {
			t.Error("the redirect was followed")
		}
	})
	t.Run("a redirect's target that names a token service", func(t *testing.T) {
		th := &thief{}
		service, _ := serve(t, th.ServeHTTP)
		other, _ := serve(t, bearerRegistry(service))
		url, host := serve(t, status(307, "", "Location: "+other+"/v2/"))
		r := newProber(t, map[string]mirrors.HostConfig{host: basicAuth()}).Ask(t.Context(), endpoint(url))
		want{answer: probe.Yes, login: probe.LoginMissing, err: "wants credentials"}.check(t, r)
		th.check(t)
	})
	t.Run("everybody redirects to the next one who wants a login", func(t *testing.T) {
		service, _ := serve(t, status(200, `{"token":"`+token+`"}`))
		next, _ := serve(t, registry)
		for range 6 {
			target := next
			next, _ = serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					bearerRegistry(service)(w, r)
					return
				}
				status(307, "", "Location: "+target+"/v2/")(w, r)
			})
		}
		want{answer: probe.Yes, login: probe.LoginUnknown, err: "one redirect after the other"}.check(t, newProber(t, nil).Ask(t.Context(), endpoint(next)))
	})
}

// A server that sends our credentials back, where an error would quote them.
func TestEchoedCredentials(t *testing.T) {
	url, host := serveRaw(t, func(c net.Conn) {
		buf := make([]byte, 4096)
		n, _ := c.Read(buf)
		request := string(buf[:n])
		if _, auth, ok := strings.Cut(request, "Authorization: Basic "); ok {
			auth, _, _ = strings.Cut(auth, "\r\n")
			plain, _ := base64.StdEncoding.DecodeString(auth)
			io.WriteString(c, string(plain)+auth+"\r\n")
			return
		}
		io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nDocker-Distribution-Api-Version: registry/2.0\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	})
	r := newProber(t, map[string]mirrors.HostConfig{host: basicAuth()}).Ask(t.Context(), endpoint(url))
	want{answer: probe.Yes, login: probe.LoginUnknown, err: "an answer that cannot be read"}.check(t, r)
}

// A server that sends our credentials after its answer, where net/http would log them.
func TestUnaskedCredentials(t *testing.T) {
	var logged strings.Builder
	var mu sync.Mutex
	log.SetOutput(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(p)
	}))
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	done := make(chan struct{})
	url, host := serveRaw(t, func(c net.Conn) {
		buf := make([]byte, 4096)
		n, _ := c.Read(buf)
		_, auth, ok := strings.Cut(string(buf[:n]), "Authorization: Basic ")
		if !ok {
			io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
			time.Sleep(20 * time.Millisecond)
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		time.Sleep(20 * time.Millisecond)
		io.WriteString(c, auth)
		time.Sleep(20 * time.Millisecond)
		close(done)
	})
	r := newProber(t, map[string]mirrors.HostConfig{host: basicAuth()}).Ask(t.Context(), endpoint(url))
	want{answer: probe.Yes, login: probe.LoginAccepted}.check(t, r)
	<-done
	mu.Lock()
	defer mu.Unlock()
	if logged.Len() > 0 {
		t.Errorf("logged %q", logged.String())
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestAskAll(t *testing.T) {
	const limit = 3
	var now, most atomic.Int32
	slow := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n) // may miss one, never adds one
			}
			time.Sleep(20 * time.Millisecond)
			now.Add(-1)
			w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
			w.WriteHeader(code)
		}
	}
	yes, _ := serve(t, slow(200))
	no, _ := serve(t, slow(404))
	unknown, _ := serve(t, slow(500))
	var endpoints []mirrors.Endpoint
	var answers []probe.Answer
	for i := range 20 {
		for _, e := range []struct {
			url    string
			answer probe.Answer
		}{{yes, probe.Yes}, {no, probe.No}, {unknown, probe.Unknown}} {
			endpoints = append(endpoints, endpoint(fmt.Sprintf("%s/%d", e.url, i/2))) // each twice
			answers = append(answers, e.answer)
		}
	}
	p := newProber(t, nil, probe.WithConcurrency(limit))
	var calls []int
	var inside atomic.Int32
	seen := map[string]int{}
	results := p.AskAll(t.Context(), endpoints, func(done, total int, r probe.Result) {
		if inside.Add(1) != 1 {
			t.Error("progress is called twice at the same time")
		}
		calls = append(calls, done)
		seen[r.Endpoint.URL]++
		if total != len(endpoints) {
			t.Errorf("total %d, want %d", total, len(endpoints))
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
	})
	if len(results) != len(endpoints) || len(calls) != len(endpoints) {
		t.Fatalf("%d results, %d calls, want %d", len(results), len(calls), len(endpoints))
	}
	for i, r := range results {
		if r.Endpoint != endpoints[i] || r.Answer != answers[i] {
			t.Errorf("result %d is %v, want %s of %v", i, r, answers[i], endpoints[i])
		}
		if calls[i] != i+1 {
			t.Errorf("call %d said %d", i, calls[i])
		}
		if seen[r.Endpoint.URL] != 2 {
			t.Errorf("progress had %s %d times, want 2", r.Endpoint.URL, seen[r.Endpoint.URL])
		}
	}
	if n := most.Load(); n > limit || n < 2 {
		t.Errorf("%d questions at once, want 2 to %d", n, limit)
	}

	if got := p.AskAll(t.Context(), nil, nil); len(got) != 0 {
		t.Errorf("no endpoints gave %v", got)
	}
}

// The limit is the Prober's, not that of one call.
func TestConcurrencyAcrossCalls(t *testing.T) {
	var now, over atomic.Int32
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if now.Add(1) > 2 {
			over.Add(1)
		}
		time.Sleep(10 * time.Millisecond)
		now.Add(-1)
	})
	p := newProber(t, nil, probe.WithConcurrency(2))
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() { p.Ask(t.Context(), endpoint(fmt.Sprintf("%s/%d", url, i))) })
	}
	wg.Wait()
	if n := over.Load(); n > 0 {
		t.Errorf("%d questions above the limit", n)
	}
}

func TestCancel(t *testing.T) {
	silent, _ := serveRaw(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	endpoints := make([]mirrors.Endpoint, 500)
	for i := range endpoints {
		endpoints[i] = endpoint(fmt.Sprintf("%s/%d", silent, i))
	}
	before := runtime.NumGoroutine()
	p := newProber(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	results := p.AskAll(ctx, endpoints, nil)
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("returned after %v", d)
	}
	for i, r := range results {
		if r.Answer != probe.Unknown || !errors.Is(r.Err, context.DeadlineExceeded) || r.Endpoint != endpoints[i] || r.URL == "" {
			t.Fatalf("result %d: %v, error %v", i, r, r.Err)
		}
	}
	// What nobody waits for ends, long before the timeout of ten seconds.
	for deadline := time.Now().Add(3 * time.Second); runtime.NumGoroutine() > before+2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// One question is in flight for each endpoint, and it outlives the caller who
// began it while another one waits.
func TestOneInFlight(t *testing.T) {
	var requests atomic.Int32
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		arrived <- struct{}{}
		<-release
		registry(w, r)
	})
	p := newProber(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan probe.Result, 1)
	go func() { first <- p.Ask(ctx, endpoint(url)) }()
	<-arrived

	var wg sync.WaitGroup
	var started atomic.Int32
	for range 20 {
		wg.Go(func() {
			started.Add(1)
			if r := p.Ask(t.Context(), endpoint(url)); r.Answer != probe.Yes {
				t.Errorf("a second caller got %v", r)
			}
		})
	}
	for started.Load() < 20 {
		runtime.Gosched()
	}
	time.Sleep(50 * time.Millisecond) // for the last to reach the Prober
	cancel()
	if r := <-first; r.Answer != probe.Unknown || !errors.Is(r.Err, context.Canceled) {
		t.Errorf("the first caller got %v, error %v", r, r.Err)
	}
	close(release)
	wg.Wait()
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestOptions(t *testing.T) {
	_, err := probe.New(mirrors.Set{}, probe.WithTimeout(0), probe.WithConcurrency(0), probe.WithTTL(-1))
	for _, part := range []string{`timeout: invalid duration "0s"`, "concurrency: invalid number 0", `ttl: invalid duration "-1ns"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q in it", err, part)
		}
	}
	var perr *probe.Error
	if !errors.As(err, &perr) {
		t.Errorf("error is %T", err)
	}
}

func TestEndpoints(t *testing.T) {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"quay.io":   {Endpoints: []mirrors.Endpoint{{URL: "https://b"}, {URL: "https://a"}}},
		"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "https://c"}, {URL: "https://a", OverridePath: true}, {URL: "https://c"}}},
		"*":         {Endpoints: []mirrors.Endpoint{{URL: "https://a"}}},
	}}
	got := fmt.Sprint(probe.Endpoints(set))
	if want := "[{https://a false} {https://c false} {https://a true} {https://b false}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := probe.Endpoints(mirrors.Set{}); len(got) != 0 {
		t.Errorf("an empty Set gave %v", got)
	}
}

// sniffer is a listener that speaks TLS to those who begin with a handshake.
type sniffer struct {
	net.Listener
	config *tls.Config
}

func (s *sniffer) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		c.Close()
		return s.Accept()
	}
	conn := &unread{c, b[:]}
	if b[0] == 0x16 {
		return tls.Server(conn, s.config), nil
	}
	return conn, nil
}

// unread is a connection whose first byte was read already.
type unread struct {
	net.Conn
	first []byte
}

func (u *unread) Read(p []byte) (int, error) {
	if len(u.first) > 0 {
		n := copy(p, u.first)
		u.first = u.first[n:]
		return n, nil
	}
	return u.Conn.Read(p)
}
