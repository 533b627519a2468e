package structured_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

var nilContext context.Context

// past is over.
var past = time.Unix(1, 0)

// soon is a deadline that comes.
func soon() time.Time { return time.Now().Add(5 * time.Millisecond) }

// ST-08, ST-22
func TestAScopeWithoutForksMayBeJoinedOrNot(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		closes(t, s)
		closes(t, opened(t, structured.Options{}))
	})
}

// ST-09
func TestAJoinWaitsForAllOthers(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		var n atomic.Int32
		for i := range 20 {
			s.Fork(func() error { vthread.Sleep(time.Duration(i%5) * time.Millisecond); n.Add(1); return nil })
		}
		if err := s.Join(); err != nil || n.Load() != 20 {
			t.Errorf("got %v after %d, want 20", err, n.Load())
		}
		closes(t, s)
	})
}

// ST-10
func TestThereIsNoSecondJoin(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			o    structured.Options
			fork error
		}{"result": {}, "error": {fork: errBoom}, "time-out": {o: structured.Options{Deadline: past}}} {
			s := opened(t, c.o)
			s.Fork(func() error { return c.fork })
			if err := s.Join(); (err == nil) != (name == "result") {
				t.Errorf("%s: join: %v", name, err)
			}
			panicsWith(t, "it was joined", func() { s.Join() })
			closes(t, s)
		}
	})
}

// ST-12
func TestThereIsNoJoinInOnTimeout(t *testing.T) {
	both(t, func(t *testing.T) {
		var s *structured.Scope
		called := false
		s = opened(t, structured.Options{Deadline: past, Policy: &recorder{onTimeout: func(err error) error {
			called = true
			panicsWith(t, "it was joined", func() { s.Join() })
			return err
		}}})
		if err := s.Join(); !errors.Is(err, context.DeadlineExceeded) || !called {
			t.Errorf("join: got %v, OnTimeout called: %v", err, called)
		}
		closes(t, s)
	})
}

// ST-14, FL-08
func TestAnInterruptEndsTheJoinAndNotTheSubtasks(t *testing.T) {
	for _, when := range []string{"before", "during"} {
		t.Run(when, func(t *testing.T) {
			vthread.Start(func() {
				me := vthread.Current()
				s := opened(t, structured.Options{})
				defer closes(t, s)
				release := make(chan struct{})
				s.Fork(func() error {
					if when == "during" {
						me.Interrupt()
					}
					vthread.Recv(release)
					if vthread.Interrupted() {
						t.Error("the subtask was interrupted")
					}
					return nil
				})
				if when == "before" {
					me.Interrupt()
				}
				if err := s.Join(); err != vthread.ErrInterrupted {
					t.Errorf("join: got %v, want ErrInterrupted", err)
				}
				if me.IsInterrupted() {
					t.Error("the status is still set")
				}
				close(release)
				if err := s.Join(); err != nil { // may be repeated after that
					t.Errorf("second join: %v", err)
				}
			}).Join()
		})
	}
}

func TestAThreadThatWasInterruptedBeforeIsToldByAJoinAlsoWhenAllHaveEnded(t *testing.T) {
	body := func(t *testing.T, rounds int) {
		me := vthread.Current()
		for round := range rounds {
			s := opened(t, structured.Options{})
			task := structured.Fork(s, func() (int, error) { return 1, nil })
			if round%2 == 0 {
				task.Thread().Join()
			}
			me.Interrupt()
			if err := s.Join(); err != vthread.ErrInterrupted || me.IsInterrupted() {
				t.Errorf("round %d: got %v, interrupted %v, want ErrInterrupted, not", round, err, me.IsInterrupted())
			}
			vthread.Interrupted()
			if err := s.Join(); err != nil {
				t.Errorf("round %d: second join: %v", round, err)
			}
			closes(t, s)
			if t.Failed() {
				return
			}
		}
	}
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	single := sched.NewSingle()
	defer single.Close()
	for name, s := range map[string]sched.Scheduler{"default": nil, "one-carrier": fj, "single": single, "goroutines": sched.Goroutines} {
		t.Run("scheduler="+name, func(t *testing.T) {
			vthread.Builder{Scheduler: s}.Start(func() { body(t, 100) }).Join()
		})
	}
	t.Run("simulated", func(t *testing.T) {
		vttest.Run(t, func(t *testing.T) { vthread.Start(func() { body(t, 2) }).Join() })
	})
}

