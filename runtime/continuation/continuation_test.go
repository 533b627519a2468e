package continuation_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func Example() {
	prompt := continuation.NewPrompt("example")
	c := continuation.New(prompt, func() {
		fmt.Println("one")
		continuation.Suspend(prompt, nil)
		fmt.Println("two")
	})
	fmt.Println(c.Run())
	fmt.Println(c.Run())
	// Output:
	// one
	// false
	// two
	// true
}

// CT-01, CT-02
func TestBodyKeepsItsLocalsOverEverySuspend(t *testing.T) {
	p := continuation.NewPrompt("p")
	sum := 0
	c := continuation.New(p, func() {
		local := 0
		for i := range 20 {
			local += i
			deep(50, func() { continuation.Suspend(p, nil) })
		}
		sum = local
	})
	runs := 1
	for ; !c.Run(); runs++ {
		runtime.GC()
	}
	if runs != 21 || sum != 190 {
		t.Fatalf("%d runs, sum %d, want 21 and 190", runs, sum)
	}
}

func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

// SC-01, SC-02
func TestSuspendOfAnOuterPromptSuspendsAllInnerOnesAndRunReentersThem(t *testing.T) {
	a, b, c := continuation.NewPrompt("a"), continuation.NewPrompt("b"), continuation.NewPrompt("c")
	var log []string
	say := func(s string) { log = append(log, s) }
	A := continuation.New(a, func() {
		B := continuation.New(b, func() {
			C := continuation.New(c, func() {
				say("C1")
				continuation.Suspend(a, nil)
				say("C2")
				continuation.Suspend(b, nil)
				say("C3")
			})
			say(fmt.Sprint("B saw ", C.Run()))
			say("B2")
		})
		say(fmt.Sprint("A saw ", B.Run()))
		say(fmt.Sprint("A saw ", B.Run()))
	})
	say(fmt.Sprint("run ", A.Run()))
	done := make(chan bool)
	go func() { done <- A.Run() }() // another goroutine goes on
	say(fmt.Sprint("run ", <-done))
	want := []string{"C1", "run false", "C2", "A saw false", "C3", "B saw true", "B2", "A saw true", "run true"}
	if !slices.Equal(log, want) {
		t.Fatalf("got  %q\nwant %q", log, want)
	}
}

func TestValuesPassBothWays(t *testing.T) {
	p := continuation.NewPrompt("p")
	out, in := 0, 0
	var c *continuation.Continuation
	c = continuation.New(p, func() {
		for i := range 3 {
			got, err := continuation.Suspend(p, func(k *continuation.Continuation) {
				if k != c {
					t.Error("f got another continuation")
				}
				out = i
			})
			if got != c || err != nil {
				t.Errorf("Suspend returned %v, %v", got, err)
			}
			if in != i*10 {
				t.Errorf("body got %d, want %d", in, i*10)
			}
		}
	})
	c.Run()
	for i := range 3 {
		if out != i {
			t.Fatalf("runner got %d, want %d", out, i)
		}
		in = i * 10
		c.Run()
	}
}

func panics(t *testing.T, want error, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if err, _ := recover().(error); !errors.Is(err, want) {
			t.Errorf("panicked with %v, want %v", err, want)
		}
	}()
	f()
}

// SC-06, SC-07
func TestMisusePanicsWithItsOwnError(t *testing.T) {
	p := continuation.NewPrompt("p")
	var c *continuation.Continuation
	c = continuation.New(p, func() {
		panics(t, continuation.ErrRunning, func() { c.Run() })
		continuation.Suspend(p, nil)
	})
	c.Run()
	c.Run()
	panics(t, continuation.ErrDone, func() { c.Run() })
	panics(t, continuation.ErrNoPrompt, func() { continuation.Suspend(p, nil) })
	continuation.New(continuation.NewPrompt("other"), func() {
		panics(t, continuation.ErrNoPrompt, func() { continuation.Suspend(p, nil) })
	}).Run()
}

// CT-08
func TestPanicOfTheBodyComesOutOfRunWithItsStack(t *testing.T) {
	p := continuation.NewPrompt("p")
	cause := errors.New("boom")
	c := continuation.New(p, func() {
		continuation.Suspend(p, nil)
		guilty(cause)
	})
	c.Run()
	defer func() {
		got, _ := recover().(*continuation.Panic)
		if got == nil || !errors.Is(got, cause) || !strings.Contains(string(got.Stack), "continuation_test.guilty") {
			t.Fatalf("panicked with %v, want boom with the frame of guilty", got)
		}
		if !c.Done() {
			t.Error("not done")
		}
	}()
	c.Run()
}

//go:noinline
func guilty(err error) { panic(err) }

func TestGoexitOfTheBodyGoesOnInTheRunner(t *testing.T) {
	p := continuation.NewPrompt("p")
	var log []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { log = append(log, "runner") }()
		outer := continuation.New(p, func() {
			defer func() { log = append(log, "outer") }()
			inner := continuation.New(p, func() {
				defer func() { log = append(log, "inner") }()
				continuation.Suspend(p, nil)
				runtime.Goexit()
			})
			inner.Run()
			inner.Run()
			t.Error("outer goes on")
		})
		outer.Run()
		t.Error("runner goes on")
	}()
	<-done
	if want := []string{"inner", "outer", "runner"}; !slices.Equal(log, want) {
		t.Fatalf("deferred calls %q, want %q", log, want)
	}
}

