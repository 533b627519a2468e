package sched

import (
	"context"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Simulated executes its threads one at a time. Somebody else chooses which, at every point where they could take turns, and time passes
// only when all of them wait. So the same choices give the same execution. Package vttest makes them, each in a synctest bubble of its own, whose clock
// is the threads' clock.
//
// A choice is made when a thread has parked, yielded or ended, and at the points of our primitives: see [Point].
//
//	V1  One goroutine has the turn: a carrier's, or that of the thread that is mounted there. current is the thread, nil while a carrier looks for
//	    one. What is not guarded by mu belongs to who has the turn.
//	V2  Before each choice the other goroutines of the bubble have come to rest (Settle). What they have submitted meanwhile is sorted, so
//	    that it does not matter who was first.
//	V3  Time passes only in [Simulated.pass], when nobody has the turn: all threads wait, or the only one that does not seems to wait in a
//	    loop. If time passes while a thread has the turn, that thread waits in an operation of Go's for another thread, or for a time: the alarm
//	    takes the turn away from it, and the simulation fails.
//	V4  After a failure each thread that has not ended gets a runtime.Goexit, where it goes on ([Simulated.tell]), so that nothing is left of it.
//	    What it has deferred is executed as usual, and gets one of its own only if all wait again.
type Simulated struct {
	o     SimulatedOptions
	begun time.Time
	clock *time.Timer // of pass
	alarm *time.Timer // V3
	wake  chan struct{}
	done  chan struct{}     // closed when nobody has the turn any more
	run   func(*Task) error // [Task.Run], which it would be an initialization cycle to call

	current  atomic.Pointer[actor]
	moves    atomic.Uint64 // counts what threads do, for who looks from outside
	settling atomic.Bool

	ready   []*actor // ascending
	mounted []*actor // of able
	chosen  *actor   // one of ready, that is to go on next
	spins   *actor   // goes on when time has passed
	choices int
	rests   time.Duration // when pass was last called, since begun
	rounds  int           // of V4
	waited  bool
	after   func() // see [Task.afterPark]
	numbers []int

	mu struct {
		sync.Mutex
		actors  map[flight.ThreadID]*actor
		all     []*actor
		arrived []*actor
		steps   stepLog
		timers  simulatedTimers
		idle    bool // a carrier is in pass
		ending  bool // V4
		over    bool
		failure *Failure
	}
}

// SimulatedOptions configure a [Simulated]. All but Carriers must be set.
type SimulatedOptions struct {
	// Settle returns when all other goroutines of the bubble wait for each other: synctest.Wait.
	Settle func()
	// Choose returns the index in c.Ready of the thread that goes on, or -1 to end the simulation. It keeps nothing of c.
	Choose func(c Choice) int
	// Carriers is how many threads there can be at most that are mounted, or wait pinned; 0: any number.
	Carriers int
	// MaxChoices is after how many choices the simulation fails, as one that does not end, or after ten times as many steps.
	MaxChoices int
}

// A Choice is to be made between threads, which have the numbers 1, 2, … in the order of their starts.
type Choice struct {
	Ready   []int // those that can go on, ascending; at least one
	Running int   // which of them is executing; 0: none, it has parked or ended
	Yields  bool  // the running one has offered its turn
}

// An actor is a thread as the simulation knows it.
type actor struct {
	number  int
	task    *Task // see act; guarded by mu, except for itself, and whoever has the turn
	silent  bool  // its next arrival needs no step of its own
	held    bool  // it is parked without having left its carrier
	inPlace bool  // it goes on there
	mounted bool  // it has a carrier, also while another has the turn; as of who has the turn
	lonely  int   // its points since anybody else could go on

	patience time.Duration // for how long time passed last, since then
	told     bool          // V4; guarded by mu
	pause    Pause
}

// hooks counts the simulations, and calls of [WatchStarts], that there are in the process.
var hooks struct {
	_ [64]byte // no line of a processor's cache with what is written often
	n atomic.Int32
	_ [60]byte
}

// Simulating reports whether there may be a simulation to tell of a [Point]. It costs one load.
func Simulating() bool { return hooks.n.Load() > 0 }

// NewSimulated returns a scheduler for the synctest bubble that the caller is in. [Simulated.Run] ends it.
func NewSimulated(o SimulatedOptions) *Simulated {
	s := &Simulated{o: o, begun: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{}), run: (*Task).Run}
	s.mu.actors = make(map[flight.ThreadID]*actor)
	s.clock = time.NewTimer(never)
	s.clock.Stop()
	s.alarm = time.AfterFunc(never, s.overdue)
	s.alarm.Stop()
	hooks.n.Add(1)
	return s
}

