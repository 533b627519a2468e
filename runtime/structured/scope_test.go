package structured_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// both runs f on a goroutine and on a thread.
func both(t *testing.T, f func(t *testing.T)) {
	t.Run("owner=goroutine", f)
	t.Run("owner=thread", func(t *testing.T) {
		vthread.Start(func() { f(t) }).Join()
	})
}

func TestJoinWaitsForAllAndCloseLeavesNobody(t *testing.T) {
	both(t, func(t *testing.T) {
		var n atomic.Int32
		s := structured.Open(context.Background(), "s")
		for range 50 {
			s.Fork(func() error { vthread.Sleep(time.Millisecond); n.Add(1); return nil })
		}
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		if n.Load() != 50 {
			t.Errorf("%d ended before Join, want 50", n.Load())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}

func TestTheFirstErrorCancelsTheOthersAndComesOutOfJoin(t *testing.T) {
	both(t, func(t *testing.T) {
		boom := errors.New("boom")
		err := structured.Run(context.Background(), "s", func(s *structured.Scope) error {
			s.Fork(func() error { <-s.Context().Done(); return errors.New("late") })
			s.Fork(func() error { return boom })
			return s.Join()
		})
		if err != boom {
			t.Errorf("got %v, want boom", err)
		}
	})
}

//go:noinline
func guilty() error { panic("boom") }

func TestAChildsPanicReachesTheOwnerWithTheChildsStack(t *testing.T) {
	both(t, func(t *testing.T) {
		var got *structured.Panic
		func() {
			defer func() { got, _ = recover().(*structured.Panic) }()
			structured.Run(context.Background(), "s", func(s *structured.Scope) error {
				s.ForkNamed("child", guilty)
				return s.Join()
			})
		}()
		if got == nil || got.Value != "boom" || !strings.Contains(string(got.Stack), "guilty") || !strings.Contains(got.Thread, "child") {
			t.Errorf("got %v, want boom of guilty in thread child", got)
		}
	})
}

func TestAPanicOfTheOwnerStillWaitsForTheChildren(t *testing.T) {
	both(t, func(t *testing.T) {
		var ended atomic.Bool
		func() {
			defer func() {
				if v := recover(); v != "owner" {
					t.Errorf("recovered %v", v)
				}
			}()
			structured.Run(context.Background(), "s", func(s *structured.Scope) error {
				s.Fork(func() error { vthread.Sleep(5 * time.Millisecond); ended.Store(true); return nil })
				panic("owner")
			})
		}()
		if !ended.Load() {
			t.Error("a child runs on after Run")
		}
	})
}

func TestGoexitOfAChildIsAnError(t *testing.T) {
	both(t, func(t *testing.T) {
		err := structured.Run(context.Background(), "s", func(s *structured.Scope) error {
			s.Fork(func() error { runtime.Goexit(); return nil })
			return s.Join()
		})
		if !errors.Is(err, structured.ErrGoexit) {
			t.Errorf("got %v, want ErrGoexit", err)
		}
	})
}

func TestOnlyTheOwnerForksJoinsAndCloses(t *testing.T) {
	both(t, func(t *testing.T) {
		s := structured.Open(context.Background(), "s")
		defer s.Close()
		try := func(who, what string, f func()) {
			defer func() {
				if v, _ := recover().(string); !strings.Contains(v, "only its owner") {
					t.Errorf("%s by a %s: panicked with %v", what, who, v)
				}
			}()
			f()
		}
		for what, f := range map[string]func(){
			"fork":  func() { s.Fork(func() error { return nil }) },
			"join":  func() { s.Join() },
			"close": func() { s.Close() },
		} {
			vthread.Start(func() { try("thread", what, f) }).Join()
			done := make(chan struct{})
			go func() { defer close(done); try("goroutine", what, f) }()
			<-done
		}
	})
}

func TestForkAfterJoinOrClosePanics(t *testing.T) {
	s := structured.Open(context.Background(), "s")
	s.Join()
	for _, want := range []string{"joined", "closed"} {
		func() {
			defer func() {
				if v, _ := recover().(string); !strings.Contains(v, want) {
					t.Errorf("panicked with %v, want %s", v, want)
				}
			}()
			s.Fork(func() error { return nil })
		}()
		s.Close()
	}
}

// ST-23
func TestCloseWithoutJoinCancelsWaitsAndSaysSo(t *testing.T) {
	both(t, func(t *testing.T) {
		var ended atomic.Bool
		err := structured.Run(context.Background(), "s", func(s *structured.Scope) error {
			s.Fork(func() error { <-s.Context().Done(); ended.Store(true); return nil })
			return nil
		})
		if !errors.Is(err, structured.ErrNotJoined) || !ended.Load() {
			t.Errorf("got %v, ended %v; want ErrNotJoined, true", err, ended.Load())
		}
	})
}

// ST-27
func TestClosingAnOuterScopeClosesTheInnerAndSaysSo(t *testing.T) {
	vthread.Start(func() {
		outer := structured.Open(context.Background(), "outer")
		inner := structured.Open(context.Background(), "inner")
		inner.Fork(func() error { <-inner.Context().Done(); return nil })
		if err := outer.Close(); !errors.Is(err, structured.ErrStructure) || !strings.Contains(err.Error(), "inner") {
			t.Errorf("got %v, want ErrStructure naming inner", err)
		}
		if err := inner.Close(); err != nil {
			t.Errorf("inner close: %v", err)
		}
	}).Join()
}

func TestAPanicInAnInnerScopeStillWaitsForTheOuterOnesThreads(t *testing.T) {
	vthread.Start(func() {
		var ended atomic.Bool
		defer func() {
			p, _ := recover().(*structured.Panic)
			if p == nil || p.Value != "child" {
				t.Errorf("Run panicked with %v, want the child's panic", p)
			}
			if !ended.Load() {
				t.Error("a thread of the outer scope runs on")
			}
			if s := vthread.Current().Innermost(); s != nil {
				t.Errorf("%v is still open", s.Owner)
			}
		}()
		structured.Run(context.Background(), "outer", func(s *structured.Scope) error {
			s.Fork(func() error {
				<-s.Context().Done()
				vthread.Sleep(5 * time.Millisecond)
				ended.Store(true)
				return nil
			})
			middle := structured.Open(s.Context(), "middle")
			inner := structured.Open(middle.Context(), "inner")
			inner.Fork(func() error { panic("child") })
			return nil // without closing them
		})
	}).Join()
}
