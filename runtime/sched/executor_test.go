package sched_test

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestAnExecutorThatCallsAtOnceDoesNotGetDeeper(t *testing.T) {
	calls := 0
	s := sched.FromExecutor(func(run func()) {
		calls++ // no lock: one after the other, since there is one thread
		run()
	})
	const yields = 1000
	depth := 0
	th := vthread.Builder{Scheduler: s}.Start(func() {
		for range yields {
			vthread.Yield()
		}
		depth = runtime.Callers(0, make([]uintptr, 100))
	})
	returns(t, "the thread", th.Join)
	if calls != yields+1 {
		t.Errorf("%d calls, want %d", calls, yields+1)
	}
	if depth > 20 {
		t.Errorf("the thread is %d calls deep", depth)
	}
	// Nor do threads begin on threads.
	returns(t, "the parent", vthread.Builder{Scheduler: s}.Start(func() { vthread.Start(vthread.Yield).Join() }).Join)
}

func TestWhatAnExecutorCallsTwiceOrLateDoesNoHarm(t *testing.T) {
	pool := newWorkers(t, 2)
	var mu sync.Mutex
	var all []func()
	s := sched.FromExecutor(func(run func()) {
		mu.Lock()
		all = append(all, run)
		mu.Unlock()
		pool.call(run)
		pool.call(run)
	})
	n := 0
	th := vthread.Builder{Scheduler: s}.Start(func() {
		for range 100 {
			n++
			vthread.Yield()
		}
	})
	returns(t, "the thread", th.Join)
	mu.Lock()
	defer mu.Unlock()
	for _, run := range all {
		run()
	}
	if n != 100 {
		t.Errorf("counted to %d, want 100", n)
	}
}

func TestARefusalOfAnExecutorIsThatOfTheStart(t *testing.T) {
	errFull := errors.New("full")
	var full atomic.Bool
	pool := newWorkers(t, 1)
	s := sched.FromExecutorErr(func(run func()) error {
		if full.Load() {
			return errFull
		}
		pool.call(run)
		return nil
	})
	full.Store(true)
	th := vthread.Builder{Scheduler: s}.Unstarted(func() { vthread.Park() })
	if err := th.Start(); !errors.Is(err, errFull) {
		t.Errorf("start: %v, want full", err)
	}
	full.Store(false)
	if err := th.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the park", func() bool { return th.State() == flight.StateParked })
	full.Store(true)
	if err := th.Unpark(); !errors.Is(err, errFull) {
		t.Errorf("unpark: %v, want full", err)
	}
	full.Store(false)
	if err := th.Unpark(); err != nil {
		t.Error(err)
	}
	returns(t, "the thread", th.Join)
}

// A thread that an executor runs on another locked goroutine than before is parked, and can be unparked again.
func TestAThreadOnTheWrongOSThreadIsParkedAgain(t *testing.T) {
	if !coro.Binds || !coro.CanProbe() {
		t.Skip("threads are not bound to OS threads in this build")
	}
	var to [2]chan func()
	var use atomic.Int32
	var all sync.WaitGroup
	for i := range to {
		to[i] = make(chan func(), 100)
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for run := range to[i] {
				run()
			}
		})
	}
	s := sched.FromExecutor(func(run func()) { to[use.Load()] <- run })
	th := vthread.Builder{Scheduler: s}.Start(func() { vthread.Park() })
	await(t, "the park", func() bool { return th.State() == flight.StateParked })
	use.Store(1)
	for range 3 {
		if err := th.Unpark(); err != nil {
			t.Fatal(err)
		}
		await(t, "the next park", func() bool { return th.State() == flight.StateParked })
	}
	use.Store(0)
	if err := th.Unpark(); err != nil {
		t.Fatal(err)
	}
	returns(t, "the thread", th.Join)
	for _, ch := range to {
		close(ch)
	}
	all.Wait()
}

