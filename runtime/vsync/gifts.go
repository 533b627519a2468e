package vsync

import (
	"time"

	"github.com/vtscope/vtscope/runtime/internal/spin"
)

// gifts are what threads were given by a synchronizer, and have perhaps not taken on yet. A thread goes on when its scheduler has a carrier for it. If
// all its carriers are held, by threads that are pinned and wait for the same lock, or for somebody who does, that is never. So what a thread
// has not taken on is taken back when somebody waits for it who needs none of these carriers: a goroutine, a thread that is pinned, or
// one of another scheduler. See docs/decisions/0015-what-nobody-takes-on-goes-to-another.md.
//
//	G1  The list has the waiters in the order of their gifts. Those that have arrived leave it when somebody comes by.
//	G2  The timer runs while somebody waits and there are gifts: who gives sees to it, and who waits.
//	G3  What a waiter is given is taken back when two looks have found it in the list, and by whoever changes its state from given, which its own
//	    thread does when it arrives. Then it begins again.
type gifts struct {
	spin.Mutex
	first, last *waiter
	n           int
	tidy        int  // at so many, all are looked at
	armed       bool // the timer runs
}

// A giver takes back what its waiters were given.
type giver interface {
	// takeBack takes back what n has not taken on, if somebody waits for it who can go on without n's scheduler. It is called without locks.
	takeBack(n *waiter)
}

// takenOnWithin is how long a gift lies at least until it is taken back.
const takenOnWithin = 5 * time.Millisecond

// gave adds the gift of n. wanted tells that others wait for it. The caller has the lock of n's waiters.
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

// wants tells that somebody waits.
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

// tidyLocked drops those that have arrived. The one that is about to be added counts.
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

// look takes back what has lain for long (G3).
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

// otherLocked returns the first waiter that can go on without the scheduler of n, or nil.
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

// takeBackLocked takes back what n has not taken on, if somebody in q can go on without n's scheduler, who is the first from now on.
func (q *waiters) takeBackLocked(n *waiter) bool {
	c := q.otherLocked(n)
	if c == nil || !n.state.CompareAndSwap(given, refused) {
		return false
	}
	q.removeLocked(c)
	q.pushFirstLocked(c)
	return true
}
