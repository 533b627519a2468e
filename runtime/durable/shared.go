package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A Shared is a [Store] that many keepers use at a time. What one keeper has of it are trees: a root with its children, which are of one keeper at a time. A keeper that is given a
// Shared joins it, and does not load. The entries of one Commit are of one tree; the first of a new tree begins it, and its error may match [ErrExists]. Commit tries until
// it knows what became of the entries, or its keeper is closed; an error that matches [ErrFenced] says that another keeper has the tree, and that nothing was recorded.
// An id of a root has no slash.
type Shared interface {
	Store
	// Join begins to give trees to h that go on, and that nobody has. When ctx ends it gives no more, and commits that are under way have a little time to end.
	Join(ctx context.Context, h Host) error
	// Release gives back a tree, none of whose threads run. Whoever has room takes it when it goes on; one that code has not fitted is taken at once by a host of other code, and
	// by those of the same code later and later ([Misfit.Again]).
	Release(root string, r Rest) error
	// Send makes a signal or a permit last, for a thread wherever its tree is. While the tree leaves it waits until the tree is dropped, or stays. An error matches [ErrNone], [ErrDone],
	// [ErrClosed], [ErrUnanswered] or [ErrUnknown].
	Send(e journal.Entry) error
	// Leave says that a tree of this keeper's is about to be dropped, since it goes on elsewhere, or that it stays. When it returns nil for one that leaves, [Host.Receive] was given all
	// for which Send has returned, or will return, nil. A tree stays also when a [journal.StepMove] of its root ends, or when another keeper takes it; but that keeper is given nothing of what
	// came while the root's last step is one that has not ended. An error matches [ErrFenced] or [ErrClosed].
	Leave(root string, leaves bool) error
	// End waits until the root of that id has ended, and returns its [journal.OpEnd]. An error matches [ErrNone] or [ErrClosed], or is ctx's cause.
	End(ctx context.Context, root string) (journal.Entry, error)
}

// A Host is what a [Shared] store gives trees to: a keeper.
type Host interface {
	// Take makes a tree of entries, and lets it go on if own returns nil: then it is this keeper's. The error is that of own, or says why this keeper cannot have it.
	Take(root string, entries []journal.Entry, own func() error) error
	// Lose says that another keeper has a tree. It returns when nothing of it will commit any more.
	Lose(root string)
	// Receive commits a signal or a permit that came for a tree that this keeper has, and gives it to its thread. It does nothing if the thread has ended.
	Receive(e journal.Entry) error
	// Code tells which code the bodies are of: [KeeperOptions.Code]. It does not change.
	Code() string
}

// A Rest is how a tree is released.
type Rest struct {
	Waits bool      // false: it goes on at once, wherever there is room
	Until time.Time // when it goes on at the latest; zero: when a signal comes
	For   string    // what for, for people
	Since time.Time

	Misfit *Misfit // a thread of it has diverged, and goes on where the code fits; nil: none has
}

// Errors of keepers of a [Shared] store.
var (
	ErrFenced = errors.New("another keeper has the thread")
	ErrNone   = errors.New("there is no thread of this id")

	// ErrUnanswered says that no server of the store has answered in time, or that the thread is being sent elsewhere, and it was not known in time who has it. A signal or a permit may have
	// arrived all the same. Who sends the same one again (same thread, name and value) through the same keeper goes on with it, and it is taken once.
	ErrUnanswered = errors.New("nobody has answered in time")
	// ErrUnknown says of one that was sent again, more than a minute after servers stopped to answer, or of one to a thread that has left meanwhile, that it may have been taken, and that
	// it was not sent again. Who sends it once more sends another one.
	ErrUnknown = errors.New("nobody knows whether it has arrived")
)

// A host is the side of a keeper that its store sees.
type host struct{ k *Keeper }

// Take is that of [Host].
func (h host) Take(root string, entries []journal.Entry, own func() error) error {
	k := h.k
	var all journal.Trees
	for i := range entries {
		if err := all.Apply(&entries[i]); err != nil {
			return err
		}
	}
	roots := all.Roots()
	if len(roots) != 1 || roots[0].ID != root {
		return fmt.Errorf("%w: the tree of %s has %d roots", journal.ErrDamaged, root, len(roots))
	}
	k.mu.Lock()
	if k.mu.closed {
		k.mu.Unlock()
		return ErrClosed
	}
	k.takes.Add(1)
	k.mu.Unlock()
	defer k.takes.Done()
	t, err := k.made(roots[0])
	if err != nil {
		return err
	}
	if err = own(); err != nil {
		return err
	}
	k.mu.Lock()
	k.mu.threads[root] = t
	k.mu.Unlock()
	t.resumeAll(nil)
	k.settle(t)
	return nil
}

