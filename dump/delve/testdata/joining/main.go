// Command joining has threads that end, for a debugger to step out of.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func work(n int) error {
	vthread.Sleep(5 * time.Millisecond)
	fmt.Sprint(n)
	return nil
}

func main() {
	vthread.Main(func() {
		for n := range 1000 {
			_ = structured.Run(context.Background(), "round", func(s *structured.Scope) error {
				s.ForkNamed("worker", func() error { return work(n) })
				return s.Join()
			})
		}
	})
}
