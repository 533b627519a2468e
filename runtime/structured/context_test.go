package structured_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

type valueKey struct{}

func TestAScopesContextHasTheValuesAndTheEndOfTheOneAround(t *testing.T) {
	both(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), valueKey{}, "v"))
		s := structured.Open(ctx, "s")
		if s.Context().Value(valueKey{}) != "v" {
			t.Error("the value is lost")
		}
		s.Fork(func() error {
			mine := vthread.Current().Context()
			if mine.Value(valueKey{}) != "v" {
				t.Error("the value is lost in the thread")
			}
			cancel(errBoom)
			<-mine.Done()
			return untilCancelled()
		})
		if err := s.Join(); err != errBoom {
			t.Errorf("join: got %v, want the cause", err)
		}
		if cause := context.Cause(s.Context()); cause != errBoom {
			t.Errorf("got cause %v", cause)
		}
		closes(t, s)
		cancel(nil)
	})
}

func TestTheCauseOfAScopesContextTellsWhyItWasCancelled(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			o    structured.Options
			do   func(s *structured.Scope)
			want error
		}{
			"error":  {do: func(s *structured.Scope) { s.Fork(func() error { return errBoom }) }, want: errBoom},
			"cancel": {do: func(s *structured.Scope) { s.Cancel(errBoom); s.Cancel(nil) }, want: errBoom},
			"nil":    {do: func(s *structured.Scope) { s.Cancel(nil) }, want: context.Canceled},
			"close":  {do: func(s *structured.Scope) { s.Close() }, want: context.Canceled},
			"enough": {
				o:    structured.Options{Policy: new(structured.Any[int])},
				do:   func(s *structured.Scope) { structured.Fork(s, succeed(1)) },
				want: context.Canceled,
			},
			"deadline": {o: structured.Options{Deadline: past}, do: func(*structured.Scope) {}, want: context.DeadlineExceeded},
		} {
			s := opened(t, c.o)
			c.do(s)
			<-s.Context().Done()
			if cause := context.Cause(s.Context()); !errors.Is(cause, c.want) {
				t.Errorf("%s: got cause %v, want %v", name, cause, c.want)
			}
			s.Close() // which may say that nobody joined
		}
	})
}

// The subtask may see the end of the context before the scope does, and fail because of it.
func TestTheEndOfTheContextIsToldForWhatItIs(t *testing.T) {
	both(t, func(t *testing.T) {
		for range 50 {
			ctx, cancel := context.WithCancelCause(context.Background())
			p := new(recorder)
			err := structured.Options{Policy: p}.Run(ctx, func(s *structured.Scope) error {
				s.Fork(func() error { cancel(errBoom); return errors.New("another") })
				return s.Join()
			})
			if err != errBoom || p.ends.Load() != 0 {
				t.Errorf("got %v, %d ends", err, p.ends.Load())
			}
		}
	})
}

func TestAnEndedContextLetsNothingBegin(t *testing.T) {
	both(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := structured.Run(ctx, "s", func(s *structured.Scope) error {
			if th := s.Fork(func() error { t.Error("executed"); return nil }); th != nil {
				t.Errorf("got thread %v", th)
			}
			return s.Join()
		})
		if err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
}

func TestAScopeOfAGoroutineIsInTheScopeOfItsContext(t *testing.T) {
	outer := opened(t, structured.Options{Name: "outer"})
	outer.Fork(func() error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			inner := structured.Open(outer.Context(), "inner")
			th := inner.Fork(func() error { return nil })
			if err := inner.Join(); err != nil || !outer.Contains(th) {
				t.Errorf("got %v, contained: %v", err, outer.Contains(th))
			}
			closes(t, inner)
		}()
		vthread.Recv(done)
		return nil
	})
	if err := outer.Join(); err != nil {
		t.Error(err)
	}
	closes(t, outer)
}

func TestScopesWorkInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scope := func() {
			began := time.Now()
			err := structured.Options{Deadline: began.Add(time.Hour), Limit: 1}.Run(t.Context(), func(s *structured.Scope) error {
				s.Fork(func() error { return vthread.Sleep(time.Minute) })
				s.Fork(func() error { return vthread.Sleep(time.Minute) })
				s.Fork(untilCancelled)
				return s.Join()
			})
			if d := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || d != time.Hour {
				t.Errorf("got %v after %v, want a time-out after an hour", err, d)
			}
		}
		scope()
		vthread.Start(scope).Join()
	})
}

