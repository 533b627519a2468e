package structured_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

var errBoom = errors.New("boom")

// opened opens a scope.
func opened(t *testing.T, o structured.Options) *structured.Scope {
	s, err := o.Open(context.Background())
	if err != nil {
		t.Error(err)
		return structured.Open(context.Background(), "instead")
	}
	return s
}

// closes closes a scope, which must have nothing to say.
func closes(t *testing.T, s *structured.Scope) {
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// panicsWith calls f, which must panic with something that has the words.
func panicsWith(t *testing.T, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		v := recover()
		text, _ := v.(string)
		if err, ok := v.(error); ok {
			text = err.Error()
		}
		if !strings.Contains(text, words) {
			t.Errorf("got panic %v, want one with %q", v, words)
		}
	}()
	f()
}

// untilCancelled is a subtask that ends when its scope is cancelled.
func untilCancelled() error {
	for !vthread.Interrupted() {
		vthread.Park()
	}
	return vthread.ErrInterrupted
}

// elsewhere calls f on a thread and on a goroutine that are not the caller.
func elsewhere(f func(who string)) {
	vthread.Start(func() { f("thread") }).Join()
	done := make(chan struct{})
	go func() { defer close(done); f("goroutine") }()
	<-done
}

// ST-01
func TestEachForkHasAVirtualThreadWithoutNameOfItsOwn(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		defer closes(t, s)
		var ids atomic.Int64
		seen := make([]*vthread.Thread, 3)
		made := make([]*vthread.Thread, 3)
		for i := range 2 {
			made[i] = s.Fork(func() error { seen[i] = vthread.Current(); ids.Add(1); return nil })
		}
		made[2] = structured.Fork(s, func() (int, error) { seen[2] = vthread.Current(); ids.Add(1); return 0, nil }).Thread()
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		for i, th := range seen {
			if th != made[i] || th.Kind() != vthread.Virtual || th.Name() != "" || slices.Contains(seen[:i], th) {
				t.Errorf("fork %d: got thread %v, made as %v", i, th, made[i])
			}
		}
	})
}

// ST-02
func TestTheGivenFactoryAndSchedulerMakeTheThreads(t *testing.T) {
	both(t, func(t *testing.T) {
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
		if err != nil {
			t.Error(err)
			return
		}
		defer fj.Close()
		n := 0
		factory := func(b vthread.Builder, f func()) *vthread.Thread {
			n++
			b.Locals = vthread.NoLocals
			return b.Unstarted(f)
		}
		for _, limit := range []int{0, 1} {
			s := opened(t, structured.Options{Scheduler: fj, Factory: factory, Limit: limit})
			local := vthread.NewLocal[int]()
			for range 3 {
				s.ForkNamed("x", func() error {
					me := vthread.Current()
					if me.Name() != "x" || me.Scheduler() != sched.Scheduler(fj) {
						t.Errorf("got thread %v on %v", me, me.Scheduler())
					}
					if local.Set(1) == nil {
						t.Error("the thread has locals: not of the factory")
					}
					return nil
				})
			}
			if err := s.Join(); err != nil {
				t.Error(err)
			}
			closes(t, s)
		}
		if n != 6 {
			t.Errorf("the factory was called %d times, want 6", n)
		}
	})
}

func TestAQueuedThreadHasTheOwnersSchedulerWhoeverStartsIt(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	vthread.Builder{Scheduler: fj}.Start(func() {
		elsewhere := true
		s := opened(t, structured.Options{Limit: 1, Factory: func(b vthread.Builder, f func()) *vthread.Thread {
			if elsewhere {
				b.Scheduler, b.Kind, elsewhere = nil, vthread.OnGoroutine, false
			}
			return b.Unstarted(f)
		}})
		defer closes(t, s)
		release := make(chan struct{})
		s.Fork(func() error { vthread.Recv(release); return nil })
		s.Fork(func() error {
			if got := vthread.Current().Scheduler(); got != sched.Scheduler(fj) {
				t.Errorf("got scheduler %v, want the owner's", got)
			}
			return nil
		})
		close(release)
		if err := s.Join(); err != nil {
			t.Error(err)
		}
	}).Join()
}

// ST-03, ST-13, ST-25
func TestNobodyButTheOwnerForksJoinsOrCloses(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		calls := map[string]func(){
			"fork":  func() { s.Fork(func() error { return nil }) },
			"join":  func() { s.Join() },
			"close": func() { s.Close() },
		}
		for what, call := range calls {
			elsewhere(func(string) { panicsWith(t, what+" in scope", call) })
			s.Fork(func() error { panicsWith(t, "only its owner", call); return nil })
		}
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		closes(t, s)
		elsewhere(func(string) { panicsWith(t, "only its owner", calls["close"]) }) // closed before or not
	})
}

