package conformance_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A token goes from thread to thread.
type token struct{ hops int }

// A box has tokens for its thread. Nobody but who puts a token wakes the thread, so an unpark that is lost stops the token for good.
type box struct {
	of *vthread.Thread
	mu struct {
		sync.Mutex
		tokens []*token
		closed bool
	}
}

func (b *box) put(tokens ...*token) error {
	b.mu.Lock()
	b.mu.tokens = append(b.mu.tokens, tokens...)
	b.mu.closed = b.mu.closed || len(tokens) == 0
	b.mu.Unlock()
	return b.of.Unpark()
}

// close lets take return nil.
func (b *box) close() error { return b.put() }

// take parks until there is a token.
func (b *box) take() *token {
	for {
		b.mu.Lock()
		if n := len(b.mu.tokens); n > 0 {
			t := b.mu.tokens[n-1]
			b.mu.tokens = b.mu.tokens[:n-1]
			b.mu.Unlock()
			return t
		}
		closed := b.mu.closed
		b.mu.Unlock()
		if closed {
			return nil
		}
		vthread.Interrupted() // else the park would return at once
		vthread.Park()
	}
}

// SS-03: tokens go round between threads that do everything else meanwhile. Each hop is made once, every child runs once, all threads end, and so do the
// carriers.
func TestNothingIsLostOnAnyScheduler(t *testing.T) {
	everywhere(t, axes{places: true}, func(w *world) {
		const threads, tokens = 40, 10
		hops := 200
		if testing.Short() || raceDetector {
			hops = 50
		}
		seed := uint64(time.Now().UnixNano())
		var boxes [threads]box
		var memory, begun, ended [threads]int // without locks: a thread is run once at a time, and children are joined
		var all [tokens]token
		var left, asides atomic.Int32
		left.Store(tokens)
		for i := range boxes {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			some := func() time.Duration { return time.Duration(random.IntN(50)) * time.Microsecond }
			boxes[i].of = w.builder().Unstarted(func() {
				for tok := boxes[i].take(); tok != nil; tok = boxes[i].take() {
					memory[i]++
					switch random.IntN(10) {
					case 0:
						vthread.Yield()
					case 1:
						vthread.Sleep(some())
					case 2:
						vthread.ParkFor(some())
					case 3:
						time.Sleep(some()) // holds the carrier
					case 4:
						vthread.Blocking(func() { asides.Add(1) })
						asides.Add(-1)
					case 5:
						(&world{pin: section}).pinned(func() { vthread.ParkFor(some()) })()
					case 6:
						(&world{pin: osThread}).pinned(func() { vthread.Sleep(some()); vthread.Yield() })()
					case 7:
						boxes[random.IntN(threads)].of.Interrupt()
					case 8:
						begun[i]++
						child := vthread.Start(func() { vthread.Yield(); ended[i]++ })
						for child.Join() != nil { // interrupted
						}
					case 9:
						boxes[(i+1+random.IntN(threads-1))%threads].of.JoinFor(some())
					}
					if tok.hops--; tok.hops > 0 {
						if err := boxes[random.IntN(threads)].put(tok); err != nil {
							w.Error(err)
						}
					} else if left.Add(-1) == 0 {
						for j := range boxes {
							if err := boxes[j].close(); err != nil {
								w.Error(err)
							}
						}
					}
				}
			})
		}
		for i := range boxes {
			if err := boxes[i].of.Start(); err != nil {
				w.Fatal(err)
			}
		}
		for i := range all {
			all[i].hops = hops
			if err := boxes[i%threads].put(&all[i]); err != nil {
				w.Error(err)
			}
		}
		for i := range boxes {
			if ended, err := boxes[i].of.JoinFor(patience); !ended || err != nil {
				w.Fatalf("%v does not end: %v; %d tokens go round; seed %d\n%s", boxes[i].of, err, left.Load(), seed, threadDump())
			}
		}
		sum := 0
		for i := range boxes {
			sum += memory[i]
			if begun[i] != ended[i] {
				w.Errorf("thread %d: %d children ended of %d; seed %d", i, ended[i], begun[i], seed)
			}
			if n := len(boxes[i].mu.tokens); n > 0 {
				w.Errorf("thread %d ended with %d tokens; seed %d", i, n, seed)
			}
		}
		if want := tokens * hops; sum != want {
			w.Errorf("%d hops, want %d; seed %d", sum, want, seed)
		}
		if n := asides.Load(); n != 0 {
			w.Errorf("%d calls by Blocking more than returned; seed %d", n, seed)
		}
	})
}

// SS-03: and is moved between them.
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
			var threads []*vthread.Thread
			for range 20 {
				threads = append(threads, vthread.Builder{Scheduler: s}.Start(func() {
					time.Sleep(2 * time.Millisecond) // holds the carrier
					vthread.Start(vthread.Yield).Join()
				}))
			}
			most := 0
			for _, th := range threads {
				most = max(most, len(added(before, carriers())))
				join(t, th)
			}
			if most == 0 {
				t.Error("no carrier was ever seen")
			}
			if p.adds && most <= 2 {
				t.Errorf("%d goroutines of a scheduler whose carriers were held, want more", most)
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
	buf := make([]byte, 1<<20)
	all := map[string]string{}
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		number, _, _ := strings.Cut(stack, " [")
		for _, of := range []string{
			"runtime/sched.(*ForkJoin).watch", "runtime/sched.(*worker).run", "conformance_test.onWorkers", "conformance_test.fromChannel", "conformance_test.inLoop",
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
