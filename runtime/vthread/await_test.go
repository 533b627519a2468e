package vthread_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

type done = func(int, error)

// awaits are the forms of Await, none of which should give up by itself.
var awaits = map[string]func(register func(done)) (int, error){
	"Await":        vthread.Await[int],
	"AwaitFor":     func(register func(done)) (int, error) { return vthread.AwaitFor(time.Hour, register) },
	"AwaitContext": func(register func(done)) (int, error) { return vthread.AwaitContext(context.Background(), register) },
}

func eachAwait(t *testing.T, test func(t *testing.T, b vthread.Builder, name string, await func(register func(done)) (int, error))) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		for name, await := range awaits {
			test(t, b, name, await)
		}
	})
}

func TestAwaitReturnsWhatTheCallbackIsCalledWith(t *testing.T) {
	eachAwait(t, func(t *testing.T, b vthread.Builder, name string, await func(register func(done)) (int, error)) {
		for what, start := range map[string]func(f func()){
			"before register returns": func(f func()) { f() },
			"by a goroutine":          func(f func()) { go f() },
			"by a timer":              func(f func()) { time.AfterFunc(100*time.Microsecond, f) },
			"by a thread":             func(f func()) { b.Start(f) },
			"by an OS thread":         func(f func()) { vthread.Builder{Kind: vthread.OnOSThread}.Start(f) },
		} {
			if v, err := await(func(d done) { start(func() { d(4, nil) }) }); v != 4 || err != nil {
				t.Errorf("%s, called %s: got %d, %v, want 4", name, what, v, err)
			}
			if v, err := await(func(d done) { start(func() { d(5, errBoom) }) }); v != 5 || err != errBoom {
				t.Errorf("%s, called %s: got %d, %v, want 5 and boom", name, what, v, err)
			}
		}
	})
}

func TestTheFirstCallOfTheCallbackCounts(t *testing.T) {
	eachAwait(t, func(t *testing.T, b vthread.Builder, name string, await func(register func(done)) (int, error)) {
		if v, err := await(func(d done) { d(1, nil); d(2, errBoom) }); v != 1 || err != nil {
			t.Errorf("%s: got %d, %v, want 1", name, v, err)
		}
		var wg sync.WaitGroup
		v, err := await(func(d done) {
			for i := range 4 {
				wg.Go(func() { d(10+i, nil) })
			}
		})
		if v < 10 || v > 13 || err != nil {
			t.Errorf("%s: got %d, %v, want 10 to 13", name, v, err)
		}
		wg.Wait()
	})
}

func TestALateCallIsHarmless(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		var late done
		keep := func(d done) { late = d }
		if v, err := vthread.AwaitFor(time.Millisecond, keep); v != 0 || err != vthread.ErrTimeout {
			t.Errorf("got %d, %v, want a time-out", v, err)
		}
		late(1, nil)
		ctx, cancel := context.WithCancelCause(context.Background())
		b.Start(func() { cancel(errBoom) })
		if v, err := vthread.AwaitContext(ctx, keep); v != 0 || err != errBoom {
			t.Errorf("got %d, %v, want the cause", v, err)
		}
		late(2, errors.New("late"))
		if v, err := vthread.AwaitFor(0, func(d done) { d(6, nil) }); v != 6 || err != nil {
			t.Errorf("no time: got %d, %v, want 6", v, err)
		}
	})
}

func TestAnInterruptEndsAwait(t *testing.T) {
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		for name, await := range awaits {
			var late done
			b.Start(func() { waits(t, me); me.Interrupt() })
			if _, err := await(func(d done) { late = d }); err != vthread.ErrInterrupted || vthread.Interrupted() {
				t.Errorf("%s: got %v, status %v", name, err, me.IsInterrupted())
			}
			late(1, nil)
			me.Interrupt()
			if _, err := await(func(d done) { t.Error("it was registered") }); err != vthread.ErrInterrupted || vthread.Interrupted() {
				t.Errorf("%s, before: got %v, status %v", name, err, me.IsInterrupted())
			}
			if v, err := await(func(d done) { me.Interrupt(); d(7, nil) }); v != 7 || err != nil || !vthread.Interrupted() {
				t.Errorf("%s, when it is done: got %d, %v, status %v; want 7 and an interrupt that is kept", name, v, err, me.IsInterrupted())
			}
		}
	})
}

func TestAContextThatHasEndedRegistersNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errBoom)
	if _, err := vthread.AwaitContext(ctx, func(done) { t.Error("it was registered") }); err != errBoom {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestAPanicOfRegisterComesOutOfAwait(t *testing.T) {
	eachAwait(t, func(t *testing.T, b vthread.Builder, name string, await func(register func(done)) (int, error)) {
		var late done
		func() {
			defer func() {
				if v := recover(); v != errBoom {
					t.Errorf("%s: recovered %v, want boom", name, v)
				}
			}()
			await(func(d done) { late = d; panic(errBoom) })
		}()
		late(1, nil)
	})
}

func TestRegisterMayParkItself(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		v, err := vthread.Await(func(d done) {
			inner, err := vthread.Await(func(d done) { b.Start(func() { vthread.Yield(); d(3, nil) }) })
			d(inner+1, err)
		})
		if v != 4 || err != nil {
			t.Errorf("got %d, %v, want 4", v, err)
		}
	})
}

// On one carrier, since each gives it away while it waits.
func TestManyThreadsAwaitAtATime(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	for _, carriers := range []int{1, 4} {
		b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
		var threads []*vthread.Thread
		var sum atomic.Int64
		callbacks := make(chan func(), n)
		for i := range n {
			threads = append(threads, b.Start(func() {
				for range 3 {
					switch v, err := vthread.AwaitFor(5*time.Minute, func(d done) { callbacks <- func() { d(i, nil); d(-1, nil) } }); {
					case err != nil || v != i:
						t.Errorf("thread %d: got %d, %v", i, v, err)
					default:
						sum.Add(int64(v))
					}
				}
			}))
		}
		for range 3 * n {
			go (<-callbacks)()
		}
		for _, th := range threads {
			th.Join()
		}
		if want := int64(3 * n * (n - 1) / 2); sum.Load() != want {
			t.Errorf("carriers=%d: sum %d, want %d", carriers, sum.Load(), want)
		}
	}
}

// Interrupts race with the callback: either the value comes, and the interrupt is kept if it came too, or the interrupt, which takes the status.
func TestAnInterruptAndTheCallbackAreNeverBothLost(t *testing.T) {
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	for _, carriers := range []int{1, 4} {
		b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
		b.Start(func() {
			me := vthread.Current()
			values, interrupts := 0, 0
			for i := range rounds {
				given := make(chan struct{})
				v, err := vthread.Await(func(d done) {
					interrupt := func() { me.Interrupt(); close(given) }
					if i%2 == 0 {
						go interrupt()
						go d(i, nil)
					} else {
						go d(i, nil)
						go interrupt()
					}
				})
				vthread.Blocking(func() { <-given })
				kept := vthread.Interrupted()
				switch {
				case err == nil && v == i && kept:
					values++
				case err == vthread.ErrInterrupted && v == 0 && !kept:
					interrupts++
				default:
					t.Fatalf("got %d, %v, status %v", v, err, kept)
				}
			}
			t.Logf("carriers=%d: %d values, %d interrupts", carriers, values, interrupts)
		}).Join()
	}
}

func TestAwaitAllReturnsAllValuesAndTheFirstError(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		after := func(d time.Duration, v int, err error) func(done) {
			return func(call done) { b.Start(func() { vthread.Sleep(d); call(v, err); call(-1, nil) }) }
		}
		values, err := vthread.AwaitAll(after(3*time.Millisecond, 1, nil), after(0, 2, nil), func(d done) { d(3, nil) })
		if err != nil || !slices.Equal(values, []int{1, 2, 3}) {
			t.Errorf("got %v, %v, want 1 2 3", values, err)
		}
		var p vthread.Promise[int]
		values, err = vthread.AwaitAll(p.OnDone, func(d done) { d(2, errBoom); p.Fail(errors.New("later")) })
		if err != errBoom || len(values) != 2 {
			t.Errorf("got %v, %v, want the error that came first", values, err)
		}
		if values, err := vthread.AwaitAll[int](); len(values) != 0 || err != nil {
			t.Errorf("nothing: got %v, %v", values, err)
		}
		if me := vthread.Current(); me != nil {
			var never vthread.Promise[int]
			b.Start(func() { waits(t, me); me.Interrupt() })
			if values, err := vthread.AwaitAll(after(0, 1, nil), never.OnDone); values != nil || err != vthread.ErrInterrupted {
				t.Errorf("interrupted: got %v, %v", values, err)
			}
			never.Complete(1)
		}
	})
}

