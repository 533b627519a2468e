package durable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
)

// KeeperOptions say what a [Keeper] keeps, and where.
type KeeperOptions struct {
	Registry  *Registry
	Store     Store           // the keeper closes it
	Scheduler sched.Scheduler // nil: the default

	// HibernateAfter is how long a thread waits before it gives up its stack. Default: 10 s. Threads that wait when their keeper is opened hibernate from the beginning.
	HibernateAfter time.Duration
}

// A Keeper has threads whose journals are in a store: each step lasts before the body sees its value. When the process ends, however it does, the next keeper of the
// store lets its threads go on. Its methods may be called from any goroutine.
//
// A call of [Do] that was under way is made again, or not, as its [Policy] says; everything that was recorded happened once.
type Keeper struct {
	options KeeperOptions
	mu      struct {
		sync.Mutex
		threads map[string]*Thread // roots
		closed  bool
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
	all := images{}
	err := o.Store.Load(func(e Entry) error { return all.apply(&e) })
	for _, im := range all.roots() {
		if err != nil {
			break
		}
		if err = im.check(maxChildren); err != nil {
			break
		}
		var t *Thread
		if t, err = k.builder("").restore(im, nil); err == nil {
			k.mu.threads[t.id] = t
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("durable: open: %w", err), o.Store.Close())
	}
	for _, t := range k.mu.threads {
		t.resumeAll()
	}
	return k, nil
}

func (k *Keeper) builder(id string) Builder {
	return Builder{Registry: k.options.Registry, Scheduler: k.options.Scheduler, HibernateAfter: k.options.HibernateAfter, ID: id, keeper: k}
}

// Start starts a thread. An id that is not empty names it, so that who asks twice for the same work has one thread: the error of the second matches [ErrExists]. It returns
// when the store has the thread; the errors are those of [Builder.Start] and of the store.
func (k *Keeper) Start(id, name string, args any) (*Thread, error) {
	encoded, err := encode(args)
	if err != nil {
		return nil, err
	}
	t, err := k.builder(id).make(name, encoded)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	switch {
	case k.mu.closed:
		err = ErrClosed
	case k.mu.threads[t.id] != nil:
		err = fmt.Errorf("durable: start %s: %w", t.id, ErrExists)
	default:
		k.mu.threads[t.id] = t
	}
	k.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err = k.options.Store.Commit(t.birth()); err == nil {
		err = t.begin()
	}
	if err != nil {
		k.mu.Lock()
		delete(k.mu.threads, t.id)
		k.mu.Unlock()
		return nil, err
	}
	return t, nil
}

// birth is the entry that makes a thread.
func (t *Thread) birth() Entry {
	e := Entry{Thread: t.id, Op: OpNew, Body: t.body.name, Args: t.args}
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

// Forget drops a thread that has ended, with its result. The error matches [ErrRuns] if it has not.
func (k *Keeper) Forget(id string) error {
	t := k.Thread(id)
	if t == nil {
		return nil
	}
	if t.State() != Done {
		return fmt.Errorf("durable: forget %s: %w", id, ErrRuns)
	}
	if err := k.options.Store.Commit(t.drops()...); err != nil {
		return err
	}
	k.mu.Lock()
	delete(k.mu.threads, id)
	k.mu.Unlock()
	return nil
}

// drops are the entries that drop a thread and what is left of its children; none if no keeper has it.
func (t *Thread) drops() []Entry {
	if t.builder.keeper == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []Entry{{Thread: t.id, Op: OpDrop}}
	for _, c := range t.mu.children {
		all = append(all, c.drops()...)
	}
	return all
}

// Close stops all threads at their next steps, waits until they have left, and closes the store. Who joins one gets [ErrClosed]. The next keeper of the store lets them go on.
func (k *Keeper) Close() error {
	k.mu.Lock()
	k.mu.closed = true
	k.mu.Unlock()
	var errs []error
	for _, t := range k.Threads() {
		if err := t.halt(); err != nil && err != ErrDone && err != ErrMoved {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, k.options.Store.Close())...)
}

// keepLocked makes entries last, if t has a keeper. An error matches [ErrStore].
func (t *Thread) keepLocked(entries ...Entry) error { return t.tell(entries...) }

// tell is keepLocked without the lock, for entries that nothing else comes in between.
func (t *Thread) tell(entries ...Entry) error {
	k := t.builder.keeper
	if k == nil {
		return nil
	}
	if err := k.options.Store.Commit(entries...); err != nil {
		return fmt.Errorf("durable: thread %s: %w: %w", t.id, ErrStore, err)
	}
	return nil
}

// resumeAll lets a thread from a store go on, with its children: it begins, or hibernates if it waits.
func (t *Thread) resumeAll() {
	t.mu.Lock()
	for number := 1; number <= t.mu.forks; number++ {
		if c := t.mu.children[number]; c != nil {
			t.mu.Unlock()
			c.resumeAll()
			t.mu.Lock()
		}
	}
	defer t.mu.Unlock()
	if t.mu.state == Done {
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
	case StepSleep, StepSignal:
		if err := json.Unmarshal(s.Value, &w.until); err != nil {
			return w, false // the replay will tell
		}
	case StepJoin:
		if _, err := fmt.Sscan(s.Name, &w.child); err != nil {
			return w, false
		}
	case StepPark:
	default:
		return w, false
	}
	return w, true
}
