package vsync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// queues are the kinds of queues.
var queues = map[string]func() *vsync.Queue[int]{
	"unbounded":  func() *vsync.Queue[int] { return new(vsync.Queue[int]) },
	"bounded":    func() *vsync.Queue[int] { return vsync.NewQueue[int](3) },
	"rendezvous": func() *vsync.Queue[int] { return vsync.NewQueue[int](0) },
}

func eachQueue(t *testing.T, f func(t *testing.T, q *vsync.Queue[int])) {
	for name, q := range queues {
		t.Run("queue="+name, func(t *testing.T) { f(t, q()) })
	}
}

func TestElementsAreTakenInTheirOrder(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *vsync.Queue[int]) {
		amongBoth(t, func(t *testing.T, a, b kind) {
			const n = 1000
			putter := a.start(func() {
				for i := range n {
					if err := q.Put(i); err != nil {
						t.Errorf("put: %v", err)
					}
				}
			})
			b.start(func() {
				for i := range n {
					if v, err := q.Take(); v != i || err != nil {
						t.Fatalf("got %d, %v, want %d", v, err, i)
					}
				}
			})()
			putter()
			if v, did := q.TryTake(); did {
				t.Errorf("there is %d left", v)
			}
		})
	})
}

func TestEachElementIsTakenOnce(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *vsync.Queue[int]) {
		const each, pairs = 300, 4
		var seen [each * pairs]atomic.Int32
		var putters, takers []func()
		for i := range pairs {
			putters = append(putters, kinds[i%2].start(func() {
				for k := range each {
					v := i*each + k
					for q.PutFor(v, time.Duration(k%20)*time.Microsecond) != nil {
					}
				}
			}))
			takers = append(takers, kinds[(i+1)%2].start(func() {
				for v := range q.All() {
					seen[v].Add(1)
					for { // and some that give up
						v, err := q.TakeFor(time.Duration(v%20) * time.Microsecond)
						if err != nil {
							break
						}
						seen[v].Add(1)
					}
				}
			}))
		}
		for _, join := range putters {
			join()
		}
		q.Close()
		for _, join := range takers {
			join()
		}
		for v := range seen {
			if n := seen[v].Load(); n != 1 {
				t.Fatalf("%d was taken %d times", v, n)
			}
		}
	})
}

// SS-04
func TestPingPongOverEveryKindOfQueue(t *testing.T) {
	for name, q := range queues {
		t.Run("queue="+name, func(t *testing.T) {
			amongBoth(t, func(t *testing.T, a, b kind) {
				const n = 1000
				ping, pong := q(), q()
				other := b.start(func() {
					for v := range ping.All() {
						pong.Put(v + 1)
					}
				})
				a.start(func() {
					for i := range n {
						ping.Put(i)
						if v, err := pong.Take(); v != i+1 || err != nil {
							t.Fatalf("got %d, %v, want %d", v, err, i+1)
						}
					}
					ping.Close()
				})()
				other()
			})
		})
	}
}

func TestABoundedQueueHoldsSoMany(t *testing.T) {
	for _, capacity := range []int{0, 1, 5, 100} {
		t.Run(fmt.Sprintf("capacity=%d", capacity), func(t *testing.T) {
			q := vsync.NewQueue[int](capacity)
			for i := range capacity {
				if !q.TryPut(i) {
					t.Fatalf("%d does not fit", i)
				}
			}
			if q.TryPut(capacity) || q.PutFor(capacity, 0) != vsync.ErrTimeout || q.Len() != capacity {
				t.Errorf("it holds %d, want %d", q.Len(), capacity)
			}
			var joins []func()
			for i := range 4 { // in the order of their waits
				joins = append(joins, kinds[i%2].start(func() { q.Put(capacity + i) }))
				awaitWaiting(t, q, i+1)
			}
			var got []int
			for range capacity + 4 {
				v, did := q.TryTake()
				if !did {
					t.Fatalf("nothing after %v", got)
				}
				got = append(got, v)
			}
			for _, join := range joins {
				join()
			}
			if !slices.IsSorted(got) || got[len(got)-1] != capacity+3 || q.Len() != 0 {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTakersAreServedInTheirOrder(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *vsync.Queue[int]) {
		var got [6]int
		var joins []func()
		for i := range got {
			joins = append(joins, kinds[i%2].start(func() { got[i], _ = q.Take() }))
			awaitWaiting(t, q, i+1)
		}
		for i := range got {
			if !q.TryPut(i) {
				t.Fatal("it does not take an element for who waits")
			}
		}
		for i, join := range joins {
			if join(); got[i] != i {
				t.Errorf("got %v", got)
			}
		}
	})
}

func TestACloseEndsWaits(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *vsync.Queue[int]) {
		var joins []func()
		for i := range 4 {
			joins = append(joins, kinds[i%2].start(func() {
				if v, err := q.Take(); v != 0 || err != vsync.ErrClosed {
					t.Errorf("take: got %d, %v, want %v", v, err, vsync.ErrClosed)
				}
			}))
		}
		awaitWaiting(t, q, 4)
		q.Close()
		q.Close()
		for _, join := range joins {
			join()
		}
		if err := q.Put(1); err != vsync.ErrClosed || q.TryPut(1) {
			t.Errorf("put: got %v, want %v", err, vsync.ErrClosed)
		}
		if _, err := q.TakeFor(time.Hour); err != vsync.ErrClosed {
			t.Errorf("take: got %v, want %v", err, vsync.ErrClosed)
		}
		if _, did := q.TryTake(); did {
			t.Error("something was taken")
		}
	})
	t.Run("putters", func(t *testing.T) {
		q := vsync.NewQueue[int](2)
		q.Put(1)
		q.Put(2)
		var joins []func()
		for i := range 4 {
			joins = append(joins, kinds[i%2].start(func() {
				if err := q.Put(3); err != vsync.ErrClosed {
					t.Errorf("put: got %v, want %v", err, vsync.ErrClosed)
				}
			}))
		}
		awaitWaiting(t, q, 4)
		q.Close()
		for _, join := range joins {
			join()
		}
		if got := slices.Collect(q.All()); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("left is %v, want [1 2]", got)
		}
	})
}

