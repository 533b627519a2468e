package conformance_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/sched/schedtest"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// SS-03: on every scheduler.
func TestNothingIsLostOnAnyScheduler(t *testing.T) {
	everywhere(t, axes{places: true}, func(w *world) {
		ran := 0
		for name, test := range schedtest.Cases() {
			if name == "stress" || name == "nothing-is-lost" {
				test(w, w.sched)
				ran++
			}
		}
		if ran != 2 {
			w.Errorf("%d cases of package schedtest, want 2", ran)
		}
	})
}

// SS-03: and between them.
func TestNothingIsLostBetweenSchedulers(t *testing.T) {
	const threads, rounds, movers = 40, 30, 3
	var on []sched.Scheduler
	for _, p := range places {
		s, end := p.make(t)
		on = append(on, s)
		t.Cleanup(func() {
			if t.Failed() {
				return // threads may hold its carriers
			}
			if err := end(); err != nil {
				t.Errorf("close %s: %v", p.name, err)
			}
		})
	}
	var asked, passed [threads]atomic.Int32
	var memory [threads]int // without locks: a thread is run once at a time
	var runs, refused atomic.Int32
	where := make([]atomic.Int32, len(places))
	var all [threads]*vthread.Thread
	for i := range all {
		all[i] = vthread.Builder{Scheduler: on[i%len(on)]}.Start(func() {
			for round := range int32(rounds) {
				for asked[i].Load() == round {
					vthread.Park()
				}
				memory[i]++
				runs.Add(1)
				where[slices.Index(on, vthread.Current().Scheduler())].Add(1)
				passed[i].Store(round + 1)
				if round%4 == 0 {
					vthread.Yield()
				}
			}
		})
	}
	seed := uint64(time.Now().UnixNano())
	var moving sync.WaitGroup
	for m := range movers {
		random := rand.New(rand.NewPCG(seed, uint64(m)))
		moving.Go(func() {
			for range rounds {
				for i := m; i < threads; i += movers {
					if !becomes(func() bool { return passed[i].Load() == asked[i].Load() && all[i].State() == flight.StateParked }) {
						t.Errorf("%v is not parked; seed %d\n%s", all[i], seed, threadDump())
						return
					}
					to := random.IntN(len(on))
					for places[i%len(on)].locks && places[to].outside {
						to = random.IntN(len(on)) // it would accept the thread, and be unable to run it
					}
					asked[i].Add(1)
					err := all[i].UnparkOn(on[to])
					if errors.Is(err, sched.ErrLockedCarrier) {
						refused.Add(1)
						err = all[i].Unpark()
					} else if err == nil && all[i].State() == flight.StateParked && all[i].Scheduler() != on[to] {
						t.Errorf("%v was moved, but not to %s; seed %d", all[i], places[to].name, seed)
					}
					if err != nil {
						t.Errorf("%v: %v; seed %d", all[i], err, seed)
						return
					}
				}
			}
		})
	}
	moving.Wait()
	if t.Failed() {
		return
	}
	for i, th := range all {
		join(t, th)
		if memory[i] != rounds {
			t.Errorf("%d rounds of thread %d, want %d; seed %d", memory[i], i, rounds, seed)
		}
	}
	if got := runs.Load(); got != threads*rounds {
		t.Errorf("%d rounds, want %d; seed %d", got, threads*rounds, seed)
	}
	for i := range where {
		if where[i].Load() == 0 {
			t.Errorf("no thread was ever on %s; seed %d", places[i].name, seed)
		}
	}
	if refused.Load() == 0 && coro.Binds && coro.CanProbe() {
		t.Errorf("every thread left its locked carrier; seed %d", seed)
	}
}

// SS-03: a scheduler that is closed leaves no carrier, watchdog or other goroutine that executes threads, also if it had many because threads held theirs.
func TestAClosedSchedulerLeavesNoCarrier(t *testing.T) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			before := carriers()
			s, end := p.make(t)
			release := make(chan struct{})
			var threads []*vthread.Thread
			for range 20 {
				threads = append(threads, vthread.Builder{Scheduler: s}.Start(func() {
					<-release // holds the carrier
					vthread.Start(vthread.Yield).Join()
				}))
			}
			want, seen := 1, 0
			if p.adds {
				want = len(threads)
			}
			if !becomes(func() bool { seen = len(added(before, carriers())); return seen >= want }) {
				t.Errorf("%d goroutines of a scheduler whose carriers are held by %d threads, want %d", seen, len(threads), want)
			}
			close(release)
			for _, th := range threads {
				join(t, th)
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			var left []string
			if !becomes(func() bool { left = added(before, carriers()); return len(left) == 0 }) {
				t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
			}
		})
	}
}

// carriers returns the stacks of all goroutines of schedulers and of places, by their first line's number.
func carriers() map[string]string {
	all := map[string]string{}
	for stack := range strings.SplitSeq(goroutines(), "\n\n") {
		number, _, _ := strings.Cut(stack, " [")
		for _, of := range []string{
			"runtime/sched.(*ForkJoin).watch", "runtime/sched.(*worker).run",
			"conformance_test.changing", "conformance_test.onWorkers", "conformance_test.fromChannel", "conformance_test.inLoop",
		} {
			if strings.Contains(stack, of) {
				all[number] = stack
			}
		}
	}
	return all
}

// added returns what is new.
func added(before, now map[string]string) (stacks []string) {
	for number, stack := range now {
		if before[number] == "" {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
