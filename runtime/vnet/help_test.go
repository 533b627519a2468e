package vnet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// awaitParked waits until all threads wait.
func awaitParked(t testing.TB, threads ...*vthread.Thread) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		waiting := 0
		for _, th := range threads {
			switch th.State() {
			case flight.StateParked, flight.StateTimedParked, flight.StateWaiting, flight.StateBlocked:
				waiting++
			}
		}
		if waiting == len(threads) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d threads wait", waiting, len(threads))
		}
	}
}

var certificateOnce = sync.OnceValues(func() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "vnet"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"vnet.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}}, RootCAs: roots, ServerName: "vnet.test",
	}, nil
})

// certificate returns a configuration for both sides.
func certificate(t testing.TB) *tls.Config {
	t.Helper()
	c, err := certificateOnce()
	if err != nil {
		t.Fatal(err)
	}
	return c.Clone()
}

// long tells that there is time: make nightly sets it.
func long() bool { return os.Getenv("VTSCOPE_NIGHTLY") != "" }
