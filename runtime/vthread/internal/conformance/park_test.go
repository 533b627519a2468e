package conformance_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// all are the axes of most behaviours, startable those of what only threads can do that are started.
var (
	all       = axes{callers: true, kinds: true, adopted: true, pins: true}
	startable = axes{callers: true, kinds: true, pins: true}
)

// long is a time that no test lives to see.
const long = 24 * time.Hour

// A wait is one way to park.
type wait struct {
	name  string
	state flight.State
	park  func()
}

// waits are all ways to park that only an unpark or an interrupt ends while a test lives.
var waits = []wait{
	{"Park", flight.StateParked, func() { vthread.Park() }},
	{"ParkFor", flight.StateTimedParked, func() { vthread.ParkFor(long) }},
	{"ParkUntil", flight.StateTimedParked, func() { vthread.ParkUntil(time.Now().Add(long)) }},
}

// PK-01, PK-02: by a goroutine, and by a thread.
// PK-12: timed ones too, long before their time.
func TestAnUnparkEndsAPark(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, wait := range waits {
			th := w.start(wait.park)
			w.awaitState(th, w.paused(wait.state))
			if err := th.Unpark(); err != nil {
				w.Errorf("%s: unpark: %v", wait.name, err)
			}
			w.join(th)
		}
	})
}

// PK-04: by another thread, and by itself.
// PK-13: timed parks too.
func TestUnparkBeforeParkLetsTheNextParkReturn(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, wait := range waits {
			past, g := newGate(), newGate()
			th := w.start(func() {
				vthread.Current().Unpark()
				wait.park()
				past.open()
				g.pass()
				wait.park()
			})
			past.pass()
			th.Unpark()
			g.open()
			w.join(th)
		}
	})
}

// PK-05: two unparks give one permit.
// PK-06: so two parks need two unparks.
func TestPermitsDoNotAddUp(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, wait := range waits {
			g := newGate()
			var parks atomic.Int32
			th := w.start(func() {
				g.pass()
				for range 3 {
					wait.park()
					parks.Add(1)
				}
			})
			th.Unpark()
			th.Unpark()
			g.open()
			for after := range int32(3) {
				if after > 0 {
					th.Unpark()
				}
				if after == 2 {
					break
				}
				await(w.T, "it is parked again", func() bool {
					return parks.Load() == after+1 && th.State() == w.paused(wait.state)
				})
			}
			w.join(th)
			if got := parks.Load(); got != 3 {
				w.Errorf("%s: got %d parks, want 3", wait.name, got)
			}
		}
	})
}

// PK-07, PK-15, IN-06: before the park.
func TestAParkOfAnInterruptedThreadReturnsAtOnceAndItStaysInterrupted(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, wait := range waits {
			g := newGate()
			th := w.start(func() {
				g.pass()
				wait.park()
				wait.park() // and does not use the status up
				w.interrupted(true, wait.name)
				vthread.Current().Interrupt()
				wait.park()
				w.interrupted(true, wait.name+", interrupted by itself")
			})
			if err := th.Interrupt(); err != nil {
				w.Errorf("interrupt: %v", err)
			}
			g.open()
			w.join(th)
		}
	})
}

// PK-08, PK-15, IN-06: during the park.
func TestAnInterruptEndsAParkAndStays(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, wait := range waits {
			th := w.start(func() {
				wait.park()
				w.interrupted(true, wait.name)
			})
			w.awaitState(th, w.paused(wait.state))
			if err := th.Interrupt(); err != nil {
				w.Errorf("interrupt: %v", err)
			}
			w.join(th)
		}
	})
}

// PK-10: nor does it use a permit that comes later.
func TestATimedParkOfNoTimeReturnsAtOnce(t *testing.T) {
	everywhere(t, axes{onlyOn: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		for _, d := range []time.Duration{-1, 0, -long} {
			vthread.ParkFor(d)
			vthread.ParkUntil(time.Now().Add(d))
		}
		vthread.ParkUntil(time.Time{})
		vthread.Current().Unpark()
		vthread.Park()
	})
}

// PK-10, PK-11: for a goroutine, which has no permit, timed parks are sleeps.
func TestATimedParkOfAGoroutineWaitsOutItsTime(t *testing.T) {
	const d = 20 * time.Millisecond
	for name, park := range map[string]func(){
		"ParkFor":   func() { vthread.ParkFor(-1); vthread.ParkFor(d) },
		"ParkUntil": func() { vthread.ParkUntil(time.Time{}); vthread.ParkUntil(time.Now().Add(d)) },
	} {
		began := time.Now()
		park()
		if got := time.Since(began); got < d {
			t.Errorf("%s: got %v, want %v at least", name, got, d)
		}
	}
	if !panics(func() { vthread.Park() }) {
		t.Error("Park: got no panic; nobody could unpark a goroutine")
	}
}

