package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// LC-01: and whatever it waits for, nested continuations included.
// LC-12: the same thread is the same pointer, and no other.
func TestCurrentIsTheSameThreadBeforeAndAfterEveryWait(t *testing.T) {
	prompt := continuation.NewPrompt("conformance")
	everywhere(t, axes{callers: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		var me atomic.Pointer[vthread.Thread]
		same := func(when string) {
			if got := vthread.Current(); got != me.Load() {
				w.Errorf("%s: Current: got %v, want %v", when, got, me.Load())
			}
		}
		var mu vsync.Mutex
		mu.Lock()
		named := newGate()
		parked := make(chan struct{})
		th := w.start(func() {
			named.pass()
			same("at first")
			vthread.Park()
			same("after a park")
			vthread.ParkFor(time.Millisecond)
			same("after a timed park")
			vthread.Sleep(time.Millisecond)
			same("after a sleep")
			vthread.Yield()
			same("after a yield")
			other := vthread.Start(func() {
				vthread.Sleep(time.Millisecond)
				if vthread.Current() == me.Load() {
					w.Error("Current of another thread is the first one")
				}
			})
			other.Join()
			same("after a join")
			c := continuation.New(prompt, func() {
				same("in a continuation")
				vthread.Sleep(time.Millisecond)
				same("in a continuation, after a sleep")
			})
			c.Run()
			same("after a continuation")
			parked <- struct{}{}
			same("after an operation of a channel")
			mu.Lock()
			same("with a lock that was held")
			mu.Unlock()
			same("without it")
		})
		me.Store(th)
		named.open()
		w.awaitParked(th)
		th.Unpark()
		<-parked
		w.awaitState(th, w.paused(flight.StateBlocked))
		mu.Unlock()
		w.join(th)
		if all := map[*vthread.Thread]string{th: "first", vthread.Current(): "caller"}; all[th] != "first" {
			t.Errorf("the thread as key: got %q, want first", all[th])
		}
	})
}

// A keeper is a scheduler that keeps its tasks, until somebody runs them.
type keeper struct {
	refuse error // of every task
	mu     struct {
		sync.Mutex
		tasks []*sched.Task
	}
}

func (k *keeper) Execute(t *sched.Task) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.tasks = append(k.mu.tasks, t)
	return k.refuse
}

// run runs the oldest task on a goroutine of its own, until it leaves that.
func (k *keeper) run(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	if len(k.mu.tasks) == 0 {
		k.mu.Unlock()
		t.Fatal("no task was submitted")
	}
	task := k.mu.tasks[0]
	k.mu.tasks = k.mu.tasks[1:]
	k.mu.Unlock()
	done := make(chan error)
	go func() { done <- task.Run() }()
	if err := <-done; err != nil {
		t.Errorf("run a task: %v", err)
	}
}

// LC-02
func TestATaskThatWasNotStartedRunsNothing(t *testing.T) {
	k := &keeper{refuse: errors.New("not today")}
	var runs atomic.Int32
	th, err := vthread.Builder{Scheduler: k}.TryStart(func() { runs.Add(1) })
	if !errors.Is(err, k.refuse) {
		t.Fatalf("start: got %v, want %v", err, k.refuse)
	}
	k.run(t)
	if got := th.State(); runs.Load() != 0 || got != flight.StateNew {
		t.Errorf("a refused task was run: got %d calls in state %v, want 0, new", runs.Load(), got)
	}
	k.refuse = nil
	if err := th.Start(); err != nil {
		t.Fatal(err)
	}
	k.run(t)
	join(t, th)
	if runs.Load() != 1 {
		t.Errorf("started: got %d calls, want 1", runs.Load())
	}
}

// LC-03
func TestStartRunsTheFunctionOnceAndUnstartedDoesNot(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true}, func(w *world) {
		var runs atomic.Int32
		th := w.builder().Unstarted(func() { runs.Add(1) })
		w.join(w.start(func() { vthread.Sleep(time.Millisecond) })) // one that is started runs meanwhile
		if got := th.State(); runs.Load() != 0 || got != flight.StateNew {
			w.Errorf("unstarted: got %d calls in state %v, want 0, new", runs.Load(), got)
		}
		if err := th.Start(); err != nil {
			w.Fatal(err)
		}
		w.join(th)
		if runs.Load() != 1 {
			w.Errorf("started: got %d calls, want 1", runs.Load())
		}
	})
}

