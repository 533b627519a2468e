package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/internal/panicstack"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// KeeperOptions say what a [Keeper] keeps, and where.
type KeeperOptions struct {
	Registry  *Registry
	Store     Store           // the keeper closes it
	Scheduler sched.Scheduler // nil: the default

	// HibernateAfter is how long a thread waits before it gives up its stack. Default: 10 s. Threads that wait when their keeper is opened hibernate from the beginning.
	HibernateAfter time.Duration

	Random func() uint64  // as that of a [Builder]
	Keys   *journal.Keys  // likewise: for bytes of its threads; the store does not use them
	Limits journal.Limits // likewise

	// OnPanic is called on the thread of that id when its body has panicked, while the guilty frames still stand; stack is in Go's form, and owned by OnPanic. The thread then
	// ends here with a [*vthread.Panic], as by a [Divergence]: nothing is recorded, and mended code goes on. Otherwise the journal would lead each process into the same panic,
	// one after the other. nil: it is written to the standard error.
	OnPanic func(id string, value any, stack []byte)

	// Code tells which code the bodies are of, where many keepers use a [Shared] store: a thread that diverged here is taken at once by a keeper of other code, and by one of the
	// same code only after a while. Default: a hash of the executable.
	Code string
}

// A Keeper has threads whose journals are in a store: each step lasts before the body sees its value. When the process ends, however it does, the next keeper of the
// store lets its threads go on. Its methods may be called from any goroutine.
//
// A call of [Do] that was under way is made again, or not, as its [Policy] says; everything that was recorded happened once.
//
// Many keepers can use a [Shared] store. Then a keeper has the trees that it has started or taken, and gives back those that hibernate: its methods that are given an id find
// threads wherever they are, and so do those of a [Thread] that is [Away].
type Keeper struct {
	options KeeperOptions
	shared  Shared // nil: the store is this keeper's own
	leave   context.CancelFunc
	takes   sync.WaitGroup // of trees that are being started, taken or released; none is begun when the keeper is closed
	halt    halt           // of who is in Close
	mu      struct {
		sync.Mutex
		threads map[string]*Thread // roots
		closed  bool               // it begins nothing any more
		closing bool               // somebody is in Close
		over    bool               // the store is closed
	}
}

// Errors of keepers.
var (
	ErrClosed = errors.New("the keeper is closed")
	ErrStore  = errors.New("the thread cannot go on without its store")
	ErrExists = errors.New("there is a thread of this id")
	ErrRuns   = errors.New("the thread has not ended")
)

// Open reads the store, and lets the threads in it go on. An error matches [ErrUnknownBody] if the registry lacks a body; the store is closed then.
func Open(o KeeperOptions) (*Keeper, error) {
	if o.Registry == nil || o.Store == nil {
		return nil, errors.New("durable: open: want a registry and a store")
	}
	o.HibernateAfter = cmp.Or(o.HibernateAfter, 10*time.Second)
	k := &Keeper{options: o}
	k.mu.threads = map[string]*Thread{}
	if shared, ok := o.Store.(Shared); ok {
		k.shared = shared
		var ctx context.Context
		ctx, k.leave = context.WithCancel(context.Background())
		if err := shared.Join(ctx, host{k}); err != nil {
			return nil, errors.Join(fmt.Errorf("durable: open: %w", err), k.Close())
		}
		told.add(k)
		return k, nil
	}
	var all journal.Trees
	err := o.Store.Load(func(e journal.Entry) error { return all.Apply(&e) })
	for _, im := range all.Roots() {
		if err != nil {
			break
		}
		var t *Thread
		if t, err = k.made(im); err == nil {
			k.mu.threads[t.id] = t
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("durable: open: %w", err), o.Store.Close())
	}
	for _, t := range k.Threads() { // in the same order each time
		t.resumeAll(nil)
	}
	told.add(k)
	return k, nil
}

// made makes a tree of what its store has. It does not run yet.
func (k *Keeper) made(im *journal.Image) (*Thread, error) {
	if err := im.Check(); err != nil {
		return nil, err
	}
	return k.builder("").restore(im, nil)
}

func (k *Keeper) builder(id string) Builder {
	return Builder{Registry: k.options.Registry, Scheduler: k.options.Scheduler, HibernateAfter: k.options.HibernateAfter, Random: k.options.Random, Keys: k.options.Keys, Limits: k.options.Limits, ID: id, keeper: k}
}

