package durable

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Unpark lets the thread's next [Park], or the one it waits in, return; two of them before that are one. It waits, and its errors are, as those of [Thread.Signal].
func (t *Thread) Unpark() error {
	return t.tellIt(context.Background(), journal.Entry{Thread: t.id, Op: journal.OpUnpark})
}

// Signal gives the thread a value that [Await] returns; those of one name are returned in the order in which they came. It returns when that
// lasts, if the thread has a keeper. While the thread's bytes are made, and a [Move] sends them, Signal waits until it is known who has the thread: a signal is in the bytes, or is taken
// by the thread that stays, or Signal returns [ErrMoved]. A thread that waits in it can be interrupted then. An error matches [ErrDone], [ErrMoved], [ErrClosed], [ErrUnanswered]
// or [ErrUnknown], is about the name or the value, or is the store's. For a thread that diverged it lasts, for whoever has it next; where it diverged before it came to a Move that was
// under way when its process died, the error matches the [*Divergence].
func (t *Thread) Signal(name string, value any) error {
	e, err := signal(t.id, name, value)
	if err != nil {
		return err
	}
	return t.tellIt(context.Background(), e)
}

func signal(id, name string, value any) (e journal.Entry, err error) {
	if len(name) > journal.MaxName || !utf8.ValidString(name) {
		return e, fmt.Errorf("durable: signal %.40q: a name of %d bytes: at most %d, and UTF-8", name, len(name), journal.MaxName)
	}
	encoded, err := encode(value)
	return journal.Entry{Thread: id, Op: journal.OpSignal, Name: name, Value: encoded}, err
}

// tellIt gives the thread a signal or a permit. ctx limits how long it waits to know who has the thread.
func (t *Thread) tellIt(ctx context.Context, e journal.Entry) error {
	if err := t.lockSettled(ctx); err != nil {
		return err
	}
	defer t.mu.Unlock()
	if t.mu.state == Done && (t.misfitsLocked() == "" || t.mu.dropped) {
		return ErrDone
	}
	if err := t.overLocked(); err != nil && err != ErrDone {
		return err
	}
	if k := t.builder.keeper; k.sharing() {
		t.mu.Unlock()
		err := k.shared.Send(e) // and it comes from there, whoever has the thread then
		t.mu.Lock()
		if over := t.overLocked(); errors.Is(err, ErrNone) && over != nil {
			err = over
		}
		return err
	}
	return t.takeLocked(e)
}

// lockSettled takes the lock when it is known who has the thread. The error is ctx's cause, that the caller was interrupted, or why it is not known.
func (t *Thread) lockSettled(ctx context.Context) error {
	var known *vthread.Promise[struct{}]
	for {
		if err := t.lock(ctx); err != nil {
			return err
		}
		if t.mu.sending == known {
			return nil
		}
		known = t.mu.sending
		t.mu.Unlock()
		if known == nil {
			continue
		}
		if _, err := known.Future.GetContext(ctx); err != nil {
			return err
		}
	}
}

// movesLocked reports whether a Move was begun of which it is not known how it ends.
func (t *Thread) movesLocked() bool {
	n := len(t.mu.journal.steps)
	return n > 0 && t.mu.journal.steps[n-1].Open && t.mu.journal.steps[n-1].Kind == journal.StepMove
}

func (t *Thread) overLocked() error {
	switch {
	case t.mu.state == Done:
		return ErrDone
	case t.mu.state == Moved, t.mu.sent, t.mu.leave == toClose: // who was sent may still execute its deferred functions
		return t.goneLocked()
	}
	return nil
}

// hereLocked is overLocked for what must be done where the thread is.
func (t *Thread) hereLocked() error {
	if t.mu.state == Away || t.mu.leave == toStore {
		return ErrFenced
	}
	return t.overLocked()
}

// goneLocked is why nothing can be done with a thread that goes on elsewhere.
func (t *Thread) goneLocked() error {
	if t.builder.keeper != nil && !t.mu.sent {
		return ErrClosed
	}
	return ErrMoved
}

// onIt reports whether the caller is the thread itself.
func (t *Thread) onIt() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.thread != nil && vthread.Current() == t.mu.thread
}
