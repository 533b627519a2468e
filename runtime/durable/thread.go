package durable

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vtscope/vtscope/runtime/durable/journal"
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
	Stopping                // somebody wants its bytes, or closes its keeper: it comes to a step, or stands at one
	Moved                   // it goes on from its bytes, elsewhere or in another [Thread]
	Done                    // its body has returned, or diverged
	Away                    // its keeper has given it back, or has lost it; another one of the store has it or will have it, and it is joined from here all the same
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"running", "hibernated", "stopping", "moved", "done", "away"}[s]
}

// Errors of threads.
var (
	ErrMoved  = errors.New("the thread was parked to bytes and goes on from there")
	ErrDone   = errors.New("the thread has ended")
	ErrItself = errors.New("a thread cannot do this to itself")
	ErrGoexit = vthread.ErrGoexit // the body called runtime.Goexit
)

// A Builder says how threads are started. Registry must be set.
type Builder struct {
	Registry  *Registry
	Scheduler sched.Scheduler // nil: that of the calling thread, or the default

	// HibernateAfter is how long a thread waits before it gives up its stack, and keeps only its journal. 0: it keeps both.
	HibernateAfter time.Duration

	// Random is what random numbers and ids come from, where a simulation is to be repeated: vttest.Random(t).Uint64. nil: from the operating system's.
	Random func() uint64

	ID   string        // of the thread, without a slash, which begins the numbers of children; "": a random one
	Keys *journal.Keys // that bytes are signed and encrypted with; nil: they are neither

	// Limits say how large bytes can be, and how much memory they may ask for where they are read. Zero fields mean their defaults; both sides have the same.
	Limits journal.Limits

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
	parent  *Thread   // nil: it is a root
	number  int       // of a child
	begun   time.Time // zero: who began it did not tell

	leaving bool                      // of the thread alone: its deferred functions are executed
	passing bool                      // its end is none for the next keeper of the store; set before ended is complete
	ended   vthread.Promise[struct{}] // complete when state is Done or Moved

	mu struct {
		vsync.Mutex // as others come in between where a thread is started or woken
		state       State
		journal     Journal
		leave       leave
		halts       int                          // how many want it to stand for its bytes: H1
		waiter      *sched.Waiter                // while it waits
		outside     time.Time                    // since when it is in a function of Do or Move; zero: it is not
		sending     *vthread.Promise[struct{}]   // while its bytes are made, and Move sends them; done when it is known who has the thread, or why that is not known
		wait        wait                         // what for, if it waits or is hibernated
		inbox       map[string][]json.RawMessage // signals that came and were not awaited yet, by name
		permit      bool
		outlet      *outlet         // of a generator
		children    map[int]*Thread // by number, which were not joined yet
		forks       int
		thread      *vthread.Thread
		timer       *time.Timer // that ends a hibernation
		sent        bool        // it goes on from its bytes: no keeper has it any more
		dropped     bool        // its store was told, or is about to be, that nobody asks for it any more: nothing of it may come behind that
		result      json.RawMessage
		err         error
		endedAt     time.Time
		left        *vthread.Promise[struct{}] // complete when the goroutine has left; replaced when another one starts
		seen        seen
	}
}

// A leave is why a thread gives up its stack.
type leave uint8

const (
	stay leave = iota
	toHibernate
	toBytes
	toClose // its keeper is closed
	toStore // another keeper has it
)

// A wait is what a thread waits for.
type wait struct {
	kind  journal.Kind // journal.StepNone: for nothing
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
	t, err := b.root(name, encoded)
	if err != nil {
		return nil, err
	}
	return t, t.begin()
}

// root makes a thread that somebody starts.
func (b Builder) root(name string, args json.RawMessage) (*Thread, error) {
	if err := checkRoot(b.ID); err != nil {
		return nil, err
	}
	t, err := b.make(name, args)
	if err != nil {
		return nil, err
	}
	return t, t.body.takes(args)
}

// checkRoot reports whether a thread that is no child can have that id.
func checkRoot(id string) error {
	if strings.Contains(id, "/") {
		return fmt.Errorf("durable: id %.40q: a slash begins the number of a child", id)
	}
	return nil
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
		b.ID = b.newID()
	}
	if len(b.ID) > journal.MaxID || !utf8.ValidString(b.ID) {
		return nil, fmt.Errorf("durable: an id of %d bytes: at most %d, and UTF-8", len(b.ID), journal.MaxID)
	}
	t := &Thread{builder: b, id: b.ID, body: body, args: args, family: &family{}, begun: time.Now()}
	t.mu.inbox = map[string][]json.RawMessage{}
	t.mu.children = map[int]*Thread{}
	return t, nil
}

