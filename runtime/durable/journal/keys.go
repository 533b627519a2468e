package journal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Keys sign and encrypt bytes. They do not change, and may be used from any goroutine.
type Keys struct{ all []key }

// A key is what is derived from a secret.
type key struct {
	id   [keyID]byte // tells which of several it is, and nothing of the secret
	seal cipher.AEAD
}

const (
	leastSecret = 16
	keyID       = 8
)

// IDs tell which keys they are, as [Header] does, and nothing of the secrets.
func (k *Keys) IDs() (ids []string) {
	for i := range k.all {
		ids = append(ids, hex.EncodeToString(k.all[i].id[:]))
	}
	return ids
}

// NewKeys returns keys that are derived from secrets of at least 16 bytes. The first one signs and encrypts; each of them is accepted.
func NewKeys(secrets ...[]byte) (*Keys, error) {
	if len(secrets) == 0 {
		return nil, errors.New("journal: keys: no secret")
	}
	k := &Keys{}
	for _, secret := range secrets {
		if len(secret) < leastSecret {
			return nil, fmt.Errorf("journal: keys: a secret of %d bytes: at least %d", len(secret), leastSecret)
		}
		derived, err := hkdf.Key(sha256.New, secret, nil, "vtscope durable thread 1", 40)
		if err != nil {
			return nil, fmt.Errorf("journal: keys: %w", err)
		}
		block, err := aes.NewCipher(derived[:32])
		if err != nil {
			return nil, fmt.Errorf("journal: keys: %w", err)
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("journal: keys: %w", err)
		}
		one := key{seal: gcm}
		copy(one.id[:], derived[32:])
		k.all = append(k.all, one)
	}
	return k, nil
}

// sealed appends to header, which it signs, the id of the key, a nonce, and the text encrypted.
func (k *Keys) sealed(header, text []byte) []byte {
	one := &k.all[0]
	out := append(append([]byte(nil), header...), one.id[:]...)
	nonce := make([]byte, one.seal.NonceSize())
	rand.Read(nonce)
	out = append(out, nonce...)
	return one.seal.Seal(out, nonce, text, out[:len(header)+len(one.id)])
}

// opened is the opposite of sealed, for what follows the header.
func (k *Keys) opened(header, sealed []byte) ([]byte, error) {
	var id [keyID]byte
	if copy(id[:], sealed) < len(id) {
		return nil, ErrDamaged
	}
	for i := range k.all {
		one := &k.all[i]
		if one.id != id {
			continue
		}
		rest := sealed[len(id):]
		if len(rest) < one.seal.NonceSize() {
			return nil, ErrDamaged
		}
		signed := append(append([]byte(nil), header...), id[:]...)
		text, err := one.seal.Open(nil, rest[:one.seal.NonceSize()], rest[one.seal.NonceSize():], signed)
		if err != nil {
			return nil, ErrDamaged
		}
		return text, nil
	}
	return nil, ErrKey
}