// never is longer than any time that is waited for. When it is over, nothing else was to happen before.
const never = 100 * 365 * 24 * time.Hour

// Run calls start, which starts threads on s, and waits until they and all that they have started have ended, or cannot. It returns how they failed, or
// nil. It is called once, on a goroutine of the bubble that is no thread.
func (s *Simulated) Run(start func()) *Failure {
	start()
	go s.carry()
	<-s.done
	m := &s.mu
	m.Lock()
	defer m.Unlock()
	m.over = true
	s.clock.Stop()
	s.alarm.Stop()
	if !s.anyLeftLocked() {
		hooks.n.Add(-1)
	} // else whoever is left, and goes on after all, ends at its next step
	return m.failure
}

// anyLeft reports whether there are threads that have not ended.
func (s *Simulated) anyLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.anyLeftLocked()
}

func (s *Simulated) anyLeftLocked() bool {
	return slices.ContainsFunc(s.mu.all, func(a *actor) bool { return !a.task.Done() || a.task.Adopted() })
}

// Execute submits a task.
func (s *Simulated) Execute(t *Task) error {
	by := s.acting()
	m := &s.mu
	m.Lock()
	if m.over {
		m.Unlock()
		return ErrClosed
	}
	a := m.actors[t.id]
	op := OpWake
	if a == nil {
		op = OpStart
		a = &actor{number: len(m.all) + 1, task: t}
		m.actors[t.id] = a
		m.all = append(m.all, a)
	}
	a.silent = a.silent || by != nil || op == OpStart
	s.arriveLocked(a)
	m.Unlock()
	if by != nil {
		s.note(by, Step{Op: op, Other: a.number})
	}
	return nil
}

// arriveLocked makes a one of those that can go on, and unlocks pass.
func (s *Simulated) arriveLocked(a *actor) {
	m := &s.mu
	m.arrived = append(m.arrived, a)
	s.stirLocked()
}

func (s *Simulated) stirLocked() {
	if s.mu.idle {
		s.mu.idle = false
		s.wake <- struct{}{} // has room: only one of us finds idle
	}
}

// acting returns the calling thread if it is one of s, and has the turn.
func (s *Simulated) acting() *actor {
	if t := Current(); t != nil && t.sched == Scheduler(s) {
		if a := s.current.Load(); a != nil && a.task == t && t.on.ret != nil {
			return a
		}
	}
	return nil
}

// carry has the turn until it has given it to somebody else, or all is over. It is the goroutine of a carrier.
func (s *Simulated) carry() {
	pprof.SetGoroutineLabels(context.Background()) // not a thread's: goroutines of threads are made here
	for {
		a := s.next()
		if a == nil {
			close(s.done)
			return
		}
		s.current.Store(a)
		s.alarm.Reset(1)
		if a.inPlace {
			a.inPlace = false
			a.task.timer.unpin <- struct{}{}
			return // its own carrier has the turn
		}
		_ = s.run(a.task) // whose errors are for callers that are threads, or locked
		if !s.current.CompareAndSwap(a, nil) {
			return // it gave the turn away while it was here
		}
		s.alarm.Stop()
		if s.after != nil {
			go s.after()
			s.after = nil
		}
	}
}

// next returns the thread that goes on, nil if there is none any more.
func (s *Simulated) next() *actor {
	for {
		if a := s.chosen; a != nil {
			s.chosen = nil
			return s.take(a)
		}
		s.settle()
		s.gather()
		if s.spins != nil {
			s.spin()
			continue
		}
		if able := s.able(nil); len(able) > 0 {
			return s.take(able[s.choose(Choice{Ready: s.numbersOf(able)})])
		}
		switch {
		case !s.anyLeft() || s.ends() && !s.unwind():
			return nil
		case !s.ends() && !s.pass(never) && s.anyLeft(): // one that was moved to another scheduler may have ended there
			s.fail(&Failure{Kind: Deadlock, At: s.rests})
		}
	}
}

