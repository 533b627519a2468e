package vthread_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// lender is a scheduler that lends a goroutine for each run.
type lender struct{}

func (lender) Execute(t *sched.Task) error {
	go t.Run()
	return nil
}

func TestOnlyThreadsOfAForkJoinHaveACarrier(t *testing.T) {
	if id := vthread.CarrierID(); id != flight.NoCarrier {
		t.Errorf("a goroutine: got carrier %d, want none", id)
	}
	for name, b := range map[string]vthread.Builder{
		"goroutine": {Kind: vthread.OnGoroutine},
		"os-thread": {Kind: vthread.OnOSThread},
		"lent":      {Scheduler: lender{}},
	} {
		b.Start(func() {
			if id := vthread.CarrierID(); id != flight.NoCarrier {
				t.Errorf("%s: got carrier %d, want none", name, id)
			}
		}).Join()
	}
	onThread(t, func() {
		if id := vthread.CarrierID(); id == flight.NoCarrier || id == 0 {
			t.Errorf("a thread: got carrier %d, want one", id)
		}
	})
}

// onCarriers runs f on n threads that hold a carrier each, at the same time.
func onCarriers(t *testing.T, n int, f func(i int)) {
	t.Helper()
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: n})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	var here, done sync.WaitGroup
	here.Add(n)
	done.Add(n)
	for i := range n {
		vthread.Builder{Scheduler: fj}.Start(func() {
			defer done.Done()
			here.Done()
			here.Wait() // all hold their carriers
			f(i)
		})
	}
	done.Wait()
}

func TestEachCarrierHasAStripeOfItsOwnThatNeverMoves(t *testing.T) {
	const n = 8
	var local vthread.CarrierLocal[int]
	var mu sync.Mutex
	byCarrier := map[flight.CarrierID]*int{}
	owner := map[*int]flight.CarrierID{}
	onCarriers(t, n, func(int) {
		stripe := local.Get()
		mu.Lock()
		defer mu.Unlock()
		if again := local.Get(); again != stripe {
			t.Errorf("got stripe %p, then %p", stripe, again)
		}
		if id := vthread.CarrierID(); byCarrier[id] != nil || owner[stripe] != 0 {
			t.Errorf("carrier %d has stripe %p, which is also that of %d", id, stripe, owner[stripe])
		} else {
			byCarrier[id], owner[stripe] = stripe, id
		}
	})
	if len(owner) != n {
		t.Errorf("%d carriers had %d stripes", n, len(owner))
	}
	goroutines := local.Get()
	if owner[goroutines] != 0 {
		t.Error("a goroutine shares the stripe of a carrier")
	}
	for stripe := range local.All() {
		if owner[stripe] == 0 && stripe != goroutines {
			t.Errorf("stripe %p is nobody's", stripe)
		}
		delete(owner, stripe)
	}
	if len(owner) != 0 {
		t.Errorf("All leaves out %d stripes", len(owner))
	}
}

// Carriers come and go, those of other schedulers and those that stand in for held ones: their stripes are used again.
func TestStripesAreAsManyAsCarriersAtOnce(t *testing.T) {
	const n, rounds = 4, 20
	var local vthread.CarrierLocal[atomic.Int64]
	for range rounds {
		onCarriers(t, n, func(int) { local.Get().Add(1) })
	}
	sum, stripes := int64(0), 0
	for stripe := range local.All() {
		sum += stripe.Load()
		stripes++
	}
	if sum != n*rounds {
		t.Errorf("got %d, want %d", sum, n*rounds)
	}
	// A place that others have given up meanwhile is taken first.
	if stripes < n || stripes > 3*n {
		t.Errorf("%d carriers at once, %d in all, had %d stripes", n, n*rounds, stripes)
	}
}

func TestAllStopsWhenItIsToldTo(t *testing.T) {
	var local vthread.CarrierLocal[int]
	onCarriers(t, 3, func(int) { local.Get() })
	n := 0
	for range local.All() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d stripes after break, want 1", n)
	}
}

func TestAStripedCounterLosesNothing(t *testing.T) {
	const counters, each = 64, 500
	for _, carriers := range []int{1, 4} {
		t.Run(fmt.Sprintf("carriers=%d", carriers), func(t *testing.T) {
			fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: carriers})
			if err != nil {
				t.Fatal(err)
			}
			defer fj.Close()
			var tally Tally
			var done sync.WaitGroup
			count := func() {
				defer done.Done()
				for i := range each {
					tally.Add(1)
					switch i % 50 {
					case 0:
						vthread.Yield()
					case 25:
						runtime.Gosched()
					}
				}
			}
			done.Add(3 * counters)
			for range counters {
				vthread.Builder{Scheduler: fj}.Start(count)
				vthread.Builder{Kind: vthread.OnGoroutine}.Start(count)
				go count()
			}
			done.Wait()
			if got := tally.Sum(); got != 3*counters*each {
				t.Errorf("got %d, want %d", got, 3*counters*each)
			}
		})
	}
}

func TestAStripeCostsNoAllocationOnceItIsThere(t *testing.T) {
	var tally Tally
	check := func() {
		if n := testing.AllocsPerRun(100, func() { tally.Add(1) }); n != 0 {
			t.Errorf("got %v allocations, want 0", n)
		}
	}
	check()
	onThread(t, check)
}

// A counter of one word, and one in stripes, of several carriers that do nothing but count.
func BenchmarkCount(b *testing.B) {
	var plain atomic.Int64
	var tally Tally
	for _, c := range []struct {
		how string
		add func()
	}{{"one", func() { plain.Add(1) }}, {"striped", func() { tally.Add(1) }}} {
		for _, carriers := range []int{1, max(2, runtime.GOMAXPROCS(0))} {
			b.Run(fmt.Sprintf("counter=%s/carriers=%d", c.how, carriers), func(b *testing.B) {
				fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: carriers})
				if err != nil {
					b.Fatal(err)
				}
				defer fj.Close()
				var threads []*vthread.Thread
				for range carriers {
					threads = append(threads, vthread.Builder{Scheduler: fj}.Unstarted(func() {
						for range b.N / carriers {
							c.add()
						}
					}))
				}
				b.ResetTimer()
				for _, t := range threads {
					t.Start()
				}
				for _, t := range threads {
					t.Join()
				}
			})
		}
	}
}

// What a local costs: to get it, on a thread that has none and on one that has 1, 10 and 100; and to start a thread that sets one, or
// inherits one.
func BenchmarkLocal(b *testing.B) {
	var locals []*vthread.Local[int]
	for range 100 {
		locals = append(locals, vthread.NewLocal[int]())
	}
	for _, n := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("get/locals=%d", n), func(b *testing.B) {
			vthread.Start(func() {
				for i := range n {
					if err := locals[i].Set(i); err != nil {
						b.Error(err)
					}
				}
				for b.Loop() {
					locals[0].Get()
				}
			}).Join()
		})
	}
	handed := vthread.NewInheritableLocal[int]()
	for what, f := range map[string]func(){
		"none":      func() {},
		"set":       func() { _ = locals[0].Set(1) },
		"inherited": func() { handed.Get() },
	} {
		b.Run("start/locals="+what, func(b *testing.B) {
			vthread.Start(func() {
				if what == "inherited" {
					if err := handed.Set(1); err != nil {
						b.Error(err)
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					vthread.Start(f).Join()
				}
			}).Join()
		})
	}
}
