package continuation_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// CT-01, CT-02: k suspends need k+1 runs; locals and partial results survive them, and garbage collections.
func TestBodyKeepsItsLocalsOverEverySuspend(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		sum := 0
		c := continuation.New(p, func() {
			local := 0
			for i := range 20 {
				local += i
				deep(50, func() { suspend(t, p) })
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
	})
}

// CT-05: Suspend tells that it has suspended, and which continuation.
func TestValuesPassBothWays(t *testing.T) {
	everywhere(t, func(t *testing.T) {
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
	})
}

// SC-01, SC-02: a suspend of the outermost prompt returns from its run only; the next run re-enters all.
func TestSuspendOfAnOuterPromptSuspendsAllInnerOnesAndRunReentersThem(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		a, b, c := continuation.NewPrompt("a"), continuation.NewPrompt("b"), continuation.NewPrompt("c")
		var log journal
		A := continuation.New(a, func() {
			B := continuation.New(b, func() {
				C := continuation.New(c, func() {
					log.say("C1")
					suspend(t, a)
					log.say("C2")
					suspend(t, b)
					log.say("C3")
				})
				log.say("B saw %v", C.Run())
				log.say("B2")
			})
			log.say("A saw %v", B.Run())
			log.say("A saw %v", B.Run())
		})
		log.say("run %v", A.Run())
		elsewhere(func() { log.say("run %v", A.Run()) }) // another goroutine goes on
		log.want(t, "C1", "run false", "C2", "A saw false", "C3", "B saw true", "B2", "A saw true", "run true")
	})
}

func TestNoDeferredFunctionRunsBecauseOfASuspend(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var log journal
		c := continuation.New(p, func() {
			defer log.say("outer")
			func() {
				defer log.say("inner")
				deep(10, func() { suspend(t, p) })
			}()
			suspend(t, p)
		})
		c.Run()
		log.want(t)
		c.Run()
		log.want(t, "inner")
		c.Run()
		log.want(t, "inner", "outer")
	})
}

// SC-06, SC-07: each misuse has its error, hangs nobody and leaves the continuation as it was.
func TestMisusePanicsWithItsOwnError(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		var c, nested *continuation.Continuation
		c = continuation.New(p, func() {
			panics(t, continuation.ErrRunning, func() { c.Run() })
			panics(t, continuation.ErrRunning, c.Close)
			elsewhere(func() { panics(t, continuation.ErrRunning, func() { c.Run() }) })
			// Nothing encloses a goroutine that the body has started.
			elsewhere(func() { panics(t, continuation.ErrNoPrompt, func() { continuation.Suspend(p, nil) }) })
			panics(t, continuation.ErrNoPrompt, func() { continuation.Suspend(q, nil) })
			panics(t, continuation.ErrNoPrompt, func() { continuation.Pinned(q) })
			panics(t, continuation.ErrNotPinned, continuation.Unpin)
			continuation.Suspend(p, func(*continuation.Continuation) {
				panics(t, continuation.ErrSuspending, func() { continuation.Suspend(p, nil) })
				panics(t, continuation.ErrRunning, func() { c.Run() })
				panics(t, continuation.ErrRunning, c.Close)
				inF := continuation.New(q, func() { // others may run
					suspend(t, q)
					panics(t, continuation.ErrSuspending, func() { continuation.Suspend(p, nil) })
				})
				inF.Run()
				inF.Run()
			})
			nested = continuation.New(q, func() { suspend(t, p) })
			nested.Run()
			panics(t, errBoom, func() { continuation.Suspend(p, func(*continuation.Continuation) { panic(errBoom) }) })
			suspend(t, p)
		})
		if c.Run() {
			t.Error("ended in the first run")
		}
		if c.Run() {
			t.Error("ended in the second run")
		}
		panics(t, continuation.ErrRunning, func() { nested.Run() }) // it is suspended as a part of c
		panics(t, continuation.ErrRunning, nested.Close)
		if c.Run() {
			t.Error("ended in the third run")
		}
		if !c.Run() {
			t.Error("not ended in the fourth run")
		}
		panics(t, continuation.ErrDone, func() { c.Run() })
		panics(t, continuation.ErrDone, func() { nested.Run() })
		panics(t, continuation.ErrNoPrompt, func() { continuation.Suspend(p, nil) })
		panics(t, continuation.ErrNoPrompt, func() { continuation.Pinned(p) })
		continuation.New(q, func() {
			panics(t, continuation.ErrNoPrompt, func() { continuation.Suspend(p, nil) })
		}).Run()
		for name, f := range map[string]func(){
			"no prompt": func() { continuation.New(nil, func() {}) },
			"no body":   func() { continuation.New(p, nil) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("New with %s does not panic", name)
					}
				}()
				f()
			}()
		}
	})
}

