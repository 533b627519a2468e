package continuation_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestInvokeUnwindsToResetAndCallsTheFunctionThere(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var log journal
		got := continuation.Reset(p, func() string {
			defer log.say("first")
			deep(10, func() {
				defer log.say("second")
				continuation.Invoke(p, func(n int) string {
					log.say("called")
					if n := strings.Count(strings.Join(callers(), " "), "deep"); n != 0 {
						t.Errorf("%d frames of deep are left", n)
					}
					return fmt.Sprint("result ", n)
				}, 7)
				t.Error("goes on")
			})
			t.Error("goes on")
			return "not reached"
		})
		if got != "result 7" {
			t.Errorf("got %q", got)
		}
		log.want(t, "second", "first", "called")
		if got := continuation.Reset(p, func() int { return 3 }); got != 3 {
			t.Errorf("without Invoke: got %d, want 3", got)
		}
	})
}

var tails = continuation.NewPrompt("tails")

func isEven(n int) bool {
	if n == 0 {
		return true
	}
	return continuation.Invoke(tails, isOdd, n-1)
}

func isOdd(n int) bool {
	if n == 0 {
		return false
	}
	return continuation.Invoke(tails, isEven, n-1)
}

func isEvenDeferring(n int) bool {
	defer runtime.KeepAlive(n)
	if n == 0 {
		return true
	}
	return continuation.Invoke(tails, isOddDeferring, n-1)
}

func isOddDeferring(n int) bool {
	defer func() { recover() }()
	if n == 0 {
		return false
	}
	return continuation.Invoke(tails, isEvenDeferring, n-1)
}

func TestMutualTailCallsNeedConstantStack(t *testing.T) {
	n := 100_000
	if !testing.Short() && !raceEnabled && coro.Binds {
		n = 10_000_000
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	everywhere(t, func(t *testing.T) {
		if !continuation.Reset(tails, func() bool { return isEven(n) }) {
			t.Errorf("%d is not even", n)
		}
		n = min(n, 100_000) // once is enough
		if continuation.Reset(tails, func() bool { return isEvenDeferring(n/10*2 + 1) }) {
			t.Errorf("%d is even", n/10*2+1)
		}
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.StackInuse) - int64(before.StackInuse); grown > 4<<20 {
		t.Errorf("%d bytes of stacks more than before", grown)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d bytes of heap more than before", grown)
	}
	gone(t, "isOdd")
	gone(t, "isEven")
}

func TestTheStackDoesNotGrowBetweenTailCalls(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		depths := map[int]int{}
		var step func(n int) int
		step = func(n int) int {
			if n%3 == 0 {
				defer func() {}()
			}
			depths[len(callers())]++
			if n == 0 {
				return 0
			}
			return continuation.Invoke(p, step, n-1)
		}
		continuation.Reset(p, func() int { return continuation.Invoke(p, step, 300) })
		if len(depths) != 1 {
			t.Errorf("got stacks of depths (how often) %v, want one depth", depths)
		}
	})
}

func TestInvokePassesThroughRecover(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		recovered := 0
		got := continuation.Reset(p, func() int {
			swallow(func() {
				swallow(func() { continuation.Invoke(p, func(n int) int { return n }, 5) }, &recovered)
				t.Error("goes on")
			}, &recovered)
			t.Error("goes on")
			return 0
		})
		if got != 5 || recovered != 0 {
			t.Errorf("got %d, %d recovered, want 5 and none", got, recovered)
		}
	})
}

//go:noinline
func swallow(f func(), recovered *int) {
	defer func() {
		if recover() != nil {
			*recovered++
		}
	}()
	f()
}

func TestInvokeReachesAnOuterResetThroughContinuations(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		var log journal
		got := continuation.Reset(p, func() int {
			defer log.say("outer reset")
			return continuation.Reset(q, func() int {
				defer log.say("inner reset")
				c := continuation.New(p, func() {
					defer log.say("continuation")
					for x := range upTo(3) {
						if x == 1 {
							continuation.Invoke(p, func(s string) int { return len(s) }, "four")
						}
					}
				})
				c.Run()
				t.Error("goes on")
				return 0
			})
		})
		if got != 4 {
			t.Errorf("got %d, want 4", got)
		}
		log.want(t, "continuation", "inner reset", "outer reset")
	})
}

