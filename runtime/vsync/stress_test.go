package vsync_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A limit is one of the four forms of a wait.
type limit int

const (
	unlimited limit = iota
	interruptible
	timed
	contextual
	limits
)

// waits calls the form of a wait that l means.
func (l limit) waits(d time.Duration, plain func(), alert func() error, within func(time.Duration) error, in func(context.Context) error) error {
	switch l {
	case unlimited:
		plain()
		return nil
	case interruptible:
		return alert()
	case timed:
		return within(d)
	default:
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		return in(ctx)
	}
}

// A strained synchronizer is one of which many make use at random.
type strained struct {
	// use waits, with a limit, and gives back what it got.
	use func(r *rand.Rand, l limit, d time.Duration) error
	// lonely tells that what a wait ends with is brought by somebody who may have no carrier: a pinned thread then has to limit its waits.
	lonely bool
	// unblock lets go on who waits for others that do not come any more. It is called again and again at the end.
	unblock func()
	// whole fails if anything was lost. Nobody uses it any more.
	whole func(t *testing.T)
}

// exclusive fails when two are inside at a time.
type exclusive struct {
	inside atomic.Int32
	t      *testing.T
}

func (e *exclusive) pass(r *rand.Rand) {
	if e.inside.Add(1) != 1 {
		e.t.Error("two are inside")
	}
	if r.IntN(4) == 0 {
		spinFor(time.Duration(r.IntN(20)) * time.Microsecond)
	}
	e.inside.Add(-1)
}

func free(mu interface{ TryLock() bool }) func(*testing.T) {
	return func(t *testing.T) {
		if !mu.TryLock() {
			t.Error("the lock is held when all have left it")
		}
	}
}

