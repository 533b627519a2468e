package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// homes are where threads are: without a keeper, with one, and with one that lets them hibernate at once.
var homes = []struct {
	name      string
	kept      bool
	hibernate time.Duration
}{{"memory", false, 0}, {"memory, hibernated", false, time.Microsecond}, {"files", true, time.Hour}, {"files, hibernated", true, time.Microsecond}}

// atHomes calls f with each home: begin starts a thread of its registry there.
func atHomes(t *testing.T, f func(t *testing.T, r *durable.Registry, begin func(name string, args any) *durable.Thread)) {
	for _, home := range homes {
		t.Run(home.name, func(t *testing.T) {
			r := durable.NewRegistry()
			var k *durable.Keeper
			n := 0
			f(t, r, func(name string, args any) *durable.Thread {
				t.Helper()
				n++
				if !home.kept {
					th, err := durable.Builder{Registry: r, HibernateAfter: home.hibernate}.Start(name, args)
					if err != nil {
						t.Fatal(err)
					}
					return th
				}
				if k == nil {
					store, err := durable.NewFileStore(t.TempDir(), durable.FileOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if k, err = durable.Open(durable.KeeperOptions{Registry: r, Store: store, HibernateAfter: home.hibernate}); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { closed(t, k) })
				}
				th, err := k.Start(fmt.Sprint("thread-", n), name, args)
				if err != nil {
					t.Fatal(err)
				}
				return th
			})
		})
	}
}

// A gate is what a call waits for.
type gate struct {
	in   chan bool
	open chan bool
}

func newGate() *gate { return &gate{make(chan bool, 9), make(chan bool)} }

func (g *gate) call(durable.Call) (int, error) {
	g.in <- true
	<-g.open
	return 1, nil
}

// nested registers a parent that waits for a signal, and then joins its child, which is in a call.
func nested(t *testing.T, r *durable.Registry, g *gate) {
	register(t, r, "child", func(th *durable.Thread, n int) (int, error) {
		v, err := durable.Do(th, "slow", g.call)
		return n + v + durable.Await[int](th, "more"), err
	})
	register(t, r, "parent", func(th *durable.Thread, n int) (int, error) {
		c, err := durable.Fork(th, "child", n)
		if err != nil {
			return 0, err
		}
		v := durable.Await[int](th, "s")
		w, err := durable.Join[int](th, c)
		return v + w, err
	})
}

var errEnough = errors.New("enough")

// given gives up when is is true.
func given(t *testing.T, what string, is func() bool) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		until(t, what, is)
		cancel(errEnough)
	}()
	t.Cleanup(func() { cancel(nil) })
	return ctx
}

// toldOf reports an error that does not say that thread id is in a call.
func toldOf(t *testing.T, err error, id, step string) {
	t.Helper()
	want := fmt.Sprintf("thread %s is in %s since 20", id, step)
	if !errors.Is(err, errEnough) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ", for ") {
		t.Errorf("got %v, want %q and %q", err, want, errEnough)
	}
}

// Who parks a thread, and gives up, is told what it waits for; the thread and its children go on as they were, and can be parked later. What came meanwhile they have.
func TestWhoGivesUpParkingLeavesTheThreadAsItIs(t *testing.T) {
	atHomes(t, func(t *testing.T, r *durable.Registry, begin func(string, any) *durable.Thread) {
		g := newGate()
		nested(t, r, g)
		th := begin("parent", 10)
		<-g.in
		b, err := th.ParkAndSerializeContext(given(t, "the parent stands", func() bool { return th.State() == durable.Stopping }))
		if toldOf(t, err, th.ID()+"/1", `do "slow"`); b != nil {
			t.Errorf("%d bytes", len(b))
		}
		if s := th.Child(1).State(); s != durable.Running {
			t.Errorf("the child is %v", s)
		}
		until(t, "the parent waits again", func() bool { return th.State() == durable.Hibernated || durable.WaitsForTest(th) })
		ended, cancel := context.WithCancelCause(context.Background())
		cancel(errEnough)
		if _, err := th.ParkAndSerializeContext(ended); !errors.Is(err, errEnough) {
			t.Errorf("with a context that has ended: %v", err)
		}
		if err := th.Signal("s", 100); err != nil {
			t.Error(err)
		}
		close(g.open)
		until(t, "the child has called", func() bool { return len(th.Child(1).Steps()) == 2 })
		b, err = th.ParkAndSerialize()
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Join(); err != durable.ErrMoved {
			t.Errorf("the one that was parked: %v", err)
		}
		th = onAgain(t, b, r)
		if err := th.Child(1).Signal("more", 1000); err != nil {
			t.Fatal(err)
		}
		if got := result[int](t, th); got != 1111 {
			t.Errorf("got %d", got)
		}
		if len(g.in) != 0 {
			t.Error("the call was made again")
		}
	})
}

