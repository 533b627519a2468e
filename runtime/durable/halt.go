package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A halt makes threads leave, with their children, for who wants all of a tree to stand: for its bytes, or to close its keeper.
//
//	H1  A thread that has left for its bytes stands (Stopping) until a halt ends it, or the last halt that wants it is undone: then it goes on as it was.
//	H2  What comes for a thread that stands is taken, and so it is in the bytes. When the image is made it waits in lockSettled until it is known who has the thread (hold).
//	H3  One that leaves because its keeper closes has left for good: that is not undone.
type halt struct {
	why  leave // toBytes or toClose
	all  []*Thread
	told map[*Thread]bool // whether it was there to be told; false: it had ended, or is elsewhere
}

// tell tells a thread and its children to leave. It waits for their locks alone, which are held while the store is told something.
func (h *halt) tell(ctx context.Context, t *Thread) error {
	if _, again := h.told[t]; again {
		return nil
	}
	if err := t.lock(ctx); err != nil {
		return fmt.Errorf("thread %s waits for its store: %w", t.id, err)
	}
	if h.told == nil {
		h.told = map[*Thread]bool{}
	}
	stands := t.hereLocked() == nil || t.mu.sent && t.mu.state == Running // also who was sent is waited for until it has left
	h.all, h.told[t] = append(h.all, t), stands
	if stands {
		t.haltLocked(h.why)
	}
	t.mu.Unlock()
	return h.tellChildren(ctx, t)
}

