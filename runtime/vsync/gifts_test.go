package vsync_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// A scarcity is something that one at a time has. Who is first takes it in its own way, and the others in theirs.
type scarcity struct {
	of      any
	hold    func()
	release func() // of who holds
	first   func() // waits, and gives it to the next
	others  func() // so, too
}

// scarcities are one of each kind of synchronizer that gives something to one of those who wait.
var scarcities = map[string]func() scarcity{
	"Mutex":          func() scarcity { return lockScarcity(new(vsync.Mutex)) },
	"ReentrantMutex": func() scarcity { return lockScarcity(new(vsync.ReentrantMutex)) },
	"RWMutex":        func() scarcity { return lockScarcity(new(vsync.RWMutex)) },
	"RWMutex, first reads": func() scarcity {
		mu := new(vsync.RWMutex)
		s := lockScarcity(mu)
		s.first = func() { pass(mu.RLocker()) }
		return s
	},
	"RWMutex, others read": func() scarcity {
		mu := new(vsync.RWMutex)
		read := func() { pass(mu.RLocker()) }
		return scarcity{mu, mu.RLock, mu.RUnlock, func() { pass(mu) }, read}
	},
	"Semaphore": func() scarcity {
		s := vsync.NewSemaphore(2)
		enter := func() { s.Acquire(1); s.Release(1) }
		return scarcity{s, func() { s.Acquire(2) }, func() { s.Release(1) }, enter, enter}
	},
	"Semaphore, unfair": func() scarcity {
		s := vsync.NewUnfairSemaphore(1)
		enter := func() { s.Acquire(1); s.Release(1) }
		return scarcity{s, func() { s.Acquire(1) }, func() { s.Release(1) }, enter, enter}
	},
	"Queue": func() scarcity {
		q := vsync.NewQueue[int](1)
		enter := func() {
			v, _ := q.Take()
			if v != 7 {
				panic(fmt.Sprintf("took %d", v))
			}
			q.Put(v)
		}
		return scarcity{q, func() {}, func() { q.Put(7) }, enter, enter}
	},
	"Cond": func() scarcity {
		c := vsync.NewCond(new(vsync.Mutex))
		n := 0
		give := func() { c.L.Lock(); n++; c.L.Unlock(); c.Signal() }
		enter := func() {
			c.L.Lock()
			for n == 0 {
				c.Wait()
			}
			n--
			c.L.Unlock()
			give()
		}
		return scarcity{c, func() {}, give, enter, enter}
	},
}

func lockScarcity(mu sync.Locker) scarcity {
	enter := func() { pass(mu) }
	return scarcity{mu, mu.Lock, mu.Unlock, enter, enter}
}

// eachScarcity runs f for each of them.
func eachScarcity(t *testing.T, f func(t *testing.T, make func() scarcity)) {
	for name, make := range scarcities {
		t.Run(name, func(t *testing.T) { f(t, make) })
	}
}

// A closer is a scheduler that is closed.
type closer interface {
	sched.Scheduler
	Close() error
}

// fewCarriers are schedulers whose carriers are counted, and may not become more.
var fewCarriers = map[string]struct {
	carriers int
	make     func() (closer, error)
}{
	"fork-join": {2, func() (closer, error) {
		return sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 2, MaxCarriers: 2})
	}},
	"single": {1, func() (closer, error) { return sched.NewSingle(), nil }},
	"pinned": {1, func() (closer, error) {
		return sched.NewPinned(sched.PinnedOptions{Carriers: 1, AnyCPU: true})
	}},
}

func eachOfFewCarriers(t *testing.T, f func(t *testing.T, b vthread.Builder, carriers int)) {
	for name, s := range fewCarriers {
		t.Run(name, func(t *testing.T) {
			scheduler, err := s.make()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := scheduler.Close(); err != nil {
					t.Error(err)
				}
			}()
			f(t, vthread.Builder{Scheduler: scheduler}, s.carriers)
		})
	}
}

// pinning is f, pinned.
func pinning(f func()) func() {
	return func() { continuation.Pin(); defer continuation.Unpin(); f() }
}

func awaitUnmounted(t *testing.T, th *vthread.Thread) {
	t.Helper()
	until(t, "the thread has left its carrier", func() bool {
		s := th.State()
		return s == flight.StateBlocked || s == flight.StateWaiting
	})
}

