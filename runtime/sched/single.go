package sched

import "runtime"

// A Single executes its threads one at a time, on one carrier, in a total order: what a thread does until it parks, yields or ends happens before what
// the next one does. So its threads share memory without locks, as long as no thread of another scheduler, and no goroutine, uses it.
//
// Threads go on in the order in which they become ready, but one that a thread starts or wakes goes before those that wait, if it is the first. A
// thread that blocks in Go's own ways, or parks while pinned, stops all others until it goes on: no carrier is added. If it waits for one of them, that is
// forever. What a thread calls by vthread.Blocking is executed elsewhere, beside the others, and has no part in the order.
//
// It is a type of its own, and not a [ForkJoin] with one carrier, because that may have more at times, and this one never may.
type Single struct{ fj *ForkJoin }

// NewSingle returns a scheduler whose carrier starts when it is needed. The caller closes it. One that nobody refers to any more, neither a thread that
// has not ended nor anybody else, closes itself when the garbage collector finds out.
func NewSingle() *Single {
	s := &Single{newForkJoin(ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})}
	newBoard("single", s.fj)
	s.fj.begin()
	runtime.AddCleanup(s, func(fj *ForkJoin) { go fj.Close() }, s.fj)
	return s
}

// Execute submits a task. It never runs it on the caller's stack.
func (s *Single) Execute(t *Task) error { return s.fj.Execute(t) }

// Close is [ForkJoin.Close].
func (s *Single) Close() error { return s.fj.Close() }
