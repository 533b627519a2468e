package structured_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// callers are who may open a scope and adopt a thread in it.
var callers = map[string]func(f func()){
	"goroutine": func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done
	},
	"virtual": func(f func()) { vthread.Start(f).Join() },
	"adopted": func(f func()) { vthread.Run("", f) },
}

func TestAnAdoptedThreadIsInTheScopeOfItsCaller(t *testing.T) {
	for name, call := range callers {
		t.Run(name, func(t *testing.T) {
			call(func() {
				value := structured.NewScopedValue[string]()
				err := value.Bind("bound").Run(func() error {
					s := structured.Open(context.Background(), "around")
					vthread.Run("step", func() {
						me := vthread.Current()
						if me.Scope() == nil || me.Scope().Name != "around" {
							t.Errorf("in scope %v, want around", me.Scope())
						}
						if got := value.Or("none"); got != "bound" {
							t.Errorf("the value that is bound: %q", got)
						}
						inner := structured.Open(me.Context(), "inner")
						inner.Fork(func() error {
							if got := value.Or("none"); got != "bound" {
								t.Errorf("in a thread that was forked within: %q", got)
							}
							return vthread.Sleep(time.Microsecond)
						})
						if err := errors.Join(inner.Join(), inner.Close()); err != nil {
							t.Error(err)
						}
						func() {
							defer func() {
								if recover() == nil {
									t.Error("a thread forks in a scope that its caller owns")
								}
							}()
							s.Fork(func() error { return nil })
						}()
					})
					s.Fork(func() error { return nil })
					return errors.Join(s.Join(), s.Close())
				})
				if err != nil {
					t.Error(err)
				}
				vthread.Run("", func() {
					if s := vthread.Current().Scope(); name == "goroutine" && s != nil {
						t.Errorf("after all it is in scope %s", s.Name)
					}
				})
			})
		})
	}
}

func TestAPanicOfAnAdoptedThreadIsItsCallersNotTheScopes(t *testing.T) {
	for name, call := range callers {
		t.Run(name, func(t *testing.T) {
			call(func() {
				s := structured.Open(context.Background(), "around")
				s.Fork(func() (err error) {
					defer func() {
						if v := recover(); v != "guilty" {
							t.Errorf("recovered %v", v)
						}
					}()
					vthread.Run("", func() { panic("guilty") })
					return nil
				})
				func() {
					defer func() {
						if v := recover(); v != "own" {
							t.Errorf("recovered %v", v)
						}
					}()
					vthread.Run("", func() { panic("own") })
				}()
				if err := errors.Join(s.Join(), s.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAnAdoptedThreadOfAScopeThatIsGivenIsToldWhenItEnds(t *testing.T) {
	var ended []flight.Reason
	s := &vthread.Scope{Name: "given", Ended: func(_ *vthread.Thread, how flight.Reason) { ended = append(ended, how) }}
	vthread.Builder{Scope: s}.Run(func() {})
	if len(ended) != 1 || ended[0] != flight.ReasonEnd {
		t.Errorf("told %v", ended)
	}
}
