package conformance_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// skynet adds the numbers from first on, so many, by a tree of threads with ten children each.
func skynet(b vthread.Builder, first, numbers int) (sum int) {
	if numbers == 1 {
		return first
	}
	var children [10]*vthread.Thread
	var sums [10]int
	for i := range children {
		children[i] = b.Start(func() { sums[i] = skynet(b, first+i*numbers/10, numbers/10) })
	}
	for i, c := range children {
		c.Join()
		sum += sums[i]
	}
	return sum
}

// SS-01
func TestSkynetOfAMillionThreadsGivesTheRightSum(t *testing.T) {
	everywhere(t, axes{kinds: true, places: true}, func(w *world) {
		n := 1_000_000
		switch {
		case w.kind == vthread.OnOSThread:
			n = 100
		case testing.Short() || raceDetector:
			n = 1000
		case w.kind == vthread.OnGoroutine || w.place != nil:
			n = 10_000
		}
		var sum int
		w.join(w.start(func() { sum = skynet(w.builder(), 0, n) }))
		if want := n * (n - 1) / 2; sum != want {
			w.Errorf("got %d, want %d", sum, want)
		}
	})
}

// SS-03
func TestManyThreadsWaitInEveryWayForManyRounds(t *testing.T) {
	prompt := continuation.NewPrompt("conformance")
	everywhere(t, axes{callers: true, kinds: true, places: true}, func(w *world) {
		threads, rounds := 1000, 30
		if testing.Short() || raceDetector || w.kind == vthread.OnOSThread || w.place != nil {
			threads, rounds = 100, 10
		}
		seed := uint64(time.Now().UnixNano())
		all := make([]*vthread.Thread, threads)
		var ready sync.WaitGroup
		ready.Add(1)
		var done atomic.Int64
		for i := range all {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			some := func() time.Duration { return time.Duration(random.IntN(200)) * time.Microsecond }
			all[i] = w.builder().Unstarted(func() {
				for range rounds {
					switch random.IntN(8) {
					case 0:
						vthread.ParkFor(some())
					case 1:
						vthread.Sleep(some())
					case 2:
						vthread.Yield()
					case 3:
						(&world{pin: section}).pinned(func() { vthread.ParkFor(some()) })()
					case 4:
						(&world{pin: osThread}).pinned(func() { vthread.Sleep(some()); vthread.Yield() })()
					case 5:
						all[random.IntN(threads)].Unpark()
						vthread.Current().Unpark()
						vthread.Park()
					case 6:
						d := some()
						child := w.builder().Start(func() { vthread.ParkFor(d) })
						if ended, _ := child.JoinFor(some()); !ended {
							child.Join() // else it might be parked when its scheduler is closed, and stay so
						}
					case 7:
						c := continuation.New(prompt, func() {
							vthread.Sleep(some())
							continuation.Suspend(prompt, nil)
							vthread.ParkFor(some())
						})
						for !c.Run() {
							vthread.Yield()
						}
					}
					done.Add(1)
				}
			})
		}
		for _, th := range all {
			if err := th.Start(); err != nil {
				w.Fatal(err)
			}
		}
		for _, th := range all {
			if ended, err := th.JoinFor(patience); !ended || err != nil {
				w.Fatalf("%v does not end: %v; seed %d\n%s", th, err, seed, threadDump())
			}
		}
		if got := done.Load(); got != int64(threads*rounds) {
			w.Errorf("got %d rounds, want %d", got, threads*rounds)
		}
	})
}

// A queue has room for one number.
type queue interface {
	put(n int)
	take() int
}

// A parkQueue is a queue for one thread that takes.
type parkQueue struct {
	number atomic.Int64 // 0 for none, else one more
	taker  atomic.Pointer[vthread.Thread]
}

func (q *parkQueue) put(n int) {
	q.number.Store(int64(n) + 1)
	if th := q.taker.Load(); th != nil {
		th.Unpark()
	}
}

func (q *parkQueue) take() int {
	q.taker.Store(vthread.Current())
	for {
		if n := q.number.Swap(0); n != 0 {
			return int(n) - 1
		}
		vthread.Park()
	}
}

// A chanQueue is a channel of Go, for which a thread blocks on its carrier.
type chanQueue chan int

func (q chanQueue) put(n int) { q <- n }
func (q chanQueue) take() int { return <-q }

// A condQueue waits in Go, too.
type condQueue struct {
	sync.Cond
	full   bool
	number int
}

func (q *condQueue) put(n int) {
	q.L.Lock()
	defer q.L.Unlock()
	q.full, q.number = true, n
	q.Signal()
}

func (q *condQueue) take() int {
	q.L.Lock()
	defer q.L.Unlock()
	for !q.full {
		q.Wait()
	}
	q.full = false
	return q.number
}

// SS-04
func TestPingPongOverEveryKindOfQueue(t *testing.T) {
	in := all
	in.places = true
	everywhere(t, in, func(w *world) {
		rounds := 1000
		if testing.Short() || raceDetector {
			rounds = 100
		}
		for name, made := range map[string]func() queue{
			"park":           func() queue { return new(parkQueue) },
			"channel":        func() queue { return make(chanQueue) },
			"channel of one": func() queue { return make(chanQueue, 1) },
			"sync.Cond":      func() queue { return &condQueue{Cond: sync.Cond{L: new(sync.Mutex)}} },
		} {
			if w.place != nil && !w.place.adds && name != "park" {
				continue // each would hold the only carrier, and wait for the other
			}
			pings, pongs := made(), made()
			other := w.start(func() {
				for range rounds {
					pongs.put(pings.take() + 1)
				}
			})
			th := vthread.Start(func() {
				for n := range rounds {
					pings.put(n)
					if got := pongs.take(); got != n+1 {
						w.Errorf("%s: got %d back, want %d", name, got, n+1)
						return
					}
				}
			})
			w.join(th)
			w.join(other)
		}
	})
}