func TestMisuseOfInvokePanicsBeforeAnythingIsUnwound(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		invoke := func() { continuation.Invoke(p, func(int) int { return 1 }, 0) }
		panics(t, continuation.ErrNoReset, invoke)
		got := continuation.Reset(q, func() int {
			panics(t, continuation.ErrNoReset, invoke)
			return continuation.Reset(p, func() int {
				panics(t, continuation.ErrResult, func() { continuation.Invoke(p, func(int) string { return "" }, 0) })
				panics(t, continuation.ErrResult, func() { continuation.Invoke(p, func(int) any { return 1 }, 0) })
				elsewhere(func() { panics(t, continuation.ErrNoReset, invoke) })
				// The body of a Reset is no continuation of its prompt.
				panics(t, continuation.ErrNoPrompt, func() { continuation.Suspend(p, nil) })
				return 2
			})
		})
		if got != 2 {
			t.Errorf("got %d, want 2", got)
		}
		panics(t, continuation.ErrNoReset, invoke)
	})
}

func TestOfSeveralInvokesDuringAnUnwindingTheLastCounts(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		result := func(s string) string { return s }
		for name, c := range map[string]struct {
			deferred func()
			want     string
		}{
			"to the same":  {func() { continuation.Invoke(q, result, "q2") }, "outer q2"},
			"to the outer": {func() { continuation.Invoke(p, result, "p2") }, "p2"},
			"within": {func() {
				if got := continuation.Reset(p, func() string { return continuation.Invoke(p, result, "own") }); got != "own" {
					t.Errorf("got %q, want own", got)
				}
			}, "outer q1"},
			"from within": {func() {
				continuation.Reset(q, func() string { return continuation.Invoke(p, result, "p3") })
			}, "p3"},
			"recovered": {func() {
				defer func() { recover() }()
				panic("x")
			}, "outer q1"},
		} {
			got := continuation.Reset(p, func() string {
				return "outer " + continuation.Reset(q, func() string {
					defer c.deferred()
					return continuation.Invoke(q, result, "q1")
				})
			})
			if got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
		// An inner place instead of the outer one that is being unwound to: the rest is not unwound.
		got := continuation.Reset(p, func() string {
			return "outer " + continuation.Reset(q, func() string {
				defer func() { continuation.Invoke(q, result, "q3") }()
				return continuation.Invoke(p, result, "p4")
			})
		})
		if got != "outer q3" {
			t.Errorf("got %q, want outer q3", got)
		}
	})
}

func TestAPanicOnTheWayComesOutOfReset(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		never := func(int) int { t.Error("was called"); return 0 }
		var log journal
		for range 2 {
			panics(t, errBoom, func() {
				defer log.say("reset's caller")
				continuation.Reset(p, func() int {
					defer log.say("body")
					defer func() { panic(errBoom) }()
					return continuation.Invoke(p, never, 0)
				})
			})
			panics(t, errBoom, func() {
				continuation.Reset(p, func() int {
					defer log.say("body")
					continuation.New(q, func() {
						defer func() { panic(errBoom) }()
						continuation.Invoke(p, never, 0)
					}).Run()
					return 0
				})
			})
		}
		log.want(t, "body", "reset's caller", "body", "body", "reset's caller", "body")
		// Recovered on the way, also in another body, it does not stop the unwinding.
		got := continuation.Reset(p, func() int {
			defer func() { recover() }()
			continuation.New(q, func() {
				defer func() { panic(errBoom) }()
				continuation.Invoke(p, func(n int) int { return n }, 6)
			}).Run()
			return 0
		})
		if got != 6 {
			t.Errorf("got %d, want 6", got)
		}
	})
}

func TestAPanicOfTheBodyOrOfWhatIsInvokedComesOutOfResetWithItsStack(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		invoked := func(int) int { guilty(errBoom); return 0 }
		for name, body := range map[string]func() int{
			"body":    func() int { guilty(errBoom); return 0 },
			"invoked": func() int { return continuation.Invoke(p, invoked, 0) },
			"after a deferring one": func() int {
				defer func() { recover() }()
				return continuation.Invoke(p, invoked, 0)
			},
		} {
			func() {
				defer func() {
					v, _ := recover().(*continuation.Panic)
					if v == nil || !errors.Is(v, errBoom) || !strings.Contains(string(v.Stack), "continuation_test.guilty(") {
						t.Errorf("%s: panicked with %v", name, v)
					}
				}()
				continuation.Reset(p, body)
			}()
		}
	})
}