func (b *Builder) newID() string {
	var id [12]byte
	if b.Random == nil {
		rand.Read(id[:])
	} else {
		binary.LittleEndian.PutUint64(id[:], b.Random())
		binary.LittleEndian.PutUint32(id[8:], uint32(b.Random()))
	}
	return hex.EncodeToString(id[:])
}

// begin starts the thread's goroutine, which replays what the journal holds.
func (t *Thread) begin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mu.leave == toStore: // another keeper has taken it already
		t.awayLocked()
		return nil
	case t.mu.state == Moved: // its keeper was closed before
		return t.goneLocked()
	case t.mu.state != Running || t.mu.left != nil: // it stands for its bytes, or did
		return nil
	}
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
	if err == nil {
		t.beginsLocked()
	} else {
		err = fmt.Errorf("durable: start %s: %w", t.body.name, err)
		t.endLocked(nil, err, t.builder.keeper == nil)
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
			err = ErrGoexit // or it panics
		}
		if k := t.builder.keeper; k != nil { // else as any thread may
			if v := recover(); v != nil {
				err = k.panicked(t, v)
			}
		}
		t.hasLeft(result, err)
	}()
	result, err = t.body.run(t, t.args)
	returned = true
	t.mu.Lock()
	left := len(t.mu.journal.steps) - t.mu.journal.at
	t.mu.Unlock()
	if left > 0 { // also if somebody has told it to leave meanwhile: what it returns is no end
		if d, ok := err.(*Divergence); !ok || d.Thread != t.id {
			result, err = nil, t.divergence("", "returns")
		}
		return
	}
	t.outlive()
}

// outlive waits until the children have ended that were not joined: a thread ends after them. It is no step, for a replay comes here again.
func (t *Thread) outlive() {
	if t.leaving {
		return
	}
	t.mu.Lock()
	left := t.childrenLocked()
	t.mu.Unlock()
	for _, c := range left {
		t.waitFor(wait{kind: journal.StepJoin, name: strconv.Itoa(c.number), child: c.number})
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
		lasts, err := t.keepEndLocked(result, err)
		if errors.Is(err, ErrFenced) {
			t.awayLocked()
		} else {
			t.endLocked(result, err, lasts)
		}
		return
	}
	if errors.Is(t.mu.err, ErrFenced) {
		t.mu.err = nil
		t.awayLocked()
		return
	}
	if t.mu.err != nil { // it diverged
		t.endLocked(nil, t.mu.err, t.builder.keeper == nil)
		return
	}
	switch t.mu.leave {
	case stay: // who wanted it to leave has given up
		t.resumeLocked()
	case toHibernate:
		t.hibernateLocked()
	case toBytes:
		if t.mu.state = Stopping; t.mu.sent {
			t.movedLocked()
		}
	case toClose:
		t.movedLocked()
	case toStore:
		t.awayLocked()
	}
}

// keepEndLocked makes the end last, and returns its error, with whether it is one. What another process may do better is no end there: a divergence, a panic, or a runtime.Goexit.
func (t *Thread) keepEndLocked(result json.RawMessage, err error) (lasts bool, _ error) {
	if t.builder.keeper == nil {
		return true, err
	}
	if t.mu.leave == toStore {
		return false, ErrFenced
	}
	if err == ErrGoexit || errors.As(err, new(*Divergence)) || errors.As(err, new(*vthread.Panic)) {
		return false, err
	}
	e := journal.Entry{Thread: t.id, Op: journal.OpEnd, At: time.Now(), Value: result}
	if err != nil {
		e.Err = textOf(err)
	}
	if lost := t.keepLocked(e); lost != nil {
		return false, lost
	}
	return true, err
}

func (t *Thread) endLocked(result json.RawMessage, err error, lasts bool) {
	t.mu.state, t.mu.result, t.mu.err, t.mu.endedAt = Done, result, err, time.Now()
	flight.Default().CountDurable(flight.DurableEnded, 1)
	t.passing = !lasts
	t.closeLocked()
	t.settleLater()
}