// The proposal's example: code in a generator suspends the enclosing fiber.
func TestAGeneratorOnAThreadParksTheThreadBetweenTwoValues(t *testing.T) {
	p := continuation.NewPrompt("generator")
	var got []int
	th := vthread.Start(func() {
		me := vthread.Current()
		next := 0
		g := continuation.New(p, func() {
			for i := range 5 {
				vthread.Sleep(time.Millisecond)
				if vthread.Current() != me {
					t.Error("another thread in the generator")
				}
				next = i
				continuation.Suspend(p, nil)
			}
		})
		for !g.Run() {
			got = append(got, next)
			vthread.Yield()
		}
	})
	th.Join()
	if !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Fatalf("got %v", got)
	}
}

// Trap 1: a switch on a locked OS thread would end the process.
func TestSuspendOnALockedOSThreadIsRefused(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	p := continuation.NewPrompt("p")
	c := continuation.New(p, func() {
		runtime.LockOSThread()
		if _, err := continuation.Suspend(p, nil); !errors.Is(err, continuation.ErrPinned) {
			t.Errorf("got %v, want ErrPinned", err)
		}
		runtime.UnlockOSThread()
		if _, err := continuation.Suspend(p, nil); err != nil {
			t.Errorf("unlocked: %v", err)
		}
	})
	if c.Run() {
		t.Fatal("ended in the first run")
	}
	if !c.Run() {
		t.Fatal("not ended in the second run")
	}
}

func TestABodyMayEndLockedToItsOSThread(t *testing.T) {
	p := continuation.NewPrompt("p")
	continuation.New(p, func() { runtime.LockOSThread() }).Run()
}

// A switch is fatal, too, where one is locked once and the other twice.
func TestLocksOfAnOSThreadAreCounted(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	p := continuation.NewPrompt("p")
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		c := continuation.New(p, func() {
			runtime.LockOSThread()
			if _, err := continuation.Suspend(p, nil); !errors.Is(err, continuation.ErrPinned) {
				t.Errorf("locked twice: got %v, want ErrPinned", err)
			}
			runtime.UnlockOSThread()
			continuation.Suspend(p, nil)
			runtime.LockOSThread() // and it ends so
		})
		if c.Run() {
			t.Error("ended in the first run")
		}
		runtime.LockOSThread()
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, continuation.ErrOSThread) {
					t.Errorf("Run, locked twice: %v, want ErrOSThread", err)
				}
			}()
			c.Run()
		}()
		runtime.UnlockOSThread()
		if !c.Run() {
			t.Error("not ended in the second run")
		}
	}()
	<-done
}

func TestAPanicDuringGoexitComesOutOfRun(t *testing.T) {
	p := continuation.NewPrompt("p")
	c := continuation.New(p, func() {
		defer func() { panic("late") }()
		runtime.Goexit()
	})
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		c.Run()
	}()
	if v, _ := (<-done).(*continuation.Panic); v == nil || v.Value != "late" {
		t.Fatalf("Run panicked with %v, want late", v)
	}
}

// Trap 2: what was begun on a locked OS thread works there, and nowhere else.
func TestAContinuationBegunOnALockedOSThreadStaysThere(t *testing.T) {
	if !coro.Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	p := continuation.NewPrompt("p")
	c := continuation.New(p, func() { continuation.Suspend(p, nil) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		c.Run()
		other := make(chan struct{})
		go func() {
			defer close(other)
			panics(t, continuation.ErrOSThread, func() { c.Run() })
		}()
		<-other
		if !c.Run() {
			t.Error("not ended")
		}
	}()
	<-done
}

// Trap 4: package init runs locked to the main OS thread.
var (
	initPrompt = continuation.NewPrompt("init")
	begunInit  = continuation.New(initPrompt, func() { continuation.Suspend(initPrompt, nil) })
	madeInit   = continuation.New(initPrompt, func() { continuation.Suspend(initPrompt, nil) })
	threadInit *vthread.Thread
	initRuns   bool

	madeInitRuns = sync.OnceValue(func() bool { return !madeInit.Run() && madeInit.Run() })
)

func init() {
	initRuns = !begunInit.Run()
	threadInit = vthread.Start(func() { vthread.Sleep(time.Millisecond); vthread.Yield() })
	threadInit.Join()
}

func TestPackageInitMayMakeContinuationsAndThreads(t *testing.T) {
	if !initRuns {
		t.Error("a continuation did not run in init")
	}
	if coro.Binds {
		panics(t, continuation.ErrOSThread, func() { begunInit.Run() })
	}
	if !madeInitRuns() {
		t.Error("one made in init does not run")
	}
	if s := threadInit.State().String(); s != "done" {
		t.Errorf("the thread of init is %s, want done", s)
	}
}

// Trap 5.
func TestThreadsAndContinuationsInASynctestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		begun := time.Now()
		ch := make(chan int)
		th := vthread.Start(func() {
			vthread.Sleep(time.Hour)
			vthread.Start(func() { vthread.Sleep(time.Hour); vthread.Yield() }).Join()
			c := continuation.New(p, func() { continuation.Suspend(p, nil) })
			c.Run()
			c.Run()
			ch <- 7 // a channel of the bubble
		})
		if got := <-ch; got != 7 {
			t.Errorf("got %d", got)
		}
		th.Join()
		if d := time.Since(begun); d != 2*time.Hour {
			t.Errorf("took %v of the bubble's time, want 2h", d)
		}
	})
	vthread.Start(func() { vthread.Sleep(time.Microsecond) }).Join() // and the default scheduler still works outside
}

func BenchmarkRunSuspend(b *testing.B) {
	p := continuation.NewPrompt("p")
	c := continuation.New(p, func() {
		for {
			continuation.Suspend(p, nil)
		}
	})
	for b.Loop() {
		c.Run()
	}
}