var strains = map[string]func(t *testing.T) strained{
	"Mutex": func(t *testing.T) strained {
		mu, e := new(vsync.Mutex), &exclusive{t: t}
		return strained{whole: free(mu), use: func(r *rand.Rand, l limit, d time.Duration) error {
			err := l.waits(d, mu.Lock, mu.LockInterruptibly, mu.LockFor, mu.LockContext)
			if err == nil {
				e.pass(r)
				mu.Unlock()
			}
			return err
		}}
	},
	"ReentrantMutex": func(t *testing.T) strained {
		mu, e := new(vsync.ReentrantMutex), &exclusive{t: t}
		return strained{whole: free(mu), use: func(r *rand.Rand, l limit, d time.Duration) error {
			err := l.waits(d, mu.Lock, mu.LockInterruptibly, mu.LockFor, mu.LockContext)
			if err == nil {
				mu.Lock()
				e.pass(r)
				mu.Unlock()
				mu.Unlock()
			}
			return err
		}}
	},
	"RWMutex": func(t *testing.T) strained {
		mu, e := new(vsync.RWMutex), &exclusive{t: t}
		return strained{whole: free(mu), use: func(r *rand.Rand, l limit, d time.Duration) error {
			if r.IntN(3) > 0 {
				err := l.waits(d, mu.RLock, mu.RLockInterruptibly, mu.RLockFor, mu.RLockContext)
				if err == nil {
					if e.inside.Load() != 0 {
						t.Error("a reader is inside with a writer")
					}
					mu.RUnlock()
				}
				return err
			}
			err := l.waits(d, mu.Lock, mu.LockInterruptibly, mu.LockFor, mu.LockContext)
			if err == nil {
				e.pass(r)
				mu.Unlock()
			}
			return err
		}}
	},
	"Semaphore":          func(t *testing.T) strained { return strainedSemaphore(vsync.NewSemaphore(5)) },
	"unfair Semaphore":   func(t *testing.T) strained { return strainedSemaphore(vsync.NewUnfairSemaphore(5)) },
	"Queue":              func(t *testing.T) strained { return strainedQueue(vsync.NewQueue[int](4), 2) },
	"Queue without room": func(t *testing.T) strained { return strainedPassing(vsync.NewQueue[int](0)) },
	"Once": func(t *testing.T) strained {
		var mu sync.Mutex
		once := new(vsync.Once)
		return strained{whole: func(*testing.T) {}, use: func(r *rand.Rand, l limit, d time.Duration) error {
			mu.Lock()
			o := once
			if o.Done() && r.IntN(4) == 0 {
				once = new(vsync.Once)
			}
			mu.Unlock()
			f := func() { spinFor(10 * time.Microsecond) }
			return l.waits(d, func() { o.Do(f) }, func() error { return o.DoInterruptibly(f) },
				func(d time.Duration) error { return o.DoFor(d, f) }, func(ctx context.Context) error { return o.DoContext(ctx, f) })
		}}
	},
	"Cond": func(t *testing.T) strained {
		c := vsync.NewCond(new(vsync.Mutex))
		n := 2
		return strained{
			lonely:  true,
			unblock: func() {},
			whole: func(t *testing.T) {
				if n != 2 {
					t.Errorf("%d tokens, want 2", n)
				}
			},
			use: func(r *rand.Rand, l limit, d time.Duration) (err error) {
				c.L.Lock()
				for n == 0 && err == nil {
					err = l.waits(d, c.Wait, c.WaitInterruptibly, c.WaitFor, c.WaitContext)
				}
				if err != nil {
					c.L.Unlock()
					return err
				}
				n--
				c.L.Unlock()
				c.L.Lock()
				n++
				c.L.Unlock()
				if r.IntN(8) == 0 {
					c.Broadcast()
				} else {
					c.Signal()
				}
				return nil
			},
		}
	},
	"Latch": func(t *testing.T) strained {
		latch := new(vsync.Latch)
		return strained{
			lonely: true,
			whole: func(t *testing.T) {
				if n := latch.Count(); n != 0 {
					t.Errorf("count %d, want 0", n)
				}
			},
			use: func(r *rand.Rand, l limit, d time.Duration) error {
				if r.IntN(2) == 0 {
					latch.Add(1)
					spinFor(time.Duration(r.IntN(20)) * time.Microsecond)
					latch.Done()
					return nil
				}
				return l.waits(d, latch.Wait, latch.WaitInterruptibly, latch.WaitFor, latch.WaitContext)
			},
		}
	},
	"Barrier": func(t *testing.T) strained {
		b := vsync.NewBarrier(3, nil)
		return strained{
			lonely:  true,
			unblock: b.Reset,
			whole:   func(*testing.T) {},
			use: func(r *rand.Rand, l limit, d time.Duration) error {
				without := func(_ int, err error) error { return err }
				err := l.waits(d, func() { b.Wait() }, func() error { return without(b.WaitInterruptibly()) },
					func(d time.Duration) error { return without(b.WaitFor(d)) }, func(ctx context.Context) error { return without(b.WaitContext(ctx)) })
				if b.Broken() && r.IntN(2) == 0 {
					b.Reset()
				}
				return err
			},
		}
	},
	"Exchanger": func(t *testing.T) strained {
		x := new(vsync.Exchanger[int])
		return strained{
			lonely:  true,
			unblock: func() { x.ExchangeFor(0, time.Millisecond) },
			whole:   func(*testing.T) {},
			use: func(_ *rand.Rand, l limit, d time.Duration) error {
				without := func(_ int, err error) error { return err }
				return l.waits(d, func() { x.Exchange(1) }, func() error { return without(x.ExchangeInterruptibly(1)) },
					func(d time.Duration) error { return without(x.ExchangeFor(1, d)) }, func(ctx context.Context) error { return without(x.ExchangeContext(ctx, 1)) })
			},
		}
	},
}

func strainedSemaphore(s *vsync.Semaphore) strained {
	return strained{
		whole: func(t *testing.T) {
			if n := s.Free(); n != 5 {
				t.Errorf("%d permits are free, want 5", n)
			}
		},
		use: func(r *rand.Rand, l limit, d time.Duration) error {
			n := 1 + r.Int64N(5)
			err := l.waits(d, func() { s.Acquire(n) }, func() error { return s.AcquireInterruptibly(n) },
				func(d time.Duration) error { return s.AcquireFor(n, d) }, func(ctx context.Context) error { return s.AcquireContext(ctx, n) })
			if err == nil {
				s.Release(n)
			}
			return err
		},
	}
}

// strainedQueue has elements that each user takes and puts again. There is always room.
func strainedQueue(q *vsync.Queue[int], elements int) strained {
	for range elements {
		q.Put(1)
	}
	return strained{
		whole: func(t *testing.T) {
			if n := q.Len(); n != elements {
				t.Errorf("%d elements, want %d", n, elements)
			}
		},
		use: func(_ *rand.Rand, l limit, d time.Duration) error {
			err := take(q, l, d)
			if err == nil && !q.TryPut(1) {
				return errors.New("no room")
			}
			return err
		},
	}
}