// A signal to a thread that stands, and to a child of it, is in the bytes.
func TestASignalToAThreadThatStandsIsInItsBytes(t *testing.T) {
	atHomes(t, func(t *testing.T, r *durable.Registry, begin func(string, any) *durable.Thread) {
		g := newGate()
		nested(t, r, g)
		th := begin("parent", 10)
		<-g.in
		parked := make(chan []byte, 1)
		go func() {
			b, err := th.ParkAndSerialize()
			if err != nil {
				t.Error(err)
			}
			parked <- b
		}()
		until(t, "both are told", func() bool { return th.State() == durable.Stopping && th.Child(1).State() == durable.Stopping })
		if err := th.Signal("s", 100); err != nil {
			t.Error(err)
		}
		if err := th.Child(1).Signal("more", 1000); err != nil {
			t.Error(err)
		}
		close(g.open)
		if got := result[int](t, onAgain(t, <-parked, r)); got != 1111 {
			t.Errorf("got %d", got)
		}
		if err := th.Signal("s", 1); err != durable.ErrMoved {
			t.Errorf("a signal to who is gone: %v", err)
		}
	})
}

// Many signal a thread while it is parked: each signal that was taken is where the thread goes on, and all others were refused with ErrMoved. One of two who park it has it.
func TestNoSignalIsLostBetweenAThreadAndItsBytes(t *testing.T) {
	atHomes(t, func(t *testing.T, r *durable.Registry, begin func(string, any) *durable.Thread) {
		register(t, r, "counts", func(th *durable.Thread, _ int) (int, error) {
			for n := 0; ; n++ {
				if durable.Await[int](th, "s") < 0 {
					return n, nil
				}
			}
		})
		for range 20 {
			th := begin("counts", 0)
			var taken atomic.Int32
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for {
						if err := th.Signal("s", 1); err == nil {
							taken.Add(1)
						} else if err == durable.ErrMoved {
							return
						} else {
							t.Error(err)
							return
						}
					}
				})
			}
			until(t, "some have come", func() bool { return taken.Load() > 20 })
			parked := make(chan []byte, 2)
			for range 2 {
				all.Go(func() {
					b, err := th.ParkAndSerialize()
					if (b == nil) != (err == durable.ErrMoved) {
						t.Errorf("parked: %d bytes, %v", len(b), err)
					}
					parked <- b
				})
			}
			all.Wait()
			b, other := <-parked, <-parked
			if (b == nil) == (other == nil) {
				t.Fatalf("%d and %d bytes for two who park one thread", len(b), len(other))
			}
			if b == nil {
				b = other
			}
			th = onAgain(t, b, r)
			if err := th.Signal("s", -1); err != nil {
				t.Fatal(err)
			}
			if got := result[int](t, th); got != int(taken.Load()) {
				t.Fatalf("%d signals arrived, and %d were taken", got, taken.Load())
			}
		}
	})
}

// Who is interrupted while it parks a thread leaves it as it is.
func TestWhoIsInterruptedWhileItParksLeavesTheThreadAsItIs(t *testing.T) {
	atHomes(t, func(t *testing.T, r *durable.Registry, begin func(string, any) *durable.Thread) {
		g := newGate()
		nested(t, r, g)
		th := begin("parent", 1)
		<-g.in
		var got error
		parker := vthread.Start(func() { _, got = th.ParkAndSerialize() })
		until(t, "it is told", func() bool { return th.Child(1).State() == durable.Stopping })
		parker.Interrupt()
		parker.Join()
		if !errors.Is(got, vthread.ErrInterrupted) || !strings.Contains(got.Error(), `do "slow"`) {
			t.Errorf("got %v", got)
		}
		close(g.open)
		if err := errors.Join(th.Signal("s", 1), th.Child(1).Signal("more", 1)); err != nil {
			t.Error(err)
		}
		if got := result[int](t, th); got != 4 {
			t.Errorf("got %d", got)
		}
	})
}

