package sched

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// A Scheduler decides where and when runnable threads continue.
type Scheduler interface {
	// Execute arranges for t.Run to be called once, on some carrier: a goroutine that is not itself a
	// thread. It does not block, may be called from any goroutine, and never runs t on the caller's stack
	// unless documented. An error rejects the task: it surfaces where the thread was started or unparked.
	Execute(t *Task) error
}

// A Body is what a task executes. Package vthread implements it.
type Body interface {
	// Labels is called on the thread before Run. nil means none.
	Labels() *Labels
	// Run is called once, on the thread, when the task is first mounted.
	Run()
	// Handles is called on the thread when Run has panicked; the guilty frames still stand. If it
	// returns false the program ends by [Crash].
	Handles(value any) bool
	// End is called on the thread when Run has returned ([flight.ReasonEnd]), has panicked
	// ([flight.ReasonPanic], with the value), or has called runtime.Goexit. It must not panic, park or yield.
	End(how flight.Reason, value any)
}

// Errors of [Task.Start] and [Task.Run].
var (
	ErrStarted       = errors.New("thread was started before")
	ErrOnThread      = errors.New("a task cannot be run on a thread")
	ErrLockedCarrier = errors.New("the carrier is locked to another OS thread than the task's goroutine")
)

// The words of a task's state machine: the proposal's NEW, RUNNABLE, LEASED, PAUSED, DONE.
//
//	K1  A task is in a queue, or mounted, exactly while it is runnable or leased; it is put there only by
//	    whoever moved it from fresh or paused to runnable. So it is never scheduled twice.
//	K2  leased is runnable with a permit: the next park returns at once.
//	K3  A mounted task moves to paused only after it has left its goroutine (the next one to execute
//	    on the carrier does it), so nobody can mount it while it still executes.
//	K4  blocked is paused without having left: the thread is pinned and waits on its carrier, or has a goroutine of its own.
//	K5  The bits above the pause number timed parks, so that a late timer cannot end a later park.
//	K6  While the task is paused or blocked the bits of the pause tell what it is shown as; else they are zero.
const (
	fresh uint32 = iota
	runnable
	leased
	paused
	blocked
	done

	stateMask  uint32 = 7
	pauseShift        = 3
	pauseMask  uint32 = 7 << pauseShift
	lowMask           = stateMask | pauseMask
	parkStep   uint32 = lowMask + 1

	pausePinned uint32 = 4 << pauseShift // the others are states from [flight.StateParked] on
)

// pauseOf is the pause of a thread that is shown as s: parked, timed-parked, blocked or waiting.
func pauseOf(s flight.State) uint32 { return uint32(s-flight.StateParked) & 3 << pauseShift }

// shownAs is what a word that is paused or blocked is shown as.
func shownAs(w uint32) flight.State {
	if w&pauseMask == pausePinned {
		return flight.StatePinned
	}
	return flight.StateParked + flight.State(w&pauseMask>>pauseShift)
}

// Marks of a task, beside its word.
const (
	ticket      uint32 = 1 << iota // handed to a Scheduler's Execute, and not yet run
	renaming                       // somebody writes the name
	moving                         // somebody reads or writes the scheduler
	onGoroutine                    // see bound.go; set once
	onOSThread
	interrupted // see [Task.Interrupt]
	adopted     // see adoption; set once
	nests       // it waits for the thread that it has adopted: A2
	heeds       // see [Task.HeedLater]

	pinStep uint32 = 1 << 9 // the bits from here on count the pin sections that are open; only the task itself changes them
)

// A Task is a thread as its scheduler sees it. It must not be copied.
type Task struct {
	checked // in builds that check all moves

	word    atomic.Uint32
	marks   atomic.Uint32
	prefers atomic.Uint32 // a flight.CarrierID; 0: none
	lane    uint32        // of a Pinned: 1 + the number of the carrier it is assigned to. Written by whoever submits it

	id    flight.ThreadID
	body  Body
	sched Scheduler
	rec   *flight.Record // nil: not recorded. Written before anybody else knows the task

	at    *coro.Slot // where the innermost goroutine is suspended; nil before the first mount
	on    *carrier   // what it is mounted on; written by whoever mounts it
	link  *Task      // in a queue
	timer *timer     // lazily made, kept for the task's life

	traced *traced // in Go's own trace; nil: not
}

