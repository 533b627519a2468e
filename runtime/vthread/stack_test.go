package vthread_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/computetest"
	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// needEyes skips where nothing can be seen of other goroutines.
func needEyes(t *testing.T) {
	if !coro.SharedLookout().Sees() {
		t.Skip("this architecture or Go release does not let goroutines be looked at")
	}
}

func names(s vthread.Stack) string {
	var all []string
	for _, f := range s.Frames {
		_, name, _ := strings.Cut(f.Function[strings.LastIndex(f.Function, "/")+1:], ".")
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

//go:noinline
func outer(f func()) { inner(f) }

//go:noinline
func inner(f func()) { f() }

// started names what start adds to the stack of a thread.
func started(b vthread.Builder) string {
	if b.Kind >= vthread.Adopted {
		return " start.func1.1"
	}
	return ""
}

func TestTheStackOfAParkedThreadIsExact(t *testing.T) {
	needEyes(t)
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		body := func() { outer(func() { vthread.Park() }) }
		var th *vthread.Thread
		if b.Kind >= vthread.Adopted {
			th = start(b, body)
		} else {
			th = b.Unstarted(body)
			if s := th.Stack(); len(s.Frames) != 0 || s.State != flight.StateNew {
				t.Errorf("new: %s %v", s.State, s.Frames)
			}
			th.Start()
		}
		await(t, th, flight.StateParked)
		s := th.Stack()
		want := "Park TestTheStackOfAParkedThreadIsExact.func1.1.1 inner outer TestTheStackOfAParkedThreadIsExact.func1.1" + started(b)
		if got := names(s); got != want || !s.Exact || s.State != flight.StateParked {
			t.Errorf("parked: exact %v, %s\n got %s\nwant %s", s.Exact, s.State, got, want)
		}
		th.Unpark()
		th.Join()
		if s := th.Stack(); len(s.Frames) != 0 || s.State != flight.StateDone {
			t.Errorf("done: %s %v", s.State, s.Frames)
		}
	})
}

func TestTheStackOfAThreadGoesThroughTheContinuationsThatItExecutes(t *testing.T) {
	needEyes(t)
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		p, q := continuation.NewPrompt("outer"), continuation.NewPrompt("inner")
		th := start(b, func() {
			continuation.New(p, func() {
				outer(func() { continuation.New(q, func() { inner(func() { vthread.Park() }) }).Run() })
			}).Run()
		})
		await(t, th, flight.StateParked)
		s := th.Stack()
		const test = "TestTheStackOfAThreadGoesThroughTheContinuationsThatItExecutes.func1.1"
		want := "Park " + test + ".1.1.1.1 inner " + test + ".1.1.1 (*Continuation).Run " + test + ".1.1 inner outer " + test + ".1 (*Continuation).Run " + test + started(b)
		if got := names(s); got != want || !s.Exact {
			t.Errorf("exact %v\n got %s\nwant %s", s.Exact, got, want)
		}
		th.Unpark()
		th.Join()
	})
}

func TestTheStackOfAThreadThatExecutesShowsItsCallsAndIsMarked(t *testing.T) {
	needEyes(t)
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		var stop atomic.Bool
		th := start(b, func() { outer(func() { computetest.Until(&stop) }) })
		await(t, th, flight.StateMounted)
		var s vthread.Stack
		for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
			if s = th.Stack(); strings.Contains(names(s), "outer TestTheStackOf") {
				break
			}
		}
		if got := names(s); s.Exact || !strings.Contains(got, "outer TestTheStackOf") {
			t.Errorf("exact %v: %s", s.Exact, got)
		}
		stop.Store(true)
		th.Join()
	})
}

func TestStacksCanBeTakenForSecondsOfThreadsThatDoEverything(t *testing.T) {
	needEyes(t)
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		var stop atomic.Bool
		var threads []*vthread.Thread
		for i := range 8 {
			threads = append(threads, start(b, func() {
				for n := 0; !stop.Load(); n++ {
					switch (n + i) % 5 {
					case 0:
						outer(func() { vthread.ParkFor(10 * time.Microsecond) })
					case 1:
						outer(vthread.Yield)
					case 2:
						runtime.KeepAlive(deep(200))
					case 3:
						start(b, func() { outer(func() {}) }).Join()
					case 4:
						outer(func() { vthread.Sleep(time.Millisecond) })
					}
				}
			}))
		}
		exact, seen := 0, 0
		for begun := time.Now(); time.Since(begun) < 300*time.Millisecond || (exact == 0 || seen == 0) && time.Since(begun) < time.Minute; {
			for _, th := range threads {
				s := th.Stack()
				if s.Exact {
					exact++
				}
				for _, f := range s.Frames {
					seen++
					if f.Function == "" {
						t.Fatalf("a frame that is no function: %v", s.Frames)
					}
				}
				if s.Exact && len(s.Frames) > 0 && !strings.Contains(names(s), "TestStacksCanBeTaken") {
					t.Fatalf("exact, and not from the thread's function: %s", names(s))
				}
			}
		}
		stop.Store(true)
		for _, th := range threads {
			th.Join()
		}
		if exact == 0 || seen == 0 {
			t.Errorf("%d exact stacks, %d frames: nothing was tried", exact, seen)
		}
	})
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n-1) + 1
}