// PK-11
func TestATimedParkLastsItsTime(t *testing.T) {
	const d = 30 * time.Millisecond
	everywhere(t, axes{onlyOn: true, kinds: true, adopted: true, pins: true}, func(w *world) {
		for name, park := range map[string]func(){
			"ParkFor":   func() { vthread.ParkFor(d) },
			"ParkUntil": func() { vthread.ParkUntil(time.Now().Add(d)) },
		} {
			began := time.Now()
			park()
			if got := time.Since(began); got < d*9/10 {
				w.Errorf("%s: got %v, want %v", name, got, d)
			}
		}
	})
}

// PK-16
func TestAYieldNeitherUsesNorGivesThePermit(t *testing.T) {
	everywhere(t, all, func(w *world) {
		for _, wait := range waits {
			g := newGate()
			th := w.start(func() {
				vthread.Current().Unpark()
				vthread.Yield()
				wait.park()
				g.open()
				vthread.Yield()
				wait.park()
			})
			g.pass()
			w.awaitState(th, w.paused(wait.state))
			th.Unpark()
			w.join(th)
		}
	})
}

// A fixedPool is a scheduler with a fixed number of goroutines.
type fixedPool struct {
	tasks chan *sched.Task
	done  sync.WaitGroup
}

// newFixedPool returns a pool that can queue some tasks. The test closes it.
func newFixedPool(t *testing.T, carriers, queue int) *fixedPool {
	p := &fixedPool{tasks: make(chan *sched.Task, queue)}
	for range carriers {
		p.done.Go(func() {
			for task := range p.tasks {
				if err := task.Run(); err != nil {
					t.Errorf("run a task: %v", err)
				}
			}
		})
	}
	return p
}

func (p *fixedPool) Execute(t *sched.Task) error {
	p.tasks <- t
	return nil
}

func (p *fixedPool) close() {
	close(p.tasks)
	p.done.Wait()
}

// PK-18: each wakes the next one of a ring of all, with several wake-ups under way.
func TestHundredsOfThreadsParkAndUnparkOnAFixedPool(t *testing.T) {
	const threads, rounds, under = 300, 50, 7
	for _, carriers := range []int{1, 4} {
		p := newFixedPool(t, carriers, threads)
		ring := make([]*vthread.Thread, threads)
		turns := make([]atomic.Int32, threads)
		for i := range ring {
			ring[i] = vthread.Builder{Scheduler: p}.Unstarted(func() {
				next := (i + 1) % threads
				for range rounds {
					for turns[i].Add(-1) < 0 {
						turns[i].Add(1)
						vthread.Park()
					}
					turns[next].Add(1)
					ring[next].Unpark()
				}
			})
		}
		for i := range under {
			turns[i*threads/under].Store(1)
		}
		for _, th := range ring {
			if err := th.Start(); err != nil {
				t.Fatal(err)
			}
		}
		for _, th := range ring {
			join(t, th)
		}
		p.close()
	}
}

// PK-19, SS-08
func TestALateTimerNeitherWakesNorLosesTheNextPark(t *testing.T) {
	threads, rounds := 25, 80
	if testing.Short() || raceDetector {
		threads, rounds = 10, 10
	}
	const (
		timed  = iota // the thread is in a timed park, which an unpark races with
		over          // that is over
		clean         // the unpark is done, too
		untime        // the thread may leave its untimed park
	)
	everywhere(t, axes{kinds: true, adopted: true, pins: true}, func(w *world) {
		seed := uint64(time.Now().UnixNano())
		var early atomic.Int32
		var each sync.WaitGroup
		for i := range threads {
			var phase atomic.Int32
			th := w.start(func() {
				for range rounds {
					vthread.ParkFor(time.Millisecond)
					phase.Store(over)
					for phase.Load() == over {
						turn()
					}
					vthread.ParkFor(0) // takes the permit if it came late
					vthread.Park()
					if phase.Load() != untime {
						early.Add(1)
					}
					for phase.Load() != untime {
						vthread.Park()
					}
					phase.Store(timed)
				}
			})
			each.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				some := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
				for range rounds {
					time.Sleep(800*time.Microsecond + some(400*time.Microsecond))
					th.Unpark()
					await(w.T, "the timed park is over", func() bool { return phase.Load() == over })
					phase.Store(clean)
					w.awaitParked(th)
					time.Sleep(some(2 * time.Millisecond)) // a late timer may come now
					phase.Store(untime)
					th.Unpark()
					await(w.T, "the untimed park is over", func() bool { return phase.Load() != untime })
				}
				w.join(th)
			})
		}
		each.Wait()
		if n := early.Load(); n > 0 {
			w.Errorf("got %d parks that ended before their unpark, want none; seed %d", n, seed)
		}
	})
}
