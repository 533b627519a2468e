package coro

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// While a panic passes through a function, Go's garbage collector believes whatever lies where the function's arguments may be spilled, if one of them
// has its address taken. There must be none in the frames that [Routine.Exit] panics through: what lies there is left over
// from others, and can be a pointer to memory that was freed.
func TestRoutinesMayExitDuringGarbageCollections(t *testing.T) {
	var exiting sync.WaitGroup
	var stop atomic.Bool
	for range 4 {
		exiting.Go(func() {
			for !stop.Load() {
				litterStack()
				r := New(func(r *Routine) {
					defer r.Exit()
					runtime.Goexit()
				})
				r.End()
			}
		})
	}
	for begun := time.Now(); time.Since(begun) < 300*time.Millisecond; {
		runtime.GC()
	}
	stop.Store(true)
	exiting.Wait()
}

// litterStack leaves a stack full of pointers to memory that is about to be freed to a goroutine that begins later.
func litterStack() {
	done := make(chan struct{})
	go func() {
		var litter [32]*[1 << 15]byte
		p := new([1 << 15]byte)
		for i := range litter {
			litter[i] = p
		}
		runtime.KeepAlive(&litter)
		close(done)
	}()
	<-done
}