func TestGoexitGoesThroughReset(t *testing.T) {
	p := continuation.NewPrompt("p")
	var log journal
	elsewhere(func() {
		defer log.say("caller")
		continuation.Reset(p, func() int {
			return continuation.Invoke(p, func(int) int {
				defer log.say("invoked")
				runtime.Goexit()
				return 0
			}, 0)
		})
		t.Error("goes on")
	})
	log.want(t, "invoked", "caller")
}

func TestWhatIsAroundAResetIsSuspendedThroughIt(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		me := vthread.Current()
		var log journal
		c := continuation.New(p, func() {
			got := continuation.Reset(q, func() int {
				suspend(t, p)
				defer func() {
					suspend(t, p) // in the middle of an unwinding
					vthread.Sleep(time.Millisecond)
					if vthread.Current() != me {
						t.Error("another thread")
					}
					log.say("deferred")
				}()
				return continuation.Invoke(q, func(n int) int {
					suspend(t, p)
					log.say("invoked")
					return n
				}, 4)
			})
			log.say("got %d", got)
		})
		runs := 1
		for ; !c.Run(); runs++ {
			vthread.Yield()
		}
		if runs != 4 {
			t.Errorf("%d runs, want 4", runs)
		}
		log.want(t, "deferred", "invoked", "got 4")
	})
}

// The body of a Reset runs a continuation that is suspended in the middle of an unwinding, and goes on only when the Reset is gone.
func TestAnUnwindingWhoseResetIsGonePanicsInTheRunner(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		var c *continuation.Continuation
		got := continuation.Reset(q, func() int {
			c = continuation.New(p, func() {
				defer suspend(t, p)
				continuation.Invoke(q, func(int) int { t.Error("was called"); return 0 }, 0)
			})
			c.Run()
			return 1
		})
		if got != 1 {
			t.Errorf("got %d, want 1", got)
		}
		panics(t, continuation.ErrNoReset, func() { c.Run() })
		if !c.Done() {
			t.Error("not done")
		}
	})
}

func TestInvokeLeavesALockedOSThread(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		c := continuation.New(q, func() {
			for range 2 {
				continuation.Reset(p, func() int {
					runtime.LockOSThread()
					return continuation.Invoke(p, func(int) int {
						suspend(t, q) // it is not locked here
						runtime.LockOSThread()
						defer runtime.KeepAlive(t)
						return continuation.Invoke(p, func(int) int {
							suspend(t, q)
							runtime.LockOSThread()
							return 0
						}, 0)
					}, 0)
				})
				suspend(t, q)
			}
		})
		runs := 1
		for ; !c.Run(); runs++ {
		}
		if runs != 7 {
			t.Errorf("%d runs, want 7", runs)
		}
		// A runner that is locked itself.
		elsewhere(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if got := continuation.Reset(tails, func() bool { return isEven(100) }); !got {
				t.Error("on a locked OS thread: got false")
			}
			if got := continuation.Reset(tails, func() bool { return isEvenDeferring(100) }); !got {
				t.Error("on a locked OS thread: got false")
			}
		})
	})
}

func BenchmarkInvoke(b *testing.B) {
	for name, deferring := range map[string]bool{"defers=0": false, "defers=1": true} {
		b.Run(name, func(b *testing.B) {
			p := continuation.NewPrompt("p")
			b.ReportAllocs()
			var step, with func(n int) int
			step = func(n int) int {
				if n == 0 {
					return 0
				}
				return continuation.Invoke(p, step, n-1)
			}
			with = func(n int) int {
				defer runtime.KeepAlive(p)
				if n == 0 {
					return 0
				}
				return continuation.Invoke(p, with, n-1)
			}
			if deferring {
				step = with
			}
			continuation.Reset(p, func() int { return step(b.N) })
		})
	}
}
