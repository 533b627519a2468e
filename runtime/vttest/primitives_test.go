package vttest_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// took checks how much time has passed since begin.
func took(begin time.Time, want time.Duration) {
	if got := time.Since(begin); got != want {
		wrong("%v have passed, want %v", got, want)
	}
}

// primitives are programs that are right in whatever order their threads go on.
var primitives = map[string]func(){
	"sleeps cost nothing and end in order": func() {
		begin := time.Now()
		var order []time.Duration
		var all []*vthread.Thread
		for _, d := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
			all = append(all, vthread.Start(func() {
				vthread.Sleep(d)
				order = append(order, d)
			}))
		}
		for _, t := range all {
			t.Join()
		}
		if !slices.IsSorted(order) || len(order) != 3 {
			wrong("got %v, want them sorted", order)
		}
		took(begin, 3*time.Hour)
	},
	"an interrupt ends a sleep": func() {
		begin := time.Now()
		sleeper := vthread.Start(func() {
			if err := vthread.Sleep(time.Hour); err != vthread.ErrInterrupted {
				wrong("got %v, want %v", err, vthread.ErrInterrupted)
			}
		})
		vthread.Sleep(time.Minute)
		sleeper.Interrupt()
		sleeper.Join()
		took(begin, time.Minute)
	},
	"an interrupt before a sleep ends it": func() {
		sleeper := vthread.Start(func() {
			if err := vthread.Sleep(time.Hour); err != vthread.ErrInterrupted {
				wrong("got %v, want %v", err, vthread.ErrInterrupted)
			}
		})
		sleeper.Interrupt()
		sleeper.Join()
	},
	"a join with a limit gives up in time": func() {
		begin := time.Now()
		t := vthread.Start(func() { vthread.Sleep(time.Hour) })
		if ended, err := t.JoinFor(time.Minute); ended || err != nil {
			wrong("got %v, %v, want false", ended, err)
		}
		took(begin, time.Minute)
		if ended, err := t.JoinFor(2 * time.Hour); !ended || err != nil {
			wrong("got %v, %v, want true", ended, err)
		}
		took(begin, time.Hour)
	},
	"a context's deadline ends a sleep": func() {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := vthread.SleepContext(ctx, time.Hour); err != context.DeadlineExceeded {
			wrong("got %v, want %v", err, context.DeadlineExceeded)
		}
		took(begin, time.Minute)
	},
	"a park for a time and an unpark at the same moment": func() {
		begin := time.Now()
		t := vthread.Start(func() { vthread.ParkFor(time.Minute) })
		vthread.Sleep(time.Minute)
		t.Unpark()
		t.Join()
		took(begin, time.Minute)
	},
	"an unpark before the park": func() {
		t := vthread.Start(func() { vthread.Park() })
		t.Unpark()
		t.Join()
	},
	"a scope cancels and waits": func() {
		no := errors.New("no")
		cancelled := false
		err := structured.Run(context.Background(), "scope", func(s *structured.Scope) error {
			s.Fork(func() error {
				defer func() { cancelled = true }()
				return vthread.SleepContext(s.Context(), time.Hour)
			})
			s.Fork(func() error { return no })
			return s.Join()
		})
		if err != no || !cancelled {
			wrong("got %v, %v, want %v, true", err, cancelled, no)
		}
	},
	"one holder of a lock at a time": func() {
		var mu vsync.Mutex
		inside, n := false, 0
		var all []*vthread.Thread
		for range 4 {
			all = append(all, vthread.Start(func() {
				for range 3 {
					mu.Lock()
					if inside {
						wrong("two holders")
					}
					inside = true
					vthread.Yield()
					n++
					inside = false
					mu.Unlock()
				}
			}))
		}
		for _, t := range all {
			t.Join()
		}
		if n != 12 {
			wrong("got %d, want 12", n)
		}
	},
	"a lock that is tried": func() {
		var mu vsync.Mutex
		n := 0
		add := func() {
			for !mu.TryLock() {
				vthread.Yield()
			}
			defer mu.Unlock()
			n++
		}
		a, b := vthread.Start(add), vthread.Start(add)
		a.Join()
		b.Join()
		if n != 2 {
			wrong("got %d, want 2", n)
		}
	},
	"a generator that parks": func() {
		var got []int
		for v := range continuation.Generate(func(yield func(int)) {
			for i := range 3 {
				vthread.Sleep(time.Second)
				vthread.Start(func() { vthread.Yield() }).Join()
				yield(i)
			}
		}) {
			got = append(got, v)
		}
		if !slices.Equal(got, []int{0, 1, 2}) {
			wrong("got %v, want [0 1 2]", got)
		}
	},
	"others go on while a pinned thread waits": func() {
		var mu vsync.Mutex
		mu.Lock()
		pinned := vthread.Start(func() {
			continuation.Pin()
			defer continuation.Unpin()
			mu.Lock()
			vthread.Sleep(time.Second)
			mu.Unlock()
		})
		vthread.Start(func() { mu.Unlock() })
		pinned.Join()
	},
	"others go on while a thread that is locked to an OS thread waits": func() {
		begin := time.Now()
		locked := vthread.Start(func() {
			runtime.LockOSThread()
			vthread.Sleep(time.Hour)
			runtime.UnlockOSThread()
			vthread.Sleep(time.Hour)
		})
		vthread.Start(func() { vthread.Sleep(time.Minute) }).Join()
		took(begin, time.Minute)
		locked.Join()
		took(begin, 2*time.Hour)
	},
	"goroutines unpark threads": func() {
		begin := time.Now()
		me := vthread.Current()
		var done atomic.Bool
		go func() {
			time.Sleep(time.Hour)
			done.Store(true)
			me.Unpark()
		}()
		for !done.Load() {
			vthread.Park()
		}
		took(begin, time.Hour)
	},
	"a thread with a goroutine of its own": func() {
		b := vthread.Builder{Kind: vthread.OnGoroutine}
		if err := b.Start(func() { vthread.Sleep(time.Hour) }).Join(); err != nil {
			wrong("%v", err)
		}
	},
	"a channel without waiting": func() {
		ch := make(chan int, 1)
		vthread.Start(func() { ch <- 1 }).Join()
		if got := <-ch; got != 1 {
			wrong("got %d, want 1", got)
		}
	},
	"an unbuffered channel to a goroutine": func() {
		ch := make(chan int)
		sum := make(chan int)
		go func() { sum <- <-ch + <-ch }()
		ch <- 1
		ch <- 2
		if got := <-sum; got != 3 {
			wrong("got %d, want 3", got)
		}
	},
	"interrupts are asked for in a loop": func() {
		t := vthread.Start(func() {
			for !vthread.Interrupted() {
			}
		})
		t.Interrupt()
		t.Join()
	},
	"points of the program's own": func() {
		n := 0
		t := vthread.Start(func() {
			for range 3 {
				sched.Point(sched.OpPoint, 0)
				n++
			}
		})
		t.Join()
		if n != 3 {
			wrong("got %d, want 3", n)
		}
	},
	"a promise": func() {
		var p vthread.Promise[int]
		vthread.Start(func() { p.Complete(1) })
		if got, err := p.Get(); got != 1 || err != nil {
			wrong("got %d, %v, want 1", got, err)
		}
	},
	"a promise that is late": func() {
		begin := time.Now()
		var p vthread.Promise[int]
		t := vthread.Start(func() { vthread.Sleep(time.Hour); p.Complete(1) })
		if got, err := p.GetFor(time.Minute); err != vthread.ErrTimeout {
			wrong("got %d, %v, want %v", got, err, vthread.ErrTimeout)
		}
		took(begin, time.Minute)
		t.Join()
	},
	"an executor": func() {
		e := vthread.NewExecutor(vthread.Builder{})
		var futures []*vthread.Future[int]
		for i := range 3 {
			f, err := vthread.Submit(e, func() (int, error) { return i, vthread.Sleep(time.Hour) })
			if err != nil {
				wrong("%v", err)
			}
			futures = append(futures, f)
		}
		sum := 0
		for _, f := range futures {
			v, _ := f.Get()
			sum += v
		}
		if sum != 3 {
			wrong("got %d, want 3", sum)
		}
		e.Close()
	},
	"an executor is shut down while others submit": func() {
		e := vthread.NewExecutor(vthread.Builder{})
		n, done := 0, 0
		submit := func() {
			if _, err := vthread.Submit(e, func() (int, error) { done++; return 0, nil }); err == nil {
				n++
			}
		}
		a, b := vthread.Start(submit), vthread.Start(submit)
		c := vthread.Start(e.Cancel)
		e.Close()
		a.Join()
		b.Join()
		c.Join()
		if done > n {
			wrong("%d of %d were executed", done, n)
		}
	},
	"the first of several": func() {
		e := vthread.NewExecutor(vthread.Builder{})
		defer e.Close()
		v, err := vthread.RunAny(context.Background(), e,
			func() (int, error) { return 1, vthread.Sleep(time.Hour) },
			func() (int, error) { return 2, vthread.Sleep(time.Minute) })
		if v != 2 || err != nil {
			wrong("got %d, %v, want 2", v, err)
		}
	},
	"a callback": func() {
		got, err := vthread.Await(func(done func(int, error)) {
			time.AfterFunc(time.Hour, func() { done(1, nil) })
		})
		if got != 1 || err != nil {
			wrong("got %d, %v, want 1", got, err)
		}
	},
	"a callback that is too late": func() {
		_, err := vthread.AwaitFor(time.Hour, func(done func(int, error)) {
			time.AfterFunc(time.Hour+1, func() { done(1, nil) })
		})
		if err != vthread.ErrTimeout {
			wrong("got %v, want %v", err, vthread.ErrTimeout)
		}
	},
	"the end of a context": func() {
		ctx, cancel := context.WithCancel(context.Background())
		t := vthread.Start(func() {
			if err := vthread.AwaitEnd(ctx); err != context.Canceled {
				wrong("got %v, want %v", err, context.Canceled)
			}
		})
		cancel()
		t.Join()
	},
	"channels between threads": func() {
		ch := make(chan int)
		t := vthread.Start(func() {
			for i := range 3 {
				vthread.Send(ch, i)
			}
			close(ch)
		})
		for want := 0; ; want++ {
			got, err := vthread.Recv(ch)
			if err == vthread.ErrClosed && want == 3 {
				break
			}
			if got != want || err != nil {
				wrong("got %d, %v, want %d", got, err, want)
			}
		}
		t.Join()
	},
	"a select over channels": func() {
		a, b := make(chan int), make(chan int)
		x := vthread.Start(func() { vthread.Send(a, 1) })
		y := vthread.Start(func() { vthread.Send(b, 2) })
		sum := 0
		add := func(v int, _ bool) { sum += v }
		for range 2 {
			if _, err := vthread.Select(vthread.OnRecv(a, add), vthread.OnRecv(b, add)); err != nil {
				wrong("%v", err)
			}
		}
		x.Join()
		y.Join()
		if sum != 3 {
			wrong("got %d, want 3", sum)
		}
	},
	"a receive that is interrupted": func() {
		ch := make(chan int)
		t := vthread.Start(func() {
			if _, err := vthread.Recv(ch); err != vthread.ErrInterrupted {
				wrong("got %v, want %v", err, vthread.ErrInterrupted)
			}
		})
		t.Interrupt()
		t.Join()
	},
	"a call that blocks in an operation of Go's": func() {
		begin := time.Now()
		ch := make(chan int)
		t := vthread.Start(func() {
			vthread.Blocking(func() { <-ch })
			vthread.Yield()
			vthread.Blocking(func() { time.Sleep(time.Hour) })
		})
		vthread.Sleep(time.Minute)
		vthread.Blocking(func() { ch <- 1 })
		t.Join()
		took(begin, time.Hour+time.Minute)
	},
	"a call that uses threads": func() {
		var mu vsync.Mutex
		mu.Lock()
		t := vthread.Start(func() {
			vthread.Blocking(func() {
				mu.Lock()
				vthread.Sleep(time.Second)
				mu.Unlock()
			})
		})
		vthread.Sleep(time.Second)
		mu.Unlock()
		t.Join()
	},
	"a hundred threads": func() {
		n := 0
		var all []*vthread.Thread
		for range 100 {
			all = append(all, vthread.Start(func() { n++ }))
		}
		for _, t := range all {
			t.Join()
		}
		if n != 100 {
			wrong("got %d, want 100", n)
		}
	},
}

func TestThePrimitivesWorkInASimulation(t *testing.T) {
	for name, f := range primitives {
		t.Run(name, func(t *testing.T) {
			r := passes(t, vttest.Options{Schedules: 30}, f)
			if testing.Verbose() {
				t.Log(r.Report)
			}
		})
	}
}

func TestSimulationsMayBeParallel(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			passes(t, vttest.Options{Schedules: 50}, primitives["one holder of a lock at a time"])
			fails(t, vttest.Options{}, func() { transfer(false) }, "deadlock")
		})
	}
}

func TestASeedGivesTheSameStepsWhateverTheProcessorsAre(t *testing.T) {
	for name, f := range primitives {
		t.Run(name, func(t *testing.T) {
			var want string
			for _, procs := range []int{1, 4, 2} {
				func() {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					r := vttest.Explore(t, vttest.Options{Seed: "5ee5ee5ee0100055"}, 1, func(*testing.T) { f() })
					switch {
					case want == "":
						want = r.Script
					case r.Script != want:
						t.Errorf("GOMAXPROCS=%d: got\n%swant\n%s", procs, r.Script, want)
					}
				}()
			}
		})
	}
}
