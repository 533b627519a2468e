package vthread

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Kind tells what executes a thread. All kinds have the same methods, and stand in the same dump.
type Kind uint8

// The kinds of threads.
const (
	Virtual     Kind = iota // carriers of a scheduler, in turn with other threads
	OnGoroutine             // a goroutine of its own
	OnOSThread              // a goroutine of its own that is locked to an OS thread, which ends with it
	Adopted                 // the goroutine that calls [Builder.Run], for the time of the call
)

// String returns "virtual", "goroutine", "os-thread" or "adopted".
func (k Kind) String() string {
	switch k {
	case Virtual:
		return "virtual"
	case OnGoroutine:
		return "goroutine"
	case OnOSThread:
		return "os-thread"
	case Adopted:
		return "adopted"
	}
	return "unknown"
}

// A Builder makes threads. Its zero value makes what [Start] does. It may be copied and used again.
type Builder struct {
	// Name is the thread's first name. Empty for none.
	Name string

	// Count, if it is not nil, numbers the threads: the next number is appended to Name.
	Count *Counter

	// Kind tells what executes the thread.
	Kind Kind

	// Scheduler executes a virtual thread. nil means that of the calling thread, if it is virtual, or else the default. It
	// must be nil for the other kinds.
	Scheduler sched.Scheduler

	// Scope is the scope that the thread belongs to. nil means the root scope. Programs fork threads
	// through package structured instead of setting it.
	Scope *Scope

	// Context is the parent of [Thread.Context]. nil means that of the scope; for the root scope the values, without the cancellation,
	// of the calling thread's.
	Context context.Context

	// InterruptOnDone says that the thread is interrupted when Context ends, if that is set.
	InterruptOnDone bool

	// Labels are profiler labels of the thread (as those of runtime/pprof), beside those that it has from the calling thread's Labels,
	// from its scope (key vtscope.scope) and its name (vtscope.thread). The map must not be changed afterwards.
	Labels map[string]string

	// Locals tells what the thread has to do with [Local]s: it inherits the calling thread's, does not, or may have none.
	Locals LocalsMode

	// OnPanic is called on the thread when f has panicked, while the guilty frames still stand; stack is the
	// thread's stack in Go's form, and owned by OnPanic. The thread then ends as if f had
	// returned. nil means that a panic ends the program, as it does in a goroutine.
	OnPanic func(t *Thread, value any, stack []byte)
}

// A Counter numbers threads. It is safe for concurrent use.
type Counter struct{ next atomic.Int64 }

// CountFrom returns a counter whose first number is n.
func CountFrom(n int64) *Counter {
	c := new(Counter)
	c.next.Store(n)
	return c
}

func (c *Counter) take() int64 { return c.next.Add(1) - 1 }

// A Factory makes a thread that executes f when it is started.
type Factory func(f func()) *Thread

// Factory returns [Builder.Unstarted] of b as it is now.
func (b Builder) Factory() Factory { return b.Unstarted }

// Start starts a thread of the root scope that executes f, on the scheduler of the calling thread, or else the
// default. It does not block.
func Start(f func()) *Thread {
	me := sched.Current()
	t := newPlain(me, f)
	told := t.env.Load() != nil && t.tellLabels()
	if err := t.task.Start(me, sched.Birth{Entry: entryOf(f)}); err != nil {
		if told {
			t.untellLabels()
		}
		t.forgetLater()
		t.release()
		panic(fmt.Sprintf("vthread: start %s: %v", t, err))
	}
	sched.Point(sched.OpStart, flight.BlockThread(t.ID()))
	return t
}

// newPlain is Builder{}.make, without a look at fields that are zero: they cost more than a tenth of a start.
func newPlain(me *sched.Task, f func()) *Thread {
	if f == nil {
		panic("vthread: nil function")
	}
	t := &Thread{f: f}
	t.task.Init(sched.NewID(me), (*body)(t), nil)
	if me != nil {
		if env := threadOf(me).passedOn(); env != nil {
			t.env.Store(env)
		}
	}
	return t
}

// Start makes a thread that executes f, and starts it. It does not block. It panics if the scheduler refuses
// the thread; use [Builder.TryStart] where that can happen.
func (b Builder) Start(f func()) *Thread {
	t, err := b.TryStart(f)
	if err != nil {
		panic(err.Error())
	}
	return t
}

// StartHere is [Builder.Start] for a caller who waits for the thread from now on, as by [Thread.Join]. If the caller is a plain goroutine,
// and the thread is virtual and for the default scheduler, the goroutine executes the thread itself until that first parks, yields or ends: no
// carrier has to be woken, nor then the caller. It blocks for as long. Else it is Start. The caller must not hold what the thread may wait for.
func (b Builder) StartHere(f func()) *Thread {
	t, err := b.TryStartHere(f)
	if err != nil {
		panic(err.Error())
	}
	return t
}

// TryStartHere is [Builder.StartHere] that returns the scheduler's refusal, and then a thread that is new.
func (b Builder) TryStartHere(f func()) (*Thread, error) {
	t, err := b.tryStart(f, true)
	sched.Point(sched.OpStart, flight.BlockThread(t.ID()))
	return t, err
}

