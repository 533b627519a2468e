package dump

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// An UnjudgedWait counts waits without a time limit that may be part of a deadlock: no record says which
// party can end them.
type UnjudgedWait struct {
	For   string `json:"for"` // such as "sync.Mutex", "condition", or "mutex held by a goroutine"
	Count int    `json:"count"`
}

// unjudgedCount returns how many waits cannot be judged.
func unjudgedCount(all []UnjudgedWait) (n int) {
	for _, u := range all {
		n += u.Count
	}
	return n
}

// unjudgedWords writes "sync.Mutex 9, condition 1: holders unknown".
func unjudgedWords(all []UnjudgedWait) string {
	kinds := make([]string, len(all))
	for i, u := range all {
		kinds[i] = u.For + " " + Thousands(u.Count)
	}
	return strings.Join(kinds, ", ") + ": holders unknown"
}

// JudgedWords says how far the search for deadlocks reaches, such as "none found among 4 waits that can be
// judged; 9 cannot (sync.Mutex 9: holders unknown)". It returns "" if all waits can be judged.
func (w *Waits) JudgedWords() string {
	n := unjudgedCount(w.Unjudged)
	if n == 0 {
		return ""
	}
	found := "none"
	if len(w.Deadlocks) > 0 {
		found = strconv.Itoa(len(w.Deadlocks))
	}
	return found + " found among " + Count(w.Judged, "wait") + " that can be judged; " + Thousands(n) + " cannot (" + unjudgedWords(w.Unjudged) + ")"
}

// loose counts the waits of threads whose blocker is unknown.
type loose struct {
	kinds  map[string]int
	stacks map[flight.StackID]int // waits in Go operations
}

func (l *loose) add(what string) {
	if l.kinds == nil {
		l.kinds = map[string]int{}
	}
	l.kinds[what]++
}

// note counts a blocked thread if a party within the process can block it for ever.
func (l *loose) note(row *flight.ThreadRow) {
	switch row.State {
	case flight.StateMounted:
		if row.OnGoroutine() {
			l.add("thread on a goroutine") // it may wait in Go
		}
		return
	case flight.StateParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
	default:
		return
	}
	if row.Limited || row.Reason == flight.ReasonSleep || row.Reason.Outside() {
		return
	}
	switch k := row.Blocker.Kind(); {
	case row.Reason == flight.ReasonPinnedGo, k == flight.BlockedByNone && row.Carrier == flight.NoCarrier && row.Since == 0: // nobody recorded it
		if l.stacks == nil {
			l.stacks = map[flight.StackID]int{}
		}
		l.stacks[row.Stack]++
	case k == flight.BlockedByNone:
		l.add(flight.ReasonPark.String())
	case k == flight.BlockedByPermit || k == flight.BlockedByChild:
		l.add(flight.BlockerKinds[k].Name)
	}
}

// goCalls maps the Go calls in which a thread blocks to what it waits for. "" is a wait that no other
// thread can prolong. The first matching row counts.
var goCalls = []struct{ call, what string }{
	{"sync.(*Mutex).", "sync.Mutex"},
	{"internal/sync.(*Mutex).", "sync.Mutex"},
	{"sync.(*RWMutex).", "sync.RWMutex"},
	{"sync.(*WaitGroup).", "sync.WaitGroup"},
	{"sync.(*Cond).", "sync.Cond"},
	{"internal/poll.runtime_Semacquire", "lock of a file"},
	{"internal/poll.", ""},
	{"time.Sleep", ""},
	{"syscall.", ""},
	{"golang.org/x/sys/", ""},
	{"internal/syscall/", ""},
	{"internal/runtime/syscall.", ""},
	{"runtime.cgocall", ""},
	{"os/signal.", ""},
}

// goWait returns what a thread that blocks in a Go operation waits for, by its stack. Stacks lack the
// frames of channel operations, so a frame of the program at the top means a channel.
func goWait(frames []flight.Frame) string {
	if len(frames) == 0 {
		return "Go operation"
	}
	for i := range frames {
		name := frames[i].Func
		for _, c := range goCalls {
			if strings.HasPrefix(name, c.call) {
				return c.what
			}
		}
		if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/") {
			break
		}
	}
	if strings.Contains(frames[0].Func, "._Cfunc_") {
		return ""
	}
	return "channel"
}

// judged counts the waits in which a deadlock would have been found, and those in which it would not.
func (t *waitsTaker) judged() {
	kinds := t.loose.kinds
	if kinds == nil {
		kinds = map[string]int{}
	}
	for id, n := range t.loose.stacks {
		var frames []flight.Frame
		if id != 0 {
			if s, err := t.r.Stack(id); err == nil {
				frames = s.Frames
			}
		}
		if what := goWait(frames); what != "" {
			kinds[what] += n
		}
	}
	for i := range t.pairs.all {
		p := &t.pairs.all[i]
		n := p.endless()
		if n == 0 {
			continue
		}
		if what := t.unknown(p.blocker); what != "" {
			kinds[what] += n
		} else {
			t.out.Judged += n
		}
	}
	t.out.Unjudged = []UnjudgedWait{}
	for what, n := range kinds {
		t.out.Unjudged = append(t.out.Unjudged, UnjudgedWait{what, n})
	}
	slices.SortFunc(t.out.Unjudged, func(a, b UnjudgedWait) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.For, b.For))
	})
}

// unknown returns what is waited for if the holder of b is unknown, else "".
func (t *waitsTaker) unknown(b flight.Blocker) string {
	k := b.Kind()
	switch k {
	case flight.BlockedByThread, flight.BlockedByScope, byCarriers:
		return ""
	}
	name := "something"
	if k < flight.BlockerKindCount {
		name = flight.BlockerKinds[k].Name
	}
	row := t.blockers[b]
	if _, ok := t.r.(recorded); row == nil || !ok { // only a recorder notes who holds what
		return name
	}
	known := row.Known()
	switch {
	case len(known) < int(row.Held):
		return name
	case len(known) == 0 && k != flight.BlockedByMutex && k != flight.BlockedByRWMutex && k != flight.BlockedByLock && k != flight.BlockedBySemaphore:
		return name // any party may signal it
	}
	for _, h := range known {
		if _, found := t.find(h.Party); !found && h.Party.Goroutine() != 0 {
			return name + " held by a goroutine"
		}
	}
	return ""
}
