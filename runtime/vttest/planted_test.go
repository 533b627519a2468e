package vttest_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// wrong fails the execution that it is called in, and not the test.
func wrong(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Planted bugs, each in a program that has a twin without it.
var planted = map[string]func(repaired bool){
	"check-then-act":      withdraw,
	"two locks":           transfer,
	"lost wake-up":        mailbox,
	"missed cancellation": serve,
	"state as a signal":   wake,
	"three forks":         dine,
}

// withdraw takes money from an account twice, if there is enough.
func withdraw(repaired bool) {
	var mu vsync.Mutex
	balance := 100
	take := func() {
		mu.Lock()
		enough := balance >= 80
		if !repaired {
			mu.Unlock()
			mu.Lock()
		}
		if enough {
			balance -= 80
		}
		mu.Unlock()
	}
	a, b := vthread.Start(take), vthread.Start(take)
	a.Join()
	b.Join()
	if balance < 0 {
		wrong("balance %d", balance)
	}
}

// transfer locks two accounts: in the order of the transfer, or in the same always.
func transfer(repaired bool) {
	var ann, bob vsync.Mutex
	start := func(name string, first, second *vsync.Mutex) *vthread.Thread {
		return vthread.Builder{Name: name}.Start(func() {
			first.Lock()
			defer first.Unlock()
			second.Lock()
			defer second.Unlock()
		})
	}
	there := start("to bob", &ann, &bob)
	if !repaired {
		ann, bob := &bob, &ann
		start("to ann", ann, bob).Join()
	} else {
		start("to ann", &ann, &bob).Join()
	}
	there.Join()
}

// mailbox has a receiver that parks until there is mail. It says that it will after it has looked, or when.
func mailbox(repaired bool) {
	var box struct {
		vsync.Mutex
		full     bool
		receiver *vthread.Thread
	}
	receiver := vthread.Builder{Name: "receiver"}.Start(func() {
		for {
			box.Lock()
			if box.full {
				box.Unlock()
				return
			}
			if !repaired {
				box.Unlock()
				box.Lock()
			}
			box.receiver = vthread.Current()
			box.Unlock()
			vthread.Park()
		}
	})
	box.Lock()
	box.full = true
	sleeper := box.receiver
	box.Unlock()
	if sleeper != nil {
		sleeper.Unpark()
	}
	receiver.Join()
}

// serve has a server that works, and then waits to be cancelled. It asks whether it was before it works, or when it begins to wait.
func serve(repaired bool) {
	var state struct {
		vsync.Mutex
		cancelled bool
		waiting   *vthread.Thread
	}
	cancelled := func() bool {
		state.Lock()
		defer state.Unlock()
		return state.cancelled
	}
	server := vthread.Builder{Name: "server"}.Start(func() {
		if cancelled() {
			return
		}
		vthread.Sleep(time.Millisecond)
		state.Lock()
		state.waiting = vthread.Current()
		state.Unlock()
		for !repaired || !cancelled() {
			vthread.Park()
			if cancelled() {
				return
			}
		}
	})
	vthread.Sleep(time.Millisecond)
	state.Lock()
	state.cancelled = true
	waiting := state.waiting
	state.Unlock()
	if waiting != nil {
		waiting.Unpark()
	}
	server.Join()
}

// wake has a thread that parks until an event, and one that wakes it: always, or if it seems to be parked.
func wake(repaired bool) {
	var event atomic.Bool
	sleeper := vthread.Start(func() {
		for !event.Load() {
			vthread.Park()
		}
	})
	event.Store(true)
	if repaired || sleeper.State() == flight.StateParked {
		sleeper.Unpark()
	}
	sleeper.Join()
}

// dine has three philosophers, each with a fork to the left and one to the right.
func dine(repaired bool) {
	var forks [3]vsync.Mutex
	var all []*vthread.Thread
	for i := range forks {
		left, right := i, (i+1)%len(forks)
		if repaired && left > right {
			left, right = right, left
		}
		all = append(all, vthread.Start(func() {
			forks[left].Lock()
			defer forks[left].Unlock()
			forks[right].Lock()
			defer forks[right].Unlock()
		}))
	}
	for _, t := range all {
		t.Join()
	}
}

func TestPlantedBugsAreFoundAndTheirRepairedTwinsNotFlagged(t *testing.T) {
	bases, twins := 50, 5
	if raceEnabled {
		bases, twins = 10, 1
	}
	for name, program := range planted {
		t.Run(name, func(t *testing.T) {
			var tried []int
			for base := range bases {
				r := vttest.Explore(t, vttest.Options{}, uint64(base), func(*testing.T) { program(false) })
				if !r.Failed {
					t.Errorf("base %d: not found in %d schedules", base, r.Tried)
				}
				tried = append(tried, r.Tried)
			}
			slices.Sort(tried)
			t.Logf("found after %d schedules in the median, %d at most", tried[len(tried)/2], tried[len(tried)-1])
			for base := range twins {
				r := vttest.Explore(t, vttest.Options{}, uint64(base), func(*testing.T) { program(true) })
				if r.Failed {
					t.Errorf("base %d: repaired, and flagged: %s", base, r.Report)
				}
			}
		})
	}
}
