package access

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/vtscope/vtscope/internal/plainfile"
)

// reloadAfter is how long a certificate is served before its files are looked at again.
const reloadAfter = 10 * time.Second

// A keyPair is a certificate with its key, in files that somebody may replace.
type keyPair struct {
	cert, key string
	mu        struct {
		sync.Mutex
		pair   *tls.Certificate
		stamp  [2]time.Time
		looked time.Time
	}
}

// load reads the files.
func (k *keyPair) load() (*x509.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loadLocked()
}

func (k *keyPair) loadLocked() (*x509.Certificate, error) {
	stamp := k.stamp()
	key, err := readOwned(k.key, 0o007, "600")
	if err != nil {
		return nil, err
	}
	cert, err := plainfile.Read(k.cert, maxSecretFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", k.cert, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("certificate %s: %w", k.cert, err)
		}
	}
	k.mu.pair, k.mu.stamp, k.mu.looked = &pair, stamp, time.Now()
	return pair.Leaf, nil
}

func (k *keyPair) stamp() (s [2]time.Time) {
	for i, name := range []string{k.cert, k.key} {
		if info, err := os.Stat(name); err == nil {
			s[i] = info.ModTime()
		}
	}
	return s
}

// get returns the pair that the files have now. While they make no sense, as when one of them is replaced already, it is the pair before.
func (k *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); now.Sub(k.mu.looked) > reloadAfter {
		k.mu.looked = now
		if k.stamp() != k.mu.stamp {
			_, _ = k.loadLocked()
		}
	}
	return k.mu.pair, nil
}

// readPool reads certificates of authorities. Another user who may change the file would decide who is let in.
func readPool(path string) (*x509.CertPool, error) {
	text, err := readOwned(path, 0o002, "644")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it", path)
	}
	return pool, nil
}