// Who closes a keeper, and gives up, is told what it waits for. Those that stand have left, the call goes on and is recorded, and the next call of Close goes on waiting.
func TestWhoGivesUpClosingIsToldWhichCallItWaitsFor(t *testing.T) {
	dir, g := t.TempDir(), newGate()
	r := durable.NewRegistry()
	nested(t, r, g)
	register(t, r, "waits", func(th *durable.Thread, n int) (int, error) { return durable.Await[int](th, "s"), nil })
	k := open(t, dir, r)
	th, err := k.Start("slow", "parent", 10)
	if err != nil {
		t.Fatal(err)
	}
	waits, err := k.Start("waits", "waits", 1)
	if err != nil {
		t.Fatal(err)
	}
	<-g.in
	err = k.CloseContext(given(t, "the other has left", func() bool { return waits.State() == durable.Moved }))
	toldOf(t, err, "slow/1", `do "slow"`)
	if err := waits.Join(); err != durable.ErrClosed {
		t.Errorf("one that has left: %v", err)
	}
	if _, err := k.Start("more", "waits", 1); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("a start: %v", err)
	}
	if err := th.Signal("s", 1); err != durable.ErrClosed {
		t.Errorf("a signal: %v", err)
	}
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errEnough)
	toldOf(t, k.CloseContext(ended), "slow/1", `do "slow"`)
	close(g.open)
	closed(t, k)
	closed(t, k)
	if err := th.Join(); err != durable.ErrClosed {
		t.Errorf("the one that was in a call: %v", err)
	}
	k = open(t, dir, r)
	th = k.Thread("slow")
	if s := th.Child(1).Steps(); len(s) == 0 || s[0].Kind != journal.StepDo || s[0].Open || s[0].Attempts != 1 {
		t.Errorf("what the call returned was not recorded: %v", s)
	}
	if err := errors.Join(th.Signal("s", 100), th.Child(1).Signal("more", 1000)); err != nil {
		t.Error(err)
	}
	if got := result[int](t, th); got != 1111 || len(g.in) != 0 {
		t.Errorf("got %d, and %d calls more", got, len(g.in))
	}
	closed(t, k)
}

// A thread that moves waits for its children as long as it wants. If it gives up they go on as they were, and that is recorded.
func TestAThreadGivesUpMovingWithAChildThatIsInACall(t *testing.T) {
	atHomes(t, func(t *testing.T, r *durable.Registry, begin func(string, any) *durable.Thread) {
		g := newGate()
		var sent atomic.Int32
		register(t, r, "child", func(th *durable.Thread, n int) (int, error) {
			return durable.Do(th, "slow", g.call)
		})
		register(t, r, "stands", func(th *durable.Thread, n int) (int, error) { return durable.Await[int](th, "more"), nil })
		register(t, r, "parent", func(th *durable.Thread, n int) (string, error) {
			c, err := durable.Fork(th, "child", n)
			if err != nil {
				return "", err
			}
			s, err := durable.Fork(th, "stands", n)
			if err != nil {
				return "", err
			}
			durable.Await[int](th, "go")
			err = durable.MoveFor(th, "away", time.Millisecond, func([]byte) error { sent.Add(1); return nil })
			durable.Park(th, "so that it is replayed")
			v, failed := durable.Join[int](th, c)
			w, bad := durable.Join[int](th, s)
			return fmt.Sprint(v, w, failed, bad, err), nil
		})
		th := begin("parent", 1)
		<-g.in
		if err := th.Signal("go", 1); err != nil {
			t.Fatal(err)
		}
		until(t, "it has given up", func() bool { s := th.Steps(); return len(s) == 5 && s[4].Kind == journal.StepPark })
		close(g.open)
		b := bytesOf(t, th)
		th = onAgain(t, b, r)
		if err := th.Child(2).Signal("more", 7); err != nil {
			t.Error(err)
		}
		want := fmt.Sprintf(`1 7 <nil> <nil> durable: move: thread %s/1 is in do "slow" since 20`, th.ID())
		if got := result[string](t, th); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, context.DeadlineExceeded.Error()) || sent.Load() != 0 {
			t.Errorf("got %q, sent %d times, want %q", got, sent.Load(), want)
		}
	})
}

// A child is not sent without its parent.
func TestAChildDoesNotMoveAlone(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "child", func(th *durable.Thread, _ int) (bool, error) {
		err := durable.Move(th, "away", func([]byte) error { return nil })
		return errors.Is(err, durable.ErrChild), err
	})
	register(t, r, "parent", func(th *durable.Thread, _ int) (string, error) {
		c, err := durable.Fork(th, "child", 1)
		if err != nil {
			return "", err
		}
		_, err = durable.Join[bool](th, c)
		return fmt.Sprint(err), nil
	})
	if got := result[string](t, start(t, r, "parent", 1)); got != durable.ErrChild.Error() {
		t.Errorf("got %q", got)
	}
}

