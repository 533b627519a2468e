package vthread_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// onCallers runs f on a plain goroutine, and on threads of all kinds: whatever may adopt a thread.
func onCallers(t *testing.T, f func(t *testing.T)) {
	t.Run("goroutine", func(t *testing.T) {
		done := make(chan struct{})
		go func() { defer close(done); f(t) }()
		<-done
	})
	eachKind(t, func(t *testing.T, b vthread.Builder) { start(b, func() { f(t) }).Join() })
}

func TestRunExecutesAThreadInItsCaller(t *testing.T) {
	onCallers(t, func(t *testing.T) {
		caller := vthread.Current()
		var th *vthread.Thread
		vthread.Run("inner", func() {
			th = vthread.Current()
			if th == nil || th == caller || th.Name() != "inner" || th.Kind() != vthread.Adopted || th.State() != flight.StateMounted {
				t.Errorf("executes as %v of kind %s", th, th.Kind())
			}
			if err := vthread.Sleep(time.Microsecond); err != nil {
				t.Error(err)
			}
			vthread.Yield()
		})
		if got := vthread.Current(); got != caller {
			t.Errorf("after it %v executes, want %v", got, caller)
		}
		if s := th.State(); s != flight.StateDone || th.Join() != nil {
			t.Errorf("after it the thread is %s", s)
		}
	})
}

func TestRunTakesNoOtherKindAndNoScheduler(t *testing.T) {
	for want, f := range map[string]func(){
		"vthread: a thread of kind goroutine cannot execute in its caller": func() {
			vthread.Builder{Kind: vthread.OnGoroutine}.Run(func() {})
		},
		"vthread: a thread of kind adopted has no scheduler": func() {
			vthread.Builder{Kind: vthread.Adopted, Scheduler: sched.Default()}.Run(func() {})
		},
		"vthread: a thread of kind adopted executes in its caller: use Run": func() {
			vthread.Builder{Kind: vthread.Adopted}.Start(func() {})
		},
		"vthread: nil function": func() { vthread.Run("", nil) },
	} {
		func() {
			defer func() {
				if v := recover(); v != want {
					t.Errorf("panic %v, want %s", v, want)
				}
			}()
			f()
		}()
	}
	vthread.Builder{Kind: vthread.Adopted}.Run(func() {})
}

func TestAPanicGoesThroughRunWithItsFramesStanding(t *testing.T) {
	onCallers(t, func(t *testing.T) {
		caller := vthread.Current()
		var th *vthread.Thread
		func() {
			defer func() {
				stack := debug.Stack()
				if v := recover(); v != "guilty" || !bytes.Contains(stack, []byte("vthread_test.guilty")) {
					t.Errorf("recovered %v at\n%s", v, stack)
				}
			}()
			vthread.Run("", func() { th = vthread.Current(); guilty() })
		}()
		if th.State() != flight.StateDone || vthread.Current() != caller {
			t.Errorf("after the panic the thread is %s, and %v executes", th.State(), vthread.Current())
		}
	})
}

// The trace is Go's own: nobody has recovered the panic and panicked again.
func TestAnUnhandledPanicInRunEndsTheProgramAsWithoutIt(t *testing.T) {
	if os.Getenv("VTSCOPE_TEST_CRASH") != "" {
		vthread.Run("culprit", guilty)
		os.Exit(0)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "VTSCOPE_TEST_CRASH=1", "VTSCOPE=private")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("ended with %v, want exit status 2", err)
	}
	// The testing package recovers it once, and panics again.
	if s := string(out); !strings.Contains(s, "panic: guilty") || !strings.Contains(s, "vthread_test.guilty") || strings.Count(s, "recovered") > 1 {
		t.Errorf("got\n%s", s)
	}
}

func TestRunReturnsAfterAHandledPanic(t *testing.T) {
	onCallers(t, func(t *testing.T) {
		caller := vthread.Current()
		var value any
		var on *vthread.Thread
		vthread.Builder{OnPanic: func(th *vthread.Thread, v any, stack []byte) {
			value, on = v, vthread.Current()
			if on != th || !bytes.Contains(stack, []byte("vthread_test.guilty")) {
				t.Errorf("handled on %v, with the stack\n%s", on, stack)
			}
		}}.Run(guilty)
		if value != "guilty" || on.State() != flight.StateDone || vthread.Current() != caller {
			t.Errorf("handled %v; the thread is %s; %v executes", value, on.State(), vthread.Current())
		}
	})
}