func take(q *vsync.Queue[int], l limit, d time.Duration) error {
	without := func(_ int, err error) error { return err }
	var plain error
	err := l.waits(d, func() { plain = without(q.Take()) }, func() error { return without(q.TakeInterruptibly()) },
		func(d time.Duration) error { return without(q.TakeFor(d)) }, func(ctx context.Context) error { return without(q.TakeContext(ctx)) })
	return cmp.Or(err, plain)
}

// strainedPassing has some who put, and some who take, until it is closed. Who gives up at the moment when it is given an element puts that back.
func strainedPassing(q *vsync.Queue[int]) strained {
	var put, taken atomic.Int64
	return strained{
		lonely:  true,
		unblock: q.Close,
		whole: func(t *testing.T) {
			if left := int64(q.Len()); put.Load()-taken.Load() != left {
				t.Errorf("%d were put and %d taken, and %d are left", put.Load(), taken.Load(), left)
			}
		},
		use: func(r *rand.Rand, l limit, d time.Duration) (err error) {
			if r.IntN(2) == 0 {
				if err = take(q, l, d); err == nil {
					taken.Add(1)
				}
				return err
			}
			plain := func() { err = q.Put(1) }
			if limited := l.waits(d, plain, func() error { return q.PutInterruptibly(1) },
				func(d time.Duration) error { return q.PutFor(1, d) }, func(ctx context.Context) error { return q.PutContext(ctx, 1) }); limited != nil {
				err = limited
			}
			if err == nil {
				put.Add(1)
			}
			return err
		},
	}
}

// Goroutines and threads of several schedulers, some with few carriers, pinned at random, interrupted at random, with all limits. VTSCOPE_STRESS says for
// how long, each synchronizer.
func TestEverySynchronizerUnderStress(t *testing.T) {
	d := 200 * time.Millisecond
	if text := os.Getenv("VTSCOPE_STRESS"); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, make := range strains {
		t.Run(name, func(t *testing.T) { strain(t, make(t), d) })
	}
}

func strain(t *testing.T, s strained, d time.Duration) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	few, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 2, MaxCarriers: 2})
	if err != nil {
		t.Fatal(err)
	}
	single := sched.NewSingle()
	var stop atomic.Bool
	var uses, given atomic.Int64
	use := func(number uint64, thread bool) func() {
		return func() {
			r := rand.New(rand.NewPCG(seed, number))
			for !stop.Load() {
				l := limit(r.IntN(int(limits)))
				once := func() {
					err := s.use(r, l, time.Duration(r.IntN(2000))*time.Microsecond)
					uses.Add(1)
					if err != nil {
						given.Add(1)
					}
				}
				switch {
				case !thread || r.IntN(3) > 0:
					once()
				default:
					if s.lonely && l < timed {
						l = timed
					}
					pinned(once)
				}
				if thread && r.IntN(4) == 0 {
					vthread.Yield()
				}
			}
		}
	}
	var threads []*vthread.Thread
	for _, scheduler := range []sched.Scheduler{sched.Default(), few, single, sched.Goroutines} {
		for range 4 {
			threads = append(threads, vthread.Builder{Scheduler: scheduler}.Start(use(uint64(len(threads)), true)))
		}
	}
	var others sync.WaitGroup
	for i := range 3 {
		others.Go(use(uint64(100+i), false))
	}
	others.Go(func() {
		r := rand.New(rand.NewPCG(seed, 1000))
		for !stop.Load() {
			threads[r.IntN(len(threads))].Interrupt()
			time.Sleep(time.Duration(r.IntN(200)) * time.Microsecond)
		}
	})
	time.Sleep(d)
	stop.Store(true)
	left := make(chan struct{})
	go func() {
		for _, th := range threads {
			th.Join()
		}
		others.Wait()
		close(left)
	}()
	for deadline := time.After(patience); ; {
		select {
		case <-left:
			for _, scheduler := range []closer{few, single} {
				if err := scheduler.Close(); err != nil {
					t.Error(err)
				}
			}
			s.whole(t)
			t.Logf("%d uses, %d of them given up", uses.Load(), given.Load())
			return
		case <-deadline:
			t.Fatalf("seed %d: some wait for ever", seed)
		case <-time.After(time.Millisecond):
			if s.unblock != nil {
				s.unblock()
			}
		}
	}
}
