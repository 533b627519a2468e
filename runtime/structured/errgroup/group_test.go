package errgroup_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/structured/errgroup"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

var errBoom = errors.New("boom")

// both runs f on a goroutine and on a thread.
func both(t *testing.T, f func(t *testing.T)) {
	t.Run("caller=goroutine", f)
	t.Run("caller=thread", func(t *testing.T) {
		vthread.Start(func() { f(t) }).Join()
	})
}

func TestTheZeroValueReturnsTheFirstErrorAndCancelsNothing(t *testing.T) {
	both(t, func(t *testing.T) {
		other := errors.New("other")
		for _, c := range []struct{ errs []error }{
			{nil}, {[]error{nil}}, {[]error{errBoom}}, {[]error{nil, errBoom}}, {[]error{errBoom, nil, other}},
		} {
			var g errgroup.Group
			var first error
			for _, err := range c.errs {
				threads := make(chan *vthread.Thread, 1)
				g.Go(func() error { threads <- vthread.Current(); return err })
				if first == nil {
					first = err
				}
				(<-threads).Join() // so that the first error is the first
			}
			for range 2 {
				if got := g.Wait(); got != first {
					t.Errorf("%v: got %v, want %v", c.errs, got, first)
				}
			}
		}
	})
}

func TestTheContextEndsWithTheFirstErrorOrWithWait(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, want := range []error{nil, errBoom} {
			g, ctx := errgroup.WithContext(context.Background())
			g.Go(func() error { return want })
			g.Go(func() error {
				if want != nil {
					<-ctx.Done()
				}
				if cause := context.Cause(ctx); cause != want {
					t.Errorf("meanwhile: got cause %v, want %v", cause, want)
				}
				return nil
			})
			if err := g.Wait(); err != want {
				t.Errorf("got %v, want %v", err, want)
			}
			if ctx.Err() != context.Canceled {
				t.Errorf("after Wait: got %v", ctx.Err())
			}
			if cause := context.Cause(ctx); want != nil && cause != want {
				t.Errorf("after Wait: got cause %v, want %v", cause, want)
			}
		}
	})
}

func TestTheContextAroundEndsThatOfTheGroupAndItsThreads(t *testing.T) {
	both(t, func(t *testing.T) {
		around, cancel := context.WithCancelCause(context.Background())
		g, ctx := errgroup.WithContext(around)
		g.Go(func() error {
			<-vthread.Current().Context().Done()
			return context.Cause(ctx)
		})
		cancel(errBoom)
		if err := g.Wait(); err != errBoom {
			t.Errorf("got %v", err)
		}
		executed := false
		g.Go(func() error { executed = true; return nil })
		if err := g.Wait(); err != errBoom || !executed {
			t.Errorf("Go after the end: got %v, executed %v", err, executed)
		}
	})
}

func TestTheThreadsOfAGroupInAScopeAreToldWhenThatIsCancelled(t *testing.T) {
	value := structured.NewScopedValue[int]()
	err := structured.Run(context.Background(), "around", func(s *structured.Scope) error {
		s.Fork(func() error {
			return value.Bind(1).Run(func() error {
				var g errgroup.Group
				g.Go(func() error {
					if _, bound := value.Lookup(); bound {
						t.Error("the value is bound in a group's thread, which nothing keeps within the call")
					}
					ctx := vthread.Current().Context()
					s.Cancel(errBoom)
					<-ctx.Done()
					return context.Cause(ctx)
				})
				if err := g.Wait(); err != errBoom {
					t.Errorf("the group: got %v", err)
				}
				return nil
			})
		})
		return s.Join()
	})
	if err != errBoom {
		t.Errorf("the scope: got %v", err)
	}
}

func TestNoMoreThanTheLimitExecute(t *testing.T) {
	both(t, func(t *testing.T) {
		const limit = 3
		var g errgroup.Group
		g.SetLimit(limit)
		var active, most atomic.Int32
		for range 100 {
			g.Go(func() error {
				n := active.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				vthread.Yield()
				active.Add(-1)
				return nil
			})
		}
		if err := g.Wait(); err != nil || most.Load() > limit {
			t.Errorf("got %v, %d at a time, want at most %d", err, most.Load(), limit)
		}
	})
}

