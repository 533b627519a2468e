package continuation_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/vthread"
)

//go:noinline
func closedBody(log *journal, p *continuation.Prompt) {
	defer log.say("outer")
	defer func() { log.say("recovered %v", recover()) }()
	func() {
		defer log.say("inner")
		continuation.Suspend(p, nil)
		log.say("went on")
	}()
}

func TestCloseRunsTheDeferredFunctionsAndEndsTheGoroutine(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var log journal
		c := continuation.New(p, func() { closedBody(&log, p) })
		c.Run()
		c.Close()
		log.want(t, "inner", "recovered <nil>", "outer")
		if !c.Done() {
			t.Error("not done")
		}
		gone(t, "closedBody")
		c.Close()
		panics(t, continuation.ErrDone, func() { c.Run() })
		log.want(t, "inner", "recovered <nil>", "outer")
	})
}

func TestCloseOfANewOrEndedOneIsHarmless(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		fresh := continuation.New(p, func() { t.Error("runs after Close") })
		fresh.Close()
		fresh.Close()
		if !fresh.Done() {
			t.Error("not done")
		}
		panics(t, continuation.ErrDone, func() { fresh.Run() })
		ended := continuation.New(p, func() {})
		ended.Run()
		ended.Close()
	})
}

func TestCloseEndsNestedContinuationsInnermostFirst(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		a, b := continuation.NewPrompt("a"), continuation.NewPrompt("b")
		var log journal
		A := continuation.New(a, func() {
			defer log.say("A")
			continuation.Reset(a, func() int {
				defer log.say("Reset")
				continuation.New(b, func() {
					defer log.say("B")
					defer func() {
						// A panic of an inner one can be recovered on the way, and the closing goes on.
						v, _ := recover().(*continuation.Panic)
						log.say("recovered %v", v.Value)
					}()
					continuation.New(b, func() {
						defer func() { panic("late") }()
						suspend(t, a)
						t.Error("innermost goes on")
					}).Run()
					t.Error("B goes on")
				}).Run()
				t.Error("Reset goes on")
				return 0
			})
			t.Error("A goes on")
		})
		A.Run()
		A.Close()
		log.want(t, "recovered late", "B", "Reset", "A")
	})
}

func TestDeferredFunctionsCannotSuspendWhatIsBeingClosed(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		a, b := continuation.NewPrompt("a"), continuation.NewPrompt("b")
		var log journal
		try := func(p *continuation.Prompt) {
			c, err := continuation.Suspend(p, func(*continuation.Continuation) { t.Error("f was called") })
			if c == nil || !errors.Is(err, continuation.ErrClosed) {
				t.Errorf("suspend %v: got %v, want ErrClosed", p, err)
			}
			log.say("tried %v", p)
		}
		A := continuation.New(a, func() {
			defer try(a)
			continuation.New(b, func() {
				defer try(a)
				defer try(b)
				defer func() { // others can be run, suspended and closed
					c := continuation.New(b, func() {
						suspend(t, b)
						try(a)
						suspend(t, b)
					})
					c.Run()
					c.Run()
					c.Close()
				}()
				suspend(t, a)
			}).Run()
		})
		A.Run()
		A.Close()
		log.want(t, "tried a", "tried b", "tried a", "tried a")
	})
}

func TestDeferredFunctionsMayParkTheThreadDuringClose(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		me, slept := vthread.Current(), false
		c := continuation.New(p, func() {
			defer func() {
				vthread.Sleep(time.Millisecond)
				slept = vthread.Current() == me
			}()
			suspend(t, p)
		})
		elsewhere(func() { c.Run() }) // closed where it was not run
		c.Close()
		if !slept {
			t.Error("Close did not wait for the thread that closes to sleep")
		}
	})
}

// A deferred function suspends who closes; when that is closed, too, it does not go on.
func TestCloseOfOneThatIsBusyClosing(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		a, b := continuation.NewPrompt("a"), continuation.NewPrompt("b")
		var log journal
		A := continuation.New(a, func() {
			defer log.say("A")
			B := continuation.New(b, func() {
				defer log.say("B")
				defer func() {
					suspend(t, a)
					log.say("not reached")
				}()
				suspend(t, b)
			})
			B.Run()
			B.Close()
			log.say("not reached")
		})
		A.Run()
		A.Close()
		log.want(t, "B", "A")
	})
}

func TestAPanicInADeferredFunctionComesOutOfClose(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		a, b := continuation.NewPrompt("a"), continuation.NewPrompt("b")
		var log journal
		A := continuation.New(a, func() {
			defer log.say("A")
			continuation.New(b, func() {
				defer log.say("B")
				defer func() { panic(errBoom) }()
				suspend(t, a)
			}).Run()
		})
		A.Run()
		panics(t, errBoom, A.Close)
		log.want(t, "B", "A")
		if !A.Done() {
			t.Error("not done")
		}
	})
}

func TestCloseStopsAGoexitOrUnwindingThatWasSuspended(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		var log journal
		for _, leave := range []func(){
			runtime.Goexit,
			func() { continuation.Invoke(q, func(int) int { t.Error("invoked"); return 0 }, 0) },
		} {
			c := continuation.New(p, func() {
				defer log.say("outer")
				continuation.Reset(q, func() int {
					defer log.say("inner")
					defer suspend(t, p) // in the middle of it
					leave()
					return 0
				})
			})
			c.Run()
			c.Close()
		}
		log.want(t, "inner", "outer", "inner", "outer")
	})
}

func TestADeferredFunctionMayInvokeBeyondClose(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		var log journal
		got := continuation.Reset(q, func() int {
			defer log.say("reset's body")
			c := continuation.New(p, func() {
				defer log.say("outer")
				defer continuation.Invoke(q, func(n int) int { log.say("invoked"); return n }, 7)
				suspend(t, p)
			})
			c.Run()
			c.Close()
			log.say("not reached")
			return 0
		})
		if got != 7 {
			t.Errorf("got %d, want 7", got)
		}
		log.want(t, "outer", "reset's body", "invoked")
	})
}
