package sched_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// returns fails the test if f does not return in time.
func returns[F func() | func() error](t *testing.T, what string, f F) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		switch f := any(f).(type) {
		case func():
			f()
		case func() error:
			if err := f(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain: %s", what)
	}
}

// W4: carriers that are held still have helpers.
func TestCloseHelpsThreadsThatWaitForEachOtherInGo(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := vthread.Builder{Scheduler: fj}
	begun, closing, ch := make(chan int), make(chan int), make(chan int)
	b.Start(func() {
		close(begun)
		<-closing
		time.Sleep(5 * time.Millisecond) // Close is at work
		b.Start(func() { ch <- 1 })      // goes to the hand-off slot
		<-ch
	})
	<-begun
	close(closing)
	returns(t, "Close", func() { fj.Close() })
}

func TestWhatIsAcceptedDuringCloseRuns(t *testing.T) {
	for range 200 {
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
		if err != nil {
			t.Fatal(err)
		}
		b := vthread.Builder{Scheduler: fj}
		b.Start(func() {}).Join()
		closed := make(chan struct{})
		go func() { fj.Close(); close(closed) }()
		var last *vthread.Thread
		for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; { // Close has no end while there is work
			th, err := b.TryStart(func() {})
			if errors.Is(err, sched.ErrClosed) {
				break
			}
			last = th
		}
		if last != nil {
			returns(t, "a thread that was accepted", last.Join)
		}
		<-closed
	}
	runtime.GC() // then the file forgets the thread that was refused
}

// W2, W4: of carriers that are all too many, one must go on.
func TestCloseWithFewerCarriersThanAreAwake(t *testing.T) {
	for range 20 {
		fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 3})
		if err != nil {
			t.Fatal(err)
		}
		b := vthread.Builder{Scheduler: fj}
		var stop atomic.Bool
		for range 9 {
			b.Start(func() {
				for !stop.Load() {
					vthread.Yield()
				}
			})
		}
		closed := make(chan struct{})
		go func() { fj.Close(); close(closed) }()
		time.Sleep(time.Millisecond)
		if err := fj.SetParallelism(1); err != nil {
			t.Fatal(err)
		}
		returns(t, "a thread started in between", b.Start(func() {}).Join)
		stop.Store(true)
		returns(t, "Close", func() { <-closed })
	}
}

// The thread that the closed scheduler waits for has the closer's carrier, of which there is no other.
func TestAThreadThatClosesASchedulerLetsOthersOfItsOwnGoOn(t *testing.T) {
	forkJoin := func(o sched.ForkJoinOptions) closer {
		fj, err := sched.NewForkJoin(o)
		if err != nil {
			t.Fatal(err)
		}
		return fj
	}
	kinds := []struct {
		name string
		make func() closer
	}{
		{"forkjoin", func() closer { return forkJoin(sched.ForkJoinOptions{Parallelism: 1}) }},
		{"one-carrier", func() closer { return forkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1}) }},
		{"single", func() closer { return sched.NewSingle() }},
		{"pinned", func() closer {
			p, err := sched.NewPinned(sched.PinnedOptions{Carriers: 1, AnyCPU: true})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}},
	}
	for _, from := range kinds {
		for _, of := range kinds {
			t.Run("from="+from.name+"/of="+of.name, func(t *testing.T) {
				mine, other := from.make(), of.make()
				var free atomic.Bool
				vthread.Builder{Scheduler: other}.Start(func() {
					for !free.Load() {
						vthread.Yield()
					}
				})
				th := vthread.Builder{Scheduler: mine}.Start(func() {
					vthread.Start(func() { free.Store(true) })
					if err := other.Close(); err != nil {
						t.Error(err)
					}
				})
				returns(t, "the closer", th.Join)
				returns(t, "Close", mine.Close)
			})
		}
	}
}

// A closer is a scheduler that is closed.
type closer interface {
	sched.Scheduler
	Close() error
}
