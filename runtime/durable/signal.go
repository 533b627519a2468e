package durable

import (
	"fmt"
	"unicode/utf8"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Unpark lets the thread's next [Park], or the one it waits in, return; two of them before that are one. It returns when that lasts, if the thread has a keeper; else it waits
// only while a [Move] sends the thread. An error matches [ErrDone], [ErrMoved] or [ErrClosed], or is the store's.
func (t *Thread) Unpark() error {
	return t.tellIt(journal.Entry{Thread: t.id, Op: journal.OpUnpark})
}

// Signal gives the thread a value that [Await] returns; those of one name are returned in the order in which they came. It returns when that
// lasts, if the thread has a keeper; else it waits only while a [Move] sends the thread. An error matches [ErrDone], [ErrMoved], [ErrClosed], [ErrUnanswered]
// or [ErrUnknown], is about the name or the value, or is the store's. For a thread that diverged it lasts, for whoever has it next.
func (t *Thread) Signal(name string, value any) error {
	e, err := signal(t.id, name, value)
	if err != nil {
		return err
	}
	return t.tellIt(e)
}

func signal(id, name string, value any) (e journal.Entry, err error) {
	if len(name) > journal.MaxName || !utf8.ValidString(name) {
		return e, fmt.Errorf("durable: signal %.40q: a name of %d bytes: at most %d, and UTF-8", name, len(name), journal.MaxName)
	}
	encoded, err := encode(value)
	return journal.Entry{Thread: id, Op: journal.OpSignal, Name: name, Value: encoded}, err
}

// tellIt gives the thread a signal or a permit.
func (t *Thread) tellIt(e journal.Entry) error {
	if err := t.lockSettled(); err != nil {
		return err
	}
	defer t.mu.Unlock()
	if t.mu.state == Done && t.misfitsLocked() == "" {
		return ErrDone
	}
	if err := t.overLocked(); err != nil && err != ErrDone {
		return err
	}
	if k := t.builder.keeper; k.sharing() {
		t.mu.Unlock()
		defer t.mu.Lock()
		return k.shared.Send(e) // and it comes from there, whoever has the thread then
	}
	return t.takeLocked(e)
}

// lockSettled takes the lock when it is known who has the thread. The error is that the caller was interrupted.
func (t *Thread) lockSettled() error {
	for {
		t.mu.Lock()
		sending := t.mu.sending
		if sending == nil || sending.Future.Done() {
			return nil
		}
		t.mu.Unlock()
		if _, err := sending.Future.Get(); err != nil {
			return err
		}
	}
}

func (t *Thread) overLocked() error {
	switch {
	case t.mu.state == Done:
		return ErrDone
	case t.mu.state == Moved, t.mu.leave == toBytes:
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
