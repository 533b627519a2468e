package vsync_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestReadersEnterTogether(t *testing.T) {
	const n = 10
	var mu vsync.RWMutex
	var inside atomic.Int32
	var joins []func()
	for i := range n {
		joins = append(joins, kinds[i%2].start(func() {
			mu.RLock()
			inside.Add(1)
			until(t, "all are inside", func() bool { return inside.Load() == n })
			mu.RUnlock()
		}))
	}
	for _, join := range joins {
		join()
	}
}

func TestReadersAndWritersExcludeEachOther(t *testing.T) {
	var mu vsync.RWMutex
	var readers, writers, n atomic.Int32
	var joins []func()
	for i := range 4 {
		joins = append(joins, kinds[i%2].start(func() {
			for range 200 {
				mu.Lock()
				if r, w := readers.Load(), writers.Add(1); r != 0 || w != 1 {
					t.Errorf("%d readers and %d writers are inside", r, w)
				}
				vthread.Yield()
				writers.Add(-1)
				n.Add(1)
				mu.Unlock()
			}
		}))
	}
	for i := range 8 {
		joins = append(joins, kinds[i%2].start(func() {
			for range 200 {
				mu.RLock()
				readers.Add(1)
				if w := writers.Load(); w != 0 {
					t.Errorf("%d writers are inside with a reader", w)
				}
				vthread.Yield()
				readers.Add(-1)
				mu.RUnlock()
			}
		}))
	}
	for _, join := range joins {
		join()
	}
	if n.Load() != 800 || !mu.TryLock() {
		t.Errorf("%d writes, want 800, and the lock free", n.Load())
	}
}

func TestAWaitingWriterKeepsNewReadersOutAndThoseAreNext(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var mu vsync.RWMutex
		mu.RLock()
		var order []string
		writer := a.start(func() { mu.Lock(); order = append(order, "writer"); mu.Unlock() })
		awaitWaiting(t, &mu, 1)
		if mu.TryRLock() || mu.TryLock() {
			t.Error("the lock is given to who tries")
		}
		if err := mu.RLockFor(0); err != vsync.ErrTimeout {
			t.Errorf("got %v, want %v", err, vsync.ErrTimeout)
		}
		var reading atomic.Bool
		reader := b.start(func() { mu.RLock(); reading.Store(true); order = append(order, "reader"); mu.RUnlock() })
		awaitWaiting(t, &mu, 2)
		second := a.start(func() { mu.Lock(); order = append(order, "second writer"); mu.Unlock() })
		awaitWaiting(t, &mu, 3)
		if reading.Load() {
			t.Error("a reader has overtaken the writer")
		}
		mu.RUnlock()
		writer()
		reader()
		second()
		if got := fmt.Sprint(order); got != "[writer reader second writer]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestReadersEnterWhenTheWriterGivesUp(t *testing.T) {
	amongBoth(t, func(t *testing.T, a, b kind) {
		var mu vsync.RWMutex
		mu.RLock()
		no := errors.New("no")
		ctx, cancel := context.WithCancelCause(context.Background())
		writer := a.start(func() {
			if err := mu.LockContext(ctx); err != no {
				t.Errorf("got %v, want %v", err, no)
			}
		})
		awaitWaiting(t, &mu, 1)
		reader := b.start(func() { pass(mu.RLocker()) })
		awaitWaiting(t, &mu, 2)
		cancel(no)
		writer()
		reader() // though the first one reads still
		mu.RUnlock()
		if !mu.TryLock() {
			t.Error("the lock is not free")
		}
	})
}