// A signal to a child of a thread that is sent waits as one to the thread does.
func TestASignalToAChildOfAThreadThatIsSentIsNotLost(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		r, there := durable.NewRegistry(), durable.NewRegistry()
		sending, goOn := make(chan bool), make(chan bool)
		arrived := make(chan *durable.Thread, 1)
		child := func(th *durable.Thread, _ int) (int, error) { return durable.Await[int](th, "s"), nil }
		body := func(th *durable.Thread, _ int) (int, error) {
			c, err := durable.Fork(th, "child", 1)
			if err != nil {
				return 0, err
			}
			_ = durable.Move(th, "away", func(b []byte) error {
				close(sending)
				<-goOn
				if !arrives {
					return errors.New("refused")
				}
				moved, err := durable.DeserializeAndUnpark(b, there, nil)
				arrived <- moved
				return err
			})
			return durable.Join[int](th, c)
		}
		for _, r := range []*durable.Registry{r, there} {
			register(t, r, "b", body)
			register(t, r, "child", child)
		}
		th := start(t, r, "b", 0)
		<-sending
		c := th.Child(1)
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errEnough)
		if err := durable.SignalWithinForTest(ctx, c, "s"); err != errEnough {
			t.Errorf("a signal before it is known who has the thread: %v", err)
		}
		told := make(chan error, 1)
		go func() { told <- c.Signal("s", 7) }()
		close(goOn)
		if err := <-told; arrives && err != durable.ErrMoved || !arrives && err != nil {
			t.Errorf("arrives %v: %v", arrives, err)
		}
		if arrives {
			th = <-arrived
			if err := th.Child(1).Signal("s", 7); err != nil {
				t.Fatal(err)
			}
		}
		if got := result[int](t, th); got != 7 {
			t.Errorf("got %d", got)
		}
	}
}

// Between the moment when it is known that a thread has arrived elsewhere and its end here, its deferred functions execute.
func TestASignalToAThreadThatWasSentAndStillLeaves(t *testing.T) {
	leaves, goOn := make(chan bool), make(chan bool)
	r := durable.NewRegistry()
	register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
		defer func() { close(leaves); <-goOn }() //durable:ok this is what is tested
		return 0, durable.Move(th, "away", func([]byte) error { return nil })
	})
	k := open(t, t.TempDir(), r)
	th, err := k.Start("one", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	<-leaves
	if err := th.Signal("s", 7); err != durable.ErrMoved {
		t.Errorf("signal: got %v, want %v", err, durable.ErrMoved)
	}
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errEnough)
	if _, err := th.ParkAndSerializeContext(ended); err != durable.ErrMoved {
		t.Errorf("bytes: got %v, want %v", err, durable.ErrMoved)
	}
	if err := k.CloseContext(ended); err != nil {
		t.Errorf("close: the keeper has it no more: %v", err)
	}
	close(goOn)
	if err := th.Join(); err != durable.ErrMoved {
		t.Errorf("join: got %v, want %v", err, durable.ErrMoved)
	}
}

