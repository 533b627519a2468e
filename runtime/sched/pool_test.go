package sched_test

import (
	"bytes"
	"regexp"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A mixing scheduler has its tasks executed by others in turn, and on goroutines.
type mixing struct {
	others []sched.Scheduler
	n      atomic.Uint32
}

func (m *mixing) Execute(t *sched.Task) error {
	if i := int(m.n.Add(1)) % (len(m.others) + 1); i < len(m.others) {
		return m.others[i].Execute(t)
	}
	go t.Run()
	return nil
}

// S3: after this, routines of each scheduler are in homes of the others'.
func TestRoutinesThatEndAwayFromTheirSchedulerAreRetired(t *testing.T) {
	const rounds, threads = 10, 20
	before := 0
	for round := range rounds {
		if round == 1 { // what is started once, has
			sched.RetireIdle()
			before = runtime.NumGoroutine()
		}
		m := &mixing{}
		var closing []*sched.ForkJoin
		for range 2 {
			fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
			if err != nil {
				t.Fatal(err)
			}
			m.others, closing = append(m.others, fj), append(closing, fj)
		}
		var all []*vthread.Thread
		for i := range threads {
			all = append(all, vthread.Builder{Scheduler: m}.Start(func() {
				for range 5 {
					vthread.Yield()
					vthread.ParkFor(time.Microsecond)
				}
				if i%4 == 0 {
					runtime.Goexit()
				}
			}))
		}
		for _, th := range all {
			returns(t, "a thread", th.Join)
		}
		for _, fj := range closing {
			if err := fj.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	await(t, "the end of all goroutines", func() bool {
		sched.RetireIdle()
		return runtime.NumGoroutine() <= before
	})
}

// goroutines returns how many there are in the caller's bubble.
func goroutines() int {
	for buf := make([]byte, 1<<20); ; buf = make([]byte, 2*len(buf)) {
		n := runtime.Stack(buf, true)
		if n == len(buf) {
			continue
		}
		// The caller's comes first.
		return bytes.Count(buf[:n], append(inBubble.Find(buf[:n]), ']'))
	}
}

var inBubble = regexp.MustCompile(`, synctest bubble \d+`)

// In a bubble, so that nobody waits for the time that this takes.
func TestRoutinesOfACrowdThatHasPassedAreRetired(t *testing.T) {
	for name, scheduler := range map[string]func(testing.TB) sched.Scheduler{
		"fork-join": func(t testing.TB) sched.Scheduler { return newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1}) },
		"pinned":    func(t testing.TB) sched.Scheduler { return newPinned(t, sched.PinnedOptions{Carriers: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 4000
			synctest.Test(t, func(t *testing.T) {
				b := vthread.Builder{Scheduler: scheduler(t)}
				before := goroutines()
				var threads []*vthread.Thread
				for range n {
					threads = append(threads, b.Start(func() { vthread.Park() }))
				}
				synctest.Wait()
				for _, th := range threads {
					th.Unpark()
				}
				for _, th := range threads {
					th.Join()
				}
				crowd := goroutines() - before
				time.Sleep(time.Minute)
				if left := goroutines() - before; left > n/2 || crowd < n {
					t.Errorf("%d goroutines of a crowd of %d are left after a minute", left, crowd)
				}
				b.Start(func() {}).Join()
			})
		})
	}
}