// Lose is that of [Host].
func (h host) Lose(root string) {
	k := h.k
	k.mu.Lock()
	t := k.mu.threads[root]
	delete(k.mu.threads, root)
	k.mu.Unlock()
	if t != nil {
		t.lose()
	}
}

// Receive is that of [Host].
func (h host) Receive(e journal.Entry) error {
	root, _, _ := strings.Cut(e.Thread, "/")
	if h.k.Thread(root) == nil {
		return ErrFenced
	}
	t := h.k.find(e.Thread)
	if t == nil {
		return nil
	}
	return t.receive(e)
}

// takeLocked makes a signal or a permit last, and lets the thread see it.
func (t *Thread) takeLocked(e journal.Entry) error {
	if e.Op == journal.OpUnpark && t.mu.permit && e.Inbox == 0 {
		return nil
	}
	if err := t.keepLocked(e); err != nil {
		return err
	}
	if e.Op == journal.OpUnpark {
		t.mu.permit = true
	} else {
		t.mu.inbox[e.Name] = append(t.mu.inbox[e.Name], e.Value)
	}
	t.pokeLocked()
	return nil
}

// receive takes what came for the thread from its store.
func (t *Thread) receive(e journal.Entry) error {
	if err := t.lockSettled(context.Background()); err != nil {
		return err
	}
	defer t.mu.Unlock()
	switch {
	case t.mu.state == Done && t.passing && !t.mu.dropped:
		return t.keepLocked(e) // it ends elsewhere, later
	case t.mu.state == Done:
		return nil
	}
	if err := t.hereLocked(); err != nil {
		return err
	}
	return t.takeLocked(e)
}

// lose makes a thread and its children leave, since another keeper has them. It does not wait until they have left: from now on they commit nothing.
func (t *Thread) lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.mu.children {
		defer c.lose() // T4; when the parent is told: it must not see that they are gone
	}
	t.mu.leave = toStore
	switch t.mu.state {
	case Hibernated, Stopping:
		t.awayLocked()
	case Running:
		t.pokeLocked()
	}
}

// awayLocked ends a thread here, which may go on elsewhere.
func (t *Thread) awayLocked() {
	if t.mu.timer != nil {
		t.mu.timer.Stop()
		t.mu.timer = nil
	}
	t.leavesLocked()
	t.mu.state, t.passing = Away, true
	t.closeLocked()
}

// settleLater lets the keeper look whether the tree can be given back.
func (t *Thread) settleLater() {
	if k := t.builder.keeper; k.sharing() {
		go k.settle(t.root())
	}
}

// settle gives a tree back whose threads all hibernate, or forgets one that is over. It may be called from any goroutine, without locks.
func (k *Keeper) settle(root *Thread) {
	if k.shared == nil {
		return
	}
	var r Rest
	locked, resting, left := root.lockResting(&r, nil)
	defer func() {
		for _, t := range locked {
			t.mu.Unlock()
		}
	}()
	for _, t := range locked { // again, with all locks: a child may have ended after its parent was looked at
		resting = resting && !(t.mu.state == Hibernated && t.readyLocked(&t.mu.wait))
	}
	if !resting {
		return
	}
	k.mu.Lock()
	here := k.mu.threads[root.id] == root && !k.mu.closed
	if here {
		delete(k.mu.threads, root.id)
		k.takes.Add(1)
	}
	k.mu.Unlock()
	if !here {
		return
	}
	if left == 0 { // it is over, and the store knows
		k.takes.Done()
		return
	}
	for _, t := range locked {
		if t.mu.state == Hibernated {
			t.awayLocked()
		}
	}
	go func() {
		defer k.takes.Done()
		_ = k.shared.Release(root.id, r) // else somebody else has it, or will when the lease is over
	}()
}

