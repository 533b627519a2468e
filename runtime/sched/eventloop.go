package sched

import (
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// An EventLoop executes its threads where somebody else's loop calls it: between the frames of a game, or the events of a user interface.
//
//	for frame := range frames {
//		draw(frame)
//		loop.RunReady(2 * time.Millisecond)
//	}
//
// Threads go on in the order in which they become ready, one at a time, on the loop's goroutine, also if that is locked to an OS thread: then they may
// call what only that OS thread may. As for a [Single], they share memory with each other, and with the loop, without locks; and one that blocks in Go's own ways stops the loop.
type EventLoop struct {
	wake func()
	mu   struct {
		sync.Mutex
		ready  taskQueue
		closed bool
	}
}

// NewEventLoop returns a scheduler whose threads wait for [EventLoop.RunReady]. wake, if it is not nil, is called when there is a ready thread after there
// was none, so that a loop which sleeps can see to it. It is called on any goroutine or thread, must not block, and must not call RunReady.
func NewEventLoop(wake func()) *EventLoop { return &EventLoop{wake: wake} }

// Execute submits a task. It returns [ErrClosed] after [EventLoop.Close].
func (l *EventLoop) Execute(t *Task) error {
	m := &l.mu
	m.Lock()
	if m.closed {
		m.Unlock()
		return ErrClosed
	}
	m.ready.put(t)
	first := m.ready.len() == 1
	m.Unlock()
	if first && l.wake != nil {
		l.wake()
	}
	return nil
}

// RunReady runs threads that are ready until there are none, or the budget is used up; with a budget of 0 or less, each that is ready now once. A
// thread that does not park, yield or end exceeds the budget. It returns how often it has run one. It must be called by one goroutine at a time, always locked to the same OS
// thread or always to none, else it returns [ErrLockedCarrier], and threads that have begun on another stay ready; and not on a thread: [ErrOnThread].
func (l *EventLoop) RunReady(budget time.Duration) (ran int, err error) {
	if coro.Self() != nil {
		return 0, ErrOnThread
	}
	begin := time.Now()
	var strangers []*Task
	for turn, turns := 0, l.Ready(); budget > 0 || turn < turns; turn++ {
		t := l.take()
		if t == nil {
			break
		}
		if err = t.Run(); err != nil {
			strangers = append(strangers, t)
			continue
		}
		ran++
		if budget > 0 && time.Since(begin) >= budget {
			break
		}
	}
	if len(strangers) == 0 {
		return ran, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range strangers {
		l.mu.ready.put(t)
	}
	return ran, ErrLockedCarrier
}

func (l *EventLoop) take() *Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.ready.take()
}

// Ready returns how many threads are ready.
func (l *EventLoop) Ready() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.ready.len()
}

// Close makes the loop refuse threads from now on: starting and unparking them returns [ErrClosed]. Those that are ready still run when RunReady is
// called; when they yield they are parked, as rejected. Those that are parked stay parked forever.
func (l *EventLoop) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closed = true
	return nil
}
