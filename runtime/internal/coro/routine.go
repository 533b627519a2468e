package coro

import "unsafe"

// A Routine is a goroutine that was made to be switched to.
type Routine struct {
	// At is the slot the routine is suspended in, or started in and not yet left. Whoever
	// suspends the routine writes it.
	At *Slot

	// Task is what the routine executes at the moment, as sched knows it: a *sched.Task. Written
	// by whoever continues the routine for another task; this package does not look inside.
	Task unsafe.Pointer

	// Inner is the innermost continuation that executes on the routine, as package continuation knows it.
	Inner unsafe.Pointer

	// Lent is what package sched keeps for the tasks that execute on the routine, one after the other.
	Lent unsafe.Pointer

	// Pool is what package sched keeps the routine in while it is idle.
	Pool unsafe.Pointer

	// Labels are what package sched has labelled the goroutine with, for profilers.
	Labels unsafe.Pointer

	// Pins is how many pin sections are open in the routine's frames; see [Pin].
	Pins int32

	// Down is the routine that executes for this one at the moment, which waits for it; nil for none. Whoever begins and ends
	// to wait writes it, or leaves it when both are suspended together.
	Down *Routine

	// Outer is the routine that the goroutine was before [Routine.Enter]; nil for none.
	Outer *Routine

	// Next links routines of a pool.
	Next *Routine

	g     uintptr // see [G]
	home  Slot
	order *Slot // to an idle routine: see Idle
}

// New makes a routine that runs main at the first switch to r.At, and ends when main returns. The new
// goroutine is bound to the caller's OS thread lock as it is now, so the caller should hold none.
//
// When main ends, whoever is in the routine's home continues: see [Slot], S3, and [Routine.Home].
// main may end by a panic only through [Routine.Exit].
func New(main func(r *Routine)) *Routine {
	r := &Routine{}
	r.At = &r.home
	r.home.start(r, main)
	return r
}

// Enter makes the calling goroutine the routine r: an empty one, that cannot be switched to. The routine that the goroutine was before
// is hidden until [Routine.Leave].
func (r *Routine) Enter() {
	g := getg()
	r.g = G()
	t := tableOf(g)
	if r.Outer = t.find(g); r.Outer == nil {
		t.add(g, r)
	} else {
		t.replace(g, r)
	}
}

// Leave is the end of what [Routine.Enter] began, on the same goroutine.
func (r *Routine) Leave() {
	g := getg()
	if t := tableOf(g); r.Outer == nil {
		t.remove(g)
	} else {
		t.replace(g, r.Outer)
		r.Outer = nil
	}
}

// Home reports whether the routine is suspended in the slot it was made with, so that it may end
// when its owner switches to it.
func (r *Routine) Home() bool { return r.At == &r.home }

// exit is what a routine that is inside runtime.Goexit panics with to end; see [Routine.Exit].
type exit struct{}

// Exit ends the calling routine from within a runtime.Goexit that is under way (a deferred call).
// Returning from the deferred call would pass the Goexit on to whoever continues; the panic
// that Exit makes instead is swallowed by [End].
func (r *Routine) Exit() { panic(exit{}) }

// End switches to a routine that its owner has told to end, and returns when it has. The routine must be home.
func (r *Routine) End() {
	defer Ended()
	r.home.Switch()
}

// Ended is deferred around a switch to a slot in which a routine may end by [Routine.Exit].
func Ended() {
	if v := recover(); v != nil {
		if _, ours := v.(exit); !ours {
			panic(v)
		}
	}
}

// Self returns the routine of the calling goroutine, or nil on a goroutine that is no routine. It costs a few
// nanoseconds and does not depend on goroutine labels or contexts.
func Self() *Routine {
	g := getg()
	return tableOf(g).find(g)
}

// G returns the address of the calling goroutine's runtime.g, or 0 where there is no way to read it.
func G() uintptr {
	if !gIsAddress {
		return 0
	}
	return getg()
}