var errBoom = errors.New("boom")

// SC-07: a continuation goes on within the one it was begun in, or within none.
func TestRunWithinAnotherContinuationThanTheFirstTimeIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		within := func(f func()) *continuation.Continuation {
			return continuation.New(continuation.NewPrompt("outer"), func() {
				f()
				continuation.Reset(continuation.NewPrompt("reset"), func() int { f(); return 0 }) // counts for nothing
			})
		}
		thrice := func() *continuation.Continuation {
			return continuation.New(p, func() { suspend(t, p); suspend(t, p); suspend(t, p) })
		}
		inside, outside := thrice(), thrice()
		within(func() { inside.Run() }).Run()
		within(func() { panics(t, continuation.ErrParent, func() { inside.Run() }) }).Run()
		panics(t, continuation.ErrParent, func() { inside.Run() })
		inside.Close() // which anybody may

		outside.Run()
		within(func() { panics(t, continuation.ErrParent, func() { outside.Run() }) }).Run()
		vthread.Start(func() { outside.Run() }).Join() // threads and goroutines are no continuations
		elsewhere(func() { outside.Run() })
		continuation.Reset(p, func() int { outside.Run(); return 0 })
		if !outside.Done() {
			t.Error("not ended")
		}
	})
}

func TestOfSeveralWhoRunAContinuationAtOnceOneDoes(t *testing.T) {
	p := continuation.NewPrompt("p")
	const suspends = 200
	ran := 0
	c := continuation.New(p, func() {
		for range suspends {
			ran++
			suspend(t, p)
		}
	})
	var ends, runs atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !c.Done() {
				func() {
					defer func() {
						if err, _ := recover().(error); err != nil && !errors.Is(err, continuation.ErrRunning) && !errors.Is(err, continuation.ErrDone) {
							t.Error(err)
						}
					}()
					if c.Run() {
						ends.Add(1)
					}
					runs.Add(1)
				}()
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if ran != suspends || runs.Load() != suspends+1 || ends.Load() != 1 {
		t.Errorf("%d executed, %d runs, %d ends, want %d, %d, 1", ran, runs.Load(), ends.Load(), suspends, suspends+1)
	}
}

// CT-08: a panic comes out of the run that it happens in, with a stack that begins at the guilty frame.
func TestPanicOfTheBodyComesOutOfRunWithItsStack(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		c := continuation.New(p, func() {
			continuation.New(continuation.NewPrompt("inner"), func() { guiltyBody(p) }).Run()
		})
		c.Run()
		defer func() {
			got, _ := recover().(*continuation.Panic)
			if got == nil || got.Value != errBoom || !errors.Is(got, errBoom) {
				t.Fatalf("panicked with %v, want boom", got)
			}
			lines := strings.Split(string(got.Stack), "\n")
			if len(lines) < 4 || !strings.Contains(lines[1], "continuation_test.guilty(") || !strings.Contains(lines[3], "continuation_test.guiltyBody(") {
				t.Errorf("got the stack\n%s, want guilty and guiltyBody first", got.Stack)
			}
			if !c.Done() {
				t.Error("not done")
			}
		}()
		c.Run()
	})
}

//go:noinline
func guiltyBody(p *continuation.Prompt) {
	continuation.Suspend(p, nil)
	guilty(errBoom)
}

//go:noinline
func guilty(err error) { panic(err) }

func TestGoexitOfTheBodyGoesOnInTheRunner(t *testing.T) {
	p := continuation.NewPrompt("p")
	var log journal
	elsewhere(func() {
		defer log.say("runner")
		outer := continuation.New(p, func() {
			defer log.say("outer")
			inner := continuation.New(p, func() {
				defer log.say("inner")
				suspend(t, p)
				runtime.Goexit()
			})
			inner.Run()
			inner.Run()
			t.Error("outer goes on")
		})
		outer.Run()
		t.Error("runner goes on")
	})
	log.want(t, "inner", "outer", "runner")
}

// As on one stack: the panic can be recovered, and the Goexit goes on.
func TestAPanicDuringGoexitComesOutOfRunAndTheGoexitGoesOn(t *testing.T) {
	p := continuation.NewPrompt("p")
	var log journal
	c := continuation.New(p, func() {
		defer func() { panic("late") }()
		runtime.Goexit()
	})
	elsewhere(func() {
		defer log.say("goexit went on")
		defer func() {
			v, _ := recover().(*continuation.Panic)
			log.say("recovered %v", v.Value)
		}()
		c.Run()
	})
	log.want(t, "recovered late", "goexit went on")
}

