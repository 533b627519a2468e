package durable

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A State is what a durable thread does.
type State uint8

// The states.
const (
	Running    State = iota // it has a thread, which may wait
	Hibernated              // it has a journal only, and waits
	Stopping                // somebody has asked for its bytes, and it has not come to a step yet
	Moved                   // it goes on from its bytes, elsewhere or in another [Thread]
	Done                    // its body has returned, or diverged
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"running", "hibernated", "stopping", "moved", "done"}[s]
}

// Errors of threads.
var (
	ErrMoved  = errors.New("the thread was parked to bytes and goes on from there")
	ErrDone   = errors.New("the thread has ended")
	ErrItself = errors.New("a thread cannot do this to itself")
	ErrGoexit = errors.New("the body called runtime.Goexit")
)

const (
	maxName = 128
	maxID   = 256
)

// A Builder says how threads are started. Registry must be set.
type Builder struct {
	Registry  *Registry
	Scheduler sched.Scheduler // nil: that of the calling thread, or the default

	// HibernateAfter is how long a thread waits before it gives up its stack, and keeps only its journal. 0: it keeps both.
	HibernateAfter time.Duration

	ID   string // of the thread; "": a random one
	Keys *Keys  // that bytes are signed and encrypted with; nil: they are neither

	keeper *Keeper // nil: journals are in memory alone
}

// A Thread is a durable thread in this process. Its zero value is none.
//
//	T1  One goroutine at a time is the thread's: run starts it, and it ends by a return of the body, or by [runtime.Goexit] once it is told to leave (leave).
//	T2  Who wants it to leave sets mu.leave and wakes it. It leaves at its next step, or where it waits for something durable: never inside of a call.
//	T3  mu.journal is the thread's own to append to; others read it with the lock, and may take it over when the goroutine has left.
//	T4  Who holds the locks of a thread and of its child has taken the thread's first.
type Thread struct {
	builder Builder
	id      string
	body    *body
	args    json.RawMessage
	family  *family
	parent  *Thread // nil: it is a root
	number  int     // of a child

	leaving bool                      // of the thread alone: its deferred functions are executed
	ended   vthread.Promise[struct{}] // complete when state is Done or Moved

	mu struct {
		vsync.Mutex // as others come in between where a thread is started or woken
		state       State
		journal     Journal
		leave       leave
		waiter      *sched.Waiter                // while it waits
		wait        wait                         // what for, if it waits or is hibernated
		inbox       map[string][]json.RawMessage // signals that came and were not awaited yet, by name
		permit      bool
		children    map[int]*Thread // by number, which were not joined yet
		forks       int
		thread      *vthread.Thread
		timer       *time.Timer // that ends a hibernation
		sent        bool        // its bytes were made: no keeper has it any more
		result      json.RawMessage
		err         error
		shown       *flight.Record             // while it is hibernated; nil: it is not recorded
		left        *vthread.Promise[struct{}] // complete when the goroutine has left; replaced when another one starts
	}
}

// A leave is why a thread gives up its stack.
type leave uint8

const (
	stay leave = iota
	toHibernate
	toBytes
)

// A wait is what a thread waits for.
type wait struct {
	kind  Kind // StepNone: for nothing
	name  string
	until time.Time // zero: without a limit
	since time.Time
	child int
	stack flight.StackID // where it stands
}

// A family is a thread with its clones.
type family struct {
	sync.Mutex
	clones []*Thread
}

// Start starts a thread with the default scheduler. args is encoded as JSON. It does not block.
func Start(r *Registry, name string, args any) (*Thread, error) {
	return Builder{Registry: r}.Start(name, args)
}

// Start starts a thread whose body is registered by that name. It does not block. An error matches [ErrUnknownBody], or is about args or the scheduler.
func (b Builder) Start(name string, args any) (*Thread, error) {
	encoded, err := encode(args)
	if err != nil {
		return nil, err
	}
	t, err := b.make(name, encoded)
	if err != nil {
		return nil, err
	}
	return t, t.begin()
}

func (b Builder) make(name string, args json.RawMessage) (*Thread, error) {
	if b.Registry == nil {
		return nil, errors.New("durable: no registry")
	}
	body, err := b.Registry.body(name)
	if err != nil {
		return nil, err
	}
	if me := vthread.Current(); b.Scheduler == nil && me != nil {
		b.Scheduler = me.Scheduler() // it is inherited, and the thread may go on where nobody is to inherit from
	}
	if b.ID == "" {
		b.ID = newID()
	}
	if len(b.ID) > maxID {
		return nil, fmt.Errorf("durable: an id of %d bytes: at most %d", len(b.ID), maxID)
	}
	t := &Thread{builder: b, id: b.ID, body: body, args: args, family: &family{}}
	t.mu.inbox = map[string][]json.RawMessage{}
	t.mu.children = map[int]*Thread{}
	return t, nil
}