// Who has waited longest gets it, and has no carrier: pinned contenders hold them all.
func TestPinnedContendersGetWhatAnotherCannotTakeOn(t *testing.T) {
	eachScarcity(t, func(t *testing.T, make func() scarcity) {
		eachOfFewCarriers(t, func(t *testing.T, b vthread.Builder, carriers int) {
			s := make()
			s.hold()
			all := []*vthread.Thread{b.Start(s.first)}
			awaitUnmounted(t, all[0])
			for range carriers {
				p := b.Start(pinning(s.others))
				awaitState(t, p, flight.StatePinned)
				all = append(all, p)
			}
			s.release()
			for _, th := range all {
				joins(t, th)
			}
		})
	})
}

// A goroutine, and a thread that has carriers, get what somebody cannot take on whose carriers wait for them.
func TestOthersGetWhatAThreadWithoutACarrierCannotTakeOn(t *testing.T) {
	eachScarcity(t, func(t *testing.T, make func() scarcity) {
		for _, k := range kinds {
			t.Run("by="+k.name, func(t *testing.T) {
				eachOfFewCarriers(t, func(t *testing.T, b vthread.Builder, carriers int) {
					s := make()
					s.hold()
					u := b.Start(s.first)
					awaitUnmounted(t, u)
					awaitWaiting(t, s.of, 1)
					passed := new(vsync.Latch)
					passed.Add(1)
					var held []*vthread.Thread
					for range carriers {
						p := b.Start(pinning(passed.Wait))
						awaitState(t, p, flight.StatePinned)
						held = append(held, p)
					}
					join := k.start(func() { s.others(); passed.Done() })
					awaitWaiting(t, s.of, 2)
					s.release()
					join()
					joins(t, u)
					for _, p := range held {
						joins(t, p)
					}
				})
			})
		}
	})
}

// What several have is taken back for one that wants as much.
func TestAPinnedThreadGetsThePermitsThatSeveralCannotTakeOn(t *testing.T) {
	for name, make := range map[string]func(int64) *vsync.Semaphore{"fair": vsync.NewSemaphore, "unfair": vsync.NewUnfairSemaphore} {
		t.Run(name, func(t *testing.T) {
			eachOfFewCarriers(t, func(t *testing.T, b vthread.Builder, carriers int) {
				s := make(3)
				s.Acquire(3)
				var all []*vthread.Thread
				start := func(permits int64, how func(func()) func()) {
					all = append(all, b.Start(how(func() { s.Acquire(permits); s.Release(permits) })))
				}
				for i := range 3 {
					start(1, func(f func()) func() { return f })
					awaitWaiting(t, s, i+1)
				}
				for range carriers {
					start(3, pinning)
					awaitState(t, all[len(all)-1], flight.StatePinned)
				}
				s.Release(3)
				for _, th := range all {
					joins(t, th)
				}
			})
		})
	}
}

// joins waits for th, which ends soon.
func joins(t *testing.T, th *vthread.Thread) {
	t.Helper()
	if ended, err := th.JoinFor(patience); !ended || err != nil {
		t.Fatalf("%v does not end: %v", th, err)
	}
}

// MN-13: many of both kinds, and as many carriers as processors.
func TestManyPinnedAndUnmountedContendersFinish(t *testing.T) {
	eachScarcity(t, func(t *testing.T, make func() scarcity) {
		contend(t, make(), sched.ForkJoinOptions{Parallelism: 2, MaxCarriers: 2}, 100, 100)
	})
}

// More pinned threads than there are carriers, and than there are carriers with rings by default.
func TestMorePinnedContendersThanCarriersFinish(t *testing.T) {
	for _, o := range []sched.ForkJoinOptions{{MaxCarriers: 1024}, {}} {
		contend(t, lockScarcity(new(vsync.Mutex)), o, 100, 1100)
	}
}