func TestAtMostLimitThreadsExecuteAndTheOthersAreQueued(t *testing.T) {
	both(t, func(t *testing.T) {
		const limit, forks = 3, 30
		var now, most, begun atomic.Int32
		release := make(chan struct{})
		var all []*structured.Subtask[int32]
		s := opened(t, structured.Options{Name: "few", Limit: limit})
		for range forks {
			all = append(all, structured.Fork(s, func() (int32, error) {
				order := begun.Add(1)
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				vthread.Recv(release)
				vthread.Yield()
				now.Add(-1)
				return order, nil
			}))
		}
		if len(s.Threads()) != limit {
			t.Errorf("%d threads were started, want %d", len(s.Threads()), limit)
		}
		for i, sub := range all[limit:] {
			if sub.Thread() == nil || sub.Thread().State() != flight.StateNew {
				t.Errorf("%d: got %v, want one that is new", i+limit, sub)
			}
		}
		if got := s.String(); !strings.Contains(got, "27 queued") {
			t.Errorf("got %q", got)
		}
		if r := flight.Default(); r != nil {
			row := rowOf(t, "few")
			if row.Limit != limit || row.Queued != forks-limit {
				t.Errorf("the flight file: got %+v", row)
			}
		}
		close(release)
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		if most.Load() > limit {
			t.Errorf("%d executed at a time, want at most %d", most.Load(), limit)
		}
		for i, sub := range all {
			if order, err := sub.Get(); err != nil || order == 0 {
				t.Errorf("fork %d: began as number %d, error %v", i, order, err)
			}
		}
		closes(t, s)

		var one structured.All[int32]
		begun.Store(0)
		err := structured.Options{Limit: 1, Policy: &one}.Run(context.Background(), func(s *structured.Scope) error {
			for range forks {
				structured.Fork(s, func() (int32, error) { return begun.Add(1), nil })
			}
			return s.Join()
		})
		if err != nil || !slices.IsSorted(one.Values()) || len(one.Values()) != forks {
			t.Errorf("one at a time: got %v, %v, want the order of the forks", one.Values(), err)
		}
	})
}

// rowOf returns what the flight file has of the open scope with a name.
func rowOf(t *testing.T, name string) (found flight.ScopeRow) {
	r, err := flight.Default().Reader()
	if err != nil {
		t.Error(err)
		return found
	}
	defer r.Close()
	rows, err := r.Scopes()
	if err != nil {
		t.Error(err)
	}
	for _, row := range rows {
		if row.Name == name && row.State != flight.ScopeFree {
			found = row
		}
	}
	return found
}

func TestWhatIsQueuedWhenTheScopeIsCancelledIsNotExecuted(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Limit: 1})
		release := make(chan struct{})
		s.Fork(func() error { <-release; return errBoom })
		var all []*structured.Subtask[int]
		for range 5 {
			all = append(all, structured.Fork(s, func() (int, error) { t.Error("executed"); return 0, nil }))
		}
		close(release)
		if err := s.Join(); err != errBoom {
			t.Errorf("got %v", err)
		}
		closes(t, s)
		for _, sub := range all {
			if sub.State() != structured.Unavailable || sub.Thread().State() != flight.StateDone {
				t.Errorf("got %v, thread %v", sub, sub.Thread())
			}
		}
	})
}

func TestTheFlightFileTellsAScopesDeadlinePolicyAndState(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	both(t, func(t *testing.T) {
		deadline := time.Now().Add(time.Hour)
		s := opened(t, structured.Options{Name: "told", Deadline: deadline, Policy: new(structured.Any[int])})
		row := rowOf(t, "told")
		r, err := flight.Default().Reader()
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		if left := r.Between(r.Now(), row.Deadline); left < 59*time.Minute || left > 61*time.Minute {
			t.Errorf("got a deadline in %v, want an hour", left)
		}
		if row.Policy != "structured.Any[int]" || row.State != flight.ScopeOpen || (row.Owner != 0) != (s.Owner() != nil) {
			t.Errorf("got %+v", row)
		}
		looked := make(chan struct{})
		structured.Fork(s, func() (int, error) {
			for row := rowOf(t, "told"); row.State != flight.ScopeJoining; row = rowOf(t, "told") {
				vthread.Sleep(100 * time.Microsecond)
			}
			close(looked)
			return 1, nil
		})
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		<-looked
		closes(t, s)
		if row := rowOf(t, "told"); row.Name != "" {
			t.Errorf("after the close: got %+v", row)
		}
	})
}