func newID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// begin starts the thread's goroutine, which replays what the journal holds.
func (t *Thread) begin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.beginLocked()
}

func (t *Thread) beginLocked() error {
	t.mu.state, t.mu.leave = Running, stay
	t.hideLocked()
	t.mu.journal.at = 0
	t.mu.wait = wait{}
	t.mu.left = new(vthread.Promise[struct{}])
	if t.mu.timer != nil {
		t.mu.timer.Stop()
		t.mu.timer = nil
	}
	t.leaving = false
	var err error
	t.mu.thread, err = vthread.Builder{Scheduler: t.builder.Scheduler, Name: t.label()}.TryStart(t.run)
	if err != nil {
		err = fmt.Errorf("durable: start %s: %w", t.body.name, err)
		t.endLocked(nil, err)
		t.mu.left.Complete(struct{}{})
		if t.parent != nil {
			go t.parent.poke() // T4
		}
	}
	return err
}

// run is the thread's goroutine.
func (t *Thread) run() {
	var result json.RawMessage
	var err error
	returned := false
	defer func() {
		if !returned && !t.leaving {
			err = ErrGoexit // or it panics, as any thread may
		}
		t.hasLeft(result, err)
	}()
	result, err = t.body.run(t, t.args)
	returned = true
	t.mu.Lock()
	left := len(t.mu.journal.steps) - t.mu.journal.at
	t.mu.Unlock()
	if left > 0 && t.leavesFor() == stay {
		result, err = nil, t.divergence("returns")
	}
}

// hasLeft is the end of the thread's goroutine.
func (t *Thread) hasLeft(result json.RawMessage, err error) {
	defer func() {
		if t.parent != nil {
			t.parent.poke()
		}
	}()
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.mu.left.Complete(struct{}{})
	t.mu.waiter, t.mu.thread = nil, nil
	if !t.leaving {
		t.endLocked(result, t.keepEndLocked(result, err))
		return
	}
	if t.mu.err != nil { // it diverged
		t.endLocked(nil, t.mu.err)
		return
	}
	switch t.mu.leave {
	case toHibernate:
		t.hibernateLocked()
	case toBytes:
		t.mu.state = Moved
		t.ended.Complete(struct{}{})
	}
}

// keepEndLocked makes the end last, and returns its error. What another process may do better is no end there: a divergence, or a runtime.Goexit.
func (t *Thread) keepEndLocked(result json.RawMessage, err error) error {
	if t.builder.keeper == nil || err == ErrGoexit || errors.As(err, new(*Divergence)) {
		return err
	}
	e := Entry{Thread: t.id, Op: OpEnd, Value: result}
	if err != nil {
		e.Err = cmp.Or(err.Error(), "error without a text")
	}
	if lost := t.keepLocked(e); lost != nil {
		return lost
	}
	return err
}

func (t *Thread) endLocked(result json.RawMessage, err error) {
	t.mu.state, t.mu.result, t.mu.err = Done, result, err
	t.ended.Complete(struct{}{})
}

// hibernateLocked waits for what the thread has waited for, without a goroutine.
func (t *Thread) hibernateLocked() {
	t.mu.state, t.mu.leave = Hibernated, stay
	t.showLocked()
	if t.readyLocked(&t.mu.wait) {
		_ = t.beginLocked()
		return
	}
	if until := t.mu.wait.until; !until.IsZero() {
		t.mu.timer = time.AfterFunc(time.Until(until), t.poke)
	}
}

// readyLocked reports whether what a thread waits for has happened.
func (t *Thread) readyLocked(w *wait) bool {
	if !w.until.IsZero() && !time.Now().Before(w.until) {
		return true
	}
	switch w.kind {
	case StepSignal:
		return len(t.mu.inbox[w.name]) > 0
	case StepPark:
		return t.mu.permit
	case StepJoin:
		c := t.mu.children[w.child]
		return c == nil || c.ended.Done()
	}
	return false
}

// poke makes a thread that waits look again, with or without a goroutine. It may be called from any goroutine, without the lock.
func (t *Thread) poke() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pokeLocked()
}

func (t *Thread) pokeLocked() {
	switch t.mu.state {
	case Hibernated:
		if t.readyLocked(&t.mu.wait) {
			_ = t.beginLocked()
		} else if t.mu.timer != nil { // it was early
			t.mu.timer.Reset(time.Until(t.mu.wait.until))
		}
	case Running:
		if w := t.mu.waiter; w != nil {
			t.mu.waiter = nil
			w.Wake()
		}
	}
}

