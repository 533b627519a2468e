package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// ErrChild is what the error of [Thread.ParkAndSerialize] matches for a child.
var ErrChild = errors.New("a child goes with its parent")

// ParkAndSerialize waits until the thread and its children stand at a step or wait in one, ends them here, and returns what it takes to let them go on elsewhere. A call
// that is under way comes to its end before. Deferred functions of the bodies are executed, and what they ask of this package for ends them. Who joins the thread here
// gets [ErrMoved]. A thread that waits in it can be interrupted: then the thread goes on as it was. The error matches [ErrDone], [ErrMoved], [ErrClosed], [ErrChild], or, on the
// thread itself, [ErrItself]: see [Move]. If the bytes would be more than the builder's Limits it matches [journal.ErrTooLarge] or [journal.ErrMemory], and the thread goes on.
//
// A signal or a permit that was taken is in the bytes, or was used by the body; who sends one meanwhile waits until the bytes are made, and is told [ErrMoved].
//
// A thread of a keeper is dropped from its store. An error with bytes says that the store did not answer to that: then it may have the thread too, and lets it go on there.
// Of a [Shared] store that error matches [ErrFenced] without bytes if another keeper has the thread.
func (t *Thread) ParkAndSerialize() ([]byte, error) {
	return t.ParkAndSerializeContext(context.Background())
}

// ParkAndSerializeContext is [Thread.ParkAndSerialize], and gives up when ctx ends before the thread and its children have come to a step. Then they go on as they were, and the error,
// which matches ctx's cause, tells which thread is in which call, and since when.
func (t *Thread) ParkAndSerializeContext(ctx context.Context) ([]byte, error) {
	switch {
	case t.onIt():
		return nil, ErrItself
	case t.parent != nil:
		return nil, ErrChild
	}
	if err := t.fits(ctx); err != nil {
		return nil, err
	}
	h := &halt{why: toBytes}
	defer h.undo()
	if err := h.stop(ctx, t); err != nil {
		return nil, fmt.Errorf("durable: park %s: %w", t.id, err)
	}
	if err := t.stands(); err != nil {
		return nil, err
	}
	gone := false
	if k := t.builder.keeper; k.sharing() {
		if err := k.shared.Leave(t.id, true); err != nil {
			return nil, fmt.Errorf("durable: park %s: %w", t.id, err)
		}
		defer func() {
			if !gone {
				_ = k.shared.Leave(t.id, false) // else somebody else has it, or the keeper is closed
			}
		}()
	}
	known := new(vthread.Promise[struct{}])
	defer known.Complete(struct{}{})
	if err := t.lockSettled(ctx); err != nil { // somebody else parks it too
		return nil, err
	}
	if err := t.standsLocked(); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	t.mu.sending = known
	t.mu.Unlock()
	h.hold(known)
	t.mu.Lock()
	im := t.imageLocked()
	t.mu.Unlock()
	b, err := t.builder.Limits.Pack(&im, t.builder.Keys)
	if err != nil {
		return nil, err
	}
	if err = t.drop(); errors.Is(err, ErrFenced) {
		t.lose()
		return nil, err
	}
	gone = true
	t.packed(len(b))
	h.end()
	return b, err
}

// fits returns an error if the thread, as it is now, is more than its limits allow.
func (t *Thread) fits(ctx context.Context) error {
	if err := t.lock(ctx); err != nil {
		return fmt.Errorf("durable: park %s: thread %s waits for its store: %w", t.id, t.id, err)
	}
	if err := t.hereLocked(); err != nil {
		t.mu.Unlock()
		return err
	}
	im := t.imageOfAllLocked()
	t.mu.Unlock()
	return t.builder.Limits.Fits(im)
}

// stands returns why a thread that was halted for its bytes does not stand, or nil.
func (t *Thread) stands() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.standsLocked()
}

func (t *Thread) standsLocked() error {
	if t.mu.state == Stopping {
		return nil
	}
	if err := t.hereLocked(); err != nil {
		return err
	}
	return ErrMoved
}

// drop tells the keeper, if there is one, that the thread is elsewhere.
func (t *Thread) drop() error {
	k := t.builder.keeper
	if k == nil {
		return nil
	}
	k.mu.Lock()
	delete(k.mu.threads, t.id)
	k.mu.Unlock()
	all := t.drops()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.commitLocked(all...)
}

