package vttest_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// A thread of a simulation and those that it adopts are one to it.
func TestThreadsThatAreAdoptedInASimulation(t *testing.T) {
	vttest.Run(t, func(t *testing.T) {
		begin := time.Now()
		var mu vsync.Mutex
		n := 0
		body := func() {
			vthread.Run("outer", func() {
				mu.Lock()
				n++
				vthread.Run("inner", func() {
					vthread.Yield()
					vthread.Sleep(time.Minute)
					vthread.Start(func() { vthread.Sleep(time.Minute) }).Join()
				})
				mu.Unlock()
			})
		}
		a, b := vthread.Start(body), vthread.Start(body)
		a.Join()
		b.Join()
		done := vthread.Start(func() {
			vthread.Run("", func() { vthread.Run("", runtime.Goexit) })
		})
		done.Join()
		if n != 2 {
			t.Errorf("counted %d, want 2", n)
		}
		if d := time.Since(begin); d != 4*time.Minute {
			t.Errorf("took %v, want 4m", d)
		}
	})
}