// Start starts a thread. An id that is not empty names it, so that who asks twice for the same work has one thread: the error of the second matches [ErrExists]. It returns
// when the store has the thread; the errors are those of [Builder.Start] and of the store.
func (k *Keeper) Start(id, name string, args any) (*Thread, error) {
	encoded, err := encode(args)
	if err != nil {
		return nil, err
	}
	t, err := k.builder(id).root(name, encoded)
	if err != nil {
		return nil, err
	}
	if err := k.enter(t, []journal.Entry{t.birth()}); err != nil {
		return nil, err
	}
	return t, nil
}

// enter makes a new thread last, which entries tell of, and lets it begin.
func (k *Keeper) enter(t *Thread, entries []journal.Entry) error {
	t.mu.Lock() // nothing is told of a thread before the store has it
	k.mu.Lock()
	var err error
	switch {
	case k.mu.closed:
		err = ErrClosed
	case k.mu.threads[t.id] != nil:
		err = fmt.Errorf("durable: start %s: %w", t.id, ErrExists)
	default:
		k.mu.threads[t.id] = t
		k.takes.Add(1)
		defer k.takes.Done()
	}
	k.mu.Unlock()
	if err != nil {
		t.mu.Unlock()
		return err
	}
	switch err = k.options.Store.Commit(entries...); {
	case err == nil:
	case k.shared != nil:
		t.awayLocked() // if there is one, it is elsewhere
	default:
		t.endLocked(nil, err, false)
	}
	t.mu.Unlock()
	if err == nil {
		if err = t.beginAll(); err == nil {
			return nil
		}
		// The store has it. Whoever is told that it could not begin may start it again, and there would be two.
		h := &halt{why: toClose}
		for h.stop(context.Background(), t) != nil { // the caller was interrupted, which does not undo what is under way
			defer vthread.Current().Interrupt()
		}
		if bad := k.options.Store.Commit(t.drops()...); bad != nil {
			return errors.Join(err, bad) // there is one, and the next keeper of the store has it
		}
	}
	k.mu.Lock()
	delete(k.mu.threads, t.id)
	k.mu.Unlock()
	return err
}

// birth is the entry that makes a thread.
func (t *Thread) birth() journal.Entry {
	e := journal.Entry{Thread: t.id, Op: journal.OpNew, At: t.begun, Body: t.body.name, Args: t.args}
	if t.parent != nil {
		e.Parent, e.Number = t.parent.id, t.number
	}
	return e
}

// Thread returns the thread of that id, nil if there is none.
func (k *Keeper) Thread(id string) *Thread {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.threads[id]
}

// Threads returns all threads, but for children, sorted by id.
func (k *Keeper) Threads() []*Thread {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []*Thread
	for _, t := range k.mu.threads {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *Thread) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Forget drops a thread that has ended, with its result; also one that has diverged or panicked here, which does not go on then. The error matches [ErrRuns] if it has not, or one of
// its children.
func (k *Keeper) Forget(id string) error {
	t := k.Thread(id)
	if t == nil && k.shared != nil {
		return k.options.Store.Commit(journal.Entry{Thread: id, Op: journal.OpDrop})
	}
	if t == nil {
		return nil
	}
	if !t.allDone() {
		return fmt.Errorf("durable: forget %s: %w", id, ErrRuns)
	}
	if err := k.options.Store.Commit(t.drops()...); err != nil {
		t.isKept()
		return err
	}
	k.mu.Lock()
	delete(k.mu.threads, id)
	k.mu.Unlock()
	return nil
}

// allDone reports whether a thread and its children have ended.
func (t *Thread) allDone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.mu.children {
		if !c.allDone() {
			return false
		}
	}
	return t.mu.state == Done
}

// drops are the entries that drop a thread and what is left of its children; none if no keeper has it. From now on nothing else of them is committed: a store whose journal has
// something of a thread that there is not is damaged.
func (t *Thread) drops() []journal.Entry {
	if t.builder.keeper == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.dropped = true
	all := []journal.Entry{{Thread: t.id, Op: journal.OpDrop}}
	for _, c := range t.mu.children {
		all = append(all, c.drops()...)
	}
	return all
}

// isKept takes back what drops has said of a thread and its children, which the store has not taken.
func (t *Thread) isKept() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.dropped = false
	for _, c := range t.mu.children {
		c.isKept()
	}
}

// Close stops all threads at their next steps, waits until they have left, however long their calls take, and closes the store. Who joins one gets [ErrClosed]. The next keeper of the
// store lets them go on, or another one of a [Shared] store, at once. A second call does nothing. Interrupts play no part.
func (k *Keeper) Close() error {
	for {
		err := k.CloseContext(context.Background())
		if !errors.Is(err, vthread.ErrInterrupted) {
			return err
		}
		defer vthread.Current().Interrupt()
	}
}