func TestAPanicOfTheHandlerComesOutOfRun(t *testing.T) {
	var th *vthread.Thread
	defer func() {
		if v := recover(); v != "handler" || th.State() != flight.StateDone || vthread.Current() != nil {
			t.Errorf("recovered %v; the thread is %s", v, th.State())
		}
	}()
	vthread.Builder{OnPanic: func(*vthread.Thread, any, []byte) { panic("handler") }}.Run(func() { th = vthread.Current(); guilty() })
}

func TestGoexitGoesThroughNestedRuns(t *testing.T) {
	for name, begin := range map[string]func(f func()){
		"goroutine": func(f func()) {
			done := make(chan struct{})
			go func() { defer close(done); f() }()
			<-done
		},
		"virtual":     func(f func()) { vthread.Start(f).Join() },
		"OnGoroutine": func(f func()) { vthread.Builder{Kind: vthread.OnGoroutine}.Start(f).Join() },
	} {
		t.Run(name, func(t *testing.T) {
			var outer, inner *vthread.Thread
			var order []string
			begin(func() {
				caller := vthread.Current()
				defer func() {
					if vthread.Current() != caller || outer.State() != flight.StateDone {
						t.Errorf("in the caller's deferred call %v executes; the outer is %s", vthread.Current(), outer.State())
					}
				}()
				vthread.Run("outer", func() {
					outer = vthread.Current()
					defer func() {
						order = append(order, "outer")
						if vthread.Current() != outer || inner.State() != flight.StateDone {
							t.Errorf("in the outer's deferred call %v executes; the inner is %s", vthread.Current(), inner.State())
						}
						vthread.Sleep(time.Microsecond)
					}()
					vthread.Run("inner", func() {
						inner = vthread.Current()
						defer func() { order = append(order, "inner") }()
						runtime.Goexit()
					})
				})
			})
			if !slices.Equal(order, []string{"inner", "outer"}) {
				t.Errorf("deferred calls: %q", order)
			}
			vthread.Start(func() { vthread.Run("after", func() { vthread.Yield() }) }).Join()
		})
	}
}

func TestTheCallerOfRunWaitsForTheThread(t *testing.T) {
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		inner := make(chan *vthread.Thread, 1)
		outer := start(b, func() {
			me := vthread.Current()
			vthread.Run("inner", func() {
				inner <- vthread.Current()
				vthread.Park()
			})
			if !me.IsInterrupted() {
				t.Error("the caller's interrupt is lost")
			}
			vthread.Interrupted()
			vthread.Park() // has the permit
		})
		in := <-inner
		await(t, in, flight.StateParked)
		await(t, outer, flight.StateWaiting)
		outer.Unpark()
		outer.Interrupt()
		if in.IsInterrupted() || in.State() != flight.StateParked || outer.State() != flight.StateWaiting {
			t.Errorf("the inner is %s and interrupted %v, the outer %s", in.State(), in.IsInterrupted(), outer.State())
		}
		if flight.Default() != nil {
			reader, err := flight.Default().Reader()
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			row := rowOf(t, reader, outer)
			if row.State != flight.StateWaiting || row.Reason != flight.ReasonJoin || row.Blocker != flight.BlockThread(in.ID()) || row.Stack == 0 {
				t.Errorf("recorded as %+v", row)
			}
			if row := rowOf(t, reader, in); row.State != flight.StateParked || row.Flags != flight.RecordAdopted {
				t.Errorf("the inner is recorded as %+v", row)
			}
		}
		if err := in.UnparkOn(sched.Default()); !errors.Is(err, sched.ErrBound) {
			t.Errorf("moved: %v, want ErrBound", err)
		}
		in.Unpark()
		outer.Join()
	})
}