// LC-04, LC-05
func TestASecondStartFailsInEveryState(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		var runs atomic.Int32
		fails := func(th *vthread.Thread, when string) {
			if err := th.Start(); !errors.Is(err, vthread.ErrStarted) {
				w.Errorf("%s: got %v, want ErrStarted", when, err)
			}
		}
		th := w.start(func() {
			runs.Add(1)
			fails(vthread.Current(), "mounted")
			vthread.Park()
		})
		fails(th, "started")
		w.awaitParked(th)
		fails(th, "parked")
		th.Unpark()
		w.join(th)
		fails(th, "done")
		if runs.Load() != 1 {
			w.Errorf("got %d calls, want 1", runs.Load())
		}
	})
}

// panics reports whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// LC-06: nothing to run is refused at once.
// LC-30: by every way to make a thread.
func TestNoFunctionIsRefused(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true}, func(w *world) {
		b := w.builder()
		for name, f := range map[string]func(){
			"vthread.Start": func() { vthread.Start(nil) },
			"Start":         func() { b.Start(nil) },
			"TryStart":      func() { b.TryStart(nil) },
			"Unstarted":     func() { b.Unstarted(nil) },
			"Factory":       func() { b.Factory()(nil) },
		} {
			if !panics(f) {
				w.Errorf("%s of no function: got no panic", name)
			}
		}
	})
}

// LC-06
func TestStartMakesAVirtualThreadThatIsCurrentInside(t *testing.T) {
	everywhere(t, axes{callers: true}, func(w *world) {
		seen := make(chan *vthread.Thread, 1)
		th := vthread.Start(func() { seen <- vthread.Current() })
		if got := <-seen; got != th {
			w.Errorf("Current inside: got %v, want %v", got, th)
		}
		if got := th.Kind(); got != vthread.Virtual {
			w.Errorf("kind: got %v, want virtual", got)
		}
		w.join(th)
	})
}

// LC-08: LC-13's String follows.
func TestANameIsSetByAnybodyInAnyState(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true, pins: true}, func(w *world) {
		rename := func(th *vthread.Thread, name, when string) {
			th.SetName(name)
			if got := th.Name(); got != name {
				w.Errorf("%s: got name %q, want %q", when, got, name)
			}
			if got := th.String(); name != "" && !strings.Contains(got, fmt.Sprintf("%q", name)) {
				w.Errorf("%s: String: got %s, want it with %q", when, got, name)
			}
		}
		th := w.builder().Unstarted(w.pinned(func() {
			rename(vthread.Current(), "itself", "by itself")
			vthread.Park()
			rename(vthread.Current(), "", "no name again")
		}))
		if got := th.Name(); got != "" {
			w.Errorf("at first: got name %q, want none", got)
		}
		rename(th, "before", "before the start")
		if err := th.Start(); err != nil {
			w.Fatal(err)
		}
		w.awaitParked(th)
		if got := th.Name(); got != "itself" {
			w.Errorf("parked: got name %q, want itself", got)
		}
		rename(th, "other", "while it is parked")
		th.Unpark()
		w.join(th)
		if got := th.Name(); got != "" {
			w.Errorf("at its end: got name %q, want none", got)
		}
		rename(th, "after", "after its end")
	})
}

// LC-11
func TestIdsAreUniqueAndDoNotChange(t *testing.T) {
	var mu sync.Mutex
	owner := map[flight.ThreadID]*vthread.Thread{}
	everywhere(t, axes{callers: true, kinds: true, pins: true}, func(w *world) {
		var all [20]*vthread.Thread
		var first [20]flight.ThreadID
		for i := range all {
			all[i] = w.builder().Unstarted(w.pinned(func() {
				me := vthread.Current()
				before := me.ID()
				vthread.Sleep(time.Millisecond)
				if got := me.ID(); got != before {
					w.Errorf("after a sleep: got id %d, want %d", got, before)
				}
			}))
			first[i] = all[i].ID()
		}
		for _, th := range all {
			if err := th.Start(); err != nil {
				w.Error(err)
			}
		}
		for i, th := range all {
			w.join(th)
			if got := th.ID(); got != first[i] || got == 0 {
				w.Errorf("at its end: got id %d, want %d and not 0", got, first[i])
			}
			mu.Lock()
			if other := owner[first[i]]; other != nil {
				w.Errorf("%v and %v have the same id", other, th)
			}
			owner[first[i]] = th
			mu.Unlock()
		}
	})
}