func TestReadersGiveUp(t *testing.T) {
	var mu vsync.RWMutex
	mu.Lock()
	fromBoth(t, func(t *testing.T) {
		if err := mu.RLockFor(short); err != vsync.ErrTimeout {
			t.Errorf("got %v, want %v", err, vsync.ErrTimeout)
		}
		ctx, cancel := context.WithTimeout(context.Background(), short)
		defer cancel()
		for range 2 {
			if err := mu.RLockContext(ctx); err != context.DeadlineExceeded {
				t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
			}
		}
	})
	th := vthread.Start(func() {
		if err := mu.RLockInterruptibly(); err != vsync.ErrInterrupted || vthread.Interrupted() {
			t.Errorf("got %v, and interrupted %v; want %v, cleared", err, vthread.Interrupted(), vsync.ErrInterrupted)
		}
	})
	awaitState(t, th, flight.StateBlocked)
	th.Interrupt()
	th.Join()
	awaitWaiting(t, &mu, 0)
	mu.Unlock()
	if err := mu.RLockFor(0); err != nil {
		t.Fatal(err)
	}
	mu.RUnlock()
}

func TestNoReadLockIsLostWhenSomeGiveUp(t *testing.T) {
	var mu vsync.RWMutex
	var joins []func()
	for i := range 8 {
		joins = append(joins, kinds[i%2].start(func() {
			for round := range 200 {
				d := time.Duration(round%30) * time.Microsecond
				switch {
				case (i+round)%4 == 0:
					if mu.LockFor(d) == nil {
						vthread.Yield()
						mu.Unlock()
					}
				case mu.RLockFor(d) == nil:
					vthread.Yield()
					mu.RUnlock()
				}
			}
		}))
	}
	for _, join := range joins {
		join()
	}
	if !mu.TryLock() {
		t.Error("the lock is held when all have left it")
	}
}

// What a refused thread was given goes to others.
func TestRefusedReadersAndWritersDoNotHoldTheLock(t *testing.T) {
	for _, c := range []struct {
		name string
		take func(*vsync.RWMutex)
		free func(*vsync.RWMutex)
		held bool
	}{
		{"reader", (*vsync.RWMutex).RLock, (*vsync.RWMutex).RUnlock, true},
		{"writer", (*vsync.RWMutex).Lock, (*vsync.RWMutex).Unlock, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu vsync.RWMutex
			if c.held {
				mu.Lock()
			} else {
				mu.RLock()
			}
			r := refusing()
			var entered atomic.Bool
			lost := vthread.Builder{Scheduler: r}.Start(func() { c.take(&mu); entered.Store(true); c.free(&mu) })
			awaitState(t, lost, flight.StateBlocked)
			r.refuses.Store(true)
			if c.held {
				mu.Unlock()
			} else {
				mu.RUnlock()
			}
			if entered.Load() || !mu.TryLock() {
				t.Fatal("the lock is not free")
			}
			r.refuses.Store(false)
			if err := lost.Interrupt(); err != nil {
				t.Fatal(err)
			}
			awaitWaiting(t, &mu, 1)
			mu.Unlock()
			lost.Join()
		})
	}
}

func TestRLockerReads(t *testing.T) {
	var mu vsync.RWMutex
	l := mu.RLocker()
	l.Lock()
	if !mu.TryRLock() || mu.TryLock() {
		t.Error("it does not read")
	}
	mu.RUnlock()
	l.Unlock()
	if !mu.TryLock() {
		t.Error("it still reads")
	}
}

func TestUnlocksOfWhatIsNotLockedPanic(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		var mu vsync.RWMutex
		wants := func(f func(), want string) {
			t.Helper()
			if got := panics(f); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		wants(mu.Unlock, "vsync: Unlock of unlocked RWMutex")
		wants(mu.RUnlock, "vsync: RUnlock of unlocked RWMutex")
		mu.RLock()
		wants(mu.Unlock, "vsync: Unlock of unlocked RWMutex")
		mu.RUnlock()
		mu.Lock()
		wants(mu.RUnlock, "vsync: RUnlock of unlocked RWMutex")
		mu.Unlock()
		wants(mu.RLocker().Unlock, "vsync: RUnlock of unlocked RWMutex")
	})
}
