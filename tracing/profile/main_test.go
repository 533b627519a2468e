package profile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	_ "github.com/vtscope/vtscope/runtime/flight/profiling"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// asChild, in the environment, makes the test binary a program to look at.
const asChild = "VTSCOPE_PROFILE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		child()
	}
	leaktest.Main(m)
}

// child is a program that does what the lines of its standard input say, and answers each with a line; it ends with them.
func child() {
	vthread.Main(func() {
		fmt.Println("ready")
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			switch in.Text() {
			case "some":
				some()
			case "many":
				many()
			case "busy":
				busy(func() { in.Scan() })
			}
			fmt.Println("done")
		}
	})
	_ = flight.Close()
	os.Exit(0)
}

// some lets threads sleep, wait for a lock, and block while they are pinned.
func some() {
	_ = structured.Run(context.Background(), "shop", func(s *structured.Scope) error {
		var lock vsync.Mutex
		for i := range 20 {
			s.ForkNamed(fmt.Sprintf("cart %d", i), func() error {
				lock.Lock()
				_ = vthread.Sleep(ms)
				lock.Unlock()
				return nil
			})
		}
		for range 3 {
			s.ForkNamed("pin", func() error {
				continuation.Pin()
				defer continuation.Unpin()
				return vthread.Sleep(60 * ms) // from 20 ms on it is an event
			})
		}
		return s.Join()
	})
}

// many switches threads more often than rings hold.
func many() {
	_ = structured.Run(context.Background(), "storm", func(s *structured.Scope) error {
		for range 4 {
			var ping, pong *vthread.Thread
			started := vsync.NewLatch(1)
			const n = 150_000
			ping = s.Fork(func() error {
				started.Wait()
				for range n {
					_ = pong.Unpark()
					vthread.Park()
				}
				return nil
			})
			pong = s.Fork(func() error {
				started.Wait()
				for range n {
					vthread.Park()
					_ = ping.Unpark()
				}
				return nil
			})
			started.Done()
		}
		return s.Join()
	})
}

// busy computes until wait returns.
func busy(wait func()) {
	_ = structured.Run(context.Background(), "compute", func(s *structured.Scope) error {
		var stop atomic.Bool
		s.ForkNamed("worker 7", func() error {
			burn(&stop)
			return nil
		})
		wait()
		stop.Store(true)
		return s.Join()
	})
}

//go:noinline
func burn(stop *atomic.Bool) {
	x := 1
	for !stop.Load() {
		for range 10_000 {
			x = x*31 + 7
		}
	}
	fmt.Fprint(io.Discard, x)
}
