// Package sched decides where and when threads execute.
//
// A [Task] is the part of a thread that a scheduler sees: something that can be mounted on a carrier, executes
// until it parks, yields or ends, and is submitted again when it can go on. A [Scheduler] is as
// small as an executor: it is handed tasks and runs each of them once on some goroutine.
//
//	type inline struct{ queue chan *sched.Task }
//
//	func (s inline) Execute(t *sched.Task) error { s.queue <- t; return nil }
//
//	for t := range queue { t.Run() } // a carrier
//
// [ForkJoin] is the default: work stealing, first in first out, with a hand-off slot for the pattern
// «A wakes B, then waits». [Pinned] keeps each thread on one carrier, and each carrier on an OS thread and a CPU. [Single] executes its threads one at
// a time, so that they share memory without locks. [FromExecutor], [FromChannel] and [EventLoop] make schedulers of what a program has already, and
// fixtures/priority and fixtures/deadline are written from nothing. Package schedtest tests what one has written.
//
// A thread is on the scheduler that its builder chooses, or else on that of the thread which makes it, or else on [Default]. [Task.UnparkOn] moves
// one that is parked. docs/decisions/0006 tells why.
//
// Threads themselves, with names, join and locals, are in package vthread; this package has the
// mechanism: the state machine of a task, mounting, the queues, timers and the watchdog.
//
// # Concurrency
//
// Everything exported is safe for concurrent use unless its comment names its caller. A task is
// executed by one carrier at a time, and the end of one run happens before the begin of the next.
//
// # Where to start reading
//
// task.go: the words of the state machine. park.go: how a thread waits. switch.go: what happens when a thread leaves its carrier. forkjoin.go: where tasks are put;
// worker.go: how a carrier finds them; idle.go: who sleeps and who is woken. watchdog.go: what happens when carriers are held.
// pinned.go, single.go, executor.go and eventloop.go: the other schedulers. simulated.go: one thread at a time, for tests.
package sched
