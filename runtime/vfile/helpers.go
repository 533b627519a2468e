package vfile

import (
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
)

// helpers are goroutines that make calls for threads, up to a bound. The rest waits in a queue, first come, first served.
type helpers struct {
	bound  int
	number int // as blockers know it; its record is opened with the first call

	mu struct {
		sync.Mutex
		begun   bool
		queue   queue
		running int // helpers there are
		idle    int // of those wait
		busy    int // calls that are made now
		closed  bool

		figures flight.PollerFigures
		record  *flight.PollerRecord
	}
	more *sync.Cond // with mu
	gone sync.WaitGroup
}

func newHelpers(bound int) *helpers {
	h := &helpers{bound: bound, number: number()}
	h.more = sync.NewCond(&h.mu)
	return h
}

// do makes a call for the thread me, which parks meanwhile. It returns false if the thread was interrupted before the call was begun: then it is not made. free
// gives it a goroutine of its own.
func (h *helpers) do(me *sched.Task, p sched.Pause, free bool, call func()) bool {
	return h.doOr(me, p, free, call, func() {})
}

// doOr is do, and calls stop when the thread is interrupted after the call was begun. It waits for the end of the call all the same.
func (h *helpers) doOr(me *sched.Task, p sched.Pause, free bool, call, stop func()) bool {
	o := ops.Get().(*op)
	defer o.free()
	o.call = call
	h.submit(o, free)
	taken := true
	o.await(me, p, free, func(o *op) {
		if taken = !h.cancel(o); taken {
			stop()
		}
	})
	return taken
}

func (h *helpers) submit(o *op, free bool) {
	h.mu.Lock()
	if !h.mu.begun {
		h.mu.begun = true
		h.mu.record = flight.Default().OpenPoller(flight.PollerHelpers, uint16(h.number))
	}
	if free {
		o.state = opTaken
		h.mu.busy++
		h.tellLocked()
		h.mu.Unlock()
		h.gone.Add(1)
		poll.Start(func() {
			defer h.gone.Done()
			h.execute(o)
		})
		return
	}
	h.mu.queue.push(o)
	h.tellLocked()
	start := false
	switch {
	case h.mu.idle > 0:
		h.mu.idle-- // for who is woken
		h.more.Signal()
	case h.mu.running < h.bound:
		h.mu.running++
		start = true
	}
	h.mu.Unlock()
	if start {
		h.gone.Add(1)
		poll.Start(h.serve)
	}
}

// cancel takes o out of the queue, marks it, and reports true, if no helper has begun it.
func (h *helpers) cancel(o *op) bool {
	h.mu.Lock()
	queued := o.state == opQueued
	if queued {
		h.mu.queue.remove(o)
		h.tellLocked()
	}
	h.mu.Unlock()
	if queued {
		o.done.Mark()
	}
	return queued
}

// serve is what a helper does.
func (h *helpers) serve() {
	defer h.gone.Done()
	h.mu.Lock()
	for {
		o := h.mu.queue.pop()
		switch {
		case o != nil:
			h.mu.busy++
			h.mu.Unlock()
			h.execute(o)
			h.mu.Lock()
		case h.mu.closed:
			h.mu.running--
			h.mu.Unlock()
			return
		default:
			h.mu.idle++
			h.more.Wait()
		}
	}
}

func (h *helpers) execute(o *op) {
	o.call()
	h.mu.Lock()
	h.mu.busy--
	f := &h.mu.figures
	f.Wakeups++
	f.Ready++
	f.Batches[0]++
	h.tellLocked()
	h.mu.Unlock()
	o.done.Mark() // O1
}

func (h *helpers) tellLocked() {
	if h.mu.record == nil {
		return
	}
	h.mu.figures.Watched = uint64(h.mu.queue.len + h.mu.busy)
	h.mu.record.Write(&h.mu.figures, flight.Now())
}

func (h *helpers) close() {
	h.mu.Lock()
	h.mu.closed = true
	h.mu.idle = 0
	h.more.Broadcast()
	h.mu.Unlock()
	h.gone.Wait()
	h.mu.Lock()
	flight.Default().ClosePoller(h.mu.record)
	h.mu.record = nil
	h.mu.Unlock()
}
