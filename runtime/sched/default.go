package sched

import (
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// nursery starts goroutines for others, outside any synctest bubble and on no locked OS thread: it is
// made in package init, on a goroutine of its own.
var nursery = make(chan func())

func init() {
	flight.Announce() // a program with threads is listed before it has one
	go func() {
		for f := range nursery {
			go f()
		}
	}()
}

// Default returns the scheduler of threads that are given none, a [ForkJoin] with the default
// options but the name, "default". It is never closed.
var Default = sync.OnceValue(func() *ForkJoin {
	nursery <- func() { // its channels, too, must not belong to a bubble
		fj, err := NewForkJoin(ForkJoinOptions{Name: "default"})
		if err != nil {
			panic(err) // the defaults are legal
		}
		firstBorn <- fj
	}
	return <-firstBorn
})

var firstBorn = make(chan *ForkJoin, 1)

// inherited is the scheduler of a thread that is given none by the caller, on which me is mounted.
func inherited(me *Task) Scheduler {
	if me != nil {
		if _, own := me.sched.(bound); !own {
			return me.sched
		}
	}
	if bubbled() {
		return goroutines{}
	}
	return Default()
}

// goroutines is the scheduler of threads that are started in a synctest bubble: every run has a
// goroutine of its own, started by whoever submits and so in the bubble. No goroutine is left when
// its threads have ended, as a bubble demands.
type goroutines struct{}

func (goroutines) Execute(t *Task) error {
	go t.Run()
	return nil
}

// bubbled reports whether the calling goroutine is in a synctest bubble. There the clock starts at the beginning
// of the year 2000 (package testing/synctest documents it), decades before [epoch].
func bubbled() bool { return time.Since(epoch) < -10*365*24*time.Hour }
