//go:build unix

package bench

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkMix has a hundred teams of ten, for a second, on two carriers. A team's leader wakes the nine others and waits for all: eight do a microsecond of
// work, and one blocks for a millisecond where the scheduler cannot see it, in a sleep of Go's or in a system call. It reports the time for each
// wake-up, and how long those who do not block were ready before they went on: the median and the 99th percentile.
func BenchmarkMix(b *testing.B) {
	for _, block := range []string{"sleep", "read"} {
		b.Run("threads=1000/block="+block, func(b *testing.B) {
			eachImpl(b, "mix-"+block, func(b *testing.B, name string) {
				var sum [3]float64
				for range b.N {
					for i, v := range ask(b, task{What: name, Crowd: 1000, Carriers: 2, Until: time.Second}) {
						sum[i] += float64(v)
					}
				}
				b.ReportMetric(sum[0]/float64(b.N), "ns/op")
				b.ReportMetric(sum[1]/float64(b.N), "p50-ready-ns")
				b.ReportMetric(sum[2]/float64(b.N), "p99-ready-ns")
			})
		})
	}
}

// A blocker returns a function that blocks for a millisecond each time it is called, by one caller.
type blocker func() (block func())

func sleeping() func() { return func() { time.Sleep(time.Millisecond) } }

// reading blocks in the system call that reads from a pipe. A goroutine, of which there is one for both peers, writes to it.
func reading() func() {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	asked := make(chan struct{}, 1)
	go func() {
		for range asked {
			time.Sleep(time.Millisecond)
			if _, err := syscall.Write(pipe[1], []byte{0}); err != nil {
				panic(err)
			}
		}
	}()
	own := make([]byte, 1)
	return func() {
		asked <- struct{}{}
		for {
			if _, err := syscall.Read(pipe[0], own); err == nil {
				return
			} else if err != syscall.EINTR {
				panic(err)
			}
		}
	}
}

// teamSize is how many are in a team; one of them blocks.
const teamSize = 10

// A member of a team waits for calls.
type member struct {
	wait func() (called time.Duration) // returns when it was called
	call func(now time.Duration)
}

// mixOfThreads: members have a place for the time of the call, and park until it is set.
func (how blocker) mixOfThreads(t task) (a answer) {
	withCarriers(t.Carriers, func(s sched.Scheduler) {
		b := vthread.Builder{Scheduler: s}
		a = mix(t, how, func(f func(m member)) member {
			var when atomic.Int64
			var th *vthread.Thread
			m := member{
				wait: func() time.Duration {
					for {
						if called := when.Swap(0); called != 0 {
							return time.Duration(called)
						}
						vthread.Park()
					}
				},
				call: func(now time.Duration) {
					when.Store(int64(now))
					th.Unpark()
				},
			}
			th = b.Unstarted(func() { f(m) })
			th.Start()
			return m
		})
	})
	return a
}

// mixOfGoroutines: members have a channel with room for a call.
func (how blocker) mixOfGoroutines(t task) answer {
	return mix(t, how, func(f func(m member)) member {
		calls := make(chan time.Duration, 1)
		m := member{
			wait: func() time.Duration { return <-calls },
			call: func(now time.Duration) { calls <- now },
		}
		go f(m)
		return m
	})
}

// mix returns the time for each call, and the percentiles.
func mix(t task, how blocker, start func(f func(member)) member) answer {
	began := time.Now()
	var mu sync.Mutex
	var delays []time.Duration
	calls := 0
	report := func(own []time.Duration, called int) {
		mu.Lock()
		defer mu.Unlock()
		delays = append(delays, own...)
		calls += called
	}
	var ended sync.WaitGroup
	ended.Add(t.Crowd / teamSize * teamSize)
	for range t.Crowd / teamSize {
		tm := &team{began: began, until: t.Until}
		for i := range teamSize - 1 {
			var block func()
			if i == 0 {
				block = how()
			}
			tm.members[i] = start(func(m member) {
				report(tm.follow(m, block))
				ended.Done()
			})
		}
		tm.leader = start(func(m member) {
			report(tm.lead(m))
			ended.Done()
		})
		tm.leader.call(time.Since(began))
	}
	ended.Wait()
	took := time.Since(began)
	slices.Sort(delays)
	return answer{int64(took) / int64(calls), int64(delays[len(delays)/2]), int64(delays[len(delays)*99/100])}
}

// A team of [BenchmarkMix].
type team struct {
	began   time.Time
	until   time.Duration
	members [teamSize - 1]member
	leader  member
	at      atomic.Int64 // work
	over    bool         // the leader's, before it calls
}

// lead makes rounds until the time is over, and returns its delays and how many calls there were.
func (t *team) lead(m member) (delays []time.Duration, calls int) {
	delays = make([]time.Duration, 0, 1<<12)
	for m.wait(); !t.over; {
		t.over = time.Since(t.began) >= t.until
		t.at.Store(int64(len(t.members)))
		for _, other := range t.members {
			other.call(time.Since(t.began))
		}
		called := m.wait()
		delays = append(delays, time.Since(t.began)-called)
		calls += teamSize
	}
	return delays, calls
}

// follow is the life of the others. One that blocks has no delays to report.
func (t *team) follow(m member, block func()) (delays []time.Duration, _ int) {
	if block == nil {
		delays = make([]time.Duration, 0, 1<<12)
	}
	for over := false; !over; {
		called := m.wait()
		now := time.Since(t.began)
		if block != nil {
			block()
		} else {
			delays = append(delays, now-called)
			for time.Since(t.began)-now < time.Microsecond {
			}
		}
		over = t.over
		if t.at.Add(-1) == 0 {
			t.leader.call(time.Since(t.began))
		}
	}
	return delays, 0
}

func TestTeamsWorkAndSayHowLongTheyWereReady(t *testing.T) {
	for name, how := range map[string]blocker{"sleep": sleeping, "read": reading} {
		for impl, f := range map[string]func(task) answer{"threads": how.mixOfThreads, "goroutines": how.mixOfGoroutines} {
			a := f(task{Crowd: 50, Carriers: 2, Until: 20 * time.Millisecond})
			if len(a) != 3 || a[0] <= 0 || a[1] < 0 || a[2] < a[1] {
				t.Errorf("%s, %s: got %v, want the time of a call, and two percentiles", name, impl, a)
			}
		}
	}
}
