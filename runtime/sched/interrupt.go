package sched

// Interrupt sets the interrupt status of t and unparks it. It does not block. A wait that it ends may take that unpark for what it was, and not
// for a permit: if somebody else unparks t too, that finds t runnable, and the permit remains.
func (t *Task) Interrupt() error {
	t.marks.Or(interrupted)
	return t.Unpark()
}

// Interrupted reports the interrupt status of t.
func (t *Task) Interrupted() bool {
	m := t.marks.Load()
	if m&heeds != 0 {
		t.heed()
		m = t.marks.Load()
	}
	return m&interrupted != 0
}

// WasInterrupted is Interrupted that heeds nothing.
func (t *Task) WasInterrupted() bool { return t.marks.Load()&interrupted != 0 }

// A Heeder is a body that has something to heed, whose end interrupts its thread.
type Heeder interface {
	Body
	// Heed is called once, anywhere, before the thread waits for the first time or somebody asks whether it is interrupted.
	Heed()
}

// HeedLater makes t, which nobody knows yet, call its body's [Heeder.Heed] when that is needed first, or when it begins on a carrier. Most
// threads that execute on their callers' goroutines and do not wait never need it.
func (t *Task) HeedLater() { t.marks.Or(heeds) }

func (t *Task) heed() {
	if t.marks.And(^heeds)&heeds != 0 {
		t.body.(Heeder).Heed()
	}
}

// TakeInterrupt clears the interrupt status, and reports whether it was set.
func (t *Task) TakeInterrupt() bool {
	return t.Interrupted() && t.marks.And(^interrupted)&interrupted != 0
}
