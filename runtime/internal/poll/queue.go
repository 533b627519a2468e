//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package poll

import "cmp"

// serve calls f with the tokens of descriptors that have become ready, whenever there are some. It returns for an error only. Go's poller is waited for inside of one
// Read: so what becomes ready while f executes is not forgotten, and need not be asked for.
func (q *queue) serve(f func(tokens []uint64)) error {
	var failed error
	err := q.raw.Read(func(uintptr) bool {
		q.turn.Lock()
		defer q.turn.Unlock()
		for {
			n, err := q.collect(f)
			if err != nil {
				failed = err
				return true
			}
			if n < batch {
				return false
			}
		}
	})
	return cmp.Or(failed, err)
}

// look calls f with the tokens of descriptors that have become ready, and reports whether there were any. It does nothing if somebody else looks.
func (q *queue) look(f func(tokens []uint64)) bool {
	if !q.turn.TryLock() {
		return false
	}
	defer q.turn.Unlock()
	n, _ := q.collect(f) // an error is told to who serves
	return n > 0
}
