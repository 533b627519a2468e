//go:build vtscope_chan

package coro

// A Slot holds one suspended goroutine.
//
//	S1  Exactly one goroutine is in a slot, except between the end of its first occupant and the
//	    slot's death, when there is none.
//	S2  A switch puts the caller where the goroutine that continues was. So goroutines wander between slots.
//	S3  A goroutine that ends continues whoever is in its home, the slot it was made with.
//
// This is the form for Go releases whose iter.Pull does not allow S2: goroutines that wait on channels.
// It is several times slower than the form in slot_pull.go, and the same otherwise.
type Slot struct {
	wake chan struct{} // of the goroutine in the slot
}

// Switch suspends the caller in the slot and continues the goroutine that was in it. It returns when somebody
// switches to the caller. The caller must own the slot.
func (s *Slot) Switch() {
	there, mine := s.wake, make(chan struct{})
	s.wake = mine
	there <- struct{}{}
	<-mine
}

// start makes the goroutine of r, whose home the slot is. It runs main when the slot is first switched to.
func (s *Slot) start(r *Routine, main func(*Routine)) {
	s.wake = make(chan struct{})
	go func(first chan struct{}) {
		<-first
		defer func() {
			// As iter.Pull: a panic of f is the business of whoever continues. Ours never
			// panic but with the sentinel of [Routine.Exit], which nobody waits for here.
			if v := recover(); v != nil {
				if _, ours := v.(exit); !ours {
					panic(v)
				}
			}
			s.wake <- struct{}{}
		}()
		g := getg()
		r.g = G()
		tableOf(g).add(g, r)
		defer tableOf(g).remove(g)
		main(r)
	}(s.wake)
}

// Fits reports whether the calling goroutine may switch to the slot: always, since a goroutine that is locked to an OS
// thread may wait on a channel.
func (s *Slot) Fits() bool { return true }

// FitsTo is [Slot.Fits] for a goroutine whose lock state is l: always true.
func (s *Slot) FitsTo(l LockState) bool { return true }

// Binds tells whether [Slot.Fits] is ever false.
const Binds = false