func TestAThreadThatAVirtualOneAdoptsLeavesTheCarrier(t *testing.T) {
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer fj.Close()
	single := sched.NewSingle()
	defer single.Close()
	for name, s := range map[string]sched.Scheduler{"fork-join": fj, "single": single, "goer": goer{}} {
		t.Run(name, func(t *testing.T) {
			b := vthread.Builder{Scheduler: s}
			const n = 50
			inner := make(chan *vthread.Thread, n)
			var threads []*vthread.Thread
			for range n {
				threads = append(threads, b.Start(func() {
					vthread.Run("inner", func() {
						inner <- vthread.Current()
						vthread.Park()
						vthread.Sleep(time.Microsecond)
						vthread.Yield()
						vthread.Blocking(func() { vthread.Sleep(time.Microsecond) })
					})
					vthread.Yield()
				}))
			}
			for range n {
				in := <-inner
				await(t, in, flight.StateParked)
				in.Unpark()
			}
			for _, th := range threads {
				th.Join()
			}
		})
	}
	s := fj.Stats().Figures
	if s[flight.FigureStarts] != 100 || s[flight.FigureEnds] != 100 || s[flight.FigureParked] != 0 {
		t.Errorf("of 50 threads that adopt one each %d started, %d ended, and %d are parked", s[flight.FigureStarts], s[flight.FigureEnds], s[flight.FigureParked])
	}
	if s[flight.FigurePins] != 0 {
		t.Errorf("%d pins", s[flight.FigurePins])
	}
}

// goer executes every task on a goroutine of its own.
type goer struct{}

func (goer) Execute(t *sched.Task) error { go t.Run(); return nil }

func TestAPinSectionOfTheCallerPinsTheThreadThatItAdopts(t *testing.T) {
	inner := make(chan *vthread.Thread, 1)
	th := vthread.Start(func() {
		continuation.Pin()
		defer continuation.Unpin()
		vthread.Run("inner", func() {
			inner <- vthread.Current()
			vthread.Park()
		})
	})
	in := <-inner
	await(t, in, flight.StatePinned)
	in.Unpark()
	th.Join()
}

func TestContinuationsAroundRunAreNotSeenInIt(t *testing.T) {
	onCallers(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("around"), continuation.NewPrompt("within")
		steps := 0
		c := continuation.New(p, func() {
			vthread.Run("", func() {
				func() {
					defer func() {
						if err, _ := recover().(error); !errors.Is(err, continuation.ErrNoPrompt) {
							t.Errorf("suspended around Run: %v, want ErrNoPrompt", err)
						}
					}()
					continuation.Suspend(p, nil)
				}()
				within := continuation.New(q, func() {
					continuation.Suspend(q, nil)
					vthread.Sleep(time.Microsecond)
				})
				for !within.Run() {
					steps++
				}
			})
			continuation.Suspend(p, nil)
			steps++
		})
		for !c.Run() {
			steps++
		}
		if steps != 3 {
			t.Errorf("%d steps, want 3", steps)
		}
	})
}

func TestRunPutsBackTheProfilerLabelsOfItsGoroutine(t *testing.T) {
	if !coro.SwapsLabels {
		t.Skip("the labels of a goroutine cannot be read: build tag vtscope_nolinkname")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check := func(where, want string) {
			t.Helper()
			if got := labelsOf(t, where); got != want {
				t.Errorf("%s: got %s, want %s", where, got, want)
			}
		}
		vthread.Run("bare", func() { check("within, first", `{"vtscope.thread":"bare"}`) })
		check("before", "")
		pprof.Do(context.Background(), pprof.Labels("user", "ann"), func(context.Context) {
			vthread.Builder{}.Run(func() { check("without a name", `{"user":"ann"}`) })
			vthread.Builder{Name: "w", Labels: map[string]string{"tenant": "a"}}.Run(func() {
				check("within", `{"tenant":"a", "user":"ann", "vtscope.thread":"w"}`)
				vthread.Run("inner", func() { check("nested", `{"tenant":"a", "vtscope.thread":"inner"}`) })
				check("after the nested", `{"tenant":"a", "user":"ann", "vtscope.thread":"w"}`)
				vthread.Do(context.Background(), pprof.Labels("more", "b"), func(context.Context) {})
			})
			check("after", `{"user":"ann"}`)
			func() {
				defer func() { recover() }()
				vthread.Run("p", guilty)
			}()
			check("after a panic", `{"user":"ann"}`)
		})
		check("at last", "")
	}()
	<-done
}

func TestRunAddsToTheLabelsThatItsGoroutineHasNow(t *testing.T) {
	if !coro.SwapsLabels {
		t.Skip("the labels of a goroutine cannot be read: build tag vtscope_nolinkname")
	}
	for i, user := range []string{"ann", "bob", "bob", "ann"} {
		pprof.Do(context.Background(), pprof.Labels("user", user), func(context.Context) {
			vthread.Run("serve", func() {
				if got, want := labelsOf(t, "within"), fmt.Sprintf(`{"user":%q, "vtscope.thread":"serve"}`, user); got != want {
					t.Errorf("call %d: got %s, want %s", i, got, want)
				}
			})
		})
	}
}