// ST-15, ST-39, FL-10
func TestAJoinOfACancelledScopeReturnsAndTheUnfinishedAreUnavailable(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Policy: structured.AwaitAll{}})
		done := structured.Fork(s, func() (int, error) { return 1, nil })
		done.Thread().Join()
		release := make(chan struct{})
		busy := structured.Fork(s, func() (int, error) { <-release; return 1, nil })
		failing := structured.Fork(s, func() (int, error) { <-release; return 1, errBoom })
		s.Fork(func() error { // anybody inside may
			s.Cancel(errBoom)
			if vthread.Interrupted() {
				t.Error("who cancels is interrupted")
			}
			return nil
		})
		if err := s.Join(); err != errBoom {
			t.Errorf("join: got %v, want the cause", err)
		}
		if cause := context.Cause(s.Context()); cause != errBoom {
			t.Errorf("the context: got cause %v", cause)
		}
		close(release)
		closes(t, s)
		for _, sub := range []*structured.Subtask[int]{busy, failing} {
			if _, err := sub.Get(); sub.State() != structured.Unavailable || !errors.Is(err, structured.ErrUnavailable) || !errors.Is(sub.Err(), structured.ErrUnavailable) {
				t.Errorf("got %v, %v", sub, err)
			}
		}
		if v, err := done.Get(); v != 1 || err != nil {
			t.Errorf("got %v, %v of the one that had ended before", v, err)
		}
	})
}

func TestACancelAfterAllHaveEndedTakesNothingAway(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		s.Fork(func() error { return nil }).Join()
		s.Cancel(errBoom)
		if err := s.Join(); err != nil {
			t.Errorf("join: %v", err)
		}
		closes(t, s)
	})
}

// ST-17
func TestSubtasksThatAreInTimeAreNotCancelled(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Deadline: time.Now().Add(time.Hour)})
		sub := structured.Fork(s, func() (int, error) { return 1, s.Context().Err() })
		if err := s.Join(); err != nil || s.Canceled() || sub.State() != structured.Succeeded {
			t.Errorf("got %v, cancelled %v, %v", err, s.Canceled(), sub)
		}
		closes(t, s)
	})
}

