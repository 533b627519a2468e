package flock_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// both runs f on a goroutine and on a thread.
func both(t *testing.T, f func(t *testing.T)) {
	t.Run("caller=goroutine", f)
	t.Run("caller=thread", func(t *testing.T) {
		vthread.Start(func() { f(t) }).Join()
	})
}

// A job is what a member does.
type job struct {
	member  flock.Member
	f       func()
	refused error
}

func (j *job) Run()              { j.f() }
func (j *job) Refused(err error) { j.refused = err }

// A set is a flock under test.
type set struct {
	flock.Flock
	t *testing.T
}

func open(t *testing.T, o flock.Options) *set {
	s := &set{t: t}
	s.Open(o)
	return s
}

func (s *set) start(f func()) *job {
	j := &job{f: f}
	if err := s.Start(&j.member, j, vthread.Builder{}, false); err != nil {
		s.t.Errorf("start: %v", err)
	}
	return j
}

// end waits for all and closes.
func (s *set) end() {
	if err := s.Await(sched.Limits{}, false); err != nil {
		s.t.Errorf("await: %v", err)
	}
	if live, queued := s.Count(); live != 0 || queued != 0 || len(s.Threads()) != 0 {
		s.t.Errorf("%d live, %d queued, threads %v after the await", live, queued, s.Threads())
	}
	s.Close()
}

func within(d time.Duration) sched.Limits {
	return sched.Limits{Until: sched.After(d), Interrupts: true}
}

// FL-07
func TestAllAreAwaitedWithAndWithoutTime(t *testing.T) {
	both(t, func(t *testing.T) {
		s := open(t, flock.Options{})
		for _, d := range []time.Duration{-time.Hour, -1, 1, time.Hour} {
			if err := s.Await(within(d), false); err != nil {
				t.Errorf("none, %v: got %v", d, err)
			}
		}
		release := make(chan struct{})
		s.start(func() { vthread.Recv(release) })
		for range 3 {
			began := time.Now()
			if err := s.Await(within(3*time.Millisecond), false); err != sched.ErrTimeout || time.Since(began) < 3*time.Millisecond {
				t.Errorf("one: got %v after %v, want a time-out after 3ms", err, time.Since(began))
			}
		}
		if err := s.Await(within(-time.Hour), false); err != sched.ErrTimeout {
			t.Errorf("one, no time at all: got %v, want a time-out", err)
		}
		close(release)
		if err := s.Await(within(time.Hour), false); err != nil {
			t.Errorf("got %v", err)
		}
		s.end()
		if err := s.Await(within(-1), false); err != nil {
			t.Errorf("after the close: got %v", err)
		}
	})
}

// FL-06
func TestAnOutsiderStartsAMemberAndWakesAnAwait(t *testing.T) {
	both(t, func(t *testing.T) {
		s := open(t, flock.Options{})
		release := make(chan struct{})
		outsider := make(chan struct{})
		go func() {
			defer close(outsider)
			s.start(func() { vthread.Recv(release) })
			s.Wake()
		}()
		if err := s.Await(sched.Limits{}, true); err != nil {
			t.Error(err)
		}
		vthread.Recv(outsider)
		if live, _ := s.Count(); live != 1 {
			t.Errorf("%d live, want 1", live)
		}
		close(release)
		s.end()
	})
}

// FL-09
func TestAnEarlyAwaitEndsWhenItIsWokenAndAnotherDoesNot(t *testing.T) {
	both(t, func(t *testing.T) {
		s := open(t, flock.Options{})
		release := make(chan struct{})
		s.start(func() { vthread.Recv(release) })
		var late atomic.Bool
		other := vthread.Start(func() { s.Await(sched.Limits{}, false); late.Store(true) })
		waker := vthread.Start(s.Wake)
		for range 2 { // also one that comes later
			if err := s.Await(sched.Limits{}, true); err != nil {
				t.Error(err)
			}
		}
		waker.Join()
		if late.Load() {
			t.Error("an await that is not early has returned")
		}
		close(release)
		other.Join()
		s.end()
	})
}

func TestAnInterruptReachesThoseThatBeginLaterAndNotTheQueued(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, limit := range []int{0, 2} {
			s := open(t, flock.Options{Limit: limit})
			var interrupted, executed atomic.Int32
			wait := func() {
				executed.Add(1)
				for !vthread.Interrupted() {
					vthread.Park()
				}
				interrupted.Add(1)
			}
			for range 5 {
				s.start(wait)
			}
			s.Interrupt()
			s.start(wait)
			s.end()
			want := int32(6)
			if limit > 0 {
				want = int32(limit) + 1
			}
			if executed.Load() != want || interrupted.Load() != want {
				t.Errorf("limit %d: %d were executed and %d interrupted, want %d", limit, executed.Load(), interrupted.Load(), want)
			}
		}
	})
}

func TestAQueuedThreadThatIsRefusedLetsTheNextBegin(t *testing.T) {
	defer collected(t)
	both(t, func(t *testing.T) {
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
		if err != nil {
			t.Error(err)
			return
		}
		n := 0
		s := open(t, flock.Options{Limit: 1, Factory: func(b vthread.Builder, f func()) *vthread.Thread {
			if n++; n == 2 {
				b.Scheduler = fj
			}
			return b.Unstarted(f)
		}})
		release := make(chan struct{})
		s.start(func() { vthread.Recv(release) })
		refused := s.start(func() { t.Error("executed") })
		executed := false
		s.start(func() { executed = true })
		if live, queued := s.Count(); live != 3 || queued != 2 {
			t.Errorf("%d live, %d queued, want 3 and 2", live, queued)
		}
		fj.Close()
		close(release)
		s.end()
		if !errors.Is(refused.refused, sched.ErrClosed) || !executed {
			t.Errorf("got %v, the next executed: %v", refused.refused, executed)
		}
	})
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

func TestAFactorysMistakeMakesNoMember(t *testing.T) {
	both(t, func(t *testing.T) {
		for want, factory := range map[error]flock.Factory{
			flock.ErrNoThread:  func(vthread.Builder, func()) *vthread.Thread { return nil },
			flock.ErrForeign:   func(vthread.Builder, func()) *vthread.Thread { return vthread.Start(func() {}) },
			vthread.ErrStarted: func(b vthread.Builder, _ func()) *vthread.Thread { return b.Start(func() {}) },
		} {
			s := open(t, flock.Options{Factory: factory})
			j := &job{f: func() { t.Error("executed") }}
			if err := s.Start(&j.member, j, vthread.Builder{}, false); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			s.end()
		}
	})
}

func TestTheFlightFileHasAFlockWhileItIsOpen(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	row := func(id flight.ScopeID) (found *flight.ScopeRow) {
		r, err := flight.Default().Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		rows, err := r.Scopes()
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if rows[i].ID == id {
				found = &rows[i]
			}
		}
		return found
	}
	outer := open(t, flock.Options{Name: "outer"})
	inner := open(t, flock.Options{Name: "inner", Parent: &outer.Scope, Owner: 7, Policy: "p", Limit: 3, Deadline: time.Now().Add(time.Minute)})
	got := row(inner.ID())
	if got == nil || got.Name != "inner" || got.Parent != outer.Scope.Index || got.Owner != 7 || got.Policy != "p" || got.Limit != 3 || got.Deadline == 0 {
		t.Errorf("got %+v", got)
	}
	inner.end()
	if got := row(inner.ID()); got != nil {
		t.Errorf("after the close: got %+v", got)
	}
	outer.end()
}