func TestAChannelKeepsTheOrder(t *testing.T) {
	for _, room := range []int{0, 3, 1000} {
		tasks := make(chan *sched.Task, room)
		s := sched.FromChannel(tasks)
		var began []int
		var threads []*vthread.Thread
		for i := range 100 {
			threads = append(threads, vthread.Builder{Scheduler: s}.Start(func() { began = append(began, i) }))
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for task := range tasks {
				if err := task.Run(); err != nil {
					t.Error(err)
				}
			}
		}()
		for _, th := range threads {
			returns(t, "a thread", th.Join)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-done
		if len(began) != 100 || !slices.IsSorted(began) {
			t.Errorf("room for %d: began in the order %v", room, began)
		}
	}
}

func TestCloseOfAChannelSendsWhatWaits(t *testing.T) {
	tasks := make(chan *sched.Task)
	s := sched.FromChannel(tasks)
	b := vthread.Builder{Scheduler: s}
	onIt := make(chan error, 1)
	parked := b.Start(func() { onIt <- s.Close(); vthread.Park() })
	(<-tasks).Run()
	if err := <-onIt; !errors.Is(err, sched.ErrOnThread) {
		t.Errorf("close on a thread: %v, want ErrOnThread", err)
	}
	yielding := b.Start(vthread.Yield)
	waiting := b.Start(func() {})
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	await(t, "the close", func() bool { _, err := b.TryStart(func() {}); return errors.Is(err, sched.ErrClosed) })
	for task := range tasks {
		if err := task.Run(); err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	returns(t, "who waited", waiting.Join)
	for _, th := range []*vthread.Thread{parked, yielding} {
		if got := th.State(); got != flight.StateParked {
			t.Errorf("%v, want it parked", th)
		}
		if err := th.Unpark(); !errors.Is(err, sched.ErrClosed) {
			t.Errorf("unpark: %v, want ErrClosed", err)
		}
		if err := th.UnparkOn(sched.Default()); err != nil { // there it can end
			t.Error(err)
		}
		returns(t, "a thread", th.Join)
	}
	runtime.GC() // then the file forgets the threads that were refused
}

func TestALoopKeepsItsBudget(t *testing.T) {
	woken := 0
	loop := sched.NewEventLoop(func() { woken++ })
	b := vthread.Builder{Scheduler: loop}
	var order []int
	for i := range 3 {
		b.Start(func() {
			for range 5 {
				order = append(order, i)
				vthread.Yield()
			}
		})
	}
	if woken != 1 || loop.Ready() != 3 {
		t.Errorf("woken %d times for %d threads, want once for 3", woken, loop.Ready())
	}
	if ran, err := loop.RunReady(0); ran != 3 || err != nil { // each once
		t.Errorf("ran %d, %v, want 3", ran, err)
	}
	if want := []int{0, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if ran, err := loop.RunReady(1); ran != 1 || err != nil { // one exceeds a nanosecond
		t.Errorf("ran %d, %v, want 1", ran, err)
	}
	if ran, err := loop.RunReady(time.Hour); ran != 14 || err != nil { // four or five rounds, and an end each
		t.Errorf("ran %d, %v, want 14", ran, err)
	}
	if len(order) != 15 || loop.Ready() != 0 {
		t.Errorf("%d steps, %d ready, want 15 and none", len(order), loop.Ready())
	}
}

func TestALoopRunsWhatItHasAfterTheClose(t *testing.T) {
	loop := sched.NewEventLoop(nil)
	b := vthread.Builder{Scheduler: loop}
	ready, yields := b.Start(func() {}), b.Start(vthread.Yield)
	if err := loop.Close(); err != nil {
		t.Error(err)
	}
	if th, err := b.TryStart(func() {}); !errors.Is(err, sched.ErrClosed) || th.State() != flight.StateNew {
		t.Errorf("start after the close: %v, want ErrClosed", err)
	}
	if ran, err := loop.RunReady(time.Hour); ran != 2 || err != nil {
		t.Errorf("ran %d, %v, want 2", ran, err)
	}
	returns(t, "who was ready", ready.Join)
	if got := yields.State(); got != flight.StateParked {
		t.Errorf("it yielded, and is %v, want parked", got)
	}
	if err := yields.UnparkOn(sched.Default()); err != nil {
		t.Error(err)
	}
	returns(t, "who yielded", yields.Join)
	runtime.GC() // then the file forgets the thread that was refused
}

func TestALoopRunsOnItsOwnGoroutineOnly(t *testing.T) {
	loop := sched.NewEventLoop(nil)
	b := vthread.Builder{Scheduler: loop}
	vthread.Start(func() {
		if ran, err := loop.RunReady(0); ran != 0 || !errors.Is(err, sched.ErrOnThread) {
			t.Errorf("on a thread: %d, %v, want ErrOnThread", ran, err)
		}
	}).Join()
	if !coro.Binds || !coro.CanProbe() {
		return // an OS thread is as good as another in this build
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	locked := b.Start(vthread.Yield)
	if ran, err := loop.RunReady(0); ran != 1 || err != nil {
		t.Errorf("locked: %d, %v, want 1", ran, err)
	}
	other := b.Start(func() {})
	returns(t, "RunReady", func() { // on another goroutine
		if ran, err := loop.RunReady(time.Hour); ran != 1 || !errors.Is(err, sched.ErrLockedCarrier) {
			t.Errorf("not locked: %d, %v, want 1 and ErrLockedCarrier", ran, err)
		}
	})
	returns(t, "who can run anywhere", other.Join)
	if ran, err := loop.RunReady(time.Hour); ran != 1 || err != nil {
		t.Errorf("locked again: %d, %v, want 1", ran, err)
	}
	returns(t, "who had begun there", locked.Join)
}