// ST-18, ST-19, ST-20
func TestWhenTheTimeIsOverAllAreInterruptedAndTheJoinSaysSo(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, deadline := range map[string]func() time.Time{"later": soon, "before": func() time.Time { return past }} {
			s := opened(t, structured.Options{Name: "slow", Deadline: deadline()})
			sub := structured.Fork(s, func() (int, error) {
				<-s.Context().Done()
				return 1, untilCancelled()
			})
			err := s.Join()
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"slow"`) {
				t.Errorf("%s: join: got %v", name, err)
			}
			if sub.State() != structured.Unavailable || !s.Canceled() || s.Closed() {
				t.Errorf("%s: got %v, cancelled %v", name, sub, s.Canceled())
			}
			closes(t, s)
		}
	})
}

func TestTheDeadlineOfTheContextIsTheScopes(t *testing.T) {
	both(t, func(t *testing.T) {
		ctx, cancel := context.WithDeadline(context.Background(), soon())
		defer cancel()
		err := structured.Options{Deadline: time.Now().Add(time.Hour)}.Run(ctx, func(s *structured.Scope) error {
			if got, _ := s.Context().Deadline(); time.Until(got) > time.Minute {
				t.Errorf("got deadline %v", got)
			}
			s.Fork(untilCancelled)
			return s.Join()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// ST-34
func TestOnTimeoutDecidesWhatTheJoinReturns(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, want := range []error{errBoom, nil} {
			s := opened(t, structured.Options{Deadline: past, Policy: &recorder{onTimeout: func(error) error { return want }}})
			s.Fork(untilCancelled)
			if err := s.Join(); err != want {
				t.Errorf("got %v, want %v", err, want)
			}
			panicsWith(t, "it was joined", func() { s.Join() })
			closes(t, s)
		}
	})
}

// ST-24
func TestACloseAfterAJoinThatFailedIsFine(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		s.Fork(func() error { return errBoom })
		if err := s.Join(); err != errBoom {
			t.Errorf("join: %v", err)
		}
		closes(t, s)
		closes(t, s)
	})
}

// ST-28, FL-01, FL-02, ST-35
func TestAClosedScopeIsCancelledAndKeepsItsNameAndOwner(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Name: "kept"})
		look := func(cancelled, closed bool) {
			if s.Name() != "kept" || s.Owner() != vthread.Current() || !strings.Contains(s.String(), `"kept"`) {
				t.Errorf("got %q of %v: %v", s.Name(), s.Owner(), s)
			}
			if s.Canceled() != cancelled || s.Closed() != closed {
				t.Errorf("got cancelled %v, closed %v, want %v, %v", s.Canceled(), s.Closed(), cancelled, closed)
			}
		}
		look(false, false)
		s.Cancel(nil)
		look(true, false)
		closes(t, s)
		look(true, true)
		s = opened(t, structured.Options{Name: "kept"})
		closes(t, s)
		look(true, true)
	})
}

// ST-36, ST-37, ST-38, ST-40
func TestResultsAreThereOnceTheScopeIsJoined(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Name: "s", Policy: structured.AwaitAll{}})
		good := structured.ForkNamed(s, "good", func() (int, error) { return 1, nil })
		bad := structured.Fork(s, func() (int, error) { return 2, errBoom })
		none := func(who string) {
			for _, sub := range []*structured.Subtask[int]{good, bad} {
				if v, err := sub.Get(); v != 0 || !errors.Is(err, structured.ErrUnavailable) || !errors.Is(sub.Err(), structured.ErrUnavailable) {
					t.Errorf("%s, before the join: got %v, %v, %v", who, v, err, sub.Err())
				}
			}
		}
		none("the owner")
		for _, sub := range []*structured.Subtask[int]{good, bad} {
			sub.Thread().Join()
		}
		none("the owner, when all have ended")
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		look := func(who string) {
			if v, err := good.Get(); v != 1 || err != nil || good.Err() != nil || good.State() != structured.Succeeded {
				t.Errorf("%s: got %v, %v of %v", who, v, err, good)
			}
			if v, err := bad.Get(); v != 0 || err != errBoom || bad.Err() != errBoom || bad.State() != structured.Failed {
				t.Errorf("%s: got %v, %v of %v", who, v, err, bad)
			}
		}
		look("owner")
		elsewhere(look)
		for sub, words := range map[*structured.Subtask[int]]string{good: `"good"`, bad: "failed"} {
			if got := sub.String(); !strings.Contains(got, words) || !strings.Contains(got, sub.State().String()) || !strings.Contains(got, `"s"`) {
				t.Errorf("got %q, want it to have %q", got, words)
			}
		}
		closes(t, s)
		look("owner, after the close")

		s = opened(t, structured.Options{})
		release := make(chan struct{})
		waits := structured.Fork(s, func() (int, error) { vthread.Recv(release); return 1, nil })
		elsewhere(func(who string) {
			if _, err := waits.Get(); !errors.Is(err, structured.ErrUnavailable) || !strings.Contains(waits.String(), "unavailable") {
				t.Errorf("%s: got %v of %v", who, err, waits)
			}
		})
		close(release)
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		closes(t, s)
	})
}

// ST-46
func TestWrongOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]structured.Options{
		"limit": {Limit: -1}, "policy": {Policy: (*structured.All[int])(nil)},
	} {
		if _, err := o.Open(context.Background()); !errors.Is(err, structured.ErrOptions) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		if err := o.Run(context.Background(), func(*structured.Scope) error { t.Error("called"); return nil }); !errors.Is(err, structured.ErrOptions) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	panicsWith(t, "nil body", func() { structured.Run(context.Background(), "s", nil) })
	panicsWith(t, "nil context", func() { structured.Open(nilContext, "s") })
	s := structured.Open(context.Background(), "s")
	panicsWith(t, "nil function", func() { s.Fork(nil) })
	panicsWith(t, "nil function", func() { structured.Fork[int](s, nil) })
	closes(t, s)
}

// FL-03
func TestThreadsAreExactlyThoseThatLive(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		release := make(chan struct{})
		wait := func() error { vthread.Recv(release); return nil }
		a, ended, b := s.Fork(wait), s.Fork(func() error { return nil }), s.Fork(wait)
		ended.Join()
		if got, want := fmt.Sprint(s.Threads()), fmt.Sprint([]*vthread.Thread{a, b}); len(s.Threads()) != 2 || s.Threads()[0] != a || s.Threads()[1] != b {
			t.Errorf("got %s, want %s", got, want)
		}
		close(release)
		if err := s.Join(); err != nil || len(s.Threads()) != 0 {
			t.Errorf("got %v, %v", err, s.Threads())
		}
		closes(t, s)
	})
}

// FL-04
func TestContainingIsTransitiveDownwards(t *testing.T) {
	both(t, func(t *testing.T) {
		outer := opened(t, structured.Options{Name: "outer"})
		inner := opened(t, structured.Options{Name: "inner"})
		other := vthread.Start(func() {})
		other.Join()
		inner.Fork(func() error {
			me := vthread.Current()
			return structured.Run(inner.Context(), "innermost", func(s *structured.Scope) error {
				child := s.Fork(func() error { return nil })
				for _, c := range []struct {
					in   *structured.Scope
					t    *vthread.Thread
					want bool
				}{
					{outer, me, true}, {inner, me, true}, {s, me, false},
					{outer, child, true}, {inner, child, true}, {s, child, true},
					{outer, other, false},
				} {
					if got := c.in.Contains(c.t); got != c.want {
						t.Errorf("%v contains %v: got %v", c.in, c.t, got)
					}
				}
				return s.Join()
			})
		})
		if err := inner.Join(); err != nil {
			t.Error(err)
		}
		closes(t, inner)
		th := outer.Fork(func() error { return nil })
		if inner.Contains(th) || !outer.Contains(th) {
			t.Error("a thread of the outer scope is in the inner one")
		}
		if err := outer.Join(); err != nil {
			t.Error(err)
		}
		closes(t, outer)
	})
}

// FL-11
func TestACloseWaitsAlsoWhenTheOwnerIsInterrupted(t *testing.T) {
	vthread.Start(func() {
		me := vthread.Current()
		s := opened(t, structured.Options{})
		var ended atomic.Bool
		s.Fork(func() error {
			untilCancelled()
			me.Interrupt()
			vthread.Sleep(2 * time.Millisecond)
			ended.Store(true)
			return nil
		})
		me.Interrupt()
		if err := s.Close(); !errors.Is(err, structured.ErrNotJoined) || !ended.Load() {
			t.Errorf("got %v, ended %v", err, ended.Load())
		}
		if !vthread.Interrupted() {
			t.Error("the interrupt is lost")
		}
		closes(t, s)
	}).Join()
}

// ST-27, FL-12
func TestClosingAnOuterScopeTakesAllInnerOnesAlong(t *testing.T) {
	both(t, func(t *testing.T) {
		outer := opened(t, structured.Options{Name: "outer"})
		middle := opened(t, structured.Options{Name: "middle"})
		inner := opened(t, structured.Options{Name: "inner"})
		var ended atomic.Int32
		for _, s := range []*structured.Scope{outer, middle, inner} {
			s.Fork(func() error { defer ended.Add(1); return untilCancelled() })
		}
		err := outer.Close()
		if !errors.Is(err, structured.ErrStructure) || !strings.Contains(err.Error(), "middle") || !strings.Contains(err.Error(), "inner") {
			t.Errorf("got %v, want ErrStructure that names middle and inner", err)
		}
		if ended.Load() != 3 || !middle.Closed() || !inner.Closed() {
			t.Errorf("%d of 3 have ended; closed: %v, %v", ended.Load(), middle.Closed(), inner.Closed())
		}
		panicsWith(t, "closed", func() { inner.Fork(func() error { return nil }) })
		closes(t, inner)
		closes(t, middle)
		next := opened(t, structured.Options{Name: "next"})
		next.Fork(func() error { return nil })
		if err := next.Join(); err != nil {
			t.Error(err)
		}
		closes(t, next)
	})
}

func TestAThreadThatEndsWithOpenScopesClosesThem(t *testing.T) {
	both(t, func(t *testing.T) {
		var ended atomic.Int32
		leave := func(s *structured.Scope) {
			for _, name := range []string{"first", "second"} {
				structured.Open(s.Context(), name).Fork(func() error { defer ended.Add(1); return untilCancelled() })
			}
		}
		s := opened(t, structured.Options{Name: "s"})
		s.Fork(func() error { leave(s); return nil })
		err := s.Join()
		if !errors.Is(err, structured.ErrStructure) || !errors.Is(err, structured.ErrNotJoined) ||
			!strings.Contains(err.Error(), "first") || !strings.Contains(err.Error(), "second") {
			t.Errorf("join: got %v", err)
		}
		if ended.Load() != 2 {
			t.Errorf("%d of 2 have ended", ended.Load())
		}
		closes(t, s)

		s = opened(t, structured.Options{Name: "s"})
		s.Fork(func() error { leave(s); return errBoom })
		if err := s.Join(); !errors.Is(err, structured.ErrStructure) || !errors.Is(err, errBoom) {
			t.Errorf("join: got %v", err)
		}
		closes(t, s)

		s = opened(t, structured.Options{Name: "s"})
		s.Fork(func() error { leave(s); panic("guilty") })
		func() {
			defer func() {
				if p, _ := recover().(*structured.Panic); p == nil || p.Value != "guilty" {
					t.Errorf("got %v, want the thread's own panic", p)
				}
			}()
			s.Join()
		}()
		if ended.Load() != 6 {
			t.Errorf("%d of 6 have ended", ended.Load())
		}
		if err := s.Close(); !errors.Is(err, structured.ErrStructure) { // which had nowhere else to go
			t.Errorf("close: got %v", err)
		}
	})
}