func TestTryGoDoesNotBlock(t *testing.T) {
	both(t, func(t *testing.T) {
		var g errgroup.Group
		g.SetLimit(2)
		release := make(chan struct{})
		wait := func() error { vthread.Recv(release); return nil }
		if a, b, c := g.TryGo(wait), g.TryGo(wait), g.TryGo(wait); !a || !b || c {
			t.Errorf("got %v, %v, %v, want the third refused", a, b, c)
		}
		close(release)
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		if !g.TryGo(func() error { return errBoom }) || g.Wait() != errBoom {
			t.Error("refused after the others have ended, or the error is lost")
		}
		g.SetLimit(0)
		if g.TryGo(wait) {
			t.Error("a limit of none lets one in")
		}
		g.SetLimit(-1)
		for range 100 {
			if !g.TryGo(func() error { return nil }) {
				t.Error("refused without a limit")
			}
		}
		g.Wait()
	})
}

func TestGoBlocksAtTheLimitAndGoesOnInTurn(t *testing.T) {
	both(t, func(t *testing.T) {
		var g errgroup.Group
		g.SetLimit(1)
		var order []int // by the only one that executes
		release := make(chan struct{})
		g.Go(func() error { vthread.Recv(release); return nil })
		var callers []*vthread.Thread
		for i := range 5 {
			th := vthread.Start(func() { g.Go(func() error { order = append(order, i); return nil }) })
			for th.State() != flight.StateWaiting {
				runtime.Gosched()
			}
			callers = append(callers, th)
		}
		close(release)
		for _, c := range callers {
			c.Join()
		}
		if err := g.Wait(); err != nil || !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("got %v, %v", order, err)
		}
	})
}

func TestTheLimitIsNotChangedWhileAFunctionExecutes(t *testing.T) {
	both(t, func(t *testing.T) {
		var g errgroup.Group
		g.SetLimit(3)
		release := make(chan struct{})
		g.Go(func() error { vthread.Recv(release); return nil })
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "1 threads in the group are still active") {
					t.Errorf("got %v", err)
				}
			}()
			g.SetLimit(2)
		}()
		close(release)
		g.Wait()
		g.SetLimit(2)
	})
}

func TestFunctionsOfAGroupCallItsGo(t *testing.T) {
	both(t, func(t *testing.T) {
		var g errgroup.Group
		var n atomic.Int32
		var grow func(depth int) func() error
		grow = func(depth int) func() error {
			return func() error {
				n.Add(1)
				if depth > 0 {
					g.Go(grow(depth - 1))
					g.Go(grow(depth - 1))
				}
				return nil
			}
		}
		g.Go(grow(6))
		if err := g.Wait(); err != nil || n.Load() != 127 {
			t.Errorf("got %v after %d, want 127", err, n.Load())
		}
	})
}

func TestSeveralMayWaitAndTheGroupMayBeUsedAgain(t *testing.T) {
	both(t, func(t *testing.T) {
		var g errgroup.Group
		for round := range 3 {
			var n atomic.Int32
			for range 10 {
				g.Go(func() error { vthread.Yield(); n.Add(1); return nil })
			}
			var others []*vthread.Thread
			for range 3 {
				others = append(others, vthread.Start(func() {
					if err := g.Wait(); err != nil || n.Load() != 10 {
						t.Errorf("round %d: got %v after %d", round, err, n.Load())
					}
				}))
			}
			if err := g.Wait(); err != nil || n.Load() != 10 {
				t.Errorf("round %d: got %v after %d", round, err, n.Load())
			}
			for _, o := range others {
				o.Join()
			}
		}
	})
}

//go:noinline
func guilty() error { panic("boom") }

