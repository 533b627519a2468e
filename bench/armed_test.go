//go:build unix

package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkTimers measures timed parks while others have timers, which are due in ten to twenty minutes. Two threads of one carrier wake each
// other in turn; that takes longer when each park sets a timer and each unpark cancels one:
//
//	set+cancel-ns        the difference, for timers that are due among the others
//	set+cancel-first-ns  that for timers that are due before all others, as timeouts of connections are
//	park-ns              a park with a timer of the first sort, as a whole
//
// Then a thousand more are due within a second, at random, while nothing else is done:
//
//	p50-late-ms, p99-late-ms  how much later than asked for they go on
//
// Goroutines receive from channels, and select between that and a timer, which they reset and stop.
func BenchmarkTimers(b *testing.B) {
	for _, armed := range []int{1000, million} {
		b.Run(fmt.Sprintf("armed=%d", armed), func(b *testing.B) {
			eachImpl(b, "timers", func(b *testing.B, name string) {
				var sum [5]float64
				for range b.N {
					for i, v := range ask(b, task{What: name, N: armed}) {
						sum[i] += float64(v) / float64(b.N)
					}
				}
				n := float64(turns(armed))
				b.ReportMetric((sum[1]-sum[0])/n, "set+cancel-ns")
				b.ReportMetric((sum[2]-sum[0])/n, "set+cancel-first-ns")
				b.ReportMetric(sum[1]/n, "park-ns")
				b.ReportMetric(sum[3]/1e6, "p50-late-ms")
				b.ReportMetric(sum[4]/1e6, "p99-late-ms")
				b.ReportMetric(0, "ns/op") // most of it is preparation
			})
		})
	}
}

// dueSoon is how many these are.
const dueSoon = 1000

// turns is how many parks a child measures. While a million timers are armed, more than a million are cancelled, so that what is put off until then
// is done.
func turns(armed int) int { return max(2*armed, 200_000) }

// A timetable has the times of successive parks. None means that they are not timed.
type timetable []time.Duration

func newTimetable(from, until time.Duration) timetable {
	times := make(timetable, 1024)
	for i := range times {
		times[i] = from + rand.N(until-from)
	}
	return times
}

func (t timetable) at(i int) time.Duration { return t[i%len(t)] }

// timers measures: take lets two take n turns, park is timed and may return too early.
func timers(t task, take func(n int, times timetable) time.Duration, start func(f func()), park func(time.Duration)) answer {
	runtime.GC()
	tables := []timetable{nil, newTimetable(10*time.Minute, 20*time.Minute), newTimetable(time.Minute, 2*time.Minute)}
	a := make(answer, len(tables))
	const parts = 4 // so that all have their part of what disturbs them
	for part := range parts + 1 {
		for i, times := range tables {
			if part == 0 {
				take(turns(t.N)/10, times) // to warm up
				continue
			}
			a[i] += int64(take(turns(t.N)/parts, times))
		}
	}
	late := lateness(dueSoon, start, park)
	return append(a, int64(late[len(late)/2]), int64(late[len(late)*99/100]))
}

func timersOfThreads(t task) answer {
	idleThreadsTimed(t.N)
	return timers(t, turnsOfThreads, startThread, func(d time.Duration) { vthread.ParkFor(d) })
}

func timersOfGoroutines(t task) answer {
	idleGoroutinesTimed(t.N)
	return timers(t, turnsOfGoroutines, startGoroutine, time.Sleep)
}

func turnsOfThreads(n int, times timetable) (d time.Duration) {
	wait := func(int) { vthread.Park() }
	if times != nil {
		wait = func(i int) { vthread.ParkFor(times.at(i)) }
	}
	withCarriers(1, func(s sched.Scheduler) {
		b := vthread.Builder{Scheduler: s}
		var ping, pong *vthread.Thread
		pong = b.Unstarted(func() {
			for i := range n / 2 {
				wait(i)
				ping.Unpark()
			}
		})
		ping = b.Unstarted(func() {
			began := time.Now()
			for i := range n / 2 {
				pong.Unpark()
				wait(i)
			}
			d = time.Since(began)
		})
		pong.Start()
		ping.Start()
		ping.Join()
		pong.Join()
	})
	return d
}

func turnsOfGoroutines(n int, times timetable) time.Duration {
	receive := func() func(i int, ch chan struct{}) {
		if times == nil {
			return func(_ int, ch chan struct{}) { <-ch }
		}
		timer := time.NewTimer(time.Hour)
		return func(i int, ch chan struct{}) {
			timer.Reset(times.at(i))
			select {
			case <-ch:
			case <-timer.C:
				panic("too slow")
			}
			timer.Stop()
		}
	}
	ping, pong := make(chan struct{}), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		wait := receive()
		for i := range n / 2 {
			wait(i, pong)
			ping <- struct{}{}
		}
	})
	wait := receive()
	began := time.Now()
	for i := range n / 2 {
		pong <- struct{}{}
		wait(i, ping)
	}
	d := time.Since(began)
	ended.Wait()
	return d
}

// lateness returns how much too late n went on that parked for random times of up to a second, in ascending order.
func lateness(n int, start func(f func()), park func(time.Duration)) []time.Duration {
	late := make([]time.Duration, n)
	var ended sync.WaitGroup
	ended.Add(n)
	for i := range late {
		d := 50*time.Millisecond + rand.N(950*time.Millisecond) // the first after all are started
		start(func() {
			began := time.Now()
			for time.Since(began) < d {
				park(d - time.Since(began))
			}
			late[i] = time.Since(began) - d
			ended.Done()
		})
	}
	ended.Wait()
	slices.Sort(late)
	return late
}

func TestTimersAreMeasuredWhileTheyAreArmed(t *testing.T) {
	for name, c := range map[string]struct {
		take func(int, timetable) time.Duration
	}{"threads": {turnsOfThreads}, "goroutines": {turnsOfGoroutines}} {
		for _, times := range []timetable{nil, newTimetable(time.Minute, time.Hour)} {
			wantTime(t, fmt.Sprintf("%s, %d times", name, len(times)), 10, func(n int) time.Duration { return c.take(n, times) })
		}
	}
	early := time.Now()
	late := lateness(20, startThread, func(time.Duration) { vthread.Yield() })
	if took := time.Since(early); took < 50*time.Millisecond || late[0] < 0 {
		t.Errorf("parks that return at once: got %v late after %v, want nobody to go on too early", late[0], took)
	}
}