// ST-04
func TestNothingIsForkedAfterAJoin(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, o := range map[string]structured.Options{"joined": {}, "late": {Deadline: past}} {
			for _, forks := range []int{0, 1} {
				s := opened(t, o)
				for range forks {
					s.Fork(func() error { return nil })
				}
				if err := s.Join(); (err != nil) != (name == "late") {
					t.Errorf("%s: join: %v", name, err)
				}
				panicsWith(t, "it was joined", func() { s.Fork(func() error { return nil }) })
				closes(t, s)
			}
		}
	})
	vthread.Start(func() {
		s := opened(t, structured.Options{})
		s.Fork(untilCancelled)
		vthread.Current().Interrupt()
		if err := s.Join(); err != vthread.ErrInterrupted {
			t.Errorf("join: got %v, want ErrInterrupted", err)
		}
		panicsWith(t, "it was joined", func() { s.Fork(func() error { return nil }) })
		closes(t, s)
	}).Join()
}

// A recorder is a policy that tells what it was told.
type recorder struct {
	results     int // calls of Result
	forks, ends atomic.Int32
	cancels     string // "fork" or "complete"
	panics      string
	onTimeout   func(error) error
}

func (r *recorder) OnFork(structured.Task) bool {
	r.forks.Add(1)
	if r.panics == "fork" {
		panic(errBoom)
	}
	return r.cancels == "fork"
}

//go:noinline
func (r *recorder) OnComplete(structured.Task) bool {
	r.ends.Add(1)
	if r.panics == "complete" {
		panic(errBoom)
	}
	return r.cancels == "complete"
}

func (r *recorder) OnTimeout(err error) error {
	if r.onTimeout != nil {
		return r.onTimeout(err)
	}
	return err
}

func (r *recorder) Result() error { r.results++; return nil }

// ST-05, FL-05
func TestAForkAfterACancelMakesNoThread(t *testing.T) {
	both(t, func(t *testing.T) {
		p := new(recorder)
		s := opened(t, structured.Options{Policy: p})
		s.Cancel(errBoom)
		var executed atomic.Bool
		a := structured.Fork(s, func() (int, error) { executed.Store(true); return 1, nil })
		b := s.Fork(func() error { executed.Store(true); return nil })
		if a.Thread() != nil || b != nil {
			t.Errorf("got threads %v and %v, want none", a.Thread(), b)
		}
		if err := s.Join(); err != errBoom {
			t.Errorf("join: got %v, want the cause", err)
		}
		if forks, ends := p.forks.Load(), p.ends.Load(); forks != 2 || ends != 0 {
			t.Errorf("the policy was told of %d forks and %d ends, want 2 and 0", forks, ends)
		}
		if a.State() != structured.Unavailable || executed.Load() {
			t.Errorf("got state %v, executed %v", a.State(), executed.Load())
		}
		closes(t, s)
	})
}

// ST-06, ST-16
func TestNothingIsForkedOrJoinedAfterAClose(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		closes(t, s)
		panicsWith(t, "closed", func() { s.Fork(func() error { return nil }) })
		panicsWith(t, "closed", func() { s.Join() })
	})
}

// ST-07, FL-05
func TestAFactoryMustMakeAThreadOfTheScopeAndNotStartIt(t *testing.T) {
	both(t, func(t *testing.T) {
		for words, factory := range map[string]structured.Factory{
			"made no thread": func(vthread.Builder, func()) *vthread.Thread { return nil },
			"started before": func(b vthread.Builder, _ func()) *vthread.Thread {
				return vthread.Builder{Scope: b.Scope}.Start(func() {})
			},
			"another scope":   func(vthread.Builder, func()) *vthread.Thread { return vthread.Start(func() {}) },
			"factory's panic": func(vthread.Builder, func()) *vthread.Thread { panic("factory's panic") },
		} {
			s := opened(t, structured.Options{Factory: factory})
			panicsWith(t, words, func() { s.Fork(func() error { return nil }) })
			if err := s.Join(); err != nil {
				t.Errorf("%s: join: %v", words, err)
			}
			closes(t, s)
		}
	})
}

// ST-29
func TestAPanicOfOnForkComesOutOfTheFork(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Policy: &recorder{panics: "fork"}})
		panicsWith(t, "boom", func() { s.Fork(func() error { t.Error("it was executed"); return nil }) })
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		closes(t, s)
	})
}

// ST-30
func TestOnForkMayCancel(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Policy: &recorder{cancels: "fork"}})
		if th := s.Fork(func() error { t.Error("it was executed"); return nil }); th != nil || !s.Canceled() {
			t.Errorf("got thread %v, cancelled %v", th, s.Canceled())
		}
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		closes(t, s)
	})
}