// leavesFor returns why the thread shall leave.
func (t *Thread) leavesFor() leave {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.leave
}

// exit ends the thread's goroutine; its deferred functions are executed.
func (t *Thread) exit() {
	t.leaving = true
	runtime.Goexit()
}

// waitFor waits on the thread for what w tells. It leaves instead if it is told to, or after a while.
func (t *Thread) waitFor(w wait) {
	w.since = time.Now()
	patience := time.Time{}
	if t.builder.HibernateAfter > 0 {
		patience = w.since.Add(t.builder.HibernateAfter)
	}
	t.mu.Lock()
	for t.mu.leave == stay && !t.readyLocked(&w) {
		t.mu.wait = w
		if !patience.IsZero() && !time.Now().Before(patience) {
			t.mu.leave = toHibernate
			break
		}
		me := sched.NewLooseWaiter(sched.Current())
		t.mu.waiter = me
		t.mu.Unlock()
		limits := sched.Limits{}
		pause := sched.Pause{State: flight.StateParked, Reason: w.reason()}
		for _, at := range []time.Time{w.until, patience} {
			if at.IsZero() {
				continue
			}
			if until := cmp.Or(sched.After(time.Until(at)), 1); limits.Until == 0 || until < limits.Until {
				limits.Until, pause.State = until, flight.StateTimedParked
			}
		}
		_ = me.WaitWithin(limits, pause)
		t.mu.Lock()
		t.mu.waiter = nil
	}
	if t.mu.leave != stay {
		w.stack = flight.Default().Stack(ownFrames)
		t.mu.wait = w
		t.mu.Unlock()
		t.exit()
	}
	t.mu.wait = wait{}
	t.mu.Unlock()
}

// reason is why a dump says that the thread waits.
func (w *wait) reason() flight.Reason {
	switch w.kind {
	case StepSleep:
		return flight.ReasonSleep
	case StepJoin:
		return flight.ReasonJoin
	case StepSignal:
		return flight.ReasonCondition
	}
	return flight.ReasonPark
}

// ID returns what tells the thread from all others, in all processes. That of a child is its parent's, "/", and its number.
func (t *Thread) ID() string { return t.id }

// Name returns the name of its body.
func (t *Thread) Name() string { return t.body.name }

// State returns what it does.
func (t *Thread) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state == Running && t.mu.leave == toBytes {
		return Stopping
	}
	return t.mu.state
}

// Steps returns a copy of its journal. The values are shared, and must not be changed.
func (t *Thread) Steps() []Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Step(nil), t.mu.journal.steps...)
}

// Join waits until the thread has ended, and returns the error of its body, a [*Divergence], or [ErrMoved].
func (t *Thread) Join() error { return t.JoinContext(context.Background()) }

// JoinContext is [Thread.Join], and gives up with ctx's cause when ctx ends first.
func (t *Thread) JoinContext(ctx context.Context) error {
	if _, err := t.ended.Future.GetContext(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.state == Moved {
		return t.goneLocked()
	}
	return t.mu.err
}

// Result waits until the thread has ended, and returns what its body has returned, or the error of [Thread.Join].
func Result[R any](t *Thread) (r R, err error) {
	if err = t.Join(); err != nil {
		return r, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err = json.Unmarshal(t.mu.result, &r); err != nil {
		err = fmt.Errorf("durable: result of %s: %w", t.body.name, err)
	}
	return r, err
}

// Unpark lets the thread's next [Park], or the one it waits in, return. It does not block. An error matches [ErrDone] or [ErrMoved].
func (t *Thread) Unpark() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.overLocked(); err != nil {
		return err
	}
	if t.mu.permit {
		return nil
	}
	if err := t.keepLocked(Entry{Thread: t.id, Op: OpUnpark}); err != nil {
		return err
	}
	t.mu.permit = true
	t.pokeLocked()
	return nil
}

// Signal gives the thread a value that [Await] returns; those of one name are returned in the order in which they came. It returns when that
// lasts, if the thread has a keeper, and does not block else. An error matches [ErrDone], [ErrMoved] or [ErrClosed], is about the value, or is the store's.
func (t *Thread) Signal(name string, value any) error {
	encoded, err := encode(value)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.overLocked(); err != nil {
		return err
	}
	if err := t.keepLocked(Entry{Thread: t.id, Op: OpSignal, Name: name, Value: encoded}); err != nil {
		return err
	}
	t.mu.inbox[name] = append(t.mu.inbox[name], encoded)
	t.pokeLocked()
	return nil
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
