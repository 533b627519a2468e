package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/vtscope/vtscope/dump/stream"
	"github.com/vtscope/vtscope/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func serve(t *testing.T, o *server.Options) (url string) {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir()
	n, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	return "nats://" + n.Addr().String()
}

// asks returns the problem of a question, nil if it was answered.
func asks(t *testing.T, q stream.Question) error {
	t.Helper()
	q.Format = stream.Format
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	run(t.Context(), nil, bytes.NewReader(text), &out, &errs)
	_, err = stream.Read(&out)
	return err
}

func file(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificates makes a CA, and a certificate of it for both sides.
func certificates(t *testing.T) (ca, cert, key string, both tls.Certificate, pool *x509.CertPool) {
	t.Helper()
	signed := func(of *x509.Certificate, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, of, by, &key.PublicKey, byKey)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	keyOf := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	caKey, endKey := keyOf(), keyOf()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	end := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "end"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	rootDER, endDER := signed(root, root, caKey, caKey), signed(end, root, endKey, caKey)
	keyDER, err := x509.MarshalECPrivateKey(endKey)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	if both, err = tls.X509KeyPair(text("CERTIFICATE", endDER), text("EC PRIVATE KEY", keyDER)); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(text("CERTIFICATE", rootDER))
	return file(t, "ca.pem", text("CERTIFICATE", rootDER)), file(t, "cert.pem", text("CERTIFICATE", endDER)), file(t, "key.pem", text("EC PRIVATE KEY", keyDER)), both, pool
}

// Whoever is let in is told that there is no stream; others are not.
func TestCertificatesLetUsIn(t *testing.T) {
	ca, cert, key, both, pool := certificates(t)
	url := serve(t, &server.Options{JetStream: true, TLS: true, TLSVerify: true, TLSTimeout: 60, TLSConfig: &tls.Config{Certificates: []tls.Certificate{both}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}})
	if err := asks(t, stream.Question{URL: url, CA: ca, Certificate: cert, Key: key}); !errors.Is(err, stream.ErrNoStream) {
		t.Errorf("with all: got %v", err)
	}
	if err := asks(t, stream.Question{URL: url, CA: ca}); err == nil || errors.Is(err, stream.ErrNoStream) {
		t.Errorf("without a certificate: got %v", err)
	}
	if err := asks(t, stream.Question{URL: url, Certificate: cert, Key: key}); err == nil || errors.Is(err, stream.ErrNoStream) {
		t.Errorf("without the CA: got %v", err)
	}
	if err := asks(t, stream.Question{URL: url, Certificate: cert}); err == nil || errors.Is(err, stream.ErrNoServer) {
		t.Errorf("without the key: got %v", err)
	}
}

func TestSeedsUsersAndTokensLetUsIn(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, &server.Options{JetStream: true, Nkeys: []*server.NkeyUser{{Nkey: public}}, Users: []*server.User{{Username: "u", Password: "p"}}})
	for _, c := range []struct {
		what string
		q    stream.Question
		is   error
	}{
		{"a seed", stream.Question{NKey: file(t, "seed.nk", seed)}, stream.ErrNoStream},
		{"a user", stream.Question{User: "u", Password: "p"}, stream.ErrNoStream},
		{"another password", stream.Question{User: "u", Password: "q"}, stream.ErrDenied},
		{"nothing", stream.Question{}, stream.ErrDenied},
	} {
		c.q.URL = url
		if err := asks(t, c.q); !errors.Is(err, c.is) {
			t.Errorf("%s: got %v, want %v", c.what, err, c.is)
		}
	}
}

func TestCredentialsLetUsIn(t *testing.T) {
	pair := func(kind func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		k, err := kind()
		if err != nil {
			t.Fatal(err)
		}
		public, err := k.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return k, public
	}
	operator, operatorKey := pair(nkeys.CreateOperator)
	account, accountKey := pair(nkeys.CreateAccount)
	user, userKey := pair(nkeys.CreateUser)
	accountToken, err := jwt.NewAccountClaims(accountKey).Encode(operator)
	if err != nil {
		t.Fatal(err)
	}
	userToken, err := jwt.NewUserClaims(userKey).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(userToken, seed)
	if err != nil {
		t.Fatal(err)
	}
	known := &server.MemAccResolver{}
	if err := known.Store(accountKey, accountToken); err != nil {
		t.Fatal(err)
	}
	url := serve(t, &server.Options{TrustedKeys: []string{operatorKey}, AccountResolver: known})
	if err := asks(t, stream.Question{URL: url, Credentials: file(t, "user.creds", creds)}); !errors.Is(err, stream.ErrSilent) { // let in, where there is no JetStream
		t.Errorf("with credentials: got %v, want %v", err, stream.ErrSilent)
	}
	if err := asks(t, stream.Question{URL: url}); !errors.Is(err, stream.ErrDenied) {
		t.Errorf("without: got %v, want %v", err, stream.ErrDenied)
	}
}