// imageLocked describes a thread that does not run, with its children.
func (t *Thread) imageLocked() journal.Image {
	im := journal.Image{
		ID: t.id, Body: t.body.name, Args: t.args, Steps: append([]journal.Step{}, t.mu.journal.steps...), Since: t.mu.journal.since,
		Forks: t.mu.forks, Permit: t.mu.permit, Begun: t.begun,
	}
	for name, all := range t.mu.inbox {
		if len(all) > 0 {
			if im.Inbox == nil {
				im.Inbox = map[string][]json.RawMessage{}
			}
			im.Inbox[name] = append([]json.RawMessage(nil), all...)
		}
	}
	if t.mu.state == Done && !t.passing {
		im.Ended, im.EndedAt, im.Result = true, t.mu.endedAt, t.mu.result
		if t.mu.err != nil {
			im.Err = t.mu.err.Error()
		}
	}
	for _, c := range t.childrenLocked() {
		c.mu.Lock()
		child := c.imageLocked()
		c.mu.Unlock()
		child.Number = c.number
		im.Children = append(im.Children, child)
	}
	return im
}

// DeserializeAndUnpark lets a thread go on that [Thread.ParkAndSerialize] has parked, here or elsewhere; nil means the default scheduler. If it was in a [Park], that returns.
// Who does this twice with the same bytes has two threads of one id. The error matches [journal.ErrDamaged], [journal.ErrVersion], [journal.ErrTooLarge], [journal.ErrMemory], [ErrUnknownBody], or is the scheduler's.
func DeserializeAndUnpark(b []byte, r *Registry, s sched.Scheduler) (*Thread, error) {
	return Builder{Registry: r, Scheduler: s}.DeserializeAndUnpark(b)
}

// DeserializeAndUnpark is the function of that name, with the builder's options. The error matches [journal.ErrKey] or [journal.ErrUnsigned] as well.
func (b Builder) DeserializeAndUnpark(from []byte) (*Thread, error) {
	im, err := b.Limits.Unpack(from, b.Keys)
	if err != nil {
		return nil, fmt.Errorf("durable: deserialize: %w", err)
	}
	im.Permit = im.Permit || parks(im)
	t, err := b.restore(im, nil)
	if err != nil {
		return nil, err
	}
	t.mu.seen.bytes = len(from)
	return t, t.beginAll()
}

// parks reports whether a thread waits for a permit.
func parks(im *journal.Image) bool {
	n := len(im.Steps)
	return n > 0 && im.Steps[n-1].Open && im.Steps[n-1].Kind == journal.StepPark
}

// DeserializeAndUnpark is the function of that name for a thread that this keeper keeps from then on, whether it had a keeper before or not. It returns when the store has the
// thread, with its children. A second thread of one id is refused with [ErrExists], also if the first has ended and was not forgotten: so a thread arrives once, however
// often its bytes do. The bytes are opened with the Keys of the keeper's options.
func (k *Keeper) DeserializeAndUnpark(from []byte) (*Thread, error) {
	im, err := k.options.Limits.Unpack(from, k.options.Keys)
	if err != nil {
		return nil, fmt.Errorf("durable: deserialize: %w", err)
	}
	if err := checkRoot(im.ID); err != nil {
		return nil, err
	}
	im.Permit = im.Permit || parks(im)
	t, err := k.made(im)
	if err != nil {
		return nil, err
	}
	t.mu.seen.bytes = len(from)
	return t, k.enter(t, wholes(im, ""))
}

// restore makes a thread with its children, which do not run yet.
func (b Builder) restore(im *journal.Image, parent *Thread) (*Thread, error) {
	b.ID = im.ID
	t, err := b.make(im.Body, im.Args)
	if err != nil {
		return nil, err
	}
	t.parent, t.number, t.begun = parent, im.Number, im.Begun
	t.mu.journal = Journal{steps: im.Steps, since: im.Since}
	t.mu.seen.restored = true
	t.mu.forks, t.mu.permit = im.Forks, im.Permit
	if im.Inbox != nil {
		t.mu.inbox = im.Inbox
	}
	for i := range im.Children {
		c, err := b.restore(&im.Children[i], t)
		if err != nil {
			return nil, err
		}
		t.mu.children[im.Children[i].Number] = c
	}
	if im.Ended {
		t.mu.state, t.mu.result, t.mu.endedAt = Done, im.Result, im.EndedAt
		if im.Err != "" {
			t.mu.err = &Failure{im.Err}
		}
		t.ended.Complete(struct{}{})
	}
	return t, nil
}

// beginAll starts a restored thread and its children.
func (t *Thread) beginAll() error {
	t.mu.Lock()
	children := t.childrenLocked()
	t.mu.Unlock()
	for _, c := range children {
		if err := c.beginAll(); err != nil {
			return err
		}
	}
	if t.ended.Done() {
		return nil
	}
	return t.begin()
}
