package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Move sends the thread, with its children, to where it goes on: send is given the bytes, and returns nil when they have arrived. There Move returns nil, and here the
// thread is gone. If send fails, Move returns a [*Failure] here, and there nothing must go on: send decides who has the thread. Children come to a step of theirs before, and a call of
// theirs that is under way comes to its end; where that is to have a limit, see [MoveFor]. Who signals the thread or a child meanwhile waits until it is known who has it. send must not
// use t, where a step panics. A child cannot be sent alone: for it the error matches [ErrChild].
//
// When the process dies in the middle of it, nobody knows whether the bytes have arrived. Where a keeper has the thread it is sent again, with the same id: so who takes it
// takes it once, as [Keeper.DeserializeAndUnpark] does, and send returns nil if it was there already.
func Move(t *Thread, name string, send func(b []byte) error) error {
	return moveWithin(t, name, 0, send)
}

// MoveFor is [Move], and waits for the children for at most d. If they have not come to a step by then they go on as they were, send is not called, and the text of the [*Failure] tells
// which child is in which call, and since when. A thread that is sent again, since its process died in the middle of it, waits for its children without a limit.
func MoveFor(t *Thread, name string, d time.Duration, send func(b []byte) error) error {
	return moveWithin(t, name, max(d, 1), send)
}

func moveWithin(t *Thread, name string, limit time.Duration, send func(b []byte) error) error {
	s, opened := t.next(journal.StepMove, name)
	if s == nil {
		s = t.move(name, opened, limit, send)
	}
	if s.Err != "" {
		return &Failure{s.Err}
	}
	return nil
}

// move returns only if the thread stays.
func (t *Thread) move(name string, opened *journal.Step, limit time.Duration, send func(b []byte) error) *journal.Step {
	h := &halt{why: toBytes} // of the children
	defer h.undo()
	if opened != nil {
		limit = 0 // it may have arrived
	}
	err := ErrChild
	if t.parent == nil || opened != nil {
		err = t.gather(h, limit)
	}
	if err != nil {
		h.undo()
		s := journal.Step{Kind: journal.StepMove, Name: name, Err: textOf(err)}
		t.append(s, false)
		return &s
	}
	if why := t.leavesFor(); why != stay && (why != toBytes || opened == nil) { // somebody stops all; but who may have arrived is not parked before that is known
		t.exit()
	}
	k := t.builder.keeper
	if opened == nil {
		if k.sharing() {
			if err := k.shared.Leave(t.id, true); err != nil {
				t.mu.Lock()
				t.mu.err = fmt.Errorf("durable: thread %s: %w: %w", t.id, ErrStore, err)
				t.mu.Unlock()
				t.exit()
			}
		}
		t.append(journal.Step{Kind: journal.StepMove, Name: name, Open: true, Attempts: 1}, false)
	} else {
		t.mu.Lock()
		opened.Attempts++
		again := *opened
		t.lastLocked(false, journal.Entry{Thread: t.id, Op: journal.OpSet, Step: &again})
	}
	t.mu.Lock()
	known := t.mu.sending
	if known == nil || known.Future.Done() {
		known = new(vthread.Promise[struct{}])
	}
	t.mu.sending = known // what comes from now on is not in the bytes
	t.mu.Unlock()
	defer known.Complete(struct{}{}) // also if its store is lost
	h.hold(known)
	t.mu.Lock()
	im := t.imageLocked()
	t.mu.Unlock()
	im.Steps[len(im.Steps)-1].Open = false // there it has arrived
	b, err := t.builder.Limits.Pack(&im, t.builder.Keys)
	if err == nil {
		t.outside(func() { err = send(b) })
	}
	if err == nil {
		t.packed(len(b))
		_ = t.drop() // if that fails it is there, and is sent again by the next keeper of the store
		h.end()
		t.mu.Lock()
		t.mu.leave, t.mu.sent = toBytes, true
		t.mu.Unlock()
		t.exit()
	}
	var failed journal.Step
	t.mu.Lock()
	t.settleLocked(func(open *journal.Step) {
		open.Err = textOf(err)
		failed = *open
	})
	return &failed
}

// gather halts the children of a thread, which is the caller, within a limit, if it is not 0. An interrupt does not undo what is under way, and is there afterwards.
func (t *Thread) gather(h *halt, limit time.Duration) error {
	ctx := context.Background()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	for {
		err := h.tellChildren(ctx, t)
		if err == nil {
			err = h.wait(ctx)
		}
		switch {
		case errors.Is(err, vthread.ErrInterrupted):
			defer vthread.Current().Interrupt()
		case err != nil:
			return fmt.Errorf("durable: move: %w", err)
		default:
			return nil
		}
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
