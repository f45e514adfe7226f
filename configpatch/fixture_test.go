package configpatch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

var update = flag.Bool("update", false, "write the golden files")

// goldens are the files that a test has compared with.
var goldens sync.Map

// TestMain fails when a whole run leaves a golden file that no test uses.
func TestMain(m *testing.M) {
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String()+flag.Lookup("test.skip").Value.String()+flag.Lookup("test.list").Value.String()+flag.Lookup("test.fuzz").Value.String() == "" &&
		flag.Lookup("test.fuzzworker").Value.String() == "false"
	for _, dir := range []string{"converge", "merge", "migrate", "read", "replace"} {
		if !whole || code != 0 {
			break
		}
		if err := filepath.WalkDir(filepath.Join("testdata", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "testdata/")
			if _, used := goldens.Load(name); !used {
				return fmt.Errorf("no test uses the golden file %s", name)
			}
			return nil
		}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// golden compares with testdata/NAME, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	goldens.Store(name, true)
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update to write it")
	assert.Equal(t, string(want), string(got), name)
}

// identity returns a certificate and its key, made for this run.
var identity = sync.OnceValues(func() (mirrors.PEM, mirrors.Secret) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return mirrors.PEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		mirrors.NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
})

func urls(list ...string) (out []mirrors.Endpoint) {
	for _, u := range list {
		out = append(out, mirrors.Endpoint{URL: u})
	}
	return out
}

// fullSet uses every field. Its certificate is a file, so that golden files can hold it.
func fullSet(t testing.TB) mirrors.Set {
	cert, err := os.ReadFile("testdata/cert.pem")
	require.NoError(t, err)
	key, err := os.ReadFile("testdata/key.pem")
	require.NoError(t, err)
	return mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"*":               {Endpoints: urls("https://all.example.com")},
			"docker.io":       {Endpoints: urls("http://cache.mirrors.internal:5000", "https://hub.example.com")},
			"ghcr.io":         {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.example.com/v2/proxy-ghcr", OverridePath: true}}},
			"quay.io":         {Endpoints: urls("https://quay.example.com:8443/v2"), SkipFallback: true},
			"[fd00::1]:5000":  {Endpoints: urls("http://[fd00::2]:5000")},
			"registry.k8s.io": {},
		},
		Config: map[string]mirrors.HostConfig{
			"harbor.example.com": {
				Auth: &mirrors.Auth{Username: "robot$mirror", Password: mirrors.NewSecret("made-up: \"pass\"\n#word")},
				TLS:  &mirrors.TLS{CA: mirrors.PEM(cert), ClientIdentity: &mirrors.ClientIdentity{Certificate: mirrors.PEM(cert), Key: mirrors.NewSecret(string(key))}},
			},
			"hub.example.com":       {Auth: &mirrors.Auth{Auth: mirrors.NewSecret("bWFkZTp1cA==")}},
			"quay.example.com:8443": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up-token")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		},
	}
}