// Init makes t a task that is ready to [Task.Start]. A nil scheduler means, when it starts, the one of the calling
// thread, or else the default.
func (t *Task) Init(id flight.ThreadID, body Body, s Scheduler) {
	t.id, t.body, t.sched = id, body, s
	if b, own := s.(bound); own {
		t.marks.Store(b.mark())
	}
}

// Own reports whether t has a goroutine of its own ([Goroutines]), and whether that is locked to an OS thread ([OSThreads]).
func (t *Task) Own() (goroutine, osThread bool) {
	m := t.marks.Load()
	return m&(onGoroutine|onOSThread) != 0, m&onOSThread != 0
}

// Adopted reports whether t executes on the goroutine of its caller ([Task.RunHere]).
func (t *Task) Adopted() bool { return t.marks.Load()&adopted != 0 }

// ID returns the id of the task's thread.
func (t *Task) ID() flight.ThreadID { return t.id }

// Body returns what t executes.
func (t *Task) Body() Body { return t.body }

// Scheduler returns the scheduler that t is submitted to. It may be called from anywhere.
func (t *Task) Scheduler() Scheduler {
	if Current() == t {
		return t.sched
	}
	t.lockMark(moving)
	defer t.marks.And(^moving)
	return t.sched
}

// lockMark sets a mark that one at a time may have, for a moment.
func (t *Task) lockMark(m uint32) {
	for t.marks.Or(m)&m != 0 {
		runtime.Gosched()
	}
}

// Record returns the thread's record in the flight file, or nil.
func (t *Task) Record() *flight.Record { return t.rec }

// Done reports whether the body has ended.
func (t *Task) Done() bool { return t.word.Load()&stateMask == done }

// Fresh reports whether t was never started.
func (t *Task) Fresh() bool { return t.word.Load()&stateMask == fresh }

// State returns what t is doing. It may be called from anywhere.
func (t *Task) State() flight.State {
	w := t.word.Load()
	switch w & stateMask {
	case fresh:
		return flight.StateNew
	case paused, blocked:
		return shownAs(w)
	case done:
		return flight.StateDone
	}
	if Current() == t {
		return flight.StateMounted
	}
	if t.marks.Load()&nests != 0 {
		return flight.StateWaiting
	}
	mounted, held := t.mountedSeen()
	switch {
	case !mounted:
		return flight.StateRunnable
	case held: // when the watchdog looked
		if blocks(t.blocksIn(t.beganOn())) && t.word.Load() == w {
			return flight.StatePinned
		}
	}
	return flight.StateMounted
}

// Rename sets the thread's name in its record, from anywhere, unless it has ended.
func (t *Task) Rename(name string) {
	if t.rec == nil {
		return
	}
	// The record is somebody else's soon after the thread's end, so the end waits: see ended.
	t.lockMark(renaming)
	if !t.Done() {
		flight.Default().SetName(t.rec, name)
		t.emitName(Current().place(), name, flight.Now())
	}
	t.marks.And(^renaming)
}

// Current returns the task that is mounted on the calling goroutine, or nil on a plain goroutine.
// It costs a few nanoseconds, and works at any depth of unmodified code.
func Current() *Task {
	r := coro.Self()
	if r == nil {
		return nil
	}
	return (*Task)(r.Task)
}

// A Birth describes a task that is about to start, for its record.
type Birth struct {
	Scope flight.ScopeIndex
	Entry uintptr // the program counter of the body
	Name  string
	Flags flight.RecordFlags
}

// Announce makes a record of a task that is not started yet, in state new. Without it [Task.Start] makes
// one. [Forget] takes it back. me is [Current].
func (t *Task) Announce(me *Task, b Birth) {
	t.moved(flight.StateNew)
	if t.sched == nil {
		t.sched = inherited(me)
	}
	if flight.Default() != nil {
		t.record(me, me.place(), b, flight.StateNew, flight.Now())
	}
}