// spin lets time pass for a thread that seems to wait for it in a loop: until a thread's timer is due, or, if there is none, for longer each time, since it may also compute.
func (s *Simulated) spin() {
	a := s.spins
	s.spins = nil
	if able := s.able(nil); s.ends() || !slices.Equal(able, []*actor{a}) {
		return
	}
	s.take(a)
	within := never
	if !s.hasTimers() {
		a.patience = min(max(2*a.patience, time.Millisecond), never)
		within = a.patience
	}
	if !s.pass(within) && within == never {
		s.fail(&Failure{Kind: Endless, At: s.rests})
	}
	s.insert(a)
}

func (s *Simulated) hasTimers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.mu.timers.first()
	return ok
}

func (s *Simulated) take(a *actor) *actor {
	i := slices.Index(s.ready, a)
	s.ready = slices.Delete(s.ready, i, i+1)
	a.mounted = true
	return a
}

// able returns those that are ready and have a carrier: their own, or a free one. yields gives its own away, if it is not nil.
func (s *Simulated) able(yields *actor) []*actor {
	m := &s.mu
	m.Lock()
	defer m.Unlock()
	if s.o.Carriers == 0 || m.ending || m.over {
		return s.ready
	}
	busy := 0
	for _, a := range m.all {
		if (a.mounted || a.held) && a != yields {
			busy++
		}
	}
	if busy < s.o.Carriers {
		return s.ready
	}
	s.mounted = s.mounted[:0]
	for _, a := range s.ready {
		if a.mounted {
			s.mounted = append(s.mounted, a)
		}
	}
	return s.mounted
}

func (s *Simulated) settle() {
	s.settling.Store(true)
	s.o.Settle()
	s.settling.Store(false)
}

// gather takes in what has arrived (V2).
func (s *Simulated) gather() {
	s.expire()
	m := &s.mu
	m.Lock()
	arrived := m.arrived
	m.arrived = nil
	m.Unlock()
	slices.SortFunc(arrived, func(a, b *actor) int { return a.number - b.number })
	for _, a := range arrived {
		if !a.silent {
			s.note(nil, Step{Op: OpArrive, Other: a.number})
		}
		a.silent = false
		s.insert(a)
	}
}

func (s *Simulated) insert(a *actor) {
	at, _ := slices.BinarySearchFunc(s.ready, a, func(x, y *actor) int { return x.number - y.number })
	s.ready = slices.Insert(s.ready, at, a)
}

func (s *Simulated) numbersOf(ready []*actor) []int {
	s.numbers = s.numbers[:0]
	for _, a := range ready {
		s.numbers = append(s.numbers, a.number)
	}
	return s.numbers
}

// choose returns the index of the one that goes on.
func (s *Simulated) choose(c Choice) int {
	s.choices++
	if s.choices == s.o.MaxChoices {
		s.fail(&Failure{Kind: Endless, At: s.elapsed()})
	}
	if s.ends() {
		return 0 // nobody is interested any more
	}
	i := s.o.Choose(c)
	if i < 0 {
		s.fail(&Failure{Kind: Stopped, At: s.elapsed()})
		return 0
	}
	return i
}

// pass lets time pass until a timer of a thread is due, or somebody has submitted one. It returns false if neither happens within that time.
func (s *Simulated) pass(within time.Duration) bool {
	m := &s.mu
	m.Lock()
	if len(m.arrived) > 0 {
		m.Unlock()
		return true
	}
	m.idle = true
	s.rests = s.elapsed()
	wait := within
	if when, ok := m.timers.first(); ok {
		wait = min(wait, when-s.now())
	}
	m.Unlock()
	s.clock.Reset(wait)
	select {
	case <-s.wake:
		s.clock.Stop()
		return true
	case <-s.clock.C:
	}
	m.Lock()
	defer m.Unlock()
	if !m.idle {
		<-s.wake
	}
	m.idle = false
	return wait < within
}

// now is the time in the form of timers.
func (s *Simulated) now() time.Duration { return time.Since(epoch) }
