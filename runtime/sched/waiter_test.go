package sched_test

import (
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestJoiningUsesNoPermit(t *testing.T) {
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	joined := b.Start(func() { vthread.Park() })
	early := b.Start(func() {
		vthread.Current().Unpark()
		joined.Join()
		vthread.Park()
	})
	late := b.Start(func() {
		joined.Join()
		vthread.Park()
	})
	await(t, "the park", func() bool { return joined.State() == flight.StateParked })
	for _, th := range []*vthread.Thread{early, late} {
		await(t, "the joins", func() bool { return th.State() == flight.StateWaiting })
	}
	if err := late.Unpark(); err != nil {
		t.Fatal(err)
	}
	await(t, "the joiner waits on", func() bool { return late.State() == flight.StateWaiting })
	if err := joined.Unpark(); err != nil {
		t.Fatal(err)
	}
	returns(t, "a thread that had a permit before it joined another", early.Join)
	returns(t, "a thread that was given a permit while it joined another", late.Join)
}