// CT-16: every depth of a stack suspends, panics and recovers, whatever the depths around it do.
func TestSuspendsPanicsAndRecoversAtEachDepth(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		const depth, kinds = 5, 4 // what each level does: suspend before, suspend after, recover
		runs, cases := 0, 0
		for mask := range 1 << depth {
			for thrower := range depth + 1 { // depth: nobody
				var level func(n int) int
				level = func(n int) (got int) {
					if mask>>n&1 == 0 {
						suspend(t, p)
					}
					if mask>>n&1 == 1 {
						defer func() {
							if v := recover(); v != nil {
								suspend(t, p) // while it panics
								got = v.(int)
							}
						}()
					}
					if n == thrower {
						panic(1000)
					}
					if n < depth-1 {
						got = level(n+1) + 1
					}
					suspend(t, p)
					return got
				}
				want, caught := depth-1, false
				for n := thrower; thrower < depth && n >= 0; n-- {
					if mask>>n&1 == 1 {
						want, caught = 1000+n, true
						break
					}
				}
				got, panicked := 0, false
				c := continuation.New(p, func() { got = level(0) })
				func() {
					defer func() { panicked = recover() != nil }()
					for !c.Run() {
						runs++
					}
				}()
				cases++
				if !c.Done() || panicked != (thrower < depth && !caught) || !panicked && got != want {
					t.Fatalf("mask %b, thrower %d: got %d, panicked %v, want %d, caught %v", mask, thrower, got, panicked, want, caught)
				}
			}
		}
		if cases != 32*6 || runs < cases {
			t.Errorf("%d cases, %d suspends", cases, runs)
		}
	})
}

// CT-17: a stack of 100,000 frames is suspended and resumed.
func TestAVeryDeepStackIsSuspendedAndResumed(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		const n = 100_000
		sum := 0
		c := continuation.New(p, func() {
			sum = sumDown(n, func() { suspend(t, p) })
		})
		for range 2 {
			if c.Run() {
				t.Fatal("ended early")
			}
			runtime.GC() // moves the stack, or not
		}
		if got := len(c.Stack()); got < n {
			t.Errorf("a stack of %d frames, want more than %d", got, n)
		}
		if !c.Run() || sum != n*(n+1)/2 {
			t.Errorf("sum %d, want %d", sum, n*(n+1)/2)
		}
	})
}

//go:noinline
func sumDown(n int, f func()) int {
	if n == 0 {
		f()
		f()
		return 0
	}
	return n + sumDown(n-1, f)
}

// CT-18: a big stack returns frame by frame, with a suspend after each.
func TestABigStackReturnsFrameByFrame(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		const n = 1000
		var level func(n int) int
		level = func(n int) int {
			var big [64]int
			big[n%64] = n
			sum := 0
			if n > 0 {
				sum = level(n - 1)
			}
			suspend(t, p)
			return sum + big[n%64]
		}
		sum := 0
		c := continuation.New(p, func() { sum = level(n) })
		runs := 1
		for ; !c.Run(); runs++ {
			if runs%100 == 0 {
				runtime.GC() // shrinks the stack
				if got := len(c.Stack()); got < n-runs || got > n-runs+10 {
					t.Fatalf("a stack of %d frames after %d returned, want about %d", got, runs, n-runs)
				}
			}
		}
		if runs != n+2 || sum != n*(n+1)/2 {
			t.Errorf("%d runs, sum %d, want %d, %d", runs, sum, n+2, n*(n+1)/2)
		}
	})
}

// CT-07: after a resume the body can call deeper than before, on a stack that has to grow.
func TestTheStackGrowsAfterAResume(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		c := continuation.New(p, func() {
			suspend(t, p)
			deep(40, func() { suspend(t, p) })
			deep(4000, func() { suspend(t, p) })
		})
		c.Run()
		for _, want := range []int{40, 4000} {
			c.Run()
			n := 0
			for _, f := range c.Stack() {
				if strings.HasSuffix(f.Function, "continuation_test.deep") {
					n++
				}
			}
			if n != want+1 {
				t.Errorf("%d frames of deep, want %d", n, want+1)
			}
		}
		c.Run()
	})
}

// CT-10, CT-11: a lock does not pin, neither one that is held nor one that was left.
func TestALockDoesNotPin(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var mu sync.Mutex
		c := continuation.New(p, func() {
			mu.Lock()
			suspend(t, p)
			mu.Unlock()
			suspend(t, p)
		})
		c.Run()
		if mu.TryLock() {
			t.Error("the lock was lost in the suspend")
		}
		c.Run()
		if !mu.TryLock() {
			t.Error("the lock is held still")
		}
		if !c.Run() {
			t.Error("not ended")
		}
	})
}

