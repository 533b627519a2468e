package durable

import "crypto/sha256"

// PackForTest returns the bytes of a thread whose goroutine has gone, as a process leaves it that died.
func PackForTest(t *Thread) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	im := t.imageLocked()
	im.Ended, im.Err = false, ""
	return pack(&im, nil)
}

// UnpackForTest only reads.
func UnpackForTest(b []byte) { _, _ = unpack(b, nil) }

// Resum makes the sum of bytes right, so that a fuzzer comes further.
func Resum(b []byte) []byte {
	if len(b) < headerSize+sha256.Size {
		return b
	}
	b = append([]byte(nil), b...)
	n := len(b) - headerSize - sha256.Size
	b[len(magic)+2], b[len(magic)+3], b[len(magic)+4], b[len(magic)+5] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	sum := sha256.Sum256(b[headerSize : headerSize+n])
	copy(b[headerSize+n:], sum[:])
	return b
}

// DecodeForBench and RestoreForBench are the two halves of DeserializeAndUnpark.
func DecodeForBench(b []byte) (*image, error) { return unpack(b, nil) }

func RestoreForBench(im *image, r *Registry) (*Thread, error) {
	t, err := Builder{Registry: r}.restore(im, nil)
	if err != nil {
		return nil, err
	}
	t.mu.permit = true
	return t, t.beginAll()
}

// HibernateForBench makes a thread that waits hibernate now.
func HibernateForBench(t *Thread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state == Running {
		t.mu.leave = toHibernate
		t.pokeLocked()
	}
}
