package goroutines

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A Dump is the goroutines that [Read] has read. It is a [dump.Source] that does not change.
type Dump struct {
	*roster.Roster
	numbered bool

	on []flight.Blocker // by the index of a row, what it waits for, by its address; 0, or not there: not known
}

// Numbered reports whether the goroutines have no ids of their own: they are those of a profile.
func (d *Dump) Numbered() bool { return d.numbered }

// WaitsSource returns the goroutines by what each waits for: locks, conditions and wait groups by their
// addresses, which Go prints among the arguments of calls, and everything else by its wait reason. Who
// holds them no dump tells.
func (d *Dump) WaitsSource() dump.WaitsSource { return dumpWaits{d} }

type dumpWaits struct{ *Dump }

func (w dumpWaits) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error) {
	return w.Dump.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			if at := int(rows[i].Index); at < len(w.on) && w.on[at] != 0 {
				rows[i].Blocker = w.on[at]
			}
			if rows[i].State == flight.StateMounted {
				rows[i].Flags &^= flight.RecordOnGoroutine // it executes, and does not wait in Go
			}
		}
		visit(rows)
	})
}

// Waits returns none: goroutines are the rows.
func (w dumpWaits) Waits() ([]flight.WaitRow, error) { return nil, nil }

// Schedulers returns none.
func (w dumpWaits) Schedulers() ([]flight.SchedulerRow, error) { return nil, nil }

// things are the calls whose first argument is what the goroutine waits for, innermost first, and whether
// that is the semaphore in it.
var things = []struct {
	call      string
	semaphore bool
}{
	{"runtime.semacquire1", true}, // and others of the runtime, which texts of crashes have
	{"runtime.chanrecv", false},
	{"runtime.chansend", false},
	{"internal/sync.(*Mutex).lockSlow", false},
	{"sync.(*Mutex).lockSlow", false},
	{"sync.(*RWMutex).Lock", false},
	{"sync.(*RWMutex).RLock", false},
	{"sync.runtime_notifyListWait", false},
	{"sync.(*WaitGroup).Wait", false},
}

// waitsOn returns what a goroutine waits for that has a wait reason, if a call and its arguments tell; 0 if
// they do not. Go marks arguments with a question mark that may not be right any more.
func waitsOn(reason string, call, arguments []byte) flight.Blocker {
	for _, t := range things {
		if string(call) != t.call {
			continue
		}
		first, _, _ := bytes.Cut(arguments, []byte(", "))
		hex, ok := bytes.CutPrefix(first, []byte("0x"))
		at, err := strconv.ParseUint(string(hex), 16, 64)
		if !ok || err != nil || at < lowest {
			return 0
		}
		if t.semaphore {
			at = LockAt(reason, at)
		} else if reason == "semacquire" { // as releases before 1.21 say of all locks
			reason = guess([]flight.Frame{{Func: t.call}})
		}
		if kind := WaitsFor(reason); kind != flight.BlockedByNone && at < 1<<48 {
			return flight.MakeBlocker(kind, at)
		}
		return 0
	}
	return 0
}

// lowest is the lowest address at which something may be.
const lowest = 1 << 12

// semaphores tells where in what is waited for the semaphore is; it is so in all releases that are known. The first that fits.
var semaphores = []struct {
	why string
	at  uint64
}{
	{"sync.Mutex", 4},
	{"sync.RWMutex.RLock", 12},
	{"sync.RWMutex", 8},
	{"sync.WaitGroup", 8},
}

// LockAt returns the address of what a goroutine with a wait reason waits for, whose semaphore is at an address.
func LockAt(reason string, semaphore uint64) uint64 {
	for _, lock := range semaphores {
		if strings.HasPrefix(reason, lock.why) {
			return semaphore - lock.at
		}
	}
	return semaphore
}