func contend(t *testing.T, s scarcity, o sched.ForkJoinOptions, unmounted, pins int) {
	fj, err := sched.NewForkJoin(o)
	if err != nil {
		t.Fatal(err)
	}
	b := vthread.Builder{Scheduler: fj}
	s.hold()
	var all []*vthread.Thread
	for range unmounted {
		all = append(all, b.Start(s.first))
	}
	for _, th := range all {
		awaitUnmounted(t, th)
	}
	for range pins {
		all = append(all, b.Start(pinning(s.others)))
	}
	until(t, "pinned threads hold all carriers", func() bool {
		n := 0
		for _, p := range all[unmounted:] {
			if p.State() == flight.StatePinned {
				n++
			}
		}
		return n == min(pins, cmp.Or(o.MaxCarriers, pins))
	})
	s.release()
	for _, th := range all {
		joins(t, th)
	}
	if err := fj.Close(); err != nil {
		t.Error(err)
	}
}

// Schedules of few carriers, all of which pinned threads may hold: the contenders two, and who has what they want the third.
func TestSimulatedPinnedContendersGetWhatAnotherCannotTakeOn(t *testing.T) {
	eachScarcity(t, func(t *testing.T, make func() scarcity) {
		vttest.Options{Carriers: 3}.Run(t, func(*testing.T) {
			continuation.Pin()
			defer continuation.Unpin()
			s := make()
			s.hold()
			all := []*vthread.Thread{
				vthread.Start(s.first), vthread.Start(s.first), vthread.Start(pinning(s.others)), vthread.Start(pinning(s.others)),
			}
			vthread.Sleep(2 * time.Millisecond)
			s.release()
			for _, th := range all {
				th.Join()
			}
		})
	})
}

// An Unlock that counts under another lock.
type countedMutex struct {
	vsync.Mutex
	stats vsync.Mutex
	n     int
}

func (l *countedMutex) Unlock() {
	l.stats.Lock()
	l.n++
	l.stats.Unlock()
	l.Mutex.Unlock()
}

func TestAConditionWhoseUnlockWaitsLosesNoSignal(t *testing.T) {
	for _, k := range kinds {
		t.Run("by="+k.name, func(t *testing.T) {
			l := new(countedMutex)
			c := vsync.NewCond(l)
			l.stats.Lock()
			join := k.start(func() { l.Lock(); c.Wait(); l.Unlock() })
			awaitWaiting(t, &l.stats, 1)
			c.Signal()
			l.stats.Unlock()
			join()
			for range 100 {
				k.start(func() { pass(&l.stats) })()
			}
		})
	}
	t.Run("simulated", func(t *testing.T) {
		vttest.Run(t, func(*testing.T) {
			l := new(countedMutex)
			c := vsync.NewCond(l)
			waits := false
			other := vthread.Start(func() {
				for range 3 {
					pass(&l.stats)
				}
			})
			waiter := vthread.Start(func() {
				l.Lock()
				waits = true
				c.Wait()
				l.Unlock()
			})
			for l.Lock(); !waits; l.Lock() {
				l.Unlock()
				vthread.Sleep(time.Millisecond)
			}
			c.Signal()
			l.Unlock()
			waiter.Join()
			other.Join()
		})
	})
}

// A context whose Value takes a lock.
type lazyContext struct {
	context.Context
	mu vsync.Mutex
}

func (c *lazyContext) Value(key any) any { pass(&c.mu); return c.Context.Value(key) }