// The process dies while a thread is sent, and perhaps it has arrived: what comes for it then waits until that is known.
func TestASignalToAThreadThatIsSentAgainWaits(t *testing.T) {
	dir := t.TempDir()
	var died string
	r := durable.NewRegistry()
	register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
		_ = durable.Move(th, "away", func([]byte) error { died = copyOf(t, dir); return errors.New("refused") })
		return durable.Await[int](th, "s"), nil
	})
	k := open(t, dir, r)
	th, err := k.Start("one", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it was sent", func() bool { s := th.Steps(); return len(s) == 2 })
	closed(t, k)
	for _, c := range []struct {
		name string
		send func() error
		want error
		got  int
	}{
		{"it was there", func() error { return nil }, durable.ErrMoved, 0},
		{"it was not", func() error { return errors.New("refused") }, nil, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			sending, goOn := make(chan bool), make(chan bool)
			r := durable.NewRegistry()
			register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
				_ = durable.Move(th, "away", func([]byte) error { close(sending); <-goOn; return c.send() })
				return durable.Await[int](th, "s"), nil
			})
			k := open(t, copyOf(t, died), r)
			th := k.Thread("one")
			ended, cancel := context.WithCancelCause(context.Background())
			cancel(errEnough)
			for range 2 {
				if err := durable.SignalWithinForTest(ended, th, "s"); err != errEnough {
					t.Errorf("before it is known who has it: %v", err)
				}
				if sending != nil {
					<-sending
				}
				sending = nil
			}
			told := make(chan error, 1)
			go func() { told <- th.Signal("s", 7) }()
			close(goOn)
			if err := <-told; err != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.want == nil {
				if got := result[int](t, th); got != c.got {
					t.Errorf("got %d", got)
				}
			}
			closed(t, k)
		})
	}
	t.Run("its code does not fit", func(t *testing.T) {
		r := durable.NewRegistry()
		register(t, r, "b", func(th *durable.Thread, _ int) (int, error) { durable.Park(th, "p"); return 0, nil })
		k := open(t, copyOf(t, died), r)
		if err := k.Thread("one").Signal("s", 7); !errors.As(err, new(*durable.Divergence)) {
			t.Errorf("got %v", err)
		}
		closed(t, k)
	})
	t.Run("its keeper is closed", func(t *testing.T) {
		r := durable.NewRegistry()
		began, goOn := make(chan bool), make(chan bool)
		register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
			close(began) //durable:ok this is what is tested
			<-goOn       //durable:ok
			_ = durable.Move(th, "away", func([]byte) error { return nil })
			return 0, nil
		})
		k := open(t, copyOf(t, died), r)
		th := k.Thread("one")
		<-began
		told := make(chan error, 1)
		go func() { told <- th.Signal("s", 7) }()
		err := k.CloseContext(given(t, "it is told", func() bool { return th.State() == durable.Stopping }))
		if !errors.Is(err, errEnough) || !strings.Contains(err.Error(), "thread one has not come to a step") {
			t.Errorf("got %v", err)
		}
		close(goOn)
		closed(t, k)
		if err := <-told; err != durable.ErrClosed {
			t.Errorf("got %v", err)
		}
	})
}

// Who gives up waiting for a value has it later, and no value is skipped.
func TestWhoGivesUpWaitingForAValueHasItLater(t *testing.T) {
	g := newGate()
	r := durable.NewRegistry()
	if err := durable.RegisterGenerator(r, "slow", func(th *durable.Thread, n int, yield func(int)) error {
		for i := range n {
			if _, err := durable.Do(th, "slow", g.call); err != nil {
				return err
			}
			yield(i)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	values := durable.Values[int](start(t, r, "slow", 4))
	next := func(want int) {
		t.Helper()
		if v, ok, err := values.Next(); v != want || !ok || err != nil {
			t.Fatalf("got %d, %v, %v, want %d", v, ok, err, want)
		}
	}
	for i := range 2 {
		<-g.in
		for range 2 {
			if _, ok, err := values.NextContext(given(t, "", func() bool { return true })); ok || err != errEnough {
				t.Fatalf("got %v, %v", ok, err)
			}
		}
		g.open <- true
		next(i)
		if i == 0 {
			_, _, err := values.NextContext(given(t, "", func() bool { return true })) // the next is asked for
			if err != errEnough {
				t.Fatal(err)
			}
		}
	}
	// Who gives up parking it likewise.
	calls := func() bool { return len(g.in) > 0 }
	if _, _, err := values.NextContext(given(t, "the call", calls)); err != errEnough {
		t.Fatal(err)
	}
	_, err := values.ParkAndSerializeContext(given(t, "the call", calls))
	if !errors.Is(err, errEnough) || !strings.Contains(err.Error(), `do "slow"`) {
		t.Errorf("got %v", err)
	}
	<-g.in
	g.open <- true
	next(2)
	b, err := func() ([]byte, error) {
		go func() { <-g.in; g.open <- true }()
		return values.ParkAndSerialize()
	}()
	if err != nil {
		t.Fatal(err)
	}
	values = durable.Values[int](onAgain(t, b, r))
	if v, ok, err := values.Next(); err != nil || !ok || v != 3 {
		t.Errorf("there: got %d, %v, %v", v, ok, err)
	}
	if _, ok, err := values.Next(); ok || err != nil {
		t.Errorf("after the end: %v, %v", ok, err)
	}
	values = durable.Values[int](start(t, r, "slow", 1))
	waits := vthread.Start(func() { _, _, err = values.Next() })
	<-g.in
	waits.Interrupt()
	if waits.Join(); err != vthread.ErrInterrupted {
		t.Errorf("who is interrupted: %v", err)
	}
	close(g.open)
	next(0)
	if _, ok, err := values.Next(); ok || err != nil {
		t.Errorf("after the end: %v, %v", ok, err)
	}
}
