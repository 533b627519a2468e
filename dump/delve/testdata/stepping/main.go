// Command stepping has a thread for each way to give up a carrier, for a debugger to step over. Other threads are as busy meanwhile, at the same lines
// too, so that a debugger that does not tell threads apart is seen.
package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

var (
	lock   vsync.Mutex
	others vsync.Mutex
)

func parks(n int) {
	n++
	vthread.Park()
	n++
	use(n)
}

func sleeps(n int) {
	n++
	vthread.Sleep(20 * time.Millisecond)
	n++
	use(n)
}

func yields(n int) {
	n++
	vthread.Yield()
	n++
	use(n)
}

func locks(n int) {
	n++
	lock.Lock()
	n++
	lock.Unlock()
	n++
	use(n)
}

func reads(n int, from *os.File) {
	var b [1]byte
	_, err := from.Read(b[:])
	n++
	use(n, err)
}

//go:noinline
func use(...any) {}

// threads is how many of them are in the scope.
const threads = 43

var running atomic.Int32

// begun is told by each thread of the scope that it runs.
func begun() {
	if running.Add(1) == threads {
		fmt.Println("all threads run")
		together()
	}
}

// together is called once, when all threads of the scope run.
//
//go:noinline
func together() {
	use(threads)
}

// each runs one of the functions in many threads.
func each(s *structured.Scope, name string, step func(n int)) {
	for n := range 8 {
		s.ForkNamed(fmt.Sprint(name, n), func() error {
			begun()
			for {
				step(n)
			}
		})
	}
}

func main() {
	vthread.Main(func() {
		_ = structured.Run(context.Background(), "steps", func(s *structured.Scope) error {
			from, to, err := os.Pipe()
			if err != nil {
				return err
			}
			s.ForkNamed("waker", func() error {
				begun()
				for {
					vthread.Sleep(5 * time.Millisecond)
					for _, t := range s.Threads() {
						t.Unpark()
					}
				}
			})
			s.ForkNamed("holder", func() error {
				begun()
				for {
					lock.Lock()
					vthread.Sleep(5 * time.Millisecond)
					lock.Unlock()
					vthread.Sleep(5 * time.Millisecond)
				}
			})
			s.ForkNamed("writer", func() error {
				begun()
				for {
					vthread.Sleep(5 * time.Millisecond)
					if _, err := to.Write([]byte{1}); err != nil {
						return err
					}
				}
			})
			each(s, "parks", parks)
			each(s, "sleeps", sleeps)
			each(s, "yields", yields)
			each(s, "locks", locks)
			each(s, "reads", func(n int) { reads(n, from) })
			return s.Join()
		})
	})
}
