package vsync_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// eachSemaphore runs f for fair and unfair ones.
func eachSemaphore(t *testing.T, permits int64, f func(t *testing.T, s *vsync.Semaphore)) {
	t.Run("fair=true", func(t *testing.T) { f(t, vsync.NewSemaphore(permits)) })
	t.Run("fair=false", func(t *testing.T) { f(t, vsync.NewUnfairSemaphore(permits)) })
}

func TestNoMorePermitsAreTakenThanThereAre(t *testing.T) {
	const permits = 5
	eachSemaphore(t, permits, func(t *testing.T, s *vsync.Semaphore) {
		var taken atomic.Int64
		var joins []func()
		for i := range 12 {
			n := int64(i%permits + 1)
			joins = append(joins, kinds[i%2].start(func() {
				for range 100 {
					s.Acquire(n)
					if got := taken.Add(n); got > permits {
						t.Errorf("%d permits are taken, of %d", got, permits)
					}
					vthread.Yield()
					taken.Add(-n)
					s.Release(n)
				}
			}))
		}
		for _, join := range joins {
			join()
		}
		if got := s.Free(); got != permits {
			t.Errorf("%d are free, want %d", got, permits)
		}
	})
}

func TestTryAcquireTakesWhatIsFree(t *testing.T) {
	eachSemaphore(t, 2, func(t *testing.T, s *vsync.Semaphore) {
		fromBoth(t, func(t *testing.T) {
			for _, c := range []struct {
				n    int64
				want bool
			}{{3, false}, {0, true}, {1, true}, {2, false}, {1, true}, {1, false}, {0, true}} {
				if got := s.TryAcquire(c.n); got != c.want {
					t.Errorf("%d: got %v, want %v, with %d free", c.n, got, c.want, s.Free())
				}
			}
			s.Release(2)
		})
	})
}

func TestPermitsAreGivenInOrder(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		s := vsync.NewSemaphore(3)
		s.Acquire(3)
		var order []int64
		mu := new(vsync.Mutex)
		take := func(n int64) func() {
			return func() { s.Acquire(n); mu.Lock(); order = append(order, n); mu.Unlock(); s.Release(n) }
		}
		big := a.start(take(3))
		awaitWaiting(t, s, 1)
		small := b.start(take(1))
		awaitWaiting(t, s, 2)
		s.Release(2) // enough for the small one, which came later
		if s.TryAcquire(1) {
			t.Error("somebody has overtaken those who wait")
		}
		if got := vsync.Waiting(s); got != 2 {
			t.Errorf("%d wait, want 2", got)
		}
		s.Release(1)
		big()
		small()
		if fmt.Sprint(order) != "[3 1]" {
			t.Errorf("got %v", order)
		}
	})
}

func TestAnUnfairSemaphoreGivesToWhoeverHasEnough(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		s := vsync.NewUnfairSemaphore(3)
		s.Acquire(3)
		big := a.start(func() { s.Acquire(3); s.Release(3) })
		awaitWaiting(t, s, 1)
		small := b.start(func() { s.Acquire(2) })
		awaitWaiting(t, s, 2)
		s.Release(2)
		small()
		s.Release(1)
		if !s.TryAcquire(1) {
			t.Error("who comes does not get a free permit")
		}
		s.Release(3)
		big()
	})
}

// As of x/sync/semaphore: who wants many is not starved by those who want few.
func TestWhoWantsManyIsNotStarved(t *testing.T) {
	const permits = 4
	s := vsync.NewSemaphore(permits)
	var stop atomic.Bool
	var joins []func()
	s.Acquire(permits)
	for i := range 2 * permits {
		joins = append(joins, kinds[i%2].start(func() {
			for !stop.Load() {
				s.Acquire(1)
				vthread.Yield()
				s.Release(1)
			}
		}))
	}
	awaitWaiting(t, s, 2*permits)
	s.Release(permits)
	for range 20 {
		s.Acquire(permits)
		s.Release(permits)
	}
	stop.Store(true)
	for _, join := range joins {
		join()
	}
}

// As of x/sync/semaphore.
func TestWhoWantsMoreThanThereAreHindersNobody(t *testing.T) {
	eachSemaphore(t, 2, func(t *testing.T, s *vsync.Semaphore) {
		amongBoth(t, func(t *testing.T, a, b kind) {
			ctx, cancel := context.WithCancel(context.Background())
			doomed := a.start(func() {
				if err := s.AcquireContext(ctx, 3); err != context.Canceled {
					t.Errorf("got %v, want %v", err, context.Canceled)
				}
			})
			awaitWaiting(t, s, 1)
			b.start(func() {
				if !s.TryAcquire(1) {
					t.Error("it hinders who tries")
				}
				s.Acquire(1)
				s.Release(2)
			})()
			cancel()
			doomed()
		})
	})
}

