//go:build unix

package bench

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkPairs: as [BenchmarkPingPong], by many pairs at a time. An operation is there and back in one of them.
func BenchmarkPairs(b *testing.B) {
	for _, pairs := range []int{2, 100, 10_000} {
		eachCarriers(b, fmt.Sprintf("pairs=%d", pairs), func(b *testing.B, carriers int) {
			eachImpl(b, "pairs", eachOperation(task{N: 400_000, Crowd: pairs, Carriers: carriers}))
		})
	}
}

// BenchmarkRing has ten rings of a hundred, each with a token that goes round: everybody takes it from one and gives it to another. An operation is one step of
// one token. Threads have a flag for it and unpark each other, goroutines have channels with room for it.
func BenchmarkRing(b *testing.B) {
	eachCarriers(b, "threads=1000", func(b *testing.B, carriers int) {
		eachImpl(b, "ring", eachOperation(task{N: 400_000, Crowd: 1000, Carriers: carriers}))
	})
}

// BenchmarkQueue has ten that put items into a queue with room for 16, and ten that take them. An operation is one item. Goroutines use a
// channel; threads a queue made of [vsync.Mutex] and parks, and (impl=vthread-channel) [vthread.Send] and [vthread.Recv] on a channel.
func BenchmarkQueue(b *testing.B) {
	eachCarriers(b, "pairs=10", func(b *testing.B, carriers int) {
		t := task{N: 200_000, Crowd: 10, Carriers: carriers}
		eachImpl(b, "queue", eachOperation(t))
		b.Run("impl=vthread-channel", func(b *testing.B) { eachOperation(t)(b, "queue-channel") })
	})
}

// eachCarriers runs a benchmark with one carrier, or processor, and with two.
func eachCarriers(b *testing.B, name string, f func(b *testing.B, carriers int)) {
	for _, carriers := range []int{1, 2} {
		b.Run(fmt.Sprintf("%s/carriers=%d", name, carriers), func(b *testing.B) { f(b, carriers) })
	}
}

// eachOperation reports the time that a child takes for each of its operations.
func eachOperation(t task) func(b *testing.B, name string) {
	return func(b *testing.B, name string) {
		t := t
		t.What = name
		sum := 0.0
		for range b.N {
			sum += child(b, t)
		}
		b.ReportMetric(sum/float64(b.N), "ns/op")
	}
}

// twice does a task with a tenth of the operations, and then as it is.
func twice(t task, f func(task) time.Duration) answer {
	warm := t
	warm.N = t.N / 10
	f(warm)
	return answer{int64(f(t))}
}

// share is how many of n operations each of a crowd does, at least one.
func share(n, crowd int) int { return max(1, (n+crowd-1)/crowd) }

// awaitState waits until all threads are in the state.
func awaitState(all []*vthread.Thread, want flight.State) {
	for _, t := range all {
		for t.State() != want {
			time.Sleep(time.Millisecond)
		}
	}
}

// --- pairs ---

// Nobody but its partner and the start unparks a thread, so each park waits for one of them.
func pairsOfThreads(t task) answer {
	return twice(t, func(t task) (d time.Duration) {
		each := share(t.N, t.Crowd)
		withCarriers(t.Carriers, func(s sched.Scheduler) {
			b := vthread.Builder{Scheduler: s}
			var ended sync.WaitGroup
			ended.Add(2 * t.Crowd)
			pings, pongs := make([]*vthread.Thread, t.Crowd), make([]*vthread.Thread, t.Crowd)
			for i := range pings {
				pings[i] = b.Unstarted(func() {
					vthread.Park() // until all have a stack
					for range each {
						pongs[i].Unpark()
						vthread.Park()
					}
					ended.Done()
				})
				pongs[i] = b.Unstarted(func() {
					for range each {
						vthread.Park()
						pings[i].Unpark()
					}
					ended.Done()
				})
				pings[i].Start()
				pongs[i].Start()
			}
			awaitState(pings, flight.StateParked)
			awaitState(pongs, flight.StateParked)
			began := time.Now()
			for _, ping := range pings {
				ping.Unpark()
			}
			ended.Wait()
			d = time.Since(began)
		})
		return perOperation(d, each*t.Crowd, t.N)
	})
}

func pairsOfGoroutines(t task) answer {
	return twice(t, func(t task) time.Duration {
		each := share(t.N, t.Crowd)
		var arrived, ended sync.WaitGroup
		arrived.Add(2 * t.Crowd)
		start := make(chan struct{})
		for range t.Crowd {
			ping, pong := make(chan struct{}), make(chan struct{})
			ended.Go(func() {
				arrived.Done()
				<-start
				for range each {
					pong <- struct{}{}
					<-ping
				}
			})
			ended.Go(func() {
				arrived.Done()
				for range each {
					<-pong
					ping <- struct{}{}
				}
			})
		}
		arrived.Wait()
		began := time.Now()
		close(start)
		ended.Wait()
		return perOperation(time.Since(began), each*t.Crowd, t.N)
	})
}

// --- a ring ---

// ringSize is how many share a token. (Several in one ring would catch up with each other, and be passed on without a park.)
const ringSize = 100

// after is who gets the token from i.
func after(i, crowd int) int {
	if next := i + 1; next < crowd && next%ringSize != 0 {
		return next
	}
	return i / ringSize * ringSize
}