// lockResting locks a tree as long as its threads hibernate or have ended for good, and adds what they wait for. The caller unlocks.
func (t *Thread) lockResting(r *Rest, locked []*Thread) (all []*Thread, resting bool, left int) {
	t.mu.Lock()
	locked = append(locked, t)
	switch {
	case t.mu.state == Done && !t.passing:
	case t.misfitsLocked() != "":
		left, r.Misfit = 1, t.misfitLocked()
	case t.mu.state == Hibernated && t.mu.leave == stay && !t.readyLocked(&t.mu.wait):
		left, r.Waits = 1, true
		w := &t.mu.wait
		if !w.until.IsZero() && (r.Until.IsZero() || w.until.Before(r.Until)) {
			r.Until = w.until
		}
		if w.kind != journal.StepJoin && r.For == "" || t.parent == nil {
			s := journal.Step{Kind: w.kind, Name: w.name}
			r.For, r.Since = s.String(), w.since
		}
	default:
		return locked, false, 0
	}
	for _, c := range t.childrenLocked() {
		var n int
		if locked, resting, n = c.lockResting(r, locked); !resting {
			return locked, false, 0
		}
		left += n
	}
	return locked, true, left
}

// sharing reports whether a keeper, if there is one, shares its store with others.
func (k *Keeper) sharing() bool { return k != nil && k.shared != nil }

// root returns the root of the thread's tree.
func (t *Thread) root() *Thread {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// joinElsewhere waits for the end of a thread that this keeper has no more.
func (t *Thread) joinElsewhere(ctx context.Context) error {
	if t.parent != nil {
		return ErrFenced
	}
	result, err := t.builder.keeper.end(ctx, t.id)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.result, t.mu.err = result, err
	return err
}

// end waits for the end of a thread that this keeper does not have.
func (k *Keeper) end(ctx context.Context, id string) (json.RawMessage, error) {
	e, err := k.shared.End(ctx, id)
	switch {
	case err != nil:
		return nil, fmt.Errorf("durable: result of %s: %w", id, err)
	case e.Err != "":
		return nil, &Failure{e.Err}
	}
	return e.Value, nil
}

// releaseAll gives back what stands of what a keeper has that is being closed.
func (k *Keeper) releaseAll() {
	const together = 32
	slots := make(chan struct{}, together)
	var all sync.WaitGroup
	for _, t := range k.Threads() {
		if t.runs() {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			_ = k.shared.Release(t.id, Rest{Misfit: t.misfit()}) // else somebody else has it, or will when the lease is over
			<-slots
		})
	}
	all.Wait()
}

// Signal is [Thread.Signal] for a thread wherever it is, a child also. An error matches [ErrNone] as well.
func (k *Keeper) Signal(id, name string, value any) error {
	e, err := signal(id, name, value)
	if err != nil {
		return err
	}
	return k.send(e)
}

// Unpark is [Thread.Unpark] for a thread wherever it is, a child also. An error matches [ErrNone] as well.
func (k *Keeper) Unpark(id string) error {
	return k.send(journal.Entry{Thread: id, Op: journal.OpUnpark})
}

func (k *Keeper) send(e journal.Entry) error {
	if k.shared != nil {
		return k.shared.Send(e)
	}
	t := k.find(e.Thread)
	if t == nil {
		return fmt.Errorf("durable: thread %s: %w", e.Thread, ErrNone)
	}
	return t.tellIt(context.Background(), e)
}

// find returns a thread that this keeper has, a child also.
func (k *Keeper) find(id string) *Thread {
	if t := k.Thread(id); t != nil {
		return t
	}
	parent, number, ok := cutLast(id)
	if !ok {
		return nil
	}
	if p := k.find(parent); p != nil {
		return p.Child(number)
	}
	return nil
}

// cutLast is the opposite of childID.
func cutLast(id string) (parent string, number int, ok bool) {
	i := strings.LastIndexByte(id, '/')
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(id[i+1:])
	return id[:i], number, err == nil
}

// Result waits until the thread of that id has ended, wherever it is, and returns what its body has returned, as JSON; or the error of its body, ctx's cause, or one that matches
// [ErrNone] or [ErrClosed].
func (k *Keeper) Result(ctx context.Context, id string) (json.RawMessage, error) {
	t := k.Thread(id)
	if t == nil && k.shared == nil {
		return nil, fmt.Errorf("durable: result of %s: %w", id, ErrNone)
	}
	if t == nil {
		return k.end(ctx, id)
	}
	if err := t.JoinContext(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.result, nil
}

// ResultOf is [Keeper.Result], decoded.
func ResultOf[R any](ctx context.Context, k *Keeper, id string) (r R, err error) {
	b, err := k.Result(ctx, id)
	if err != nil {
		return r, err
	}
	if err = json.Unmarshal(b, &r); err != nil {
		err = fmt.Errorf("durable: result of %s: %w", id, err)
	}
	return r, err
}
