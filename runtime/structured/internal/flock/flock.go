package flock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A Factory makes a thread that executes f, without starting it, from what the flock says of it: its scope, its name, its scheduler.
type Factory func(b vthread.Builder, f func()) *vthread.Thread

// Options describe a flock.
type Options struct {
	Name     string
	Parent   *vthread.Scope  // nil: the root scope
	Owner    flight.ThreadID // 0: a goroutine, or nobody
	Deadline time.Time       // zero: none
	Policy   string          // for the record; empty: that of those who choose none
	Limit    int             // how many members work at a time, 0: all
	Factory  Factory         // nil: [vthread.Builder.Unstarted]
}

// A Flock holds the threads that were started in it and have not ended.
//
//	F1  A member is in the queue, then among the workers, or at once; then in neither. It is live until its thread has ended.
//	F2  Whoever takes a member from the queue starts its thread.
//	F3  A worker stores its thread before it looks at herded, which is stored before the workers are looked at: so each is interrupted.
//	F4  Who makes live zero takes the lock afterwards, and wakes those who sleep if it still is. Who is about to sleep looks at live under the lock.
type Flock struct {
	Scope  vthread.Scope  // as its threads know it; the caller of Open fills in Owner, Context and Panicked
	Parent *vthread.Scope // as in [Options]

	id      flight.ScopeID
	owner   flight.ThreadID
	limit   int
	factory Factory

	herded atomic.Bool  // [Flock.Interrupt] was called
	live   atomic.Int64 // F4
	mu     struct {
		sync.Mutex
		first    *Member // of the workers
		last     *Member
		working  int
		queue    []*Member
		woken    bool
		sleepers []sleeper
	}
}

type sleeper struct {
	waiter *sched.Waiter
	early  bool
}

var lastID atomic.Uint64

// Open makes f, whose zero value it must be, ready, and records it. [Flock.Close] takes the record back.
func (f *Flock) Open(o Options) {
	f.id = flight.ScopeID(lastID.Add(1))
	f.owner, f.limit, f.factory, f.Parent = o.Owner, o.Limit, o.Factory, o.Parent
	f.Scope.Name, f.Scope.Ended = o.Name, f.ended
	r := flight.Default()
	if r == nil {
		return
	}
	var parent flight.ScopeIndex
	if o.Parent != nil {
		parent = o.Parent.Index
	}
	now, deadline := flight.Now(), flight.Ticks(0)
	if !o.Deadline.IsZero() {
		deadline = now.Add(time.Until(o.Deadline))
	}
	f.Scope.Index = r.OpenScope(f.id, o.Name, parent, o.Owner, deadline, now)
	if o.Policy != "" || o.Limit > 0 {
		r.DescribeScope(f.Scope.Index, o.Policy, o.Limit)
	}
	var parentID flight.ScopeID
	if o.Parent != nil {
		parentID = o.Parent.ID
	}
	f.Scope.ID = f.id
	sched.EmitMore(flight.EventScopeOpen, uint32(r.Intern(o.Name)), f.owner, uint64(f.id), uint64(parentID), uint64(deadline), uint64(f.Scope.Index))
}

// OnOpen is stored by OnOpen of package structured.
var OnOpen atomic.Pointer[func(context.Context, flight.ScopeID)]

// Tell calls what OnOpen has with f, which was opened with ctx, or nil.
func (f *Flock) Tell(ctx context.Context) {
	if tell := OnOpen.Load(); tell != nil && ctx != nil {
		(*tell)(ctx, f.id)
	}
}

// Close takes the record back. All threads must have ended.
func (f *Flock) Close() { f.Record().Close() }

// A Record is what the flight file knows of a flock. It does not keep the flock.
type Record struct {
	id    flight.ScopeID
	owner flight.ThreadID
	index flight.ScopeIndex
}

// Record returns f's.
func (f *Flock) Record() Record { return Record{f.id, f.owner, f.Scope.Index} }

// Close is [Flock.Close]; one of the two is called, once.
func (r Record) Close() {
	sched.Emit(flight.EventScopeClose, r.owner, uint64(r.id))
	flight.Default().CloseScope(r.index)
}

type contextKey struct{}

