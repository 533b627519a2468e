package sched_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// An inline scheduler runs tasks on whoever submits them.
type inline struct{ _ byte }

func (*inline) Execute(t *sched.Task) error { return t.Run() }

// SD-06
func TestASchedulerMayRunTheTaskOnItsCaller(t *testing.T) {
	b := vthread.Builder{Scheduler: &inline{}}
	steps := 0
	th := b.Start(func() {
		steps++
		vthread.Yield()
		steps++
		vthread.Park()
		steps++
	})
	if steps != 2 || th.State() != flight.StateParked {
		t.Errorf("after the start: %d steps, %v, want 2 and parked", steps, th.State())
	}
	if err := th.Unpark(); err != nil {
		t.Error(err)
	}
	if steps != 3 || th.State() != flight.StateDone {
		t.Errorf("after the unpark: %d steps, %v, want 3 and done", steps, th.State())
	}
}

// SD-05, SD-08
func TestASchedulerCannotRunTheTaskOnACallerThatIsAThread(t *testing.T) {
	b := vthread.Builder{Scheduler: &inline{}}
	waiting := b.Start(func() { vthread.Park() })
	vthread.Start(func() {
		if _, err := b.TryStart(func() {}); !errors.Is(err, sched.ErrOnThread) {
			t.Errorf("start on a thread: %v, want ErrOnThread", err)
		}
		if err := waiting.Unpark(); !errors.Is(err, sched.ErrOnThread) {
			t.Errorf("unpark on a thread: %v, want ErrOnThread", err)
		}
	}).Join()
	if err := waiting.Unpark(); err != nil || waiting.State() != flight.StateDone {
		t.Errorf("unpark on a goroutine: %v, %v, want done", err, waiting.State())
	}
	runtime.GC() // then the file forgets the thread that was refused
}