// When the first gives up, those behind it may have enough; as of x/sync/semaphore.
func TestThoseBehindGoOnWhenTheFirstGivesUp(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		s := vsync.NewSemaphore(2)
		s.Acquire(1)
		no := errors.New("no")
		ctx, cancel := context.WithCancelCause(context.Background())
		big := a.start(func() {
			if err := s.AcquireContext(ctx, 2); err != no {
				t.Errorf("got %v, want %v", err, no)
			}
		})
		awaitWaiting(t, s, 1)
		small := b.start(func() { s.Acquire(1) })
		awaitWaiting(t, s, 2)
		cancel(no)
		big()
		small()
		if s.Free() != 0 {
			t.Errorf("%d are free, want 0", s.Free())
		}
	})
}

func TestAcquireIsGivenUp(t *testing.T) {
	eachSemaphore(t, 1, func(t *testing.T, s *vsync.Semaphore) {
		s.Acquire(1)
		fromBoth(t, func(t *testing.T) {
			for _, d := range []time.Duration{-1, 0, short} {
				if err := s.AcquireFor(1, d); err != vsync.ErrTimeout {
					t.Errorf("got %v, want %v", err, vsync.ErrTimeout)
				}
			}
			ctx, cancel := context.WithTimeout(context.Background(), short)
			defer cancel()
			for range 2 {
				if err := s.AcquireContext(ctx, 1); err != context.DeadlineExceeded {
					t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
				}
			}
		})
		th := vthread.Start(func() {
			for _, before := range []bool{false, true} {
				if before {
					vthread.Current().Interrupt()
				}
				if err := s.AcquireInterruptibly(1); err != vsync.ErrInterrupted || vthread.Interrupted() {
					t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
				}
			}
		})
		awaitState(t, th, flight.StateWaiting)
		th.Interrupt()
		th.Join()
		s.Release(1)
		if err := s.AcquireFor(1, 0); err != nil {
			t.Error(err)
		}
	})
}

func TestNoPermitIsLostWhenSomeGiveUp(t *testing.T) {
	const permits = 3
	eachSemaphore(t, permits, func(t *testing.T, s *vsync.Semaphore) {
		var joins []func()
		for i := range 8 {
			joins = append(joins, kinds[i%2].start(func() {
				for round := range 200 {
					n := int64(1 + (i+round)%permits)
					if s.AcquireFor(n, time.Duration(round%30)*time.Microsecond) == nil {
						vthread.Yield()
						s.Release(n)
					}
				}
			}))
		}
		for _, join := range joins {
			join()
		}
		if got := s.Free(); got != permits {
			t.Errorf("%d are free, want %d", got, permits)
		}
	})
}

func TestARefusedThreadGetsNoPermits(t *testing.T) {
	eachSemaphore(t, 1, func(t *testing.T, s *vsync.Semaphore) {
		s.Acquire(1)
		r := refusing()
		lost := vthread.Builder{Scheduler: r}.Start(func() { s.Acquire(1); s.Release(1) })
		awaitState(t, lost, flight.StateWaiting)
		next := thread.start(func() { s.Acquire(1) })
		awaitWaiting(t, s, 2)
		r.refuses.Store(true)
		s.Release(1)
		next()
		r.refuses.Store(false)
		if err := lost.Interrupt(); err != nil {
			t.Fatal(err)
		}
		awaitWaiting(t, s, 1)
		s.Release(1)
		lost.Join()
		if s.Free() != 1 {
			t.Errorf("%d are free, want 1", s.Free())
		}
	})
}

func TestMisuseOfSemaphoresPanics(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		var zero vsync.Semaphore
		s := vsync.NewSemaphore(2)
		s.Acquire(1)
		for _, c := range []struct {
			f    func()
			want string
		}{
			{func() { s.Release(2) }, "vsync: semaphore released more than held"},
			{func() { zero.Release(1) }, "vsync: semaphore released more than held"},
			{func() { s.Release(-1) }, "vsync: negative permits"},
			{func() { s.Acquire(-1) }, "vsync: negative permits"},
			{func() { s.TryAcquire(-1) }, "vsync: negative permits"},
			{func() { vsync.NewSemaphore(-1) }, "vsync: negative permits"},
		} {
			if got := fmt.Sprint(panics(c.f)); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		}
		if s.Free() != 1 || zero.TryAcquire(1) {
			t.Errorf("%d are free, want 1", s.Free())
		}
	})
}
