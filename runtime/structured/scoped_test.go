package structured_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

var (
	name  = structured.NewScopedValue[string]()
	level = structured.NewScopedValue[int]()
	boxed = structured.NewScopedValue[*int]()
)

// bound checks what is bound here; "" is nothing.
func bound(t *testing.T, want string) {
	t.Helper()
	if got, ok := name.Lookup(); got != want || ok != (want != "") {
		t.Errorf("got %q, %v, want %q", got, ok, want)
	}
}

// SV-01, SV-02, SV-08
func TestAValueIsBoundDuringTheCallAndNotAfter(t *testing.T) {
	both(t, func(t *testing.T) {
		bound(t, "")
		for _, want := range []error{nil, errBoom} {
			err := name.Bind("ann").Run(func() error {
				bound(t, "ann")
				return want
			})
			if err != want {
				t.Errorf("got %v, want %v", err, want)
			}
			bound(t, "")
			n, err := structured.Call(name.Bind("ann"), func() (int, error) { return len(name.Get()), want })
			if n != 3 || err != want {
				t.Errorf("got %v, %v, want 3, %v", n, err, want)
			}
			bound(t, "")
		}
		panicsWith(t, "boom", func() { name.Bind("ann").Run(func() error { panic(errBoom) }) })
		bound(t, "")
		elsewhere(func(string) {
			defer bound(t, "")
			name.Bind("ann").Run(func() error { runtime.Goexit(); return nil })
		})
	})
}

// SV-03
func TestAnUnboundValueIsAPanicOrAnAlternative(t *testing.T) {
	both(t, func(t *testing.T) {
		panicsWith(t, "no string is bound", func() { name.Get() })
		if got := name.Or("nobody"); got != "nobody" {
			t.Errorf("got %q", got)
		}
		name.Bind("ann").Run(func() error {
			if name.Get() != "ann" || name.Or("nobody") != "ann" {
				t.Errorf("got %q, %q", name.Get(), name.Or("nobody"))
			}
			return nil
		})
	})
}

// SV-04, SV-06
func TestSeveralValuesAreBoundAtOnceAndReadWithoutRunning(t *testing.T) {
	both(t, func(t *testing.T) {
		b := name.Bind("ann").And(level.Bind(1), level.Bind(2))
		if n, ok := level.In(b); n != 2 || !ok {
			t.Errorf("got %v, %v of the bindings, want the latter", n, ok)
		}
		if _, ok := boxed.In(b); ok {
			t.Error("got a value that the bindings have not")
		}
		bound(t, "")
		for range 2 { // they may be used again
			b.Run(func() error {
				bound(t, "ann")
				if level.Get() != 2 {
					t.Errorf("got %v, want 2", level.Get())
				}
				if _, ok := boxed.Lookup(); ok {
					t.Error("got a value that was not bound")
				}
				return nil
			})
		}
		if err := (structured.Bindings{}).Run(func() error { bound(t, ""); return errBoom }); err != errBoom {
			t.Errorf("got %v", err)
		}
	})
}

// SV-05
func TestASecondBindingHidesTheFirstUntilItsCallEnds(t *testing.T) {
	both(t, func(t *testing.T) {
		name.Bind("ann").Run(func() error {
			name.Bind("bob").Run(func() error {
				bound(t, "bob")
				level.Bind(7).Run(func() error { bound(t, "bob"); return nil })
				return nil
			})
			bound(t, "ann")
			return nil
		})
		one := 1
		boxed.Bind(nil).Run(func() error {
			if p, ok := boxed.Lookup(); p != nil || !ok {
				t.Errorf("got %v, %v: nil is a value", p, ok)
			}
			boxed.Bind(&one).Run(func() error {
				if boxed.Get() != &one {
					t.Error("got another pointer")
				}
				return nil
			})
			if boxed.Get() != nil {
				t.Error("nil is not bound again")
			}
			return nil
		})
	})
}

// SV-07
func TestNilArgumentsOfBindingsAreRefused(t *testing.T) {
	panicsWith(t, "nil function", func() { name.Bind("x").Run(nil) })
	panicsWith(t, "nil function", func() { structured.Call[int](name.Bind("x"), nil) })
	panicsWith(t, "nil scoped value", func() { (*structured.ScopedValue[int])(nil).Bind(1) })
	bound(t, "")
}

