package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// The bytes of a thread: a header of 16 bytes, that is magic, version (one byte), how it is protected (one byte), and the length of what follows (big endian); then
// an image as JSON, and its SHA-256; or the image sealed by [Keys].
const (
	magic      = "vtdurabl"
	version    = 1
	headerSize = len(magic) + 2 + 4 + 2

	summed = 0
	sealed = 1
)

// Errors about bytes.
var (
	ErrDamaged  = errors.New("the bytes are damaged")
	ErrVersion  = errors.New("the bytes are of another version")
	ErrKey      = errors.New("the bytes are encrypted with another key, or no key was given")
	ErrUnsigned = errors.New("the bytes are not signed, and a key was given")
	ErrTooLarge = errors.New("the bytes are too large")
	ErrMemory   = errors.New("the bytes take too much memory")
)

// A Header is what bytes tell of themselves without a key.
type Header struct {
	Version int    `json:"version"`
	Sealed  bool   `json:"sealed"`           // encrypted and signed
	KeyID   string `json:"key_id,omitempty"` // of the key that sealed them: tells which of several it is
	Length  int    `json:"length"`           // of the text in them
}

// ParseHeader reads the header of bytes. The error matches [ErrDamaged] if they have none. Of another version only that is known.
func ParseHeader(b []byte) (h Header, err error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return h, ErrDamaged
	}
	if h.Version = int(b[len(magic)]); h.Version != version {
		return h, nil
	}
	h.Sealed = b[len(magic)+1] == sealed
	h.Length = int(binary.BigEndian.Uint32(b[len(magic)+2:]))
	if h.Sealed && len(b) >= headerSize+keyID {
		h.KeyID = hex.EncodeToString(b[headerSize : headerSize+keyID])
	}
	return h, nil
}

// MaxFile is about how large bytes can be, with the default of [Limits].
const MaxFile = maxBytes + 1<<10

// Pack is [Limits.Pack] with the defaults.
func Pack(im *Image, keys *Keys) ([]byte, error) { return Limits{}.Pack(im, keys) }

// Pack returns the bytes of a thread, signed and encrypted with keys, or with a sum alone if they are nil. The error matches [ErrTooLarge] or [ErrMemory]: Unpack with the same
// limits takes what it returns.
func (l Limits) Pack(im *Image, keys *Keys) ([]byte, error) {
	l, err := l.checked()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(im)
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", im.ID, err)
	}
	if len(text) > l.Bytes {
		return nil, fmt.Errorf("thread %s: %d bytes: %w, at most %d; try Checkpoint, or larger Limits", im.ID, len(text), ErrTooLarge, l.Bytes)
	}
	if err := (&budget{limit: l.Memory, used: min(len(text), l.Memory)}).measure(im); err != nil {
		return nil, err
	}
	header := make([]byte, headerSize)
	copy(header, magic)
	header[len(magic)] = version
	binary.BigEndian.PutUint32(header[len(magic)+2:], uint32(len(text)))
	if keys != nil {
		header[len(magic)+1] = sealed
		return keys.sealed(header, text), nil
	}
	sum := sha256.Sum256(text)
	return append(append(header, text...), sum[:]...), nil
}

// Fits returns the error that Pack would return of these limits. It makes no bytes unless they may be near to them.
func (l Limits) Fits(im *Image) error {
	l, err := l.checked()
	if err != nil {
		return err
	}
	rough := 0
	im.Walk(func(im *Image) bool {
		r := RowOf(im)
		rough += 1<<10 + 6*(len(im.ID)+len(im.Body)+len(im.Err)+r.Bytes) + 256*len(im.Steps) // 6: of a character that is escaped
		for name, all := range im.Inbox {
			rough += 6*len(name) + 8 + len(all)
		}
		return true
	})
	if rough <= l.Bytes && (&budget{limit: l.Memory, used: min(rough, l.Memory)}).measure(im) == nil {
		return nil
	}
	_, err = l.Pack(im, nil)
	return err
}

// Unpack is [Limits.Unpack] with the defaults.
func Unpack(b []byte, keys *Keys) (*Image, error) { return Limits{}.Unpack(b, keys) }

// Unpack is the opposite of Pack, for bytes from anywhere. It allocates no more than a few times l.Memory. The error matches [ErrDamaged], [ErrVersion], [ErrTooLarge], [ErrMemory],
// [ErrKey] or [ErrUnsigned], or is about l.
func (l Limits) Unpack(b []byte, keys *Keys) (*Image, error) {
	l, err := l.checked()
	if err != nil {
		return nil, err
	}
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return nil, ErrDamaged
	}
	header, rest := b[:headerSize], b[headerSize:]
	if header[len(magic)] != version {
		return nil, fmt.Errorf("%w: %d, not %d", ErrVersion, header[len(magic)], version)
	}
	n := int(binary.BigEndian.Uint32(header[len(magic)+2:]))
	if n > l.Bytes || len(rest) > l.Bytes+MaxFile-maxBytes {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrTooLarge, max(n, len(rest)), l.Bytes)
	}
	var text []byte
	switch protection := header[len(magic)+1]; {
	case protection == sealed && keys == nil:
		return nil, ErrKey
	case protection == sealed:
		if text, err = keys.opened(header, rest); err != nil {
			return nil, err
		}
	case protection != summed:
		return nil, ErrDamaged
	case keys != nil:
		return nil, ErrUnsigned
	default:
		if len(rest) != n+sha256.Size {
			return nil, ErrDamaged
		}
		text = rest[:n]
		if sum := sha256.Sum256(text); !bytes.Equal(sum[:], rest[n:]) {
			return nil, ErrDamaged
		}
	}
	if len(text) != n || header[headerSize-1] != 0 || header[headerSize-2] != 0 {
		return nil, ErrDamaged
	}
	im, err := decode(text, l.Memory)
	if err != nil {
		return nil, err
	}
	if err := im.Check(); err != nil {
		return nil, err
	}
	return im, nil
}
