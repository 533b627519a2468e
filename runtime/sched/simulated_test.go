package sched_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// simulate executes f on a simulated thread of a bubble.
func simulate(t *testing.T, choose func(sched.Choice) int, f func()) (failure *sched.Failure, steps []sched.Step) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := sched.NewSimulated(sched.SimulatedOptions{Settle: synctest.Wait, Choose: choose, MaxChoices: 1000})
		failure = s.Run(func() { vthread.Builder{Scheduler: s}.Start(f) })
		steps, _ = s.Steps()
	})
	return failure, steps
}

func first(sched.Choice) int { return 0 }

// another chooses the next thread after the one that executes.
func another(c sched.Choice) int { return (slices.Index(c.Ready, c.Running) + 1) % len(c.Ready) }

func TestASimulationExecutesWhoIsChosen(t *testing.T) {
	for name, test := range map[string]struct {
		choose func(sched.Choice) int
		want   []int
	}{
		"the first": {first, []int{0, 0, 1, 1, 2, 2}},
		"another":   {another, []int{0, 0, 1, 2, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var order []int
			failure, _ := simulate(t, test.choose, func() {
				for i := range 3 {
					vthread.Start(func() {
						order = append(order, i)
						sched.Point(sched.OpPoint, 0)
						order = append(order, i)
					})
				}
			})
			if failure != nil || !slices.Equal(order, test.want) {
				t.Errorf("got order %v and %+v, want %v", order, failure, test.want)
			}
		})
	}
}

func TestAChoiceTellsWhoCanGoOnAndWhoExecutes(t *testing.T) {
	var got []string
	_, _ = simulate(t, func(c sched.Choice) int {
		got = append(got, fmt.Sprint(c.Ready, c.Running, c.Yields))
		return 0
	}, func() {
		th := vthread.Start(func() {})
		vthread.Yield()
		th.Join()
	})
	want := []string{"[1] 0 false", "[1 2] 1 false", "[1 2] 1 true", "[2] 0 false", "[1] 0 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestASimulationTellsWhatThreadsDo(t *testing.T) {
	_, steps := simulate(t, first, func() {
		th := vthread.Start(func() { vthread.Sleep(time.Second) })
		th.Join()
	})
	type step struct {
		at     time.Duration
		thread int
		op     sched.Op
		other  int
	}
	var got []step
	for _, s := range steps {
		got = append(got, step{s.At, s.Thread, s.Op, s.Other})
	}
	want := []step{
		{0, 1, sched.OpBegin, 0},
		{0, 1, sched.OpStart, 2},
		{0, 1, sched.OpPark, 2},
		{0, 2, sched.OpBegin, 0},
		{0, 2, sched.OpPark, 0},
		{time.Second, 0, sched.OpTimeout, 2},
		{time.Second, 2, sched.OpEnd, 0},
		{time.Second, 2, sched.OpWake, 1},
		{time.Second, 1, sched.OpEnd, 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if s := steps[4]; s.Reason != flight.ReasonSleep || s.For != time.Second || len(s.PCs) == 0 {
		t.Errorf("got a sleep %+v, want one for 1s with a stack", s)
	}
}

func TestASimulationEndsWhenItsChooserWantsIt(t *testing.T) {
	ended := false
	failure, _ := simulate(t, func(c sched.Choice) int {
		if c.Running != 0 {
			return -1
		}
		return 0
	}, func() {
		vthread.Start(func() { ended = true })
		ended = true
	})
	if failure == nil || failure.Kind != sched.Stopped || ended {
		t.Errorf("got %+v, %v, want that it was stopped", failure, ended)
	}
}

func TestAWatchOfStartsTellsWhoHasNotEnded(t *testing.T) {
	before := vthread.Start(func() { vthread.Park() })
	left, stop := sched.WatchStarts()
	defer stop()
	vthread.Start(func() {}).Join()
	th := vthread.Start(func() { vthread.Park() })
	if got := left(); len(got) != 1 || got[0].ID() != th.ID() {
		t.Errorf("got %v, want the one that parks", got)
	}
	if _, err := (vthread.Builder{Scheduler: refuser{}}).TryStart(func() {}); err == nil {
		t.Fatal("it was not refused")
	}
	for _, th := range []*vthread.Thread{before, th} {
		th.Unpark()
		th.Join()
	}
	if got := left(); len(got) != 0 {
		t.Errorf("all have ended, and got %v", got)
	}
}
