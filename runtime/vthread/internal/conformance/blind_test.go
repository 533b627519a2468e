package conformance_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func init() {
	programs["blind"] = func() {
		coro.SharedLookout = func() *coro.Lookout { return new(coro.Lookout) } // as on a Go release that has moved what it reads
		vthread.Main(func() {
			fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
			if err != nil {
				panic(err)
			}
			var ops atomic.Int32
			stop := sched.WatchPins(func(p sched.Pin) {
				if p.Reason == flight.ReasonPinnedGo {
					ops.Add(1)
				}
			})
			b := vthread.Builder{Scheduler: fj}
			release := make(chan struct{})
			var started, over atomic.Bool
			waits := b.Start(func() { started.Store(true); <-release })
			becomes(started.Load)
			started.Store(false)
			computes := b.Start(func() { // on a carrier that was added for it
				started.Store(true)
				computetest.Until(&over)
			})
			becomes(started.Load)
			b.Start(func() {}).Join() // on another
			parks := b.Start(parkToBeRecorded)
			becomes(func() bool { return parks.State() == flight.StateParked })
			for _, th := range []*vthread.Thread{waits, computes, parks} {
				s := th.Stack()
				fmt.Println(s.State, len(s.Frames), s.Exact)
			}
			if flight.Default() != nil {
				fmt.Println(becomes(func() bool { // functions get their names in the background
					var text strings.Builder
					return snapshot(&text) == nil && strings.Contains(text.String(), "parkToBeRecorded")
				}))
			}
			over.Store(true)
			close(release)
			parks.Unpark()
			for _, th := range []*vthread.Thread{waits, computes, parks} {
				th.Join()
			}
			stop()
			fmt.Println(ops.Load(), fj.Close())
		})
	}
}

//go:noinline
func parkToBeRecorded() { vthread.Park() }

// Threads on a carrier that stands still are shown as mounted, without a stack, and never as pinned. All else is as it was: carriers are added, and parks have the
// stack that was recorded.
func TestWhereGoroutinesCannotBeLookedAtThreadsAreExecutedAllTheSame(t *testing.T) {
	want := "mounted 0 false\nmounted 0 false\nparked 0 false\ntrue\n0 <nil>\n"
	if flight.Default() == nil {
		want = strings.Replace(want, "true\n", "", 1)
	}
	if printed, code := runProgram(t, "blind"); printed != want || code != 0 {
		t.Errorf("got exit code %d,\n%swant 0,\n%s", code, printed, want)
	}
}