func ringOfThreads(t task) answer {
	return twice(t, func(t task) (d time.Duration) {
		each := share(t.N, t.Crowd)
		withCarriers(t.Carriers, func(s sched.Scheduler) {
			b := vthread.Builder{Scheduler: s}
			var ended sync.WaitGroup
			ended.Add(t.Crowd)
			ring, has := make([]*vthread.Thread, t.Crowd), make([]atomic.Bool, t.Crowd)
			pass := func(to int) {
				has[to].Store(true)
				ring[to].Unpark()
			}
			for i := range ring {
				next := after(i, t.Crowd)
				ring[i] = b.Unstarted(func() {
					for range each {
						for !has[i].Load() {
							vthread.Park()
						}
						has[i].Store(false)
						pass(next)
					}
					ended.Done()
				})
			}
			for _, th := range ring {
				th.Start()
			}
			awaitState(ring, flight.StateParked)
			began := time.Now()
			for i := 0; i < t.Crowd; i += ringSize {
				pass(i)
			}
			ended.Wait()
			d = time.Since(began)
		})
		return perOperation(d, each*t.Crowd, t.N)
	})
}

func ringOfGoroutines(t task) answer {
	return twice(t, func(t task) time.Duration {
		each := share(t.N, t.Crowd)
		var arrived, ended sync.WaitGroup
		arrived.Add(t.Crowd)
		ring := make([]chan struct{}, t.Crowd)
		for i := range ring {
			ring[i] = make(chan struct{}, 1)
		}
		for i := range ring {
			next := ring[after(i, t.Crowd)]
			ended.Go(func() {
				arrived.Done()
				for range each {
					<-ring[i]
					next <- struct{}{}
				}
			})
		}
		arrived.Wait()
		began := time.Now()
		for i := 0; i < t.Crowd; i += ringSize {
			ring[i] <- struct{}{}
		}
		ended.Wait()
		return perOperation(time.Since(began), each*t.Crowd, t.N)
	})
}

// --- producers and consumers ---

// room is how many items a queue holds.
const room = 16

// exchange has t.Crowd that put numbers and as many that take them, and checks that all arrive.
func exchange(t task, start func(f func()), put func(int), take func() int) time.Duration {
	each := share(t.N, t.Crowd)
	var sum atomic.Int64
	var ended sync.WaitGroup
	ended.Add(2 * t.Crowd)
	began := time.Now()
	for range t.Crowd {
		start(func() {
			for i := range each {
				put(i)
			}
			ended.Done()
		})
		start(func() {
			own := 0
			for range each {
				own += take()
			}
			sum.Add(int64(own))
			ended.Done()
		})
	}
	ended.Wait()
	d := time.Since(began)
	mustBe(int(sum.Load()), t.Crowd*each*(each-1)/2)
	return perOperation(d, each*t.Crowd, t.N)
}

// exchangeOfThreads does it on threads.
func exchangeOfThreads(t task, put func(int), take func() int) answer {
	return twice(t, func(t task) (d time.Duration) {
		withCarriers(t.Carriers, func(s sched.Scheduler) {
			b := vthread.Builder{Scheduler: s}
			d = exchange(t, func(f func()) { b.Start(f) }, put, take)
		})
		return d
	})
}

func queueOfThreads(t task) answer {
	var q queue
	return exchangeOfThreads(t, q.put, q.take)
}

func channelOfThreads(t task) answer {
	items := make(chan int, room)
	return exchangeOfThreads(t, func(v int) {
		if err := vthread.Send(items, v); err != nil {
			panic(err)
		}
	}, func() int {
		v, err := vthread.Recv(items)
		if err != nil {
			panic(err)
		}
		return v
	})
}

func channelOfGoroutines(t task) answer {
	items := make(chan int, room)
	return twice(t, func(t task) time.Duration {
		return exchange(t, startGoroutine, func(v int) { items <- v }, func() int { return <-items })
	})
}

// A queue is what a program makes itself that has threads only.
type queue struct {
	mu struct {
		vsync.Mutex
		items          [room]int
		first, n       int
		takers, givers waiting
	}
}

// waiting are threads that wait for a call, the longest first. The lock of their queue guards it.
type waiting []*call

type call struct {
	thread *vthread.Thread
	came   atomic.Bool
}

// next calls the first.
func (w *waiting) next() {
	if len(*w) > 0 {
		c := (*w)[0]
		*w = append((*w)[:0], (*w)[1:]...) // few
		c.came.Store(true)
		c.thread.Unpark()
	}
}

// wait gives the lock away until the caller is called.
func (q *queue) wait(w *waiting) {
	c := &call{thread: vthread.Current()}
	*w = append(*w, c)
	q.mu.Unlock()
	for !c.came.Load() {
		vthread.Park()
	}
	q.mu.Lock()
}

func (q *queue) put(v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.mu.n == room {
		q.wait(&q.mu.givers)
	}
	q.mu.items[(q.mu.first+q.mu.n)%room] = v
	q.mu.n++
	q.mu.takers.next()
}

func (q *queue) take() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.mu.n == 0 {
		q.wait(&q.mu.takers)
	}
	v := q.mu.items[q.mu.first]
	q.mu.first = (q.mu.first + 1) % room
	q.mu.n--
	q.mu.givers.next()
	return v
}

func TestExchangesEndWithAnyNumberOfOperations(t *testing.T) {
	for name, f := range map[string]func(task) answer{
		"pairs of threads": pairsOfThreads, "pairs of goroutines": pairsOfGoroutines,
		"ring of threads": ringOfThreads, "ring of goroutines": ringOfGoroutines,
		"queue of threads": queueOfThreads, "channel of threads": channelOfThreads, "channel of goroutines": channelOfGoroutines,
	} {
		for _, k := range []task{{N: 1, Crowd: 1, Carriers: 1}, {N: 7, Crowd: 30, Carriers: 2}, {N: 3000, Crowd: 30, Carriers: 2}} {
			if a := f(k); len(a) != 1 || a[0] <= 0 {
				t.Errorf("%s, %+v: got %v, want a time", name, k, a)
			}
		}
	}
}