func TestAwaitEndReturnsTheCauseOfTheContext(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		if me := vthread.Current(); me != nil {
			b.Start(func() { waits(t, me); me.Interrupt() })
			if err := vthread.AwaitEnd(ctx); err != vthread.ErrInterrupted {
				t.Errorf("interrupted: got %v", err)
			}
		}
		b.Start(func() { cancel(errBoom) })
		for range 2 {
			if err := vthread.AwaitEnd(ctx); err != errBoom {
				t.Errorf("got %v, want boom", err)
			}
		}
	})
}

// A group does what errgroup.Group does.
type group struct {
	sync.WaitGroup
	once sync.Once
	err  error
}

func (g *group) Go(f func() error) {
	g.WaitGroup.Go(func() {
		if err := f(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	})
}

func (g *group) Wait() error { g.WaitGroup.Wait(); return g.err }

type waiter func() error

func (w waiter) Wait() error { return w() }

func TestAwaitGroupGivesTheCarrierAway(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		for _, want := range []error{nil, errBoom} {
			var g group
			release := make(chan struct{})
			g.Go(func() error { <-release; return want })
			b.Start(func() { close(release) }) // on the one carrier
			if err := vthread.AwaitGroup(&g); err != want {
				t.Errorf("got %v, want %v", err, want)
			}
		}
	})
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		func() {
			defer func() {
				p, _ := recover().(*vthread.Panic)
				if p == nil || p.Value != errBoom || !strings.Contains(string(p.Stack), "panicking") {
					t.Errorf("recovered %v, want boom", p)
				}
			}()
			vthread.AwaitGroup(waiter(func() error { panicking(); return nil }))
		}()
		if err := vthread.AwaitGroup(waiter(func() error { runtime.Goexit(); return nil })); err != vthread.ErrGoexit {
			t.Errorf("got %v, want ErrGoexit", err)
		}
		me, release := vthread.Current(), make(chan struct{})
		b.Start(func() { waits(t, me); me.Interrupt() })
		if err := vthread.AwaitGroup(waiter(func() error { <-release; return nil })); err != vthread.ErrInterrupted {
			t.Errorf("got %v, want an interrupt", err)
		}
		close(release)
	})
}

func TestAwaitWorksInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func() {
			begin := time.Now()
			later := func(d done) { time.AfterFunc(time.Hour, func() { d(1, nil) }) }
			if v, err := vthread.Await(later); v != 1 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
			if _, err := vthread.AwaitFor(time.Minute, later); err != vthread.ErrTimeout {
				t.Errorf("got %v, want a time-out", err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := vthread.AwaitEnd(ctx); err != context.DeadlineExceeded {
				t.Errorf("got %v", err)
			}
			if d := time.Since(begin); d != time.Hour+2*time.Minute {
				t.Errorf("took %v, want 1h2m", d)
			}
			time.Sleep(time.Hour) // for the late one
		}
		in()
		vthread.Start(in).Join()
	})
}

func TestADumpShowsThatAThreadAwaits(t *testing.T) {
	reader := readFlight(t)
	var d done
	th := vthread.Builder{Scheduler: forkJoin(t, 1)}.Start(func() { vthread.Await(func(call done) { d = call }) })
	waits(t, th)
	row := rowOf(t, reader, th)
	if row.State != flight.StateWaiting || row.Reason != flight.ReasonCondition || row.Blocker.Kind() != flight.BlockedByCondition {
		t.Errorf("%v %v on %v, want a condition", row.State, row.Reason, row.Blocker)
	}
	d(0, nil)
	th.Join()
}

func ExampleAwait() {
	// An interface with callbacks, as many libraries have.
	lookUp := func(name string, found func(address string, err error)) {
		go found("192.0.2.1", nil)
	}
	address, err := vthread.Await(func(done func(string, error)) { lookUp("example.com", done) })
	fmt.Println(address, err)
	// Output: 192.0.2.1 <nil>
}

func ExampleAwaitAll() {
	square := func(n int, done func(int, error)) { go done(n*n, nil) }
	squares, err := vthread.AwaitAll(
		func(done func(int, error)) { square(3, done) },
		func(done func(int, error)) { square(4, done) })
	fmt.Println(squares, err)
	// Output: [9 16] <nil>
}

func BenchmarkAwait(b *testing.B) {
	for _, by := range []string{"register", "goroutine"} {
		b.Run("by="+by, func(b *testing.B) {
			onOneCarrier(b, func(vthread.Builder) {
				for b.Loop() {
					vthread.Await(func(d done) {
						if by == "register" {
							d(1, nil)
						} else {
							go d(1, nil)
						}
					})
				}
			})
		})
	}
}
