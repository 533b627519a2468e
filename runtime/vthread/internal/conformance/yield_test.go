package conformance_test

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A diary is who did something, in order.
type diary struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *diary) write(who string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text.WriteString(who)
}

// onOneCarrier makes a scheduler with one carrier, and never more.
func onOneCarrier(t *testing.T) vthread.Builder {
	t.Helper()
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fj.Close(); err != nil {
			t.Error(err)
		}
	})
	return vthread.Builder{Scheduler: fj}
}

// YD-01: free, it lets the other go.
// YD-02: pinned, it does not.
func TestAYieldLetsTheOtherGoUnlessItIsPinned(t *testing.T) {
	for _, p := range (axes{pins: true}).pinned(vthread.Virtual) {
		t.Run("pin="+string(p), func(t *testing.T) {
			w := &world{T: t, pin: p}
			want := "ABABAB"
			if w.holds() {
				want = "AAABBB"
			}
			b := onOneCarrier(t)
			var d diary
			var queued atomic.Bool // What a thread starts may get out of its turn when its carrier is given no processor.
			holder := b.Start(func() { spins(&queued) })
			await(t, "the carrier is held", func() bool { return holder.State() == flight.StateMounted })
			threads := []*vthread.Thread{holder}
			for _, who := range []string{"A", "B"} {
				threads = append(threads, b.Start(w.pinned(func() {
					for range 3 {
						d.write(who)
						vthread.Yield()
					}
				})))
			}
			queued.Store(true)
			for _, th := range threads {
				join(t, th)
			}
			if got := d.text.String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// YD-03: those that a goroutine has submitted are not on the carrier's own queue.
func TestAYieldLetsThoseGoThatAGoroutineHasStarted(t *testing.T) {
	b := onOneCarrier(t)
	for range 20 {
		var d diary
		var submitted atomic.Bool
		a := b.Start(func() {
			d.write("A")
			spins(&submitted)
			vthread.Yield()
			d.write("A")
		})
		await(t, "A runs", func() bool { return a.State() == flight.StateMounted })
		other := b.Start(func() { d.write("B") })
		submitted.Store(true)
		join(t, a)
		join(t, other)
		if got := d.text.String(); got != "ABA" {
			t.Fatalf("got %s, want ABA", got)
		}
	}
}

//go:noinline
func yieldsUntilInterrupted() {
	for !vthread.Interrupted() {
		vthread.Yield()
	}
}

// YD-05
func TestALoopOfYieldsCanBeSeenAndStopped(t *testing.T) {
	needEyes(t)
	everywhere(t, all, func(w *world) {
		th := w.start(yieldsUntilInterrupted)
		seen := map[flight.State]bool{}
		if !becomes(func() bool {
			seen[th.State()] = true
			return slices.Contains(functions(th.Stack()), "conformance_test.yieldsUntilInterrupted")
		}) {
			w.Errorf("got no stack with the function, want one")
		}
		for range 10 {
			seen[th.State()] = true
			vthread.Yield()
		}
		delete(seen, flight.StateMounted)
		delete(seen, flight.StateRunnable)
		if len(seen) > 0 {
			w.Errorf("got states %v beside mounted and runnable, want none", seen)
		}
		th.Interrupt()
		w.join(th)
	})
}

// YD-04: A has started B, whose place is on the carrier's own queue, and a goroutine has submitted C.
func TestAYieldGoesBehindTheCarriersOwnQueueAndBeforeWhatOthersHaveSubmitted(t *testing.T) {
	b := onOneCarrier(t)
	const rounds = 20
	var others []string
	for range rounds {
		var d diary
		var submitted atomic.Bool
		twice := func(who string) func() {
			return func() {
				d.write(who)
				vthread.Yield()
				d.write(who)
			}
		}
		var own *vthread.Thread
		a := b.Start(func() {
			own = b.Start(twice("B"))
			spins(&submitted)
			twice("A")()
		})
		await(t, "A runs", func() bool { return a.State() == flight.StateMounted })
		other := b.Start(func() { d.write("C") })
		submitted.Store(true)
		join(t, a)
		join(t, own)
		join(t, other)
		if got := d.text.String(); got != "ABABC" {
			others = append(others, got)
		}
	}
	if len(others) > rounds/2 { // now and then a carrier looks first at what others have submitted, so that it does not wait for ever
		t.Errorf("got %v, want ABABC", others)
	}
}
