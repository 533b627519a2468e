package jetstream

import (
	"cmp"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
)

// Stats are what a participant has done since it began.
type Stats struct {
	Trees    int    // that it has now
	Known    int    // trees that are not over, whoever has them, as far as it has heard
	Members  int    // other participants that are alive, as far as it has heard
	Commits  uint64 // that were taken
	Retries  uint64 // attempts to publish that came after one without an answer
	Taken    uint64 // trees that were somebody else's before, or nobody's
	Released uint64
	Lost     uint64 // trees that another participant has taken
	Received uint64 // signals and permits
	Trouble  error  // the last: what the servers or the stream did not do. It is no loss: all that matters is tried again
}

// Stats returns them.
func (s *Store) Stats() Stats {
	c := &s.count
	st := Stats{
		Commits: c.commits.Load(), Retries: c.retries.Load(), Taken: c.taken.Load(), Released: c.released.Load(), Lost: c.lost.Load(), Received: c.received.Load(),
	}
	s.index.mu.Lock()
	st.Known = len(s.index.mu.trees)
	for id, m := range s.index.mu.members {
		if id != s.id && m.heard && !s.index.isDead(m) {
			st.Members++
		}
	}
	s.index.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Trees, st.Trouble = len(s.mu.owned), s.mu.trouble
	return st
}

// A Tree is a tree that is not over, as the last message of it says that a participant has heard of.
type Tree struct {
	ID      string
	Body    string
	Owner   string // the name of the participant that has it; "": nobody
	Waits   bool
	Until   time.Time // of one that waits: when it goes on at the latest; zero: when a signal comes
	For     string    // of one that waits
	Since   time.Time // of one that waits
	Signals bool      // something has come for it that nobody has taken yet
	Leases  int       // how often it was taken

	// Misfits are code that one of its threads has diverged with, the newest last. It goes on where other code takes it, or the same code later.
	Misfits []durable.Misfit
}

// Trees returns what this participant has heard of all trees that are not over, sorted by id. It may be late.
func (s *Store) Trees() []Tree {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []Tree
	for root, e := range x.mu.trees {
		h := &e.head
		if h.State == gone {
			continue // what came for it is known, and its head is not
		}
		all = append(all, Tree{ID: root, Body: h.Body, Owner: h.Name, Waits: h.State == waits, Until: h.Until, For: h.For, Since: h.Since, Signals: e.inbox > h.Inbox, Leases: h.Moves, Misfits: h.Misfits})
	}
	slices.SortFunc(all, func(a, b Tree) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