// Forget frees the record of a task that was announced and can never be started, since nobody knows it any more.
func Forget(rec *flight.Record) {
	rec.End(flight.Now())
	flight.Default().PutRecord(rec)
}

// Start submits t to its scheduler for the first time. b describes it if it was not announced. me is [Current]. Beyond
// [ErrStarted], errors are the scheduler's: then t can be started again.
func (t *Task) Start(me *Task, b Birth) error { return t.start(me, b, false) }

// StartHere is Start for a caller who is going to wait for t. If that is a plain goroutine, which is locked to no OS thread, and
// t is for the default scheduler, the caller executes t itself until t first leaves: that spares two wake-ups.
func (t *Task) StartHere(me *Task, b Birth) error {
	return t.start(me, b, me == nil && t.sched == nil && !coro.Locked() && !Simulating())
}

// start starts t, here if it may be.
func (t *Task) start(me *Task, b Birth, here bool) error {
	if !t.word.CompareAndSwap(fresh, runnable) {
		return ErrStarted
	}
	t.moved(flight.StateRunnable)
	if t.sched == nil {
		t.sched = inherited(me)
	}
	var now flight.Ticks
	if flight.Default() != nil {
		now = flight.Now()
		if t.rec == nil {
			t.record(me, me.place(), b, flight.StateRunnable, now)
		} else {
			b.Scope, b.Flags = t.rec.Place()
			t.rec.Runnable(now, me.threadID())
		}
	}
	if Simulating() {
		startSeen(t)
	}
	var fj *ForkJoin
	if here {
		fj, here = t.sched.(*ForkJoin)
	}
	if here {
		fj.tally.starts.Add(1)
	} else if err := t.submit(me); err != nil {
		endSeen(t)
		t.moved(flight.StateNew)
		t.rec.Refused(now, flight.StateNew, flight.ReasonNone)
		t.word.Store(fresh)
		return err
	}
	// A start that is refused is none. The event has the time from before t could be mounted.
	switch {
	case now == 0:
	case me != nil && me.on.ring != nil:
		me.on.ring.Start(t.id, now, me.id, b.Scope, b.Flags)
	default:
		me.emit(now, flight.EventThreadStart, flight.Reason(b.Flags), flight.StackID(b.Scope), t.id, uint64(me.threadID()))
	}
	if here {
		fj.executeHere(t, now)
	}
	return nil
}

// NewID returns an id that no thread has had. Ids do not tell who is older: carriers take them in blocks. me is [Current].
func NewID(me *Task) flight.ThreadID {
	w := me.worker()
	if w == nil {
		return flight.ThreadID(lastID.Add(1))
	}
	if w.nextID == w.endID {
		w.endID = lastID.Add(idBlock) + 1
		w.nextID = w.endID - idBlock
	}
	id := w.nextID
	w.nextID++
	return flight.ThreadID(id)
}

var lastID atomic.Uint64

const idBlock = 32

// record gives t a record, and tells at the carrier at, which is that of me or nil, what t is called. me is [Current].
func (t *Task) record(me *Task, at *carrier, b Birth, s flight.State, now flight.Ticks) {
	r := flight.Default()
	if w := me.worker(); w != nil {
		t.rec = w.records.Get(r)
	} else {
		t.rec = at.homeOf().GetRecord(r)
	}
	if t.rec == nil {
		return
	}
	t.rec.Init(s, t.id, b.Scope, me.threadID(), b.Entry, b.Flags.With(idOf(t.sched)), now)
	r.SetName(t.rec, b.Name)
	if b.Name != "" {
		t.emitName(at, b.Name, now)
	}
}

// emitName records at a carrier that t has a name.
func (t *Task) emitName(at *carrier, name string, now flight.Ticks) {
	words := flight.TextOf(name)
	at.emitMore(now, flight.EventThreadName, 0, 0, t.id, 0, words[:]...)
}

// submit hands a task that the caller has moved to runnable to its scheduler, and records a refusal. me is [Current].
func (t *Task) submit(me *Task) error {
	err := t.handOver(me)
	if err != nil {
		t.recordRefusal(me)
	}
	return err
}

