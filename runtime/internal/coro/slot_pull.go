//go:build !vtscope_chan

package coro

import (
	"iter"
	"unsafe"
)

// A Slot holds one suspended goroutine.
//
//	S1  Exactly one goroutine is in a slot, except between the end of its first occupant and the
//	    slot's death, when there is none.
//	S2  A switch puts the caller where the goroutine that continues was. So goroutines wander between slots.
//	S3  A goroutine that ends continues whoever is in its *home*, the slot it was made with
//	    (runtime.coroexit). Nobody may end a routine while a stranger is in its home.
//
// It stands on iter.Pull. Both functions of a pull, next and yield, are the same exchange
// (runtime.coroswitch) behind a check that they alternate; that yield is called from another goroutine than
// the one that was given it, as S2 wants, is no promise of package iter. [check] tries it at
// start-up; the build tag vtscope_chan selects the same thing on channels.
type Slot struct {
	swap [2]func() (struct{}, bool) // next and yield, in turn
	turn uint
	lock LockState
}

// Switch suspends the caller in the slot and continues the goroutine that was in it. It returns when somebody
// switches to the caller.
//
// The caller must own the slot, and [Locked] must equal what it was when the slot was made: else
// the Go runtime ends the process.
//
// It is small enough to be inlined. Every frame between a thread's own code and the switch costs a return that the
// processor mispredicts, since it returns on another stack than it was called on.
func (s *Slot) Switch() {
	s.turn++
	s.swap[s.turn&1]()
}

// start makes the goroutine of r, whose home the slot is. It runs main when the slot is first switched to.
func (s *Slot) start(r *Routine, main func(*Routine)) {
	s.lock = CurrentLock()
	s.swap[1], _ = iter.Pull(func(yield func(struct{}) bool) {
		r.home.swap[0] = asNext(yield)
		// Written out, not a function of r: every frame here is walked in each garbage
		// collection for each thread.
		g := getg()
		r.g = G()
		tableOf(g).add(g, r)
		defer tableOf(g).remove(g)
		main(r)
	})
}

// asNext is yield, to be called as next is: an argument and a result of no size are passed in no register and no memory. check
// would not survive if not.
//
// It is not inlined: a goroutine may panic through the caller ([Routine.Exit]), and then Go's garbage collector looks at where an argument
// whose address was taken would be spilled, even if it never was. TestRoutinesMayExitDuringGarbageCollections shows it.
//
//go:noinline
func asNext(yield func(struct{}) bool) func() (struct{}, bool) {
	return *(*func() (struct{}, bool))(unsafe.Pointer(&yield))
}

// Fits reports whether the calling goroutine may switch to the slot: it is locked to the same OS
// thread, or none, as the slot's maker was.
func (s *Slot) Fits() bool { return s.lock == CurrentLock() }

// FitsTo is [Slot.Fits] for a goroutine whose lock state is l.
func (s *Slot) FitsTo(l LockState) bool { return s.lock == l }

// Binds tells whether [Slot.Fits] is ever false.
const Binds = true