func TestAPanicComesOutOfEveryWaitWithItsStack(t *testing.T) {
	both(t, func(t *testing.T) {
		g, ctx := errgroup.WithContext(context.Background())
		g.Go(func() error { <-ctx.Done(); return nil })
		g.Go(guilty)
		for range 2 {
			func() {
				defer func() {
					p, _ := recover().(*structured.Panic)
					if p == nil || p.Value != "boom" || !strings.Contains(string(p.Stack), "guilty") || context.Cause(ctx) != p {
						t.Errorf("got %v, cause %v", p, context.Cause(ctx))
					}
				}()
				t.Errorf("Wait returned %v", g.Wait())
			}()
		}
	})
}

func TestAFunctionThatExitsOrLeavesAScopeOpenHasFailed(t *testing.T) {
	both(t, func(t *testing.T) {
		var g errgroup.Group
		g.Go(func() error { runtime.Goexit(); return nil })
		if err := g.Wait(); err != structured.ErrGoexit {
			t.Errorf("got %v, want ErrGoexit", err)
		}
		var left errgroup.Group
		left.Go(func() error { structured.Open(context.Background(), "left"); return nil })
		if err := left.Wait(); !errors.Is(err, structured.ErrStructure) || !strings.Contains(err.Error(), `"left"`) {
			t.Errorf("got %v, want ErrStructure", err)
		}
	})
}

func TestThreadsOfAGroupAreInAScopeWithinTheCallers(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	err := structured.Run(context.Background(), "around", func(s *structured.Scope) error {
		s.Fork(func() error {
			g := errgroup.Group{Name: "fetches"}
			g.Go(func() error {
				me := vthread.Current()
				rows := map[flight.ScopeIndex]flight.ScopeRow{}
				r, err := flight.Default().Reader()
				if err != nil {
					return err
				}
				defer r.Close()
				all, err := r.Scopes()
				for _, row := range all {
					rows[row.Index] = row
				}
				row := rows[me.Scope().Index]
				if row.Name != "fetches" || rows[row.Parent].Name != "around" || row.Owner == 0 || !s.Contains(me) {
					t.Errorf("got %+v in %+v, contained: %v", row, rows[row.Parent], s.Contains(me))
				}
				return err
			})
			return g.Wait()
		})
		return s.Join()
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheScopeOfAGroupThatNobodyWaitsForIsClosed(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	name := fmt.Sprint("dropped ", time.Now())
	func() {
		g := &errgroup.Group{Name: name}
		done := make(chan struct{})
		g.Go(func() error { close(done); return nil })
		<-done
	}()
	for deadline := time.Now().Add(time.Minute); ; {
		runtime.GC()
		r, err := flight.Default().Reader()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := r.Scopes()
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(rows, func(row flight.ScopeRow) bool { return row.Name == name }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the scope is still there")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAnInterruptDoesNotShortenWaitOrGo(t *testing.T) {
	vthread.Start(func() {
		me := vthread.Current()
		var g errgroup.Group
		g.SetLimit(1)
		ended := 0
		for range 2 {
			g.Go(func() error { me.Interrupt(); vthread.Sleep(2 * time.Millisecond); ended++; return nil })
		}
		if err := g.Wait(); err != nil || ended != 2 || !vthread.Interrupted() {
			t.Errorf("got %v after %d", err, ended)
		}
	}).Join()
}

func TestWhateverTheScheduleIsWaitWaitsForAll(t *testing.T) {
	vttest.Run(t, func(t *testing.T) {
		g, ctx := errgroup.WithContext(context.Background())
		g.SetLimit(2)
		executing, ended := 0, 0
		for i := range 4 {
			g.Go(func() error {
				if executing++; executing > 2 {
					t.Errorf("%d execute", executing)
				}
				vthread.SleepContext(ctx, time.Duration(i)*time.Second)
				executing--
				ended++
				if i == 1 {
					return errBoom
				}
				return nil
			})
		}
		if err := g.Wait(); err != errBoom || ended != 4 {
			t.Errorf("got %v after %d", err, ended)
		}
	})
}
