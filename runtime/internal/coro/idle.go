package coro

// An order tells a routine that is continued without a task what to do.
type order struct {
	end  bool
	move *Slot // change places with whoever is in it
}

// Idle suspends the calling routine, which has no task any more, and continues whoever is in the slot. It
// returns true when the routine was given a task, and false when [Retire] wants it to end.
func (r *Routine) Idle(to *Slot) bool {
	r.Task = nil
	r.At = to
	to.Switch()
	for r.Task == nil {
		if r.order.end {
			return false
		}
		r.At = r.order.move
		r.At.Switch()
	}
	return true
}

// Retire ends idle routines, all owned by the caller, and returns those that cannot end yet because a
// routine that is not among them is in their home (S3). The caller must not be locked to an OS thread, and
// must not be a routine.
func Retire(idle []*Routine) (left []*Routine) {
	in := make(map[*Slot]*Routine, len(idle))
	for _, r := range idle {
		in[r.At] = r
	}
	for _, r := range idle {
		if !r.Home() {
			stranger := in[&r.home]
			if stranger == nil {
				left = append(left, r)
				continue
			}
			// We go where r is; r goes home, and the stranger from there to where r was,
			// which brings us back.
			was := r.At
			r.order.move, stranger.order.move = &r.home, was
			was.Switch()
			in[was] = stranger
		}
		delete(in, &r.home)
		r.order.end = true
		r.End()
	}
	return left
}
