package sched

import (
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// maxFrames is how many program counters [Task.Frames] returns at most of each goroutine, about.
const maxFrames = 1 << 20

// Frames returns the program counters of t's stack, innermost first, as return addresses, without stopping t: none if it was never
// mounted or has ended. exact tells that t waited at this very place while they were read. Of a thread that executes they are
// what [coro.Frames] can tell. It may be called from anywhere, and costs microseconds; a pass over all
// routines more if t is not recorded, and some milliseconds if t is about to wait and does not get a processor for it.
func (t *Task) Frames() (pcs []uintptr, exact bool) {
	if !coro.SharedLookout().Sees() {
		return nil, false
	}
	for look := range maxLooks {
		before := t.word.Load()
		s := before & stateMask
		if s == fresh || s == done {
			return nil, true
		}
		pcs, exact = t.frames()
		waits := s == paused || s == blocked
		// A thread that has paused twice alike meanwhile may have been elsewhere; but its goroutine was seen to wait, so the frames are of
		// one moment all the same.
		if t.word.Load() == before && exact == waits || !waits {
			return pcs, exact && waits
		}
		// It goes on, or is about to wait in place, which takes longer if its OS thread has no processor just now.
		if look < maxLooks/2 {
			runtime.Gosched()
		} else {
			sleepThrough(time.Millisecond)
		}
	}
	return pcs, false
}

// maxLooks is how often [Task.Frames] looks at a thread that says that it waits and does not yet.
const maxLooks = 100

func (t *Task) frames() (pcs []uintptr, exact bool) {
	exact = true
	chain := coro.Executing(unsafe.Pointer(t), t.beganOn()).Chain()
	for i := len(chain) - 1; i >= 0; i-- { // continuations that the thread executes lie on goroutines of their own
		for room := 128; ; room *= 8 {
			pcs = slices.Grow(pcs, room)
			n, sure := coro.Frames(chain[i].G(), pcs[len(pcs):cap(pcs)])
			if len(pcs)+n < cap(pcs) || room > maxFrames {
				pcs = append(pcs, below(pcs[len(pcs):len(pcs)+n], chain[i].Above())...)
				exact = exact && sure
				break
			}
		}
	}
	return pcs, exact
}

// below returns the frames of a goroutine without those of the innermost adopted threads, of which there are n.
func below(pcs []uintptr, n int) []uintptr {
	for i := 0; n > 0 && i < len(pcs); i++ {
		if partOf(pcs[i]) != adoptPart {
			continue
		}
		if n--; n == 0 {
			return pcs[i+1:]
		}
	}
	return pcs
}

// sleepThrough is a sleep that an interrupt may shorten, but that leaves its status set.
func sleepThrough(d time.Duration) {
	me := Current()
	if me == nil {
		time.Sleep(d)
	} else if me.Sleep(d) {
		me.marks.Or(interrupted)
	}
}
