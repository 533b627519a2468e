//go:build unix

package bench

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A stance is where on its stack a partner of a ping-pong waits.
type stance struct {
	depth int  // frames
	climb bool // it goes down to the depth for each turn and comes back; else it stays there
}

var stances = []stance{{depth: 1}, {depth: 10}, {depth: 100}, {depth: 100, climb: true}}

func (s stance) String() string { return fmt.Sprintf("depth=%d/climb=%v", s.depth, s.climb) }

// BenchmarkDeep is the ping-pong of deep stacks.
func BenchmarkDeep(b *testing.B) {
	for _, s := range stances {
		b.Run(s.String()+"/impl=vthread", measure(s.threads))
		b.Run(s.String()+"/impl=goroutine", measure(s.goroutines))
	}
}

// turns calls turn n times, at the depth.
func (s stance) turns(n int, turn func()) {
	if s.climb {
		for range n {
			descend(s.depth, turn)
		}
		return
	}
	descend(s.depth, func() {
		for range n {
			turn()
		}
	})
}

func (s stance) threads(n int) (d time.Duration) {
	withCarriers(1, func(fj sched.Scheduler) {
		b := vthread.Builder{Scheduler: fj}
		var ping, pong *vthread.Thread
		pong = b.Unstarted(func() {
			s.turns(n, func() {
				vthread.Park()
				ping.Unpark()
			})
		})
		ping = b.Unstarted(func() {
			began := time.Now()
			s.turns(n, func() {
				pong.Unpark()
				vthread.Park()
			})
			d = time.Since(began)
		})
		pong.Start()
		ping.Start()
		ping.Join()
		pong.Join()
	})
	return d
}

func (s stance) goroutines(n int) time.Duration {
	ping, pong := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		s.turns(n, func() {
			<-pong
			ping <- struct{}{}
		})
	})
	began := time.Now()
	s.turns(n, func() {
		pong <- struct{}{}
		<-ping
	})
	d := time.Since(began)
	wg.Wait()
	return d
}

func TestBothPartnersTakeTheirTurnsAtAnyDepth(t *testing.T) {
	for _, s := range stances {
		turns := 0
		s.turns(3, func() { turns++ })
		if turns != 3 {
			t.Errorf("%v: got %d turns, want 3", s, turns)
		}
		for impl, w := range map[string]work{"threads": s.threads, "goroutines": s.goroutines} {
			wantTime(t, fmt.Sprintf("%v, %s", s, impl), 3, w)
		}
	}
}
