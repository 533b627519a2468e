package coro

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// If this fails on a new Go release: compare the fields sched.bp, atomicstatus and startpc of runtime.g, and the numbers of the
// states, in runtime2.go. Until then threads that block in Go's own operations are shown as mounted, without a stack.
func TestLookout(t *testing.T) {
	if !gIsAddress {
		t.Skipf("no way to read a goroutine on %s", runtime.GOARCH)
	}
	l := NewLookout()
	if l.at.status == 0 {
		t.Fatal("found nothing")
	}
	var mu sync.Mutex
	mu.Lock()
	stop := make(chan struct{})
	var slept atomic.Bool // it was seen
	for name, f := range map[string]func(){
		"receive": func() { <-stop },
		"mutex":   func() { mu.Lock(); defer mu.Unlock() },
		"sleep": func() {
			for !slept.Load() {
				time.Sleep(20 * time.Millisecond)
			}
		},
	} {
		g, done := make(chan uintptr), make(chan struct{})
		go func() {
			defer close(done)
			g <- getg()
			guiltyOfWaiting(f)
		}()
		id := <-g
		var pcs [32]uintptr
		seen := false
		for deadline := time.Now().Add(time.Minute); !seen && time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
			n, what := l.Look(id, pcs[:])
			seen = what == DoingWait && leadsTo(pcs[:n], ".guiltyOfWaiting")
		}
		if !seen {
			t.Errorf("%s: not seen waiting in guiltyOfWaiting", name)
		}
		if name == "receive" {
			close(stop)
		}
		if name == "mutex" {
			mu.Unlock()
		}
		slept.Store(name == "sleep")
		<-done
	}
}

//go:noinline
func guiltyOfWaiting(f func()) { f() }

func TestLookSeesThatAGoroutineWorks(t *testing.T) {
	if !gIsAddress {
		t.Skipf("no way to read a goroutine on %s", runtime.GOARCH)
	}
	l := NewLookout()
	var pcs [32]uintptr
	if n, what := l.Look(getg(), pcs[:]); n != 0 || what != DoingWork {
		t.Errorf("of the caller: %d frames, %d, want 0 and DoingWork", n, what)
	}
	if _, what := l.Look(0, pcs[:]); what != DoingUnknown {
		t.Errorf("of nobody: %d, want DoingUnknown", what)
	}
}

// Goroutines that park and go on, grow and shrink their stacks and end while somebody looks.
func TestLookingDoesNoHarm(t *testing.T) {
	if !gIsAddress {
		t.Skipf("no way to read a goroutine on %s", runtime.GOARCH)
	}
	l := NewLookout()
	gs := make(chan uintptr, 64)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				done := make(chan struct{})
				go func() {
					defer close(done)
					select {
					case gs <- getg():
					default:
					}
					grow(100)
					time.Sleep(time.Microsecond)
				}()
				<-done
			}
		})
	}
	go func() { wg.Wait(); close(gs) }()
	var pcs [64]uintptr
	waits := 0
	for g := range gs {
		for range 50 {
			if n, what := l.Look(g, pcs[:]); what == DoingWait {
				waits++
				for _, pc := range pcs[:n] {
					if f := runtime.FuncForPC(pc - 1); f != nil && strings.HasSuffix(f.Name(), ".parkToBeSeen") {
						t.Error("a frame of another goroutine")
					}
				}
			}
		}
	}
	t.Logf("%d looks at a goroutine that waited", waits)
}

//go:noinline
func grow(n int) byte {
	var big [256]byte
	if n > 0 {
		big[n%256] = grow(n - 1)
	}
	return big[0]
}
