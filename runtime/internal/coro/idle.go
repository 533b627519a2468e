package coro

// end is the order to end. Any other is to change places with whoever is in that slot.
var end Slot

// Idle suspends the calling routine, which has no task any more, and continues whoever is in the slot. It
// returns true when the routine was given a task, and false when [Retire] wants it to end.
func (r *Routine) Idle(to *Slot) bool {
	r.Task = nil
	r.At = to
	to.Switch()
	for r.Task == nil {
		if r.order == &end {
			return false
		}
		r.At = r.order
		r.At.Switch()
	}
	return true
}

// Retire ends n of the idle routines and all of the doomed ones, all owned by the caller, and returns those
// that remain. More remain than was asked for where a routine that is in neither list is in the home of one (S3). The caller
// must not be locked to an OS thread, and must not be a routine.
func Retire(idle []*Routine, n int, doomed []*Routine) (left, stillDoomed []*Routine) {
	in := make(map[*Slot]*Routine, len(idle)+len(doomed))
	for _, r := range idle {
		in[r.At] = r
	}
	for _, r := range doomed {
		in[r.At] = r
	}
	for _, r := range doomed {
		if !retire(r, in) {
			stillDoomed = append(stillDoomed, r)
		}
	}
	for _, r := range idle {
		if n > 0 && retire(r, in) {
			n--
		} else {
			left = append(left, r)
		}
	}
	return left, stillDoomed
}

func retire(r *Routine, in map[*Slot]*Routine) bool {
	if !r.Home() {
		stranger := in[&r.home]
		if stranger == nil {
			return false
		}
		// We go where r is; r goes home, and the stranger from there to where r was, which
		// brings us back.
		was := r.At
		r.order, stranger.order = &r.home, was
		was.Switch()
		in[was] = stranger
	}
	delete(in, &r.home)
	r.order = &end
	r.End()
	return true
}