func TestPutsAndTakesAreGivenUp(t *testing.T) {
	q := vsync.NewQueue[int](1)
	no := errors.New("no")
	take := map[string]func(d time.Duration, ctx context.Context) error{
		"take": func(d time.Duration, ctx context.Context) error {
			if ctx != nil {
				_, err := q.TakeContext(ctx)
				return err
			}
			_, err := q.TakeFor(d)
			return err
		},
		"put": func(d time.Duration, ctx context.Context) error {
			if ctx != nil {
				return q.PutContext(ctx, 2)
			}
			return q.PutFor(2, d)
		},
	}
	interruptible := map[string]func() error{
		"take": func() error { _, err := q.TakeInterruptibly(); return err },
		"put":  func() error { return q.PutInterruptibly(2) },
	}
	for _, name := range []string{"take", "put"} {
		t.Run(name, func(t *testing.T) {
			fromBoth(t, func(t *testing.T) {
				for _, d := range []time.Duration{-1, 0, short} {
					began := time.Now()
					if err := take[name](d, nil); err != vsync.ErrTimeout || time.Since(began) < d {
						t.Errorf("got %v after %v, want %v after %v", err, time.Since(began), vsync.ErrTimeout, d)
					}
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				timer := time.AfterFunc(short, func() { cancel(no) })
				defer timer.Stop()
				for range 2 {
					if err := take[name](0, ctx); err != no {
						t.Errorf("got %v, want %v", err, no)
					}
				}
			})
			th := vthread.Start(func() {
				for _, before := range []bool{false, true} {
					if before {
						vthread.Current().Interrupt()
					}
					if err := interruptible[name](); err != vsync.ErrInterrupted || vthread.Interrupted() {
						t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
					}
				}
			})
			awaitState(t, th, flight.StateWaiting)
			th.Interrupt()
			th.Join()
			if got := vsync.Waiting(q); got != 0 {
				t.Errorf("%d still wait", got)
			}
		})
		q.TryPut(1) // it is full for the puts
	}
	if got, did := q.TryTake(); got != 1 || !did {
		t.Errorf("got %d, %v: what was given up is in the queue", got, did)
	}
}

func TestARefusedThreadTakesNothingAndWhatItPutStays(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *vsync.Queue[int]) {
		r := refusing()
		b := vthread.Builder{Scheduler: r}
		var got atomic.Int32
		lost := b.Start(func() { v, _ := q.Take(); got.Store(int32(v)) })
		awaitState(t, lost, flight.StateWaiting)
		next := thread.start(func() {
			if v, err := q.Take(); v != 1 || err != nil {
				t.Errorf("got %d, %v, want 1", v, err)
			}
		})
		awaitWaiting(t, q, 2)
		r.refuses.Store(true)
		if !q.TryPut(1) {
			t.Error("it was not put")
		}
		next()
		r.refuses.Store(false)
		if err := lost.Interrupt(); err != nil {
			t.Fatal(err)
		}
		awaitWaiting(t, q, 1)
		if !q.TryPut(2) {
			t.Error("it was not put")
		}
		lost.Join()
		if got.Load() != 2 {
			t.Errorf("got %d, want 2", got.Load())
		}
	})
	t.Run("putter", func(t *testing.T) {
		q := vsync.NewQueue[int](0)
		r := refusing()
		lost := vthread.Builder{Scheduler: r}.Start(func() {
			if err := q.Put(1); err != nil {
				t.Errorf("put: %v", err)
			}
		})
		awaitState(t, lost, flight.StateWaiting)
		r.refuses.Store(true)
		if v, did := q.TryTake(); v != 1 || !did {
			t.Errorf("got %d, %v, want 1", v, did)
		}
		r.refuses.Store(false)
		lost.Interrupt()
		lost.Join()
	})
}

func TestAllStopsWhereItsCallerDoes(t *testing.T) {
	var q vsync.Queue[int]
	for i := range 5 {
		q.Put(i)
	}
	for v := range q.All() {
		if v == 2 {
			break
		}
	}
	if q.Len() != 2 {
		t.Errorf("%d are left, want 2", q.Len())
	}
}

func TestAnUnboundedQueueWrapsAround(t *testing.T) {
	var q vsync.Queue[int]
	in, out := 0, 0
	for round := range 200 {
		for range round%17 + 1 {
			q.Put(in)
			in++
		}
		for range min(round%13+1, q.Len()) {
			if v, _ := q.TryTake(); v != out {
				t.Fatalf("got %d, want %d", v, out)
			}
			out++
		}
	}
	if q.Len() != in-out {
		t.Errorf("%d are left, want %d", q.Len(), in-out)
	}
}

func TestANegativeCapacityPanics(t *testing.T) {
	if got := panics(func() { vsync.NewQueue[int](-1) }); got != "vsync: negative capacity" {
		t.Errorf("got %v", got)
	}
}

func TestAQueueThatNeedNotWaitAllocatesNothing(t *testing.T) {
	q := vsync.NewQueue[int](4)
	q.Put(0)
	q.Take()
	if n := testing.AllocsPerRun(100, func() { q.Put(1); q.Take() }); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}