// TryStart is [Builder.Start] that returns the scheduler's refusal, and then a thread that is new.
func (b Builder) TryStart(f func()) (*Thread, error) {
	t, err := b.tryStart(f, false)
	sched.Point(sched.OpStart, flight.BlockThread(t.ID()))
	return t, err
}

// tryStart is TryStart for callers that hold a lock of Go's: no point of a simulation.
func (b *Builder) tryStart(f func(), here bool) (*Thread, error) {
	me := sched.Current()
	t := b.make(me, f)
	told := t.tellLabels()
	var err error
	if here {
		err = t.task.StartHere(me, t.birth(f))
	} else {
		err = t.task.Start(me, t.birth(f))
	}
	if err != nil {
		if told {
			t.untellLabels()
		}
		t.forgetLater()
		t.release()
		return t, fmt.Errorf("vthread: start %s: %w", t, err)
	}
	return t, nil
}

// Unstarted makes a thread that executes f when [Thread.Start] is called. It stands in dumps as new.
func (b Builder) Unstarted(f func()) *Thread {
	me := sched.Current()
	t := b.make(me, f)
	t.task.Announce(me, t.birth(f))
	t.forgetLater()
	return t
}

// forgetLater sees that a new thread does not stand in dumps forever if it is never started.
func (t *Thread) forgetLater() {
	if rec := t.task.Record(); rec != nil {
		t.uncommon().unstarted = runtime.AddCleanup(t, sched.Forget, rec)
	}
}

func (b *Builder) make(me *sched.Task, f func()) *Thread {
	if f == nil {
		panic("vthread: nil function")
	}
	t := &Thread{f: f, scope: b.Scope}
	s := b.Scheduler
	if b.Kind != Virtual {
		s = b.own()
	}
	t.task.Init(sched.NewID(me), (*body)(t), s)
	var env *environment
	if me != nil {
		env = threadOf(me).passedOn()
	}
	if env = env.in(b.Locals); env != nil {
		t.env.Store(env)
	}
	if b.special() {
		b.equip(t)
	}
	return t
}

// own is the scheduler of kinds that have a goroutine of their own.
func (b *Builder) own() sched.Scheduler {
	if b.Scheduler != nil {
		panic(fmt.Sprintf("vthread: a thread of kind %s has no scheduler", b.Kind))
	}
	switch b.Kind {
	case OnGoroutine:
		return sched.Goroutines
	case OnOSThread:
		return sched.OSThreads
	case Adopted:
		panic("vthread: a thread of kind adopted executes in its caller: use Run")
	}
	panic(fmt.Sprintf("vthread: there is no kind %d", b.Kind))
}

// special reports whether the builder gives a thread anything that most have not.
func (b *Builder) special() bool {
	return b.Name != "" || b.Count != nil || b.OnPanic != nil || b.Context != nil || len(b.Labels) > 0
}

// equip gives t what is special.
func (b *Builder) equip(t *Thread) {
	r := t.uncommon()
	if name := b.Name; name != "" || b.Count != nil {
		if b.Count != nil {
			name += strconv.FormatInt(b.Count.take(), 10)
		}
		r.firstName = name
		r.name.Store(&r.firstName)
	}
	r.onPanic = b.OnPanic
	r.parent = b.Context
	if b.InterruptOnDone && b.Context != nil {
		t.task.HeedLater()
	}
	if len(b.Labels) > 0 {
		r.labels = b.Labels
	}
}

// birth describes t for its record. f is its function, if the caller knows it: t drops it when it begins.
func (t *Thread) birth(f func()) sched.Birth {
	birth := sched.Birth{Name: t.Name()}
	if flight.Default() != nil {
		if f != nil {
			birth.Entry = entryOf(f)
		}
		birth.Flags = recordFlags[t.Kind()]
		if t.scope != nil {
			birth.Scope = t.scope.Index
		}
	}
	return birth
}

var recordFlags = [...]flight.RecordFlags{OnGoroutine: flight.RecordOnGoroutine, OnOSThread: flight.RecordOnOSThread, Adopted: flight.RecordAdopted}

// entryOf is the program counter of f, as reflect.Value.Pointer tells it: the first word of what a function value points to.
func entryOf(f func()) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

// Start starts a thread made by [Builder.Unstarted]. It returns [ErrStarted] if it was started before, and
// otherwise what the scheduler returns; then it may be started again. It does not block.
func (t *Thread) Start() error {
	told := t.tellLabels()
	if err := t.task.Start(sched.Current(), t.birth(nil)); err != nil {
		if told {
			t.untellLabels()
		}
		t.release()
		return fmt.Errorf("vthread: start %s: %w", t, err)
	}
	if r := t.rare.Load(); r != nil {
		r.unstarted.Stop()   // which does nothing if there is none
		runtime.KeepAlive(t) // else it may be under way, and the record somebody else's by now
	}
	sched.Point(sched.OpStart, flight.BlockThread(t.ID()))
	return nil
}