// closeLocked tells who waits that the thread does not go on here.
func (t *Thread) closeLocked() {
	t.closeSeenLocked()
	t.ended.Complete(struct{}{})
	if known := t.mu.sending; known != nil && !t.mu.sent && t.movesLocked() { // else who makes the bytes tells
		if t.mu.state == Done {
			known.Fail(fmt.Errorf("durable: it is not known whether thread %s was sent: %w", t.id, t.mu.err))
		} else {
			known.Complete(struct{}{})
		}
	}
	if t.mu.outlet != nil {
		t.mu.outlet.end(t.endedLocked(), t.mu.state != Done)
	}
}

// hibernateLocked waits for what the thread has waited for, without a goroutine.
func (t *Thread) hibernateLocked() {
	t.mu.state, t.mu.leave = Hibernated, stay
	if t.mu.seen.hides == 0 { // else it is shown since then
		t.showLocked()
	}
	if t.readyLocked(&t.mu.wait) {
		_ = t.beginLocked()
		return
	}
	if until := t.mu.wait.until; !until.IsZero() {
		t.mu.timer = time.AfterFunc(untilLook(until), t.poke)
	}
	t.settleLater()
}

// lookAgain is how long a hibernated thread sleeps at most before it looks at the clock again: that of the machine may have been set, or have gone on while timers stood still.
const lookAgain = time.Minute

func untilLook(at time.Time) time.Duration {
	return min(time.Until(at), time.Until(at.Round(0)), lookAgain)
}

// isPast reports whether a time has come, by the clock of the process or by that of the machine.
func isPast(at time.Time) bool {
	now := time.Now()
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}

// readyLocked reports whether what a thread waits for has happened.
func (t *Thread) readyLocked(w *wait) bool {
	if !w.until.IsZero() && isPast(w.until) {
		return true
	}
	switch w.kind {
	case journal.StepSignal:
		return len(t.mu.inbox[w.name]) > 0
	case journal.StepPark:
		return t.mu.permit
	case journal.StepJoin:
		c := t.mu.children[w.child]
		return c == nil || c.ended.Done() && !c.passing
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
			t.mu.timer.Reset(untilLook(t.mu.wait.until))
		}
	case Running:
		if w := t.mu.waiter; w != nil {
			t.mu.waiter = nil
			_ = w.Wake() // refused, it stays parked: who closed its scheduler knows
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
	waits := false
	for t.mu.leave == stay && !t.readyLocked(&w) {
		t.mu.wait = w
		if !waits {
			t.mu.seen.record.Waits(w.seen(), w.name, w.child, w.since, w.until)
			waits = true
		}
		if !patience.IsZero() && !time.Now().Before(patience) {
			t.mu.leave = toHibernate
			break
		}
		me := sched.NewLooseWaiter(sched.Current())
		t.mu.waiter = me
		t.mu.Unlock()
		limits := sched.Limits{}
		pause := sched.Pause{State: flight.StateParked, Reason: w.reason(), Blocker: w.blocker()}
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
	if waits {
		t.mu.seen.record.Goes()
	}
	t.mu.Unlock()
}

// reason is why a dump says that the thread waits.
func (w *wait) reason() flight.Reason {
	switch w.kind {
	case journal.StepSleep:
		return flight.ReasonSleep
	case journal.StepJoin:
		return flight.ReasonJoin
	case journal.StepSignal:
		return flight.ReasonSignal
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
	if t.mu.state == Running && (t.mu.leave == toBytes || t.mu.leave == toClose) {
		return Stopping
	}
	return t.mu.state
}

// Steps returns a copy of its journal. The values are shared, and must not be changed.
func (t *Thread) Steps() []journal.Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]journal.Step(nil), t.mu.journal.steps...)
}

// Join waits until the thread has ended, and returns the error of its body, or why it does not go on here: a [*Divergence], [ErrMoved], [ErrGoexit], and of a kept thread one that
// matches [ErrClosed] or [ErrStore], or a [*vthread.Panic]. A thread that waits in it can be interrupted.
func (t *Thread) Join() error { return t.JoinContext(context.Background()) }

// JoinContext is [Thread.Join], and gives up with ctx's cause when ctx ends first.
func (t *Thread) JoinContext(ctx context.Context) error {
	if _, err := t.ended.Future.GetContext(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	state, err := t.mu.state, t.mu.err
	if state == Moved {
		err = t.goneLocked()
	}
	t.mu.Unlock()
	if state == Away {
		return t.joinElsewhere(ctx)
	}
	return err
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