// CloseContext is [Keeper.Close], and gives up when ctx ends before all threads have come to a step; then the error, which matches ctx's cause, tells which thread is in which call, and
// since when. The keeper starts nothing any more, and the threads that have come to a step have left; who is in a call goes on with it, and what it returns is recorded as long as the
// store is there. Another call of CloseContext or Close goes on waiting. A thread that waits in it can be interrupted.
func (k *Keeper) CloseContext(ctx context.Context) error {
	k.mu.Lock()
	again := k.mu.closing || k.mu.over
	k.mu.closed, k.mu.closing = true, true
	k.mu.Unlock()
	if again {
		return nil
	}
	if k.shared != nil {
		k.leave()
	}
	k.takes.Wait()
	err := k.haltAll(ctx)
	if k.shared != nil {
		k.releaseAll()
	}
	k.mu.Lock()
	k.mu.closing, k.mu.over = false, err == nil
	k.mu.Unlock()
	if err != nil {
		return fmt.Errorf("durable: close: %w", err)
	}
	told.remove(k)
	return k.options.Store.Close()
}

// haltAll stops all threads, and waits until they have left.
func (k *Keeper) haltAll(ctx context.Context) error {
	k.halt.why = toClose
	for _, t := range k.Threads() { // all at a time: none goes on while others are waited for
		if err := k.halt.tell(ctx, t); err != nil {
			return err
		}
	}
	return k.halt.wait(ctx)
}

// panicked is called by a deferred function of a body that has panicked, and returns the error of its thread.
func (k *Keeper) panicked(t *Thread, value any) error {
	p, ok := value.(*vthread.Panic) // it came from further away
	if !ok {
		p = &vthread.Panic{Thread: t.label(), Value: value, Stack: panicstack.Of()}
	}
	if k.options.OnPanic != nil {
		k.options.OnPanic(t.id, value, slices.Clone(p.Stack))
	} else {
		fmt.Fprintf(os.Stderr, "durable: %v\n", p)
	}
	return p
}

// closing reports whether a keeper, if there is one, is closed.
func (k *Keeper) closing() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.closed
}

// keepLocked makes entries last, if t has a keeper. An error matches [ErrStore].
func (t *Thread) keepLocked(entries ...journal.Entry) error {
	if t.mu.dropped {
		return fmt.Errorf("durable: thread %s: %w: it was dropped", t.id, ErrStore)
	}
	return t.commitLocked(entries...)
}

// commitLocked is keepLocked for what drops a thread, too.
func (t *Thread) commitLocked(entries ...journal.Entry) error {
	k := t.builder.keeper
	if k == nil {
		return nil
	}
	if t.mu.leave == toStore || t.mu.state == Away { // this keeper may have it again, in another Thread
		return fmt.Errorf("durable: thread %s: %w: %w", t.id, ErrStore, ErrFenced)
	}
	if err := k.options.Store.Commit(entries...); err != nil {
		return fmt.Errorf("durable: thread %s: %w: %w", t.id, ErrStore, err)
	}
	return nil
}

// tell is keepLocked with the lock.
func (t *Thread) tell(entries ...journal.Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keepLocked(entries...)
}

// resumeAll lets a thread from a store go on, with its children: it begins, or hibernates if it waits. What comes for one that was being sent when its process died waits until it is known
// whether it has arrived: its bytes may be elsewhere already.
func (t *Thread) resumeAll(known *vthread.Promise[struct{}]) {
	t.mu.Lock()
	if known == nil && t.movesLocked() {
		known = new(vthread.Promise[struct{}])
	}
	t.mu.sending = known
	children := t.childrenLocked()
	t.mu.Unlock()
	for _, c := range children {
		c.resumeAll(known)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state != Running || t.mu.left != nil { // it has ended, or somebody wants its bytes already
		return
	}
	if w, waits := t.waitsLocked(); waits {
		t.mu.wait = w
		t.hibernateLocked()
		return
	}
	_ = t.beginLocked() // an error ends it
}

// waitsLocked returns what a thread waits for, as its last step tells.
func (t *Thread) waitsLocked() (w wait, waits bool) {
	steps := t.mu.journal.steps
	if len(steps) == 0 || !steps[len(steps)-1].Open {
		return w, false
	}
	s := &steps[len(steps)-1]
	w = wait{kind: s.Kind, name: s.Name, since: s.At}
	switch s.Kind {
	case journal.StepSleep, journal.StepSignal:
		if err := json.Unmarshal(s.Value, &w.until); err != nil {
			return w, false // the replay will tell
		}
	case journal.StepJoin:
		if _, err := fmt.Sscan(s.Name, &w.child); err != nil {
			return w, false
		}
	case journal.StepPark:
	default:
		return w, false
	}
	return w, true
}
