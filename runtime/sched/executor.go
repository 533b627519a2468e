package sched

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// FromExecutor makes a scheduler of whatever calls functions later, on goroutines of its own: a pool of workers, an errgroup, the main
// loop of a user interface. execute must not block; each call is one run of a thread, until that parks, yields or ends.
//
//   - Order is the executor's. One that calls a function twice, or late, does no harm; of a function that it drops, the thread waits forever, and dumps
//     show it as runnable.
//   - It cannot refuse: see [FromExecutorErr].
//   - It may call the function at once, on its caller's stack, or on a thread: then a goroutine is made for that run.
//   - Its goroutines may be locked to OS threads if there is only one such: threads that have begun on it are bound to it. A thread that is run on another is
//     parked again, as rejected; a later unpark tries again.
//   - It must go on until all threads have ended, or are parked and never unparked. There is nothing else to close.
//
// fixtures/executors does it for libraries. One that blocks who submits while it is full does not fit: let its workers receive from a [Channel].
func FromExecutor(execute func(run func())) Scheduler {
	return FromExecutorErr(func(run func()) error {
		execute(run)
		return nil
	})
}

// FromExecutorErr is [FromExecutor] for an executor that can refuse. Its error, which may be for the moment (no worker is free) or for good (it is
// closed), is what the start or the unpark of the thread returns; both may be tried again. Nobody hears of it where a thread yields, or a timer or
// the release of a lock wakes it: then the thread stays parked, for the reason rejected if it had yielded, until somebody else unparks it. So an executor whose threads do that should only
// refuse when it is closed.
func FromExecutorErr(execute func(run func()) error) Scheduler { return &executor{execute} }

type executor struct{ execute func(func()) error }

func (e *executor) Execute(t *Task) error {
	caller := coro.Goroutine()
	var returned atomic.Bool // Execute has: else who calls the function on the same goroutine does so on our stack, where a thread that yields would get ever deeper
	defer returned.Store(true)
	return e.execute(func() {
		if coro.Goroutine() == caller && !returned.Load() {
			go runSomewhere(t)
			return
		}
		runSomewhere(t)
	})
}

// runSomewhere runs a task that has no way back to its scheduler.
func runSomewhere(t *Task) {
	switch t.Run() {
	case ErrOnThread:
		go runSomewhere(t)
	case ErrLockedCarrier:
		t.strand()
	}
}

// strand parks a task that was accepted and cannot be run: there is nobody to tell. A later unpark submits it again.
func (t *Task) strand() {
	if t.marks.And(^ticket)&ticket == 0 {
		return
	}
	t.recordRefusal(nil)
	for !t.refused(t.word.Load()&^lowMask|pauseOf(flight.StateParked), flight.ReasonRejected) {
		if t.submit(nil) == nil {
			return
		}
	}
}

// A Channel hands its tasks to whoever receives them from a channel, and calls [Task.Run], on any goroutine.
//
//	tasks := make(chan *sched.Task)
//	s := sched.FromChannel(tasks)
//	go func() { for t := range tasks { t.Run() } }()
//
// Tasks are sent in the order in which they become ready. None is refused before the end: those that find no room in the channel wait in a queue, which a goroutine
// sends from as long as there are any. A receiver to whom Run returns [ErrLockedCarrier] still has the task: the thread, which was moved here, can go on only
// on the OS thread that it has begun on.
type Channel struct {
	to chan<- *Task
	mu struct {
		sync.Mutex
		waiting taskQueue
		sending chan struct{} // nil, or closed when the goroutine that sends has ended
		closed  bool
	}
}

// FromChannel returns a scheduler that sends its tasks to the channel. Nobody else may close that.
func FromChannel(tasks chan<- *Task) *Channel { return &Channel{to: tasks} }

// Execute submits a task. It returns [ErrClosed] after [Channel.Close].
func (c *Channel) Execute(t *Task) error {
	m := &c.mu
	m.Lock()
	defer m.Unlock()
	switch {
	case m.closed:
		return ErrClosed
	case m.sending != nil:
		m.waiting.put(t)
		return nil
	}
	select {
	case c.to <- t:
	default:
		m.waiting.put(t)
		m.sending = make(chan struct{})
		go c.send(m.sending)
	}
	return nil
}

// send is the goroutine that sends what waits.
func (c *Channel) send(ended chan struct{}) {
	defer close(ended)
	m := &c.mu
	for {
		m.Lock()
		t := m.waiting.take()
		if t == nil {
			m.sending = nil
		}
		m.Unlock()
		if t == nil {
			return
		}
		c.to <- t
	}
}

// Close waits until all tasks are received that were submitted, and closes the channel. From now on tasks are refused: threads that yield then are parked, as
// rejected. It must not be called on a thread.
func (c *Channel) Close() error {
	if coro.Self() != nil {
		return fmt.Errorf("sched: close: %w", ErrOnThread)
	}
	m := &c.mu
	m.Lock()
	was, sending := m.closed, m.sending
	m.closed = true
	m.Unlock()
	if sending != nil {
		<-sending
	}
	if !was {
		close(c.to)
	}
	return nil
}

// A taskQueue is first in, first out. Unlike [runQueue] it needs nothing of the tasks: one may be in it more than once.
type taskQueue struct {
	tasks []*Task
	taken int // of the first tasks
}

func (q *taskQueue) len() int { return len(q.tasks) - q.taken }

func (q *taskQueue) put(t *Task) {
	if q.taken > len(q.tasks)/2 {
		n := copy(q.tasks, q.tasks[q.taken:])
		clear(q.tasks[n:])
		q.tasks, q.taken = q.tasks[:n], 0
	}
	q.tasks = append(q.tasks, t)
}

// take returns nil if there is none.
func (q *taskQueue) take() *Task {
	if q.len() == 0 {
		return nil
	}
	t := q.tasks[q.taken]
	q.tasks[q.taken] = nil
	q.taken++
	return t
}
