package memory

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// firstStack begins the ids of stacks that were read in memory. Those in flight files lie below.
const firstStack flight.StackID = 1 << 31

// A stackTable has the distinct stacks that were read.
type stackTable struct {
	module *module
	byHash map[uint64]uint32 // 1 + index in pcs
	pcs    [][]uint64        // return addresses, innermost first
	cut    []bool
	words  int             // of pcs
	ends   map[uint64]bool // addresses that were looked up: whether a goroutine begins there
}

func newStackTable(m *module) *stackTable {
	return &stackTable{module: m, byHash: map[uint64]uint32{}, ends: map[uint64]bool{}}
}

// mostWords is how many return addresses a table holds: 256 MB.
const mostWords = 1 << 25

// intern returns the id of a stack, and copies it if it is new; 0 if there is no room.
func (t *stackTable) intern(pcs []uint64, cut bool) flight.StackID {
	h := uint64(len(pcs))
	for _, pc := range pcs {
		h = (h ^ pc) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for ; ; h++ {
		i := t.byHash[h]
		if i == 0 {
			if t.words += len(pcs); t.words > mostWords {
				t.words -= len(pcs)
				return 0
			}
			t.pcs, t.cut = append(t.pcs, slices.Clone(pcs)), append(t.cut, cut)
			t.byHash[h] = uint32(len(t.pcs))
			return firstStack + flight.StackID(len(t.pcs)-1)
		}
		if slices.Equal(t.pcs[i-1], pcs) && t.cut[i-1] == cut {
			return firstStack + flight.StackID(i-1)
		}
	}
}

// begins reports whether goroutines begin at a return address.
func (t *stackTable) begins(pc uint64) bool {
	end, ok := t.ends[pc]
	if !ok {
		f, found := t.module.find(pc - 1)
		end = found && t.module.nameAt(f.name) == "runtime.goexit"
		if len(t.ends) < 1<<16 {
			t.ends[pc] = end
		}
	}
	return end
}

// stack returns a stack as it is shown.
func (t *stackTable) stack(id flight.StackID) (s flight.Stack, ok bool) {
	if id < firstStack || int(id-firstStack) >= len(t.pcs) {
		return s, false
	}
	s = t.untrimmed(id)
	s.Frames = trim(s.Frames)
	return s, true
}

// untrimmed returns a stack of the table with the frames that are the same in every one.
func (t *stackTable) untrimmed(id flight.StackID) flight.Stack {
	i := id - firstStack
	s := flight.Stack{ID: id, PCs: t.pcs[i], Truncated: t.cut[i]}
	for _, pc := range s.PCs {
		frames := t.module.frames(pc)
		if _, found := t.module.find(pc - 1); !found {
			s.Unsymbolised++
			frames = []flight.Frame{{Func: "0x" + strconv.FormatUint(pc, 16), PC: pc}}
		}
		s.Frames = append(s.Frames, frames...)
	}
	return s
}

const vtscope = "github.com/vtscope/vtscope/runtime/"

// machinery are the packages whose frames begin and end the stack of each thread. Recorded stacks are without them.
var machinery = []string{"runtime.", "iter.", vtscope + "internal/coro.", vtscope + "sched.", vtscope + "continuation."}

// leaving are the functions in which a thread leaves its carrier.
var leaving = []string{vtscope + "sched.(*Task).Park", vtscope + "sched.(*Task).Leave", vtscope + "sched.(*Task).park", vtscope + "sched.(*Task).depart"}

// inside are those at the innermost end: a thread that waits is in them, wherever it waits.
var inside = append([]string{"runtime.", "internal/runtime/", "iter.", vtscope + "internal/coro."}, leaving...)

func of(f *flight.Frame, prefixes []string) bool {
	return f.Internal && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Func, p) })
}

// trim leaves out the frames that are the same in every stack: how a thread begins, and how it leaves its carrier. Something is left.
func trim(frames []flight.Frame) []flight.Frame {
	n := 0 // of the innermost
	for i := range frames {
		f := &frames[i]
		if i == n && of(f, inside) || of(f, leaving) { // and whatever has been called to leave
			n = i + 1
		} else if !f.Internal && !strings.HasPrefix(f.Func, "sync/atomic.") {
			break
		}
	}
	frames = frames[min(n, max(len(frames)-1, 0)):]
	for n := len(frames); n > 1 && of(&frames[n-1], machinery); n = len(frames) {
		frames = frames[:n-1]
	}
	return frames
}

// inContinuation reports whether the goroutine of a stack waits for a continuation, which has the rest of the thread's stack on a goroutine of its own.
func (t *stackTable) inContinuation(id flight.StackID) bool {
	s, ok := t.stack(id)
	return ok && len(s.Frames) > 0 && strings.HasPrefix(s.Frames[0].Func, vtscope+"continuation.")
}
