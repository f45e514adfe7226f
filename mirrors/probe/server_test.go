package probe_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

const (
	user     = "robot"
	password = "made-up-password-0815"
	token    = "made-up-token-4711"
)

// ca issues certificates for the servers and clients of a test.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) *ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &ca{cert, key}
}

func (c *ca) pem() mirrors.PEM {
	return mirrors.PEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw}))
}

func (c *ca) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(c.cert)
	return p
}

// issue returns a certificate for 127.0.0.1 and ::1, and its key, as PEM.
func (c *ca) issue(t *testing.T, notAfter time.Time) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: notAfter,
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1"), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, &k.PublicKey, c.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func (c *ca) identity(t *testing.T) *mirrors.ClientIdentity {
	t.Helper()
	cert, key := c.issue(t, time.Now().Add(time.Hour))
	return &mirrors.ClientIdentity{Certificate: mirrors.PEM(cert), Key: mirrors.NewSecret(string(key))}
}

func (c *ca) serverConfig(t *testing.T, notAfter time.Time) *tls.Config {
	t.Helper()
	cert, key := c.issue(t, notAfter)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// serve starts a server and returns its URL and host:port.
func serve(t *testing.T, h http.HandlerFunc) (string, string) { return serveTLS(t, nil, h) }

func serveTLS(t *testing.T, c *tls.Config, h http.HandlerFunc) (string, string) {
	t.Helper()
	return start(t, httptest.NewUnstartedServer(h), c)
}

func start(t *testing.T, s *httptest.Server, c *tls.Config) (string, string) {
	t.Helper()
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // failing handshakes are what is tested
	if c != nil {
		s.TLS = c
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL, s.Listener.Addr().String()
}

// serveIPv6 is serve on ::1.
func serveIPv6(t *testing.T, c *tls.Config, h http.HandlerFunc) (string, string) {
	t.Helper()
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 loopback on this machine: %v", err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	return start(t, s, c)
}

// serveRaw hands each connection to f, which speaks for itself.
func serveRaw(t *testing.T, f func(net.Conn)) (string, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return "http://" + l.Addr().String(), l.Addr().String()
}

// registry answers at /v2/ as distribution does, and 404 elsewhere, with the
// header that distribution sets on every answer.
func registry(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if r.Method != http.MethodGet || r.URL.Path != "/v2/" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, "{}")
}

// status answers with a code, headers ("Name: value") and a body.
func status(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// basicRegistry is a registry behind Basic.
func basicRegistry(behind http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind(w, r)
	}
}

// basicSite is what any site behind a login is.
func basicSite(behind http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="site"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind(w, r)
	}
}

// bearerRegistry is a registry that wants a token of the service at realm.
func bearerRegistry(realm string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`",service="reg, with \"quotes\"",scope="registry:catalog:* a:b:c"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		registry(w, r)
	}
}

func basicAuth() mirrors.HostConfig {
	return mirrors.HostConfig{Auth: &mirrors.Auth{Username: user, Password: mirrors.NewSecret(password)}}
}

func wrongAuth() mirrors.HostConfig {
	return mirrors.HostConfig{Auth: &mirrors.Auth{Username: user, Password: mirrors.NewSecret("made-up-wrong-password")}}
}