// Within returns ctx as one of s: what a goroutine opens with it is in s.
func Within(ctx context.Context, s *vthread.Scope) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// Of returns the scope that ctx is of, or nil.
func Of(ctx context.Context) *vthread.Scope {
	s, _ := ctx.Value(contextKey{}).(*vthread.Scope)
	return s
}

// ID returns what the flight file knows f as.
func (f *Flock) ID() flight.ScopeID { return f.id }

// Errors of factories.
var (
	ErrNoThread = errors.New("the factory made no thread")
	ErrForeign  = errors.New("the factory made a thread of another scope")
)

// Start adds m, whose zero value it must be, and starts its thread, or queues it while as many work as may. b has the thread's name and scheduler.
// If here is set, the caller may execute the thread ([vthread.Builder.StartHere]). The error is the factory's, or the refusal of the thread's
// scheduler; then m is no member, and its work was not told.
func (f *Flock) Start(m *Member, w Work, b vthread.Builder, here bool) error {
	b.Scope = &f.Scope
	m.flock, m.work = f, w
	if f.limit == 0 && f.factory == nil {
		f.enter(m)
		if here {
			t, err := b.TryStartHere(m.runHere)
			m.thread.Store(t)
			if err != nil {
				f.refused(m)
			}
			return err
		}
		t, err := b.TryStart(m.run)
		m.thread.Store(t)
		f.event(flight.EventScopeFork, t.ID())
		if err != nil {
			f.refused(m)
		}
		return err
	}
	t, err := f.make(m, b)
	if err != nil {
		return err
	}
	m.thread.Store(t)
	f.event(flight.EventScopeFork, t.ID())
	if !f.enter(m) {
		return nil
	}
	if err := t.Start(); err != nil {
		f.refused(m)
		return err
	}
	return nil
}

func (f *Flock) make(m *Member, b vthread.Builder) (*vthread.Thread, error) {
	if f.factory == nil {
		return b.Unstarted(m.run), nil
	}
	t := f.factory(b, m.run)
	switch {
	case t == nil:
		return nil, ErrNoThread
	case t.Scope() != &f.Scope:
		return nil, fmt.Errorf("thread %s: %w", t.Label(), ErrForeign)
	case t.State() != flight.StateNew:
		f.live.Add(1) // it is in the flock all the same, until it ends
		return nil, fmt.Errorf("thread %s: %w", t.Label(), vthread.ErrStarted)
	}
	return t, nil
}

// enter makes m live, and reports whether it is a worker, not queued.
func (f *Flock) enter(m *Member) bool {
	f.live.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit > 0 && f.mu.working >= f.limit && !f.herded.Load() {
		f.mu.queue = append(f.mu.queue, m)
		f.tellQueueLocked()
		return false
	}
	f.employLocked(m)
	return true
}

func (f *Flock) employLocked(m *Member) {
	f.mu.working++
	if m.previous = f.mu.last; m.previous != nil {
		m.previous.next = m
	} else {
		f.mu.first = m
	}
	f.mu.last = m
}

// leave ends the work of m, and starts that of the next.
func (f *Flock) leave(m *Member) {
	for m != nil {
		f.mu.Lock()
		f.dismissLocked(m)
		m = nil
		if len(f.mu.queue) > 0 {
			m = f.mu.queue[0]
			f.mu.queue[0] = nil // else the array keeps it
			f.mu.queue = f.mu.queue[1:]
			f.tellQueueLocked()
			f.employLocked(m)
		}
		f.mu.Unlock()
		if m == nil || m.start() {
			return
		}
	}
}

// tellQueueLocked records how many are queued.
func (f *Flock) tellQueueLocked() {
	flight.Default().SetScopeQueued(f.Scope.Index, len(f.mu.queue))
}

func (f *Flock) dismissLocked(m *Member) {
	f.mu.working--
	if m.previous != nil {
		m.previous.next = m.next
	} else {
		f.mu.first = m.next
	}
	if m.next != nil {
		m.next.previous = m.previous
	} else {
		f.mu.last = m.previous
	}
	m.previous, m.next = nil, nil
}

// refused takes back a worker whose thread was not started.
func (f *Flock) refused(m *Member) {
	f.leave(m)
	f.ended(nil, flight.ReasonRejected)
}

