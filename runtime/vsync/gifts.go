package vsync

import (
	"time"

	"github.com/vtscope/vtscope/runtime/internal/spin"
)

// gifts are the hand-overs of a synchronizer that may not be complete. A thread completes one when its
// scheduler has a carrier for it. That never happens if pinned threads hold all carriers and wait for
// the same lock. So a hand-over is revoked when a waiter can resume without these carriers: a
// goroutine, a pinned thread, or a thread of another scheduler. See
// docs/decisions/0015-revoke-hand-overs-no-carrier-can-complete.md.
//
//	G1  The list holds the waiters in the order of their hand-overs. Waiters that have arrived leave it
//	    when the list is next looked at.
//	G2  The timer runs while the list holds a hand-over and another party waits. Both the giver and a
//	    new waiter arm it.
//	G3  A hand-over that two looks have found is revoked by a change of the waiter's state from given.
//	    The waiter's own thread makes that change when it arrives. A revoked waiter queues again.
type gifts struct {
	spin.Mutex
	first, last *waiter
	n           int
	tidy        int  // the length at which all are looked at
	armed       bool // the timer runs
}

// A giver revokes its hand-overs.
type giver interface {
	// takeBack revokes the hand-over to n if a waiter can resume without n's scheduler. The caller
	// holds no lock.
	takeBack(n *waiter)
}

// takenOnWithin is the shortest age at which a hand-over is revoked, and the period of the looks.
const takenOnWithin = 5 * time.Millisecond

// gave adds the hand-over to n. wanted reports that others wait for the same. The caller holds the lock
// of n's waiters.
func (a *account) gave(n *waiter, wanted bool) {
	g := a.gifts.Load()
	if g == nil {
		g = new(gifts)
		if !a.gifts.CompareAndSwap(nil, g) {
			g = a.gifts.Load()
		}
	}
	g.Lock()
	n.gift, n.late = nil, false
	if g.n++; g.n > g.tidy {
		g.tidyLocked()
	}
	if g.last == nil {
		g.first = n
	} else {
		g.last.gift = n
	}
	g.last = n
	arm := wanted && g.armLocked()
	g.Unlock()
	if arm {
		time.AfterFunc(takenOnWithin, g.look)
	}
}

// wants notes that a waiter has queued.
func (a *account) wants() {
	g := a.gifts.Load()
	if g == nil {
		return
	}
	g.Lock()
	for g.first != nil && g.first.state.Load() != given {
		g.dropFirstLocked()
	}
	arm := g.first != nil && g.armLocked()
	g.Unlock()
	if arm {
		time.AfterFunc(takenOnWithin, g.look)
	}
}

func (g *gifts) armLocked() bool {
	was := g.armed
	g.armed = true
	return !was
}

func (g *gifts) dropFirstLocked() {
	n := g.first
	if g.first = n.gift; g.first == nil {
		g.last = nil
	}
	n.gift = nil
	g.n--
}

// tidyLocked drops waiters that have arrived. The count includes the one that is about to be added.
func (g *gifts) tidyLocked() {
	all := g.first
	g.first, g.last, g.n = nil, nil, 1
	for n := all; n != nil; {
		next := n.gift
		n.gift = nil
		if n.state.Load() == given {
			if g.last == nil {
				g.first = n
			} else {
				g.last.gift = n
			}
			g.last = n
			g.n++
		}
		n = next
	}
	g.tidy = max(8, 2*g.n)
}

// look revokes late hand-overs (G3).
func (g *gifts) look() {
	var late []*waiter
	g.Lock()
	g.armed = false
	again := false
	for n := g.first; n != nil; n = n.gift {
		switch {
		case n.state.Load() != given:
		case n.late:
			late = append(late, n)
		default:
			n.late, again = true, true
		}
	}
	again = again && g.armLocked()
	g.Unlock()
	for _, n := range late {
		n.from.takeBack(n)
	}
	if again {
		time.AfterFunc(takenOnWithin, g.look)
	}
}

// otherLocked returns the first waiter that can resume without the scheduler of n, or nil.
func (q *waiters) otherLocked(n *waiter) *waiter {
	if q.others == 0 && q.home == n.home {
		return nil
	}
	for c := q.first; c != nil; c = c.next {
		if c.home != n.home {
			return c
		}
	}
	return nil
}

// takeBackLocked revokes the hand-over to n if a waiter in q can resume without n's scheduler. That
// waiter becomes the first.
func (q *waiters) takeBackLocked(n *waiter) bool {
	c := q.otherLocked(n)
	if c == nil || !n.state.CompareAndSwap(given, refused) {
		return false
	}
	q.removeLocked(c)
	q.pushFirstLocked(c)
	return true
}
