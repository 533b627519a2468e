package durable

import (
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Move sends the thread, with its children, to where it goes on: send is given the bytes, and returns nil when they have arrived. There Move returns nil, and here the
// thread is gone. If send fails, Move returns a [*Failure] here, and there nothing must go on: send decides who has the thread. Children come to a step of theirs before.
// Who signals the thread meanwhile waits until it is known who has it. send must not use t, where a step panics.
//
// When the process dies in the middle of it, nobody knows whether the bytes have arrived. Where a keeper has the thread it is sent again, with the same id: so who takes it
// takes it once, as [Keeper.DeserializeAndUnpark] does, and send returns nil if it was there already.
func Move(t *Thread, name string, send func(b []byte) error) error {
	s, opened := t.next(journal.StepMove, name)
	if s == nil {
		s = t.move(name, opened, send)
	}
	if s.Err != "" {
		return &Failure{s.Err}
	}
	return nil
}

// move returns only if the thread stays.
func (t *Thread) move(name string, opened *journal.Step, send func(b []byte) error) *journal.Step {
	t.gather()
	if t.leavesFor() != stay { // somebody stops the children too
		t.exit()
	}
	if opened == nil {
		t.append(journal.Step{Kind: journal.StepMove, Name: name, Open: true, Attempts: 1}, false)
	} else {
		t.mu.Lock()
		opened.Attempts++
		again := *opened
		t.lastLocked(false, journal.Entry{Thread: t.id, Op: journal.OpSet, Step: &again})
	}
	known := new(vthread.Promise[struct{}])
	defer known.Complete(struct{}{}) // also if its store is lost
	t.mu.Lock()
	t.mu.sending = known // what comes from now on is not in the bytes
	im := t.imageLocked()
	t.mu.Unlock()
	im.Steps[len(im.Steps)-1].Open = false // there it has arrived
	b, err := t.builder.Limits.Pack(&im, t.builder.Keys)
	if err == nil {
		t.outside(func() { err = send(b) })
	}
	if err == nil {
		t.packed(len(b))
		_ = t.sent() // if that fails it is there, and is sent again by the next keeper of the store
		t.mu.Lock()
		t.mu.leave = toBytes
		t.mu.Unlock()
		t.exit()
	}
	var failed journal.Step
	t.mu.Lock()
	t.settleLocked(func(open *journal.Step) {
		open.Err = textOf(err)
		failed = *open
	})
	t.spread()
	t.mu.Lock()
	t.mu.sending = nil
	t.mu.Unlock()
	return &failed
}

// gather stops the children of a thread, which is the caller, and waits until they have left.
func (t *Thread) gather() {
	t.mu.Lock()
	all := t.childrenLocked()
	t.mu.Unlock()
	for _, c := range all {
		c.stop()
	}
	for _, c := range all {
		for c.stopped() != nil { // it was interrupted, which does not undo what is under way
			defer vthread.Current().Interrupt()
		}
	}
}

// spread lets children go on here that were stopped.
func (t *Thread) spread() {
	t.mu.Lock()
	err := t.flushLocked() // who goes on has an empty list
	all := t.childrenLocked()
	if err != nil {
		t.mu.err = err
	}
	t.mu.Unlock()
	if err != nil {
		t.exit()
	}
	for _, c := range all {
		c.mu.Lock()
		im := c.imageLocked()
		c.mu.Unlock()
		im.Number = c.number
		again, err := t.builder.restore(&im, t)
		if err != nil {
			panic(err) // the registry has the body: this was made by it
		}
		t.mu.Lock()
		t.mu.children[c.number] = again
		t.mu.Unlock()
		_ = again.beginAll() // an error ends it
	}
}

// flushLocked makes what the thread and its children have learned last in their store (J4).
func (t *Thread) flushLocked() error {
	if j := &t.mu.journal; len(j.lazy) > 0 {
		if err := t.keepLocked(j.lazy...); err != nil {
			return err
		}
		j.lazy = nil
	}
	for _, c := range t.childrenLocked() {
		c.mu.Lock()
		err := c.flushLocked()
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
