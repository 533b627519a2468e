package dump

import (
	"slices"

	"github.com/vtscope/vtscope/runtime/flight"
)

// HeldLocks returns the locks that each thread holds, from the rows of [Source.Blockers]. A row describes a
// lock only while a party waits for it, and at most [flight.HoldersKept] of its holders. All other locks
// are missing. A read-write mutex without a name does not know its readers.
func HeldLocks(rows []flight.BlockerRow) map[flight.ThreadID][]flight.Blocker {
	held := map[flight.ThreadID][]flight.Blocker{}
	for i := range rows {
		if !isLock(rows[i].Blocker) {
			continue
		}
		for _, h := range rows[i].Known() {
			// A thread that reads twice is twice among the holders.
			if id := h.Party.Thread(); id != 0 && !slices.Contains(held[id], rows[i].Blocker) {
				held[id] = append(held[id], rows[i].Blocker)
			}
		}
	}
	for _, locks := range held {
		slices.Sort(locks)
	}
	return held
}

func isLock(b flight.Blocker) bool {
	switch b.Kind() {
	case flight.BlockedByLock, flight.BlockedByMutex, flight.BlockedByRWMutex:
		return true
	}
	return false
}

// A LockHolder is a thread of a [Group] that holds contended locks.
type LockHolder struct {
	ID    flight.ThreadID `json:"id"`
	Name  string          `json:"name,omitempty"`
	Locks []string        `json:"locks"`          // such as: mutex "db"; at most three
	More  int             `json:"more,omitempty"` // locks beyond these
}

// maxLocksTold is how many locks a [LockHolder] names.
const maxLocksTold = 3

// lockHolders are the threads of a group that hold contended locks: the first [maxExamples] by id, and
// the number of all.
type lockHolders struct {
	some []example
	n    int
}

func (l *lockHolders) add(e example) {
	l.n++
	l.keep(e)
}

func (l *lockHolders) keep(e example) {
	at, _ := slices.BinarySearchFunc(l.some, e.id, func(o example, id flight.ThreadID) int {
		if o.id < id {
			return -1
		}
		return 1
	})
	if at == maxExamples {
		return
	}
	l.some = slices.Insert(l.some, at, e)
	l.some = l.some[:min(len(l.some), maxExamples)]
}

func (l *lockHolders) merge(o *lockHolders) {
	l.n += o.n
	for _, e := range o.some {
		l.keep(e)
	}
}

// told returns the holders by name, with what they hold.
func (l *lockHolders) told(src Source, held map[flight.ThreadID][]flight.Blocker, thing func(flight.Blocker) string) []LockHolder {
	var all []LockHolder
	for _, e := range l.some {
		locks := held[e.id]
		h := LockHolder{ID: e.id, Name: src.ThreadName(flight.ThreadRow{ID: e.id, Name: e.name}), More: max(len(locks)-maxLocksTold, 0)}
		for _, b := range locks[:min(len(locks), maxLocksTold)] {
			h.Locks = append(h.Locks, thing(b))
		}
		all = append(all, h)
	}
	return all
}