// ended is called by package vthread.
func (f *Flock) ended(*vthread.Thread, flight.Reason) {
	if f.live.Add(-1) > 0 {
		return
	}
	f.mu.Lock()
	var wake []sleeper
	if f.live.Load() == 0 { // else there are new members, and sleepers of theirs
		wake, f.mu.sleepers = f.mu.sleepers, nil
	}
	f.mu.Unlock()
	for _, s := range wake {
		_ = s.waiter.Wake() // refused, it stays parked: who closed its scheduler knows
	}
}

// Reserve makes f live, for a thread that somebody is about to start, until [Flock.Release].
func (f *Flock) Reserve() { f.live.Add(1) }

// Release takes back what one Reserve has done.
func (f *Flock) Release() { f.ended(nil, flight.ReasonNone) }

// Interrupt interrupts the threads of all members but the caller's, also those that come later. Those that were queued begin and end, without their work.
func (f *Flock) Interrupt() {
	f.herded.Store(true)
	f.mu.Lock()
	workers := f.workersLocked()
	queue := f.mu.queue
	f.mu.queue = nil
	if len(queue) > 0 {
		f.tellQueueLocked()
	}
	for _, m := range queue {
		m.dropped = true
		f.employLocked(m)
	}
	f.mu.Unlock()
	me := vthread.Current()
	for _, m := range workers {
		if t := m.thread.Load(); t != nil && t != me {
			_ = t.Interrupt() // refused by its scheduler, the thread stays parked; the status is set
		}
	}
	for _, m := range queue {
		if !m.start() {
			f.leave(m)
		}
	}
}

func (f *Flock) workersLocked() (all []*Member) {
	for m := f.mu.first; m != nil; m = m.next {
		all = append(all, m)
	}
	return all
}

// Threads returns the threads that were started and have not ended their work, in the order in which they were started. The caller owns the slice.
func (f *Flock) Threads() (all []*vthread.Thread) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.workersLocked() {
		if t := m.thread.Load(); t != nil {
			all = append(all, t)
		}
	}
	return all
}

// Count returns how many threads have not ended, those that are queued included, and how many are queued.
func (f *Flock) Count() (live, queued int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int(f.live.Load()), len(f.mu.queue)
}

// Await waits until all threads have ended; if it is early, also until [Flock.Wake] was called. Otherwise it returns why it gave up, which the limits allow.
// A thread parks, a goroutine blocks.
func (f *Flock) Await(l sched.Limits, early bool) error {
	f.mu.Lock()
	if f.live.Load() == 0 || early && f.mu.woken {
		f.mu.Unlock()
		return nil
	}
	w := sched.NewLooseWaiter(sched.Current())
	f.mu.sleepers = append(f.mu.sleepers, sleeper{w, early})
	f.mu.Unlock()
	flight.Default().SetScopeState(f.Scope.Index, flight.ScopeJoining)
	err := w.WaitWithin(l, sched.Pause{State: flight.StateWaiting, Reason: flight.ReasonScopeJoin, Blocker: flight.BlockScope(f.id)})
	flight.Default().SetScopeState(f.Scope.Index, flight.ScopeOpen)
	if err != nil {
		f.mu.Lock()
		f.mu.sleepers = slices.DeleteFunc(f.mu.sleepers, func(s sleeper) bool { return s.waiter == w })
		f.mu.Unlock()
	}
	return err
}

// Wake ends early waits, those of later too.
func (f *Flock) Wake() {
	f.mu.Lock()
	f.mu.woken = true
	var wake []sleeper
	f.mu.sleepers = slices.DeleteFunc(f.mu.sleepers, func(s sleeper) bool {
		if s.early {
			wake = append(wake, s)
		}
		return s.early
	})
	f.mu.Unlock()
	for _, s := range wake {
		_ = s.waiter.Wake() // refused, it stays parked: who closed its scheduler knows
	}
}

// Canceled tells, for the record, that the scope is cancelled, and whether because its deadline has passed.
func (f *Flock) Canceled(deadline bool) {
	if deadline {
		f.event(flight.EventScopeDeadline, 0)
	}
	f.event(flight.EventScopeCancel, 0)
}

// Join tells, for the record, that the owner waits.
func (f *Flock) Join() { f.event(flight.EventScopeJoin, 0) }

func (f *Flock) event(k flight.Kind, t flight.ThreadID) {
	if t == 0 {
		t = f.owner
	}
	sched.Emit(k, t, uint64(f.id))
}
