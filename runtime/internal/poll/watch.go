package poll

import (
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Direction is what a descriptor is waited for.
type Direction uint8

// The directions.
const (
	Reading Direction = iota
	Writing
)

// A Watch is what pollers know of a descriptor. The zero value is ready to use.
type Watch struct {
	mu struct {
		sync.Mutex
		of      [2]*poller // nil: not watched in that direction
		token   [2]uint64
		removed bool
		blocker *flight.BlockerRecord
	}
}

// Add makes a poller watch the descriptor fd in a direction, and mark r, if none does. If it is ready already, that is told at once. spec describes it for the record;
// it is called once for each direction, and names the blocker.
func (w *Watch) Add(fd int, dir Direction, r *Readiness, spec func() flight.BlockerSpec) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.of[dir] != nil || w.mu.removed {
		return nil
	}
	p, err := pollerFor(dir)
	if err != nil {
		return err
	}
	token, err := p.add(fd, r)
	if err != nil {
		return err
	}
	w.mu.of[dir], w.mu.token[dir] = p, token
	sp := spec()
	for i, p := range w.mu.of {
		if p != nil {
			sp.Pollers[i] = uint16(p.number)
		}
	}
	rec := flight.Default()
	rec.CloseBlocker(w.mu.blocker)
	w.mu.blocker = rec.OpenBlocker(sp, flight.Now())
	return nil
}

// Remove stops watching the descriptor, which is open still, for good.
func (w *Watch) Remove(fd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.removed = true
	for dir, p := range w.mu.of {
		if p != nil {
			p.remove(fd, w.mu.token[dir])
			w.mu.of[dir] = nil
		}
	}
	flight.Default().CloseBlocker(w.mu.blocker)
	w.mu.blocker = nil
}
