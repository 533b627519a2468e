package sched_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A moody scheduler refuses one task when it is told to, and takes its time.
type moody struct {
	refuse       atomic.Bool
	asked, reply chan struct{}
}

func (m *moody) Execute(t *sched.Task) error {
	if m.refuse.CompareAndSwap(true, false) {
		m.asked <- struct{}{}
		<-m.reply
		return errRefused
	}
	go t.Run()
	return nil
}

func TestAnUnparkWhileAnotherIsRefusedIsNotLost(t *testing.T) {
	m := &moody{asked: make(chan struct{}), reply: make(chan struct{})}
	th := vthread.Builder{Scheduler: m}.Start(func() { vthread.Park() })
	await(t, "the park", func() bool { return th.State() == flight.StateParked })
	m.refuse.Store(true)
	first := make(chan error)
	go func() { first <- th.Unpark() }()
	<-m.asked
	if err := th.Unpark(); err != nil {
		t.Fatalf("second unpark: %v", err)
	}
	close(m.reply)
	if err := <-first; err != nil {
		t.Fatalf("first unpark: %v, want none, since the second made the thread go on", err)
	}
	returns(t, "the thread", th.Join)
}

func TestARefusedUnparkCanBeRepeated(t *testing.T) {
	m := &moody{asked: make(chan struct{}, 1), reply: make(chan struct{})}
	close(m.reply)
	th := vthread.Builder{Scheduler: m}.Start(func() { vthread.Park() })
	await(t, "the park", func() bool { return th.State() == flight.StateParked })
	m.refuse.Store(true)
	if err := th.Unpark(); !errors.Is(err, errRefused) {
		t.Fatalf("got %v, want refused", err)
	}
	if s := th.State(); s != flight.StateParked {
		t.Fatalf("state %v, want parked", s)
	}
	if err := th.Unpark(); err != nil {
		t.Fatal(err)
	}
	returns(t, "the thread", th.Join)
}

// Whoever cannot get a task executed by one scheduler may ask another.
type second struct{ first *sched.ForkJoin }

func (s second) Execute(t *sched.Task) error {
	if err := s.first.Execute(t); err != nil {
		go t.Run()
	}
	return nil
}

func TestATaskThatAForkJoinRefusesCanBeRunByAnother(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	fj.Close()
	returns(t, "the thread", vthread.Builder{Scheduler: second{fj}}.Start(vthread.Yield).Join)
}

func TestASleeperOfAClosedSchedulerStaysParked(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	var task *sched.Task
	th := vthread.Builder{Scheduler: fj}.Start(func() {
		task = sched.Current()
		vthread.ParkFor(time.Hour)
	})
	await(t, "the park", func() bool { return th.State() == flight.StateTimedParked })
	fj.Close()
	sched.Expire(task)
	await(t, "the end of its time", func() bool { return figure(fj, flight.FigureRejections) == 1 && th.State() == flight.StateTimedParked })
	if err := th.Unpark(); !errors.Is(err, sched.ErrClosed) {
		t.Errorf("unpark: %v, want ErrClosed", err)
	}
	sched.Move(task, second{fj}) // so that it can end
	th.Unpark()
	returns(t, "the thread", th.Join)
}

// slowRefuser refuses a task after a while.
type slowRefuser struct{ asked, answer chan struct{} }

func (r slowRefuser) Execute(*sched.Task) error {
	r.asked <- struct{}{}
	<-r.answer
	return errRefused
}

func TestAJoinDuringARefusedStartReturns(t *testing.T) {
	r := slowRefuser{make(chan struct{}), make(chan struct{})}
	th := vthread.Builder{Scheduler: r}.Unstarted(func() {})
	started := make(chan error)
	go func() { started <- th.Start() }()
	<-r.asked
	joined := make(chan struct{})
	go func() { defer close(joined); th.Join() }()
	time.Sleep(time.Millisecond) // either order must do; this is the one that hung
	close(r.answer)
	if err := <-started; !errors.Is(err, errRefused) {
		t.Errorf("start: %v, want refused", err)
	}
	returns(t, "Join", func() { <-joined })
}