func (t *Task) recordRefusal(me *Task) {
	if flight.Default() != nil {
		me.emit(flight.Now(), flight.EventSubmitFailed, 0, 0, t.id, uint64(me.threadID()))
	}
}

func (t *Task) handOver(me *Task) error {
	switch s := t.sched.(type) {
	case *ForkJoin:
		return s.submit(t, me.worker())
	case *Single:
		return s.fj.submit(t, me.worker())
	case *Pinned:
		return s.submit(t, me.worker())
	}
	t.marks.Or(ticket)
	err := t.sched.Execute(t)
	if err != nil && t.marks.And(^ticket)&ticket == 0 {
		return nil // it was run before it was refused
	}
	return err // without a ticket, what the scheduler may have kept of it runs nothing
}

// Unpark makes t runnable if it is parked, and otherwise gives it the one permit that lets its next park
// return at once. It never blocks and may be called from anywhere. An unstarted or ended
// task is left alone. The error, if any, is the scheduler's rejection: t stays parked.
func (t *Task) Unpark() error {
	for {
		w := t.word.Load()
		switch w & stateMask {
		case paused:
			if t.word.CompareAndSwap(w, w&^lowMask|runnable) {
				return t.ready(Current(), w)
			}
		case blocked:
			if t.word.CompareAndSwap(w, w&^lowMask|runnable) {
				t.unblock(w, Current())
				return nil
			}
		case runnable:
			if t.word.CompareAndSwap(w, w&^stateMask|leased) {
				return nil
			}
		default:
			return nil
		}
	}
}

// unblock lets a task go on that waits on its goroutine, and that the caller has just moved from the word was to runnable.
func (t *Task) unblock(was uint32, me *Task) {
	if was&pauseMask == pausePinned {
		me.emit(flight.Now(), flight.EventUnpark, 0, 0, t.id, uint64(me.threadID())) // it stays pinned until it goes on
	} else {
		t.moved(flight.StateRunnable)
		t.recordUnpark(me)
	}
	if !t.unholdSimulated() {
		t.timer.unpin <- struct{}{}
	}
}

// ready submits a task that the caller has just moved from the word was to runnable.
func (t *Task) ready(me *Task, was uint32) error {
	t.moved(flight.StateRunnable)
	t.recordUnpark(me)
	for {
		err := t.submit(me)
		if err == nil || t.refused(was, flight.ReasonNone) {
			return err
		}
	}
}

// refused makes a task paused again that the caller has moved to runnable from the word was, and whose scheduler has
// refused it. It returns false when somebody has given it a permit meanwhile, and believes that it goes on: then the caller
// still owns it, and submits it once more.
func (t *Task) refused(was uint32, why flight.Reason) bool {
	t.moved(shownAs(was))
	if t.rec != nil {
		t.rec.Refused(flight.Now(), shownAs(was), why)
	}
	number := was &^ lowMask
	if t.word.CompareAndSwap(number|runnable, was&^stateMask|paused) {
		return true
	}
	t.word.Store(number | runnable)
	t.moved(flight.StateRunnable)
	if t.rec != nil {
		t.rec.Runnable(flight.Now(), 0)
	}
	return false
}

func (t *Task) recordUnpark(me *Task) {
	rec := t.rec
	if rec == nil {
		return
	}
	if me == nil || me.on.ring == nil {
		now := flight.Now()
		t.noteLockWait(me, now)
		rec.Runnable(now, me.threadID())
		me.emit(now, flight.EventUnpark, 0, 0, t.id, uint64(me.threadID()))
		return
	}
	now := me.on.instant
	switch {
	case now == 0:
		now = flight.Now()
	case now.Before(rec.Since()): // t has paused after me began to end
		now = flight.Now()
		me.on.instant = now // t may be mounted at this moment, and is not before it is unparked
	}
	t.noteLockWait(me, now)
	me.on.ring.Unpark(rec, t.id, now, me.id)
}