// ST-31
func TestAPanicOfOnCompleteIsOneOfTheThread(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Policy: &recorder{panics: "complete"}})
		s.Fork(func() error { return nil })
		func() {
			defer func() {
				p, _ := recover().(*structured.Panic)
				if p == nil || p.Value != errBoom || !strings.Contains(string(p.Stack), "OnComplete") {
					t.Errorf("got %v, want the panic of OnComplete", p)
				}
			}()
			s.Join()
		}()
		closes(t, s)

		handled := make(chan any, 1)
		s = opened(t, structured.Options{
			Policy: &recorder{panics: "complete"},
			Factory: func(b vthread.Builder, f func()) *vthread.Thread {
				b.OnPanic = func(_ *vthread.Thread, value any, _ []byte) { handled <- value }
				return b.Unstarted(f)
			},
		})
		s.Fork(func() error { return nil })
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		if v := <-handled; v != errBoom {
			t.Errorf("the thread's handler got %v", v)
		}
		closes(t, s)
	})
}

// ST-32, ST-21
func TestOnCompleteMayCancelAndThenTheOthersAreInterrupted(t *testing.T) {
	both(t, func(t *testing.T) {
		p := &recorder{cancels: "complete"}
		s := opened(t, structured.Options{Policy: p})
		var interrupted atomic.Int32
		for range 3 {
			s.Fork(func() error {
				untilCancelled()
				<-vthread.Current().Context().Done()
				<-s.Context().Done()
				interrupted.Add(1)
				return nil
			})
		}
		first := structured.Fork(s, func() (string, error) { return "enough", nil })
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		if v, err := first.Get(); v != "enough" || err != nil {
			t.Errorf("got %q, %v", v, err)
		}
		closes(t, s)
		if interrupted.Load() != 3 || p.ends.Load() != 1 {
			t.Errorf("%d were interrupted, want 3; the policy was told of %d ends, want 1", interrupted.Load(), p.ends.Load())
		}
	})
}

func TestARefusalOfTheSchedulerIsAnErrorOfTheSubtask(t *testing.T) {
	defer collected(t)
	both(t, func(t *testing.T) {
		for _, limit := range []int{0, 1} {
			fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
			if err != nil {
				t.Error(err)
				return
			}
			fj.Close()
			s := opened(t, structured.Options{Scheduler: fj, Limit: limit})
			sub := structured.Fork(s, func() (int, error) { return 1, nil })
			if err := s.Join(); !errors.Is(err, sched.ErrClosed) {
				t.Errorf("limit %d: join: got %v, want ErrClosed", limit, err)
			}
			if sub.State() != structured.Failed || !errors.Is(sub.Err(), sched.ErrClosed) {
				t.Errorf("limit %d: got %v, %v", limit, sub.State(), sub.Err())
			}
			closes(t, s)
		}
	})
}

func TestAForkIsInTheFlightFileUnderItsScope(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	s := opened(t, structured.Options{Name: "visible"})
	s.Fork(func() error {
		if at := vthread.Current().Scope().Index; at == 0 {
			t.Error("the thread is in the root scope")
		}
		return nil
	})
	if err := s.Join(); err != nil {
		t.Error(err)
	}
	closes(t, s)
}

// collected waits until threads that were refused, and that nobody can start any more, have left the flight file.
func collected(t *testing.T) {
	if flight.Default() == nil {
		return
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		runtime.GC()
		left := 0
		_, err := r.Threads(context.Background(), func(rows []flight.ThreadRow) {
			for _, row := range rows {
				if row.State == flight.StateNew {
					left++
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
	}
	t.Error("there are still new threads")
}

// The owner executes the first part of what it forks here, and joins the rest as any thread.
func TestForkHereIsForkForAnOwnerWhoJoinsNext(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := structured.Run(t.Context(), "here", func(s *structured.Scope) error {
			var owner flight.CarrierID
			a := s.ForkHere("first", func() error {
				owner = sched.CarrierOf(sched.Current())
				vthread.Sleep(time.Millisecond)
				return nil
			})
			if a.Name() != "first" || owner != flight.NoCarrier {
				t.Errorf("thread %v was executed by carrier %d, want none", a, owner)
			}
			if b := s.ForkHere("second", func() error { return errors.New("failed") }); b.State() != flight.StateDone {
				t.Errorf("thread %v is %s when it was forked, want it done", b, b.State())
			}
			if c := s.ForkHere("third", func() error { return nil }); c != nil {
				t.Errorf("got thread %v in a scope that has failed", c)
			}
			return s.Join()
		})
		if err == nil || err.Error() != "failed" {
			t.Errorf("got %v, want what the second failed with", err)
		}
		limited, err := structured.Options{Limit: 1}.Open(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		release := make(chan struct{})
		limited.ForkHere("waits", func() error { <-release; return nil })
		close(release)
		if err := errors.Join(limited.Join(), limited.Close()); err != nil {
			t.Error(err)
		}
	}()
	<-done
}
