package sched_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestAParkedThreadMovesToAnotherScheduler(t *testing.T) {
	a, b := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1}), newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	var where []sched.Scheduler
	th := vthread.Builder{Scheduler: a}.Start(func() {
		vthread.Park()
		child := vthread.Start(func() {})
		child.Join()
		where = append(where, vthread.Current().Scheduler(), child.Scheduler())
	})
	await(t, "the park", func() bool { return th.State() == flight.StateParked })
	if err := th.UnparkOn(b); err != nil {
		t.Fatal(err)
	}
	returns(t, "the thread", th.Join)
	if where[0] != sched.Scheduler(b) || where[1] != sched.Scheduler(b) {
		t.Errorf("it went on on %p, its child on %p, want %p", where[0], where[1], b)
	}
	if err := th.UnparkOn(a); !errors.Is(err, sched.ErrNotParked) {
		t.Errorf("after its end: %v, want ErrNotParked", err)
	}
}

func TestWhatIsNotParkedOrHasItsOwnGoroutineCannotBeMoved(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	th := vthread.Builder{Scheduler: fj}.Unstarted(func() {})
	if err := th.UnparkOn(fj); !errors.Is(err, sched.ErrNotParked) {
		t.Errorf("new: %v, want ErrNotParked", err)
	}
	if err := th.UnparkOn(sched.Goroutines); !errors.Is(err, sched.ErrBound) {
		t.Errorf("to a goroutine: %v, want ErrBound", err)
	}
	own := vthread.Builder{Kind: vthread.OnGoroutine}.Start(func() { vthread.Park() })
	await(t, "the park", func() bool { return own.State() == flight.StateParked })
	if err := own.UnparkOn(fj); !errors.Is(err, sched.ErrBound) {
		t.Errorf("from a goroutine: %v, want ErrBound", err)
	}
	own.Unpark()
	own.Join()
}

func TestAThreadThatTheOtherSchedulerRefusesStaysWhereItWas(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})
	closed, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	th := vthread.Builder{Scheduler: fj}.Start(func() { vthread.ParkFor(time.Hour) })
	await(t, "the park", func() bool { return th.State() == flight.StateTimedParked })
	if err := th.UnparkOn(closed); !errors.Is(err, sched.ErrClosed) {
		t.Fatalf("got %v, want ErrClosed", err)
	}
	if th.State() != flight.StateTimedParked || th.Scheduler() != sched.Scheduler(fj) {
		t.Errorf("%s on %p, want it timed-parked on %p", th, th.Scheduler(), fj)
	}
	th.Unpark()
	returns(t, "the thread", th.Join)
}

// Threads wander between three schedulers at random, unparked by everybody, with timers; none is lost or runs twice.
func TestThreadsThatAreMovedAllTheTimeAreNeitherLostNorRunTwice(t *testing.T) {
	schedulers := []sched.Scheduler{
		newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1}),
		newForkJoin(t, sched.ForkJoinOptions{Parallelism: 4}),
		sched.Default(),
	}
	const n, rounds = 200, 50
	var inside [n]atomic.Int32
	var threads [n]*vthread.Thread
	var moved atomic.Int64
	var begun sync.WaitGroup
	begun.Add(n)
	for i := range threads {
		threads[i] = vthread.Builder{Scheduler: schedulers[i%3]}.Unstarted(func() {
			begun.Done()
			for r := range rounds {
				if inside[i].Add(1) != 1 {
					t.Error("a thread runs twice at once")
				}
				other := threads[(i*7+r)%n]
				if err := other.UnparkOn(schedulers[(i+r)%3]); err == nil {
					moved.Add(1)
				} else if !errors.Is(err, sched.ErrNotParked) {
					t.Error(err)
				}
				threads[(i*3+r)%n].Unpark()
				inside[i].Add(-1)
				vthread.ParkFor(time.Duration(r%3) * 100 * time.Microsecond)
			}
		})
	}
	for _, th := range threads {
		if err := th.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, th := range threads {
		returns(t, "a thread that wanders", th.Join)
	}
	if moved.Load() == 0 {
		t.Error("nothing was moved")
	}
}

func TestATaskKeepsWhatItsSchedulerAttaches(t *testing.T) {
	kept := make(chan any, 1)
	s := second{newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	th := vthread.Builder{Scheduler: s}.Unstarted(func() { kept <- vthread.Current().Task().Attachment() })
	if th.Task().Attachment() != nil || th.Task().Preferred() != 0 {
		t.Error("something is attached to a new task")
	}
	th.Task().Attach("deadline")
	th.Task().Prefer(7)
	if vthread.Of(th.Task()) != th || th.Task().Preferred() != 7 {
		t.Error("the task does not know its thread, or what it prefers")
	}
	th.Start()
	if v := <-kept; v != "deadline" {
		t.Errorf("attached %v", v)
	}
	th.Join()
}