// LC-13
func TestStringHasTheNameInEveryState(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true, pins: true}, func(w *world) {
		b := w.builder()
		b.Name = "so called"
		wants := func(th *vthread.Thread, s flight.State) {
			w.Helper()
			if got, want := th.String(), fmt.Sprintf("#%d %q %v", th.ID(), "so called", s); got != want {
				w.Errorf("got %s, want %s", got, want)
			}
		}
		other := vthread.Start(func() { vthread.Park() })
		var waits atomic.Int32
		th := b.Unstarted(w.pinned(func() {
			wants(vthread.Current(), flight.StateMounted)
			for _, wait := range []func(){func() { vthread.Park() }, func() { vthread.ParkFor(time.Hour) }, func() { other.Join() }} {
				waits.Add(1)
				wait()
			}
		}))
		wants(th, flight.StateNew)
		if err := th.Start(); err != nil {
			w.Fatal(err)
		}
		for i, s := range []flight.State{flight.StateParked, flight.StateTimedParked, flight.StateWaiting} {
			s = w.paused(s)
			await(w.T, s.String(), func() bool { return int(waits.Load()) == i+1 && th.State() == s })
			wants(th, s)
			if i == 2 {
				other.Unpark()
			} else {
				th.Unpark()
			}
		}
		w.join(th)
		wants(th, flight.StateDone)
	})
}

// LC-19
func TestAThreadIsAliveFromItsStartToItsEnd(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true, pins: true}, func(w *world) {
		alive := func(th *vthread.Thread) bool { return th.State() != flight.StateNew && th.State() != flight.StateDone }
		th := w.builder().Unstarted(w.pinned(func() {
			if !alive(vthread.Current()) {
				w.Error("mounted: not alive")
			}
			vthread.Park()
		}))
		if alive(th) {
			w.Error("unstarted: alive")
		}
		if err := th.Start(); err != nil {
			w.Fatal(err)
		}
		if !alive(th) {
			w.Error("started: not alive")
		}
		w.awaitParked(th)
		if !alive(th) {
			w.Error("parked: not alive")
		}
		th.Unpark()
		w.join(th)
		if alive(th) {
			w.Error("ended: alive")
		}
	})
}

// LC-29
func TestAllWaysToMakeAThreadGiveTheSameAttributes(t *testing.T) {
	type key struct{}
	everywhere(t, axes{callers: true, kinds: true}, func(w *world) {
		scope := &vthread.Scope{Ended: func(*vthread.Thread, flight.Reason) {}}
		b := w.builder()
		b.Name = "worker"
		b.Scope = scope
		b.Context = context.WithValue(context.Background(), key{}, "passed")
		b.Labels = map[string]string{"kind": "test"}
		make := func(factory vthread.Factory) func(f func()) *vthread.Thread {
			return func(f func()) *vthread.Thread {
				th := factory(f)
				if err := th.Start(); err != nil {
					w.Error(err)
				}
				return th
			}
		}
		for name, start := range map[string]func(f func()) *vthread.Thread{
			"Start": b.Start,
			"TryStart": func(f func()) *vthread.Thread {
				th, err := b.TryStart(f)
				if err != nil {
					w.Error(err)
				}
				return th
			},
			"Unstarted": make(b.Unstarted),
			"Factory":   make(b.Factory()),
		} {
			var value any
			th := start(func() { value = vthread.Current().Context().Value(key{}) })
			w.join(th)
			if value != "passed" {
				w.Errorf("%s: got value %v of the context, want it passed", name, value)
			}
			if th.Name() != "worker" || th.Kind() != w.kind || th.Scope() != scope {
				w.Errorf("%s: got %q, %v, %p, want worker, %v, %p", name, th.Name(), th.Kind(), th.Scope(), w.kind, scope)
			}
			if w.kind == vthread.Virtual && th.Scheduler() != w.sched {
				w.Errorf("%s: got another scheduler", name)
			}
		}
	})
}

// LC-29
func TestACounterCountsUpOverAllThreadsMadeWithIt(t *testing.T) {
	everywhere(t, axes{callers: true, kinds: true}, func(w *world) {
		b := w.builder()
		b.Name, b.Count = "worker-", vthread.CountFrom(7)
		factory := b.Factory()
		nothing := func() {}
		started := b.Start(nothing)
		for i, th := range []*vthread.Thread{started, b.Unstarted(nothing), factory(nothing), b.Factory()(nothing), factory(nothing), b.Unstarted(nothing)} {
			if want := fmt.Sprint("worker-", 7+i); th.Name() != want {
				w.Errorf("got %q, want %q", th.Name(), want)
			}
		}
		w.join(started)
		b.Count = nil
		if a, b := b.Unstarted(nothing).Name(), b.Factory()(nothing).Name(); a != "worker-" || b != a {
			w.Errorf("without a counter: got %q, %q, want worker- twice", a, b)
		}
		b.Name, b.Count = "", vthread.CountFrom(0)
		if got := b.Unstarted(nothing).Name(); got != "0" {
			w.Errorf("a counter alone: got %q, want 0", got)
		}
	})
}