// CT-19: nothing keeps a continuation, or what its body refers to, that is new, has ended or was closed.
func TestContinuationsThatAreNotSuspendedAreCollected(t *testing.T) {
	p := continuation.NewPrompt("p")
	for name, prepare := range map[string]func(c *continuation.Continuation){
		"new":          func(c *continuation.Continuation) {},
		"ended":        func(c *continuation.Continuation) { c.Run(); c.Run() },
		"closed":       func(c *continuation.Continuation) { c.Run(); c.Close() },
		"closed early": func(c *continuation.Continuation) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			make := func() (*continuation.Continuation, weak.Pointer[[1024]byte]) {
				big := new([1024]byte)
				c := continuation.New(p, func() { collectedBody(big, p) })
				prepare(c)
				return c, weak.Make(big)
			}
			c, big := make()
			w := weak.Make(c)
			if name != "new" {
				if !collected(func() bool { return big.Value() == nil }) {
					t.Error("what the body refers to is kept, although it will never run")
				}
				gone(t, "collectedBody")
			}
			runtime.KeepAlive(c)
			c = nil
			if !collected(func() bool { return w.Value() == nil && big.Value() == nil }) {
				t.Error("it is kept")
			}
		})
	}
}

//go:noinline
func collectedBody(big *[1024]byte, p *continuation.Prompt) {
	continuation.Suspend(p, nil)
	big[0]++
}

func collected(is func() bool) bool {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // the goroutine of one that was closed may be about to end
		runtime.GC()
		if is() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// CT-20: suspends in a hot loop keep many locals of all kinds.
func TestSuspendsInAHotLoopKeepManyLocals(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		const n = 5000
		hot := func(suspend func(i int)) (string, float64) {
			a, b, c, d := 1, int8(2), uint64(3), float32(4)
			x, y := 0.5, complex(1, 2)
			s, m, ps := "s", map[int]int{}, new(int)
			var arr [40]int
			for i := range n {
				a, b, c, d = a+i, b*3, c^uint64(i), d+float32(i%3)
				x, y = x+float64(b), y*complex(0, 1)
				arr[i%40] += a
				*ps += arr[(i*7)%40]
				m[i%5] += i
				if i%1000 == 0 {
					s += string(rune('a' + i/1000))
				}
				suspend(i)
			}
			sum := 0
			for _, v := range arr {
				sum ^= v
			}
			return s, x + real(y) + float64(a) + float64(c) + float64(d) + float64(*ps%1000) + float64(m[3]) + float64(sum%1000)
		}
		wantS, wantX := hot(func(int) {})
		var gotS string
		var gotX float64
		c := continuation.New(p, func() { gotS, gotX = hot(func(int) { suspend(t, p) }) })
		runs := 1
		for ; !c.Run(); runs++ {
			if runs%1000 == 0 {
				runtime.GC()
			}
		}
		if gotS != wantS || gotX != wantX || runs != n+1 {
			t.Errorf("got %q %v in %d runs, want %q %v in %d", gotS, gotX, runs, wantS, wantX, n+1)
		}
	})
}

// CT-06: an ordinary walk inside the body ends at the body: who runs it has a stack of its own.
func TestAnOrdinaryWalkInsideTheBodyEndsThere(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var names []string
		c := continuation.New(p, func() {
			suspend(t, p)
			deep(3, func() { names = callers() })
		})
		c.Run()
		deep(5, func() { c.Run() })
		if got := strings.Count(strings.Join(names, " "), ".deep"); got != 4 {
			t.Errorf("%d frames of deep, want 4: %q", got, names)
		}
		if i := slices.IndexFunc(names, func(s string) bool { return strings.HasSuffix(s, "(*Continuation).begin") }); i < 0 {
			t.Errorf("the beginning of the continuation is not seen: %q", names)
		} else if !strings.Contains(names[i-1], "TestAnOrdinaryWalkInsideTheBodyEndsThere") {
			t.Errorf("got %s at the entry, want the body", names[i-1])
		}
	})
}

// callers returns the functions that call it.
func callers() (names []string) {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		names = append(names, f.Function)
	}
	return names
}

func TestSuspendAndRunAllocateNothing(t *testing.T) {
	want := 0.0
	if !coro.Binds {
		want = 2 // a channel for each switch
	}
	p := continuation.NewPrompt("p")
	stop := false
	c := continuation.New(p, func() {
		for !stop {
			continuation.Suspend(p, nil)
		}
	})
	c.Run()
	if n := testing.AllocsPerRun(100, func() { c.Run() }); n > want {
		t.Errorf("%v allocations, want %v", n, want)
	}
	stop = true
	c.Run()
}

func BenchmarkRunSuspend(b *testing.B) {
	p := continuation.NewPrompt("p")
	stop := false
	c := continuation.New(p, func() {
		for !stop {
			continuation.Suspend(p, nil)
		}
	})
	for b.Loop() {
		c.Run()
	}
	stop = true
	c.Run()
}