func TestOfSeveralPanicsTheFirstIsJoinedAndTheOthersAreTold(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{})
		for i := range 3 {
			s.Fork(func() error { untilAll(s, 3); panic(fmt.Sprint("boom ", i)) })
		}
		var joined *structured.Panic
		func() {
			defer func() { joined, _ = recover().(*structured.Panic) }()
			s.Join()
		}()
		err := s.Close()
		if joined == nil || err == nil {
			t.Errorf("got %v, %v", joined, err)
			return
		}
		for i := range 3 {
			words := fmt.Sprint("boom ", i)
			if joined.Value == words == strings.Contains(err.Error(), words) {
				t.Errorf("%s: joined %v, told %v", words, joined.Value, err)
			}
		}
	})
}

// untilAll waits until n threads of the scope are there.
func untilAll(s *structured.Scope, n int) {
	for len(s.Threads()) < n && !s.Canceled() {
		runtime.Gosched()
	}
}

func TestWhateverTheScheduleIsNothingIsLeftAndTheFirstFailureIsTold(t *testing.T) {
	vttest.Run(t, func(t *testing.T) {
		left := 0
		begun := 0
		err := structured.Options{Limit: 2}.Run(context.Background(), func(s *structured.Scope) error {
			for range 2 {
				s.Fork(func() error { begun++; left++; vthread.Sleep(time.Second); left--; return nil })
			}
			s.Fork(func() error { begun++; left++; vthread.Yield(); left--; return errBoom })
			s.Fork(func() error { begun++; left++; vthread.Sleep(time.Hour); left--; return nil })
			return s.Join()
		})
		if left != 0 || begun < 3 || err != errBoom {
			t.Errorf("%d of %d are left, error %v", left, begun, err)
		}
	})
}

func TestWhateverTheScheduleIsACancelIsOfTheSubtasksOrTheirs(t *testing.T) {
	vttest.Run(t, func(t *testing.T) {
		var any structured.Any[int]
		executing := 0
		var s *structured.Scope
		s, err := structured.Options{Policy: &any, Deadline: time.Now().Add(time.Minute)}.Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		canceller := vthread.Start(func() { s.Cancel(errBoom) })
		for i := range 2 {
			structured.Fork(s, func() (int, error) {
				executing++
				defer func() { executing-- }()
				return i + 1, vthread.Sleep(time.Second)
			})
		}
		switch err := s.Join(); {
		case err == errBoom && any.Value() == 0:
		case err == nil && any.Value() > 0:
		default:
			t.Errorf("got %v, %v", any.Value(), err)
		}
		if err := s.Close(); err != nil || executing != 0 {
			t.Errorf("close: %v; %d execute", err, executing)
		}
		canceller.Join()
	})
}

func TestWhateverTheScheduleIsADeadlineEndsTheScope(t *testing.T) {
	vttest.Run(t, func(t *testing.T) {
		began := time.Now()
		err := structured.Options{Deadline: began.Add(time.Minute)}.Run(context.Background(), func(s *structured.Scope) error {
			s.Fork(func() error { return vthread.Sleep(time.Second) })
			s.Fork(func() error { return vthread.Sleep(time.Hour) })
			return s.Join()
		})
		if d := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || d != time.Minute {
			t.Errorf("got %v after %v", err, d)
		}
	})
}

func TestAForkWithAContextHasThatOfItsThread(t *testing.T) {
	type key struct{}
	why := errors.New("enough")
	ctx := context.WithValue(t.Context(), key{}, "v")
	err := structured.Run(ctx, "work", func(s *structured.Scope) error {
		sub := structured.ForkContext(s, func(ctx context.Context) (any, error) {
			if ctx != vthread.Current().Context() {
				t.Error("the context is another than the thread's")
			}
			return ctx.Value(key{}), nil
		})
		begun := make(chan struct{})
		s.ForkContext(func(ctx context.Context) error {
			close(begun)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		<-begun
		s.Cancel(why)
		err := s.Join()
		if v, subErr := sub.Get(); v != "v" && subErr == nil {
			t.Errorf("the value in the context is %v", v)
		}
		return err
	})
	if !errors.Is(err, why) {
		t.Errorf("Run returns %v, want what the scope was cancelled with", err)
	}
}