// contextWaits are the waits with a context, of something that is not there yet, and how it comes.
var contextWaits = map[string]func() (wait func(context.Context) error, come func()){
	"Mutex": func() (func(context.Context) error, func()) {
		mu := new(vsync.Mutex)
		mu.Lock()
		return then(mu.LockContext, mu.Unlock), mu.Unlock
	},
	"ReentrantMutex": func() (func(context.Context) error, func()) {
		mu, done := new(vsync.ReentrantMutex), new(vsync.Latch)
		done.Add(1)
		held := new(vsync.Latch)
		held.Add(1)
		go func() { mu.Lock(); held.Done(); done.Wait(); mu.Unlock() }()
		held.Wait()
		return then(mu.LockContext, mu.Unlock), done.Done
	},
	"RWMutex": func() (func(context.Context) error, func()) {
		mu := new(vsync.RWMutex)
		mu.Lock()
		return then(mu.LockContext, mu.Unlock), mu.Unlock
	},
	"RWMutex, while others read": func() (func(context.Context) error, func()) {
		mu := new(vsync.RWMutex)
		mu.RLock()
		return then(mu.LockContext, mu.Unlock), mu.RUnlock
	},
	"RWMutex, to read": func() (func(context.Context) error, func()) {
		mu := new(vsync.RWMutex)
		mu.Lock()
		return then(mu.RLockContext, mu.RUnlock), mu.Unlock
	},
	"Semaphore": func() (func(context.Context) error, func()) {
		s := vsync.NewSemaphore(1)
		s.Acquire(1)
		return then(func(ctx context.Context) error { return s.AcquireContext(ctx, 1) }, func() { s.Release(1) }), func() { s.Release(1) }
	},
	"Queue": func() (func(context.Context) error, func()) {
		q := new(vsync.Queue[int])
		return then(func(ctx context.Context) error { _, err := q.TakeContext(ctx); return err }, func() { q.Put(1) }), func() { q.Put(1) }
	},
	"Latch": func() (func(context.Context) error, func()) {
		l := vsync.NewLatch(1)
		return l.WaitContext, l.Done
	},
	"Future": func() (func(context.Context) error, func()) {
		p := new(vthread.Promise[int])
		return func(ctx context.Context) error { _, err := p.GetContext(ctx); return err }, func() { p.Complete(1) }
	},
	"Join": func() (func(context.Context) error, func()) {
		done := new(vsync.Latch)
		done.Add(1)
		th := vthread.Start(done.Wait)
		return th.JoinContext, done.Done
	},
}

// then is f, followed by what undoes it.
func then(f func(context.Context) error, undo func()) func(context.Context) error {
	return func(ctx context.Context) error {
		err := f(ctx)
		if err == nil {
			undo()
		}
		return err
	}
}

func TestAContextWhoseValueWaitsLosesNoWakeUp(t *testing.T) {
	for name, waits := range contextWaits {
		for _, k := range kinds {
			for _, first := range []string{"it", "the value"} {
				t.Run(name+"/by="+k.name+"/first="+first, func(t *testing.T) {
					around, cancel := context.WithCancel(context.Background())
					defer cancel()
					ctx := &lazyContext{Context: around}
					wait, come := waits()
					ctx.mu.Lock()
					join := k.start(func() {
						for range 2 { // the second one finds nothing left behind
							if err := wait(ctx); err != nil {
								t.Error(err)
							}
						}
					})
					if k.name == thread.name { // a goroutine asks for no value
						awaitWaiting(t, &ctx.mu, 1)
					}
					if first == "it" {
						come()
						pause()
						ctx.mu.Unlock()
					} else {
						ctx.mu.Unlock()
						awaitWaiting(t, &ctx.mu, 0)
						pause()
						come()
					}
					join()
				})
			}
		}
	}
}

// A context that tells when it is waited for.
type askedContext struct {
	context.Context
	once sync.Once
	by   chan struct{}
}

func (c *askedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.by) })
	return c.Context.Done()
}

// As golang.org/x/sync/semaphore has it: golang.org/issue/63615.
func TestAContextThatHasEndedIsPreferredToWhatCameAtTheSameTime(t *testing.T) {
	for name, waits := range contextWaits {
		for _, k := range kinds {
			t.Run(name+"/by="+k.name, func(t *testing.T) {
				for range 50 {
					ctx, cancel := context.WithCancelCause(context.Background())
					wait, come := waits()
					why := errors.New("why")
					asked := &askedContext{Context: ctx, by: make(chan struct{})}
					var err error
					join := k.start(func() { err = wait(asked) })
					<-asked.by // it waits, or is about to
					cancel(why)
					come()
					join()
					if err != why {
						t.Fatalf("got %v, want the context's cause", err)
					}
					k.start(func() { // nothing is lost
						if err := wait(context.Background()); err != nil {
							t.Error(err)
						}
					})()
				}
			})
		}
	}
}

func TestAConditionReleasesAReentrantMutexWhole(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		mu := new(struct{ vsync.ReentrantMutex })
		c := vsync.NewCond(mu)
		ready := false
		join := thread.start(func() {
			until(t, "it waits", func() bool { return vsync.Waiting(c) == 1 })
			mu.Lock()
			ready = true
			mu.Unlock()
			c.Signal()
		})
		for range 3 {
			mu.Lock()
		}
		for !ready {
			c.Wait()
		}
		for range 3 {
			mu.Unlock()
		}
		if mu.Held() {
			t.Error("it is held more often than before")
		}
		join()
	})
}
