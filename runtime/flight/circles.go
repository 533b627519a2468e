package flight

import (
	"context"
	"sync/atomic"
	"time"
)

// A circleWatch looks for deadlocks in the debug build (tag invariants): circles of threads and goroutines that wait for each other without a time limit.
// What it sees twice in the same state it reports once, as an event of each member. It reads the records as an observer does, and so finds less than
// vtdump waits: no circles over semaphores and carriers.
type circleWatch struct {
	reader   *Reader
	suspects map[Party]Ticks // members of circles at the last look, and since when they wait
	told     map[Party]Ticks // likewise, of those that were reported
	rest     time.Time       // no look before
	changes  uint64          // at the last look
	again    bool            // something may be a circle
}

// changes counts who begins to wait without a time limit, and new holders, in all recorders.
var changes atomic.Uint64

const (
	circlesEvery = 25 * time.Millisecond
	circlesShare = 20 // a look takes at most one of so many parts of the time
)

// noteWait is called when somebody begins to wait for b.
func noteWait(b Blocker) {
	if b != 0 && b&blockerLimited == 0 {
		changes.Add(1)
	}
}

// look reports the circles that have stayed since the last look. Only the recorder's goroutine calls it.
func (w *circleWatch) look(r *Recorder) {
	now := changes.Load()
	if now == w.changes && !w.again || time.Now().Before(w.rest) {
		return
	}
	w.changes, w.again = now, false
	if w.reader == nil {
		w.told = map[Party]Ticks{}
		if w.reader, _ = r.Reader(); w.reader == nil {
			return
		}
	}
	began := time.Now()
	suspects := map[Party]Ticks{}
	for _, circle := range findCircles(w.reader) {
		stays, told := true, true
		for _, l := range circle {
			suspects[l.party] = l.since
			stays = stays && w.suspects[l.party] == l.since
			told = told && w.told[l.party] == l.since
		}
		switch {
		case told:
		case !stays:
			w.again = true
		default:
			for _, l := range circle {
				w.told[l.party] = l.since
				r.Emit(l.since, EventDeadlock, l.reason, l.stack, l.party.Thread(), uint64(l.blocker))
			}
		}
	}
	w.suspects = suspects
	w.rest = time.Now().Add(circlesShare * time.Since(began))
}

// A circleLink is a member of a circle: somebody who waits for blocker.
type circleLink struct {
	party   Party
	blocker Blocker
	since   Ticks
	stack   StackID
	reason  Reason
	scope   ScopeIndex
	next    []Party // who keeps blocker
}

// findCircles returns a circle for each deadlock that the records tell, each member of which waits for what the next one keeps.
func findCircles(r *Reader) [][]circleLink {
	links := map[Party]*circleLink{}
	add := func(l circleLink) {
		if l.blocker != 0 {
			links[l.party] = &l
		}
	}
	// What cannot be read is missing: then there may be a circle that is not found.
	_, _ = r.Threads(context.Background(), func(rows []ThreadRow) {
		for i := range rows {
			switch row := &rows[i]; row.State {
			case StateParked, StateBlocked, StateWaiting, StatePinned:
				if !row.Limited {
					add(circleLink{PartyThread(row.ID), row.Blocker, row.Since, row.Stack, row.Reason, row.Scope, nil})
				}
			}
		}
	})
	waits, _ := r.Waits()
	for _, row := range waits {
		if row.Until == 0 {
			add(circleLink{row.Party, row.Blocker, row.Since, row.Stack, row.Reason, 0, nil})
		}
	}
	holders := map[Blocker][]Party{}
	blockers, _ := r.Blockers()
	for i := range blockers {
		row := &blockers[i]
		switch row.Blocker.Kind() {
		case BlockedBySemaphore, BlockedByQueue: // another holder may do
			continue
		}
		for _, h := range row.Known() {
			holders[row.Blocker] = append(holders[row.Blocker], h.Party)
		}
	}
	scopes, _ := r.Scopes()
	index := map[Blocker]ScopeIndex{}
	for _, s := range scopes {
		index[BlockScope(s.ID)] = s.Index
	}
	within := map[ScopeIndex][]Party{}
	for p, l := range links {
		within[l.scope] = append(within[l.scope], p)
	}
	for _, l := range links {
		switch l.blocker.Kind() {
		case BlockedByThread:
			l.next = []Party{PartyThread(ThreadID(l.blocker.ID()))}
		case BlockedByScope:
			if at, ok := index[l.blocker]; ok && at != 0 && l.reason == ReasonScopeJoin { // for another reason some of its threads suffice
				l.next = within[at]
			}
		default:
			l.next = holders[l.blocker]
		}
	}
	return closeCircles(links)
}

// closeCircles follows the links, each once.
func closeCircles(links map[Party]*circleLink) (circles [][]circleLink) {
	const onPath, done = 1, 2
	state := make(map[Party]uint8, len(links))
	type step struct {
		link *circleLink
		at   int // in link.next
	}
	var path []step
	for p, l := range links {
		if state[p] != 0 {
			continue
		}
		state[p] = onPath
		path = append(path[:0], step{l, 0})
		for len(path) > 0 {
			top := &path[len(path)-1]
			if top.at == len(top.link.next) {
				state[top.link.party] = done
				path = path[:len(path)-1]
				continue
			}
			next := links[top.link.next[top.at]]
			top.at++
			switch {
			case next == nil: // it can go on
			case state[next.party] == 0:
				state[next.party] = onPath
				path = append(path, step{next, 0})
			case state[next.party] == onPath:
				from := len(path) - 1
				for path[from].link != next {
					from--
				}
				var circle []circleLink
				for _, s := range path[from:] {
					circle = append(circle, *s.link)
				}
				circles = append(circles, circle)
			}
		}
	}
	return circles
}