// tellChildren tells the children of a thread that has been told: it looks at none of them before it leaves.
func (h *halt) tellChildren(ctx context.Context, t *Thread) error {
	if err := t.lock(ctx); err != nil {
		return fmt.Errorf("thread %s waits for its store: %w", t.id, err)
	}
	children := t.childrenLocked()
	t.mu.Unlock()
	for _, c := range children {
		if err := h.tell(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until all have left that were told, with the children that they have forked meanwhile. The error tells who has not; it is ctx's cause, or that the caller was interrupted.
func (h *halt) wait(ctx context.Context) error {
	for i := 0; i < len(h.all); i++ {
		t := h.all[i]
		if h.told[t] {
			if err := t.lock(ctx); err != nil {
				return h.late(err)
			}
			left := t.mu.left
			t.mu.Unlock()
			if left != nil {
				if _, err := left.Future.GetContext(ctx); err != nil {
					return h.late(err)
				}
			}
		}
		if err := h.tellChildren(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// stop tells a thread and its children to leave, and waits until they have.
func (h *halt) stop(ctx context.Context, t *Thread) error {
	if err := h.tell(ctx, t); err != nil {
		return err
	}
	return h.wait(ctx)
}

// late adds to the error of a wait what those do who have not left.
func (h *halt) late(err error) error {
	first, n, inCall := "", 0, false
	ctx, cancel := context.WithTimeout(context.Background(), moment) // for all together
	defer cancel()
	for _, t := range h.all {
		if !h.told[t] {
			continue
		}
		if what, calls := t.busyWith(ctx); what != "" {
			if n++; n == 1 || calls && !inCall {
				first, inCall = what, calls
			}
		}
	}
	switch {
	case n == 0: // it has left since
		return err
	case n > 1:
		first = fmt.Sprintf("%s, and %d more have not come to a step", first, n-1)
	}
	return fmt.Errorf("%s: %w", first, err)
}

// busyWith is what a thread does that was told to leave, and whether it is a call; "" if it has left. It waits for its lock until ctx ends.
func (t *Thread) busyWith(ctx context.Context) (what string, calls bool) {
	if !t.mu.TryLock() {
		if err := t.mu.LockContext(ctx); err != nil {
			if errors.Is(err, vthread.ErrInterrupted) {
				defer vthread.Current().Interrupt() // it is told of that next
			}
			return fmt.Sprintf("thread %s waits for its store", t.id), false
		}
	}
	defer t.mu.Unlock()
	if t.mu.state != Running || t.mu.left == nil {
		return "", false
	}
	if j := &t.mu.journal; !t.mu.outside.IsZero() && len(j.steps) > 0 {
		return fmt.Sprintf("thread %s is in %s since %s, for %v", t.id, &j.steps[len(j.steps)-1], t.mu.outside.UTC().Format(sinceFormat), time.Since(t.mu.outside).Round(time.Millisecond)), true
	}
	return fmt.Sprintf("thread %s has not come to a step", t.id), false
}

const sinceFormat = "2006-01-02T15:04:05.000Z"

// hold makes who has something for the threads wait until known is complete. The caller makes the image after it.
func (h *halt) hold(known *vthread.Promise[struct{}]) {
	for _, t := range h.all {
		t.mu.Lock()
		t.mu.sending = known
		t.mu.Unlock()
	}
}

// end ends the threads here: they go on from their bytes.
func (h *halt) end() {
	for _, t := range h.all {
		if !h.told[t] {
			continue
		}
		t.mu.Lock()
		t.mu.sent = true
		if t.mu.state == Stopping {
			t.movedLocked()
		}
		t.mu.Unlock()
	}
	h.all, h.told = nil, nil
}

// undo lets the threads go on, but for those that were ended, or that others want to stand.
func (h *halt) undo() {
	for _, t := range h.all {
		switch {
		case !h.told[t]:
		case t.mu.TryLock():
			t.goOnLocked()
			t.mu.Unlock()
		default: // its store may not answer
			go func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.goOnLocked()
			}()
		}
	}
	h.all, h.told = nil, nil
}

// lock takes the lock of a thread, which is held while its store is told something.
func (t *Thread) lock(ctx context.Context) error { return lock(ctx, &t.mu) }

// moment is how long a lock is held at most by one that does not wait for its store, and is given a processor.
const moment = 20 * time.Millisecond

// lock takes a lock. The end of ctx counts only if it is held for longer than a moment then.
func lock(ctx context.Context, m interface {
	TryLock() bool
	LockContext(context.Context) error
}) error {
	if m.TryLock() {
		return nil
	}
	err := m.LockContext(ctx)
	if err == nil || errors.Is(err, vthread.ErrInterrupted) {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), moment)
	defer cancel()
	if late := m.LockContext(last); late == nil || errors.Is(late, vthread.ErrInterrupted) {
		return late
	}
	return err
}

// haltLocked tells a thread to leave.
func (t *Thread) haltLocked(why leave) {
	if why == toBytes {
		t.mu.halts++
	}
	if t.mu.leave != toClose { // H3
		t.mu.leave = why
	}
	switch {
	case t.mu.state == Hibernated:
		if t.mu.timer != nil {
			t.mu.timer.Stop()
			t.mu.timer = nil
		}
		t.mu.state = Stopping
	case t.mu.state == Running && t.mu.left == nil: // it has not begun
		t.mu.state = Stopping
	case t.mu.state == Running:
		t.pokeLocked()
	}
	if t.mu.state == Stopping && t.mu.leave == toClose {
		t.movedLocked()
	}
}

// goOnLocked lets a thread go on that was halted for its bytes, if nobody else wants them.
func (t *Thread) goOnLocked() {
	if t.mu.halts--; t.mu.halts > 0 || t.mu.leave != toBytes || t.mu.sent {
		return
	}
	t.mu.leave = stay
	if t.mu.state == Stopping {
		t.resumeLocked()
	}
}

// resumeLocked lets a thread go on that has left: where it waited it waits again.
func (t *Thread) resumeLocked() {
	if t.mu.wait.kind != journal.StepNone && t.builder.HibernateAfter > 0 {
		t.hibernateLocked()
		return
	}
	_ = t.beginLocked() // an error ends it
}

// runs reports whether a thread or a child of its has a goroutine.
func (t *Thread) runs() bool {
	t.mu.Lock()
	runs, children := t.mu.state == Running, t.childrenLocked()
	t.mu.Unlock()
	return runs || slices.ContainsFunc(children, (*Thread).runs)
}

// movedLocked ends a thread here that has left.
func (t *Thread) movedLocked() {
	t.mu.state = Moved
	t.leavesLocked()
	t.closeLocked()
}