// noteLockWait records that t, which is about to be runnable, has waited long for a lock.
func (t *Task) noteLockWait(me *Task, now flight.Ticks) {
	r, d := flight.Default(), now-t.rec.Since()
	reason, blocker, stack := t.rec.Wait()
	if (reason == flight.ReasonLock || blocker.Kind() == flight.BlockedBySemaphore) && r.Over(flight.EventLockWait, d) {
		me.emitMore(now, flight.EventLockWait, reason, stack, t.id, uint64(blocker), uint64(d.Sub(0)), uint64(me.threadID()))
	}
}

// worker returns the ForkJoin carrier that a mounted task executes on, or nil.
func (t *Task) worker() *worker {
	if t == nil {
		return nil
	}
	return t.on.worker
}

func (t *Task) threadID() flight.ThreadID {
	if t == nil {
		return 0
	}
	return t.id
}

// emit records an event from the calling goroutine, on which t is mounted unless it is nil.
func (t *Task) emit(now flight.Ticks, k flight.Kind, why flight.Reason, stack flight.StackID, thread flight.ThreadID, arg uint64) {
	t.place().emit(now, k, why, stack, thread, arg)
}

// emitMore is emit of a kind with more words.
func (t *Task) emitMore(now flight.Ticks, k flight.Kind, why flight.Reason, stack flight.StackID, thread flight.ThreadID, arg uint64, more ...uint64) {
	t.place().emitMore(now, k, why, stack, thread, arg, more...)
}

// place is the carrier of t, which executes; nil: t is.
func (t *Task) place() *carrier {
	if t == nil {
		return nil
	}
	return t.on
}

// EmitMore is [Emit] of a kind with a reference and more words: see [flight.Ring.EmitMore].
func EmitMore(k flight.Kind, ref uint32, thread flight.ThreadID, arg uint64, more ...uint64) {
	if flight.Default() != nil {
		Current().emitMore(flight.Now(), k, 0, flight.StackID(ref), thread, arg, more...)
	}
}

// EmitMoreFor is [EmitMore] of a kind with a reason.
func EmitMoreFor(k flight.Kind, why flight.Reason, ref uint32, thread flight.ThreadID, arg uint64, more ...uint64) {
	if flight.Default() != nil {
		Current().emitMore(flight.Now(), k, why, flight.StackID(ref), thread, arg, more...)
	}
}

// NoteHold records that the caller releases what b names, which users may have given a name, too. It was held for d while so many waited for it. Short holds are
// not recorded.
func NoteHold(b flight.Blocker, name string, d time.Duration, waiters int) {
	r := flight.Default()
	over := r.Over(flight.EventLockHold, flight.Ticks(0).Add(d))
	if r == nil || !over && d < flight.CountedHold {
		return
	}
	me, now, stack := Current(), flight.Now(), r.Stack(stackSkip)
	if d >= flight.CountedHold {
		r.CountHold(b, name, stack, me.threadID(), d, waiters, now)
	}
	if over {
		me.emitMore(now, flight.EventLockHold, 0, stack, me.threadID(), uint64(b), uint64(d), uint64(waiters))
	}
}

// NoteIO records that the caller has made an operation that took d, with its waits, and moved so many bytes, if that is long. with names the other side; it is called
// only then.
func NoteIO(why flight.Reason, b flight.Blocker, d time.Duration, bytes int64, with func() string) {
	r := flight.Default()
	if !r.Over(flight.EventIO, flight.Ticks(0).Add(d)) {
		return
	}
	me, now := Current(), flight.Now()
	if me != nil && me.on.ring.Full(now, flight.EventIO) {
		return
	}
	text := flight.TextOf(with())
	more := [2 + flight.TextWords]uint64{uint64(d), uint64(bytes)}
	copy(more[2:], text[:])
	me.emitMore(now, flight.EventIO, why, r.Stack(stackSkip), me.threadID(), uint64(b), more[:]...)
}

// Emit records an event of the calling thread or goroutine that has no stack. Packages of the runtime use it for kinds of their own.
func Emit(k flight.Kind, thread flight.ThreadID, arg uint64) {
	if flight.Default() != nil {
		Current().emit(flight.Now(), k, 0, 0, thread, arg)
	}
}