func TestRunInheritsLocals(t *testing.T) {
	l := vthread.NewInheritableLocal[string]()
	vthread.Run("outer", func() {
		if err := l.Set("outer's"); err != nil {
			t.Error(err)
		}
		vthread.Run("inner", func() {
			if got := l.Get(); got != "outer's" {
				t.Errorf("inherited %q", got)
			}
			_ = l.Set("inner's")
		})
		if got := l.Get(); got != "outer's" {
			t.Errorf("afterwards %q", got)
		}
		vthread.Builder{Locals: vthread.NoLocals}.Run(func() {
			if err := l.Set(""); !errors.Is(err, vthread.ErrNoLocals) {
				t.Errorf("set: %v, want ErrNoLocals", err)
			}
		})
	})
	if v, ok := l.Lookup(); ok {
		t.Errorf("the goroutine has %q", v)
	}
}

func TestRunInABubble(t *testing.T) {
	for range 3 { // what one bubble leaves in a pool must not reach the next
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			vthread.Run("outer", func() {
				me := vthread.Current()
				go func() { time.Sleep(time.Minute); me.Unpark() }()
				vthread.Park()
				vthread.Sleep(time.Hour)
				vthread.Run("inner", func() { vthread.ParkFor(time.Minute) })
				vthread.Start(func() { vthread.Run("virtual's", func() { vthread.Sleep(time.Minute) }) }).Join()
			})
			if d := time.Since(begin); d != time.Hour+3*time.Minute {
				t.Errorf("took %v, want 1h3m", d)
			}
		})
		vthread.Run("outside", func() { vthread.Sleep(time.Microsecond) })
	}
}

func TestRunOnALockedGoroutine(t *testing.T) {
	onCallers(t, func(t *testing.T) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		vthread.Run("locked", func() {
			me := vthread.Current()
			waker := vthread.Start(func() { me.Unpark() })
			vthread.Park()
			waker.Join()
			vthread.Run("inner", func() { vthread.Sleep(time.Microsecond); vthread.Yield() })
		})
	})
}

func TestAThreadLocksTheGoroutineThatItIs(t *testing.T) {
	onCallers(t, func(t *testing.T) {
		vthread.Run("locks", func() {
			runtime.LockOSThread()
			vthread.Sleep(time.Microsecond)
		})
		before := osThread()
		for range 10 {
			vthread.Sleep(10 * time.Microsecond)
			if now := osThread(); now != before {
				t.Errorf("moved from OS thread %d to %d", before, now)
			}
		}
		runtime.UnlockOSThread()
	})
}

func TestRunInCleanupsAndFinalizers(t *testing.T) {
	ran := make(chan string, 2)
	within := func(name string) {
		vthread.Run(name, func() {
			vthread.Sleep(time.Microsecond)
			vthread.Start(func() {}).Join()
			ran <- vthread.Current().Name()
		})
	}
	func() {
		p := new([64]int)
		runtime.AddCleanup(p, within, "cleanup")
		q := new([64]int)
		runtime.SetFinalizer(q, func(*[64]int) { within("finalizer") })
	}()
	var got []string
	for len(got) < 2 {
		runtime.GC()
		select {
		case name := <-ran:
			got = append(got, name)
		case <-time.After(time.Millisecond):
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"cleanup", "finalizer"}) {
		t.Errorf("ran %q", got)
	}
}

func TestThreadsThatAreAdoptedLeaveNothing(t *testing.T) {
	recorded(t)
	reader, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for i := range 100 {
		var th *vthread.Thread
		vthread.Run(fmt.Sprint(i), func() { th = vthread.Current() })
		if row := rowOf(t, reader, th); row.ID != 0 {
			t.Errorf("left %+v", row)
		}
	}
}

func TestRunAllocatesTheThreadAndLittleElse(t *testing.T) {
	if racing {
		t.Skip("the race detector drops what pools keep")
	}
	f := func() {}
	if n := testing.AllocsPerRun(1000, func() { vthread.Builder{}.Run(f) }); n > 1 {
		t.Errorf("%v allocations, want the thread's", n)
	}
	if n := testing.AllocsPerRun(1000, func() { vthread.Run("named", f) }); n > 3 {
		t.Errorf("%v allocations with a name, want at most 3", n)
	}
}