// SV-09, SV-10
func TestForksInheritWhatIsBoundAndSoDoTheirs(t *testing.T) {
	both(t, func(t *testing.T) {
		err := name.Bind("ann").Run(func() error {
			return structured.Run(context.Background(), "s", func(s *structured.Scope) error {
				s.Fork(func() error {
					bound(t, "ann")
					err := name.Bind("bob").Run(func() error {
						return structured.Run(context.Background(), "inner", func(s *structured.Scope) error {
							s.Fork(func() error { bound(t, "bob"); return nil })
							return s.Join()
						})
					})
					bound(t, "ann")
					structured.Run(context.Background(), "inner", func(s *structured.Scope) error {
						s.Fork(func() error { bound(t, "ann"); return nil })
						return s.Join()
					})
					return err
				})
				bound(t, "ann")
				vthread.Start(func() { bound(t, "") }).Join() // which no scope keeps within the call
				done := make(chan struct{})
				go func() { defer close(done); bound(t, "") }()
				<-done
				return s.Join()
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// SV-11
func TestACallThatLeavesAScopeOpenClosesItAndSaysSo(t *testing.T) {
	both(t, func(t *testing.T) {
		var s *structured.Scope
		var ended atomic.Bool
		err := name.Bind("ann").Run(func() error {
			s = structured.Open(context.Background(), "left")
			s.Fork(func() error { defer ended.Store(true); return untilCancelled() })
			return errBoom
		})
		if !errors.Is(err, structured.ErrStructure) || !errors.Is(err, errBoom) || !strings.Contains(err.Error(), `"left"`) {
			t.Errorf("got %v", err)
		}
		if !s.Closed() || !ended.Load() {
			t.Errorf("closed %v, ended %v", s.Closed(), ended.Load())
		}
		panicsWith(t, "closed", func() { s.Fork(func() error { return nil }) })
		bound(t, "")

		func() {
			defer func() {
				if p, _ := recover().(*structured.Panic); p == nil || p.Value != "fork" {
					t.Errorf("got %v, want the fork's panic", p)
				}
			}()
			name.Bind("ann").Run(func() error {
				structured.Open(context.Background(), "left").Fork(func() error { panic("fork") })
				return nil
			})
		}()
		bound(t, "")
	})
}

func TestAScopeDoesNotForkInACallWithValuesBoundLater(t *testing.T) {
	both(t, func(t *testing.T) {
		err := structured.Run(context.Background(), "s", func(s *structured.Scope) error {
			name.Bind("ann").Run(func() error {
				panicsWith(t, "bound later", func() { s.Fork(func() error { return nil }) })
				return nil
			})
			s.Fork(func() error { bound(t, ""); return nil })
			return s.Join()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestClosingAScopeInACallWithValuesBoundLaterEndsTheBinding(t *testing.T) {
	both(t, func(t *testing.T) {
		s := structured.Open(context.Background(), "around")
		err := name.Bind("ann").Run(func() error {
			if err := s.Close(); !errors.Is(err, structured.ErrStructure) {
				t.Errorf("close: got %v", err)
			}
			bound(t, "")
			return nil
		})
		if !errors.Is(err, structured.ErrStructure) {
			t.Errorf("got %v", err)
		}
		bound(t, "")
		closes(t, opened(t, structured.Options{}))
	})
}

// SV-14
func TestNoFailureLeavesABindingHoweverManyThereAre(t *testing.T) {
	both(t, func(t *testing.T) {
		many := make([]*structured.ScopedValue[int], 100)
		for i := range many {
			many[i] = structured.NewScopedValue[int]()
		}
		var nest func(depth int)
		nest = func(depth int) {
			if depth == len(many) {
				for i, v := range many {
					if v.Get() != i {
						t.Errorf("got %d for %d", v.Get(), i)
					}
				}
				panic(errBoom)
			}
			many[depth].Bind(depth).Run(func() error {
				defer func() {
					for i, v := range many {
						if _, ok := v.Lookup(); ok != (i <= depth) {
							t.Errorf("at depth %d: %d is bound: %v", depth, i, ok)
						}
					}
				}()
				nest(depth + 1)
				return nil
			})
		}
		panicsWith(t, "boom", func() { nest(0) })
		for i, v := range many {
			if _, ok := v.Lookup(); ok {
				t.Errorf("%d is still bound", i)
			}
		}
	})
}

func TestGoroutinesAndThreadsBindAtTheSameTime(t *testing.T) {
	var wg sync.WaitGroup
	work := func(i int) func() error {
		return func() error {
			for range 200 {
				err := level.Bind(i).Run(func() error {
					runtime.Gosched()
					if level.Get() != i {
						t.Errorf("got %d, want %d", level.Get(), i)
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	err := structured.Run(context.Background(), "s", func(s *structured.Scope) error {
		for i := range 8 {
			s.Fork(work(i))
			wg.Go(func() {
				if err := work(i + 100)(); err != nil {
					t.Error(err)
				}
			})
		}
		return s.Join()
	})
	wg.Wait()
	if err != nil {
		t.Error(err)
	}
}

func TestWhateverTheScheduleIsEachThreadHasItsOwnBindings(t *testing.T) {
	vttest.Run(t, func(t *testing.T) {
		structured.Run(context.Background(), "s", func(s *structured.Scope) error {
			for i := range 3 {
				s.Fork(func() error {
					return level.Bind(i).Run(func() error {
						vthread.Sleep(time.Second)
						if level.Get() != i {
							t.Errorf("got %d, want %d", level.Get(), i)
						}
						return nil
					})
				})
			}
			return s.Join()
		})
	})
}
