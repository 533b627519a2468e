package schedtest

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// stress has threads do everything to each other at once, and goroutines unpark them.
func stress(t testing.TB, s sched.Scheduler) {
	const n, rounds = 50, 40
	var inside, left [n]atomic.Int32
	var threads [n]*vthread.Thread
	for i := range n {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		left[i].Store(rounds)
		threads[i] = vthread.Builder{Scheduler: s}.Unstarted(func() {
			for left[i].Add(-1) >= 0 {
				if inside[i].Add(1) != 1 {
					t.Error("two runs of a thread at once")
				}
				other := threads[(i+1+random.IntN(n-1))%n]
				what := random.IntN(8)
				if what == 0 {
					unpark(t, other)
				}
				inside[i].Add(-1)
				switch what {
				case 1:
					vthread.Yield()
				case 2:
					vthread.Sleep(time.Duration(random.IntN(50)) * time.Microsecond)
				case 3:
					vthread.ParkFor(time.Duration(random.IntN(50)) * time.Microsecond)
				case 4:
					child := vthread.Start(vthread.Yield)
					for child.Join() != nil { // interrupted
					}
				case 5:
					other.JoinFor(time.Duration(random.IntN(50)) * time.Microsecond)
				case 6:
					other.Interrupt()
				case 7:
					vthread.Park() // there is always somebody who unparks
				}
			}
		})
	}
	for _, th := range threads {
		if err := th.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, th := range threads {
		await(t, "the end of "+th.String(), func() bool {
			unpark(t, th)
			return th.Task().Done()
		})
	}
	join(t, threads[:]...)
}
