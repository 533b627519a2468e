package sched_test

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Threads of a Single count words in a plain map: there is never more than one of them under way.
func ExampleSingle() {
	s := sched.NewSingle()
	defer s.Close()
	b := vthread.Builder{Scheduler: s}
	count := map[string]int{}
	var threads []*vthread.Thread
	for range 3 {
		threads = append(threads, b.Start(func() {
			for _, word := range []string{"one", "fish", "two", "fish"} {
				count[word]++
				vthread.Yield()
			}
		}))
	}
	for _, t := range threads {
		t.Join()
	}
	fmt.Println(count)
	// Output: map[fish:6 one:3 two:3]
}

// Each carrier of a Pinned has what its threads share: only they use it, one at a time.
func ExamplePinned() {
	p, err := sched.NewPinned(sched.PinnedOptions{Carriers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	var sums [2]int
	var threads []*vthread.Thread
	for n := range 10 {
		t := vthread.Builder{Scheduler: p}.Unstarted(func() {
			for range 10 {
				sums[n%2] += n
				vthread.Yield()
			}
		})
		t.Task().Prefer(p.Carriers()[n%2])
		if err := t.Start(); err != nil {
			fmt.Println(err)
			return
		}
		threads = append(threads, t)
	}
	for _, t := range threads {
		t.Join()
	}
	fmt.Println(sums)
	// Output: [200 250]
}

// A main loop has things to do in between: the threads go on after each frame.
func ExampleEventLoop() {
	loop := sched.NewEventLoop(nil)
	frame := 0
	b := vthread.Builder{Scheduler: loop}
	for _, name := range []string{"tree", "cloud"} {
		b.Start(func() {
			for range 2 {
				fmt.Println(name, "moves after frame", frame) // the loop's own variable: no lock
				vthread.Yield()
			}
		})
	}
	for ; loop.Ready() > 0; frame++ {
		fmt.Println("frame", frame)
		if _, err := loop.RunReady(0); err != nil {
			fmt.Println(err)
			return
		}
	}
	loop.Close()
	// Output:
	// frame 0
	// tree moves after frame 0
	// cloud moves after frame 0
	// frame 1
	// tree moves after frame 1
	// cloud moves after frame 1
	// frame 2
}

// A channel of tasks: whoever receives them is a carrier.
func ExampleFromChannel() {
	tasks := make(chan *sched.Task)
	s := sched.FromChannel(tasks)
	var carriers sync.WaitGroup
	for range 2 {
		carriers.Go(func() {
			for task := range tasks {
				task.Run()
			}
		})
	}
	vthread.Builder{Scheduler: s}.Start(func() {
		vthread.Sleep(time.Millisecond)
		fmt.Println("slept")
	}).Join()
	s.Close() // which closes the channel
	carriers.Wait()
	// Output: slept
}

// group has what golang.org/x/sync/errgroup.Group has of it.
type group struct{ all sync.WaitGroup }

func (g *group) Go(f func() error) { g.all.Go(func() { f() }) }
func (g *group) Wait() error       { g.all.Wait(); return nil }

// An errgroup calls functions on goroutines: here each run of a thread. It is waited for when the threads have ended. A limit of its goroutines would
// make Go block, which a scheduler must not: fixtures/executors shows what to do then.
func ExampleFromExecutor() {
	var g group // an errgroup.Group
	s := sched.FromExecutor(func(run func()) {
		g.Go(func() error { run(); return nil })
	})
	t := vthread.Builder{Scheduler: s}.Start(func() {
		vthread.Yield()
		fmt.Println("two runs, and an end")
	})
	t.Join()
	if err := g.Wait(); err != nil {
		fmt.Println(err)
	}
	// Output: two runs, and an end
}

// workerPool has what pools of workers have: of github.com/panjf2000/ants, Submit of a Pool that does not block.
type workerPool struct{ todo chan func() }

var errOverload = errors.New("too many tasks")

func (p *workerPool) Submit(task func()) error {
	select {
	case p.todo <- task:
		return nil
	default:
		return errOverload
	}
}

// A pool of workers that refuses tasks when it is full: the start of the thread fails, and may be tried again.
func ExampleFromExecutorErr() {
	pool := &workerPool{todo: make(chan func(), 1)}
	b := vthread.Builder{Scheduler: sched.FromExecutorErr(pool.Submit)}
	first := b.Unstarted(func() { fmt.Println("first") })
	second := b.Unstarted(func() { fmt.Println("second") })
	if err := first.Start(); err != nil {
		fmt.Println(err)
	}
	if err := second.Start(); errors.Is(err, errOverload) {
		fmt.Println("refused")
	}
	go func() { // a worker, at last
		for task := range pool.todo {
			task()
		}
	}()
	first.Join()
	for second.Start() != nil {
		time.Sleep(time.Millisecond)
	}
	second.Join()
	close(pool.todo)
	// Output:
	// refused
	// first
	// second
}
