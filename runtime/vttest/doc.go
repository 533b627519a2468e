// Package vttest has helpers for tests of programs that use threads.
//
// [Run] executes a test many times, each time with another order of its threads, in virtual time:
//
//	func TestTransfer(t *testing.T) {
//		vttest.Run(t, func(t *testing.T) {
//			var bank Bank
//			a := vthread.Start(func() { bank.Transfer("ann", "bob", 5) })
//			b := vthread.Start(func() { bank.Transfer("bob", "ann", 5) })
//			a.Join()
//			b.Join()
//			if got := bank.Sum(); got != 100 {
//				t.Errorf("got %d in all, want 100", got)
//			}
//		})
//	}
//
// When an execution fails, or its threads wait for each other forever, Run prints the seed of that execution and what each thread did, step by
// step. The same test executed with that seed does the same again:
//
//	go test -run '^TestTransfer$' -vt.seed=2c9d7c1a00b00011
//
// [NoPin] fails a test in which a thread held its carrier while it blocked, and [NoLeak] one that leaves threads behind.
//
// # What a simulation covers
//
// One thread executes at a time. Others come in between where it parks, yields, sleeps, starts, unparks or interrupts a thread, asks whether it was
// interrupted, and before and after each operation of the synchronizers of package vsync; a program may have more such points by
// [sched.Point]. So a preemption between two accesses of plain or atomic variables, with nothing of these in between, is not tried, and the race
// detector, which sees one thread after the other, finds no races between threads: tests for these also run without a simulation.
//
// Time passes only when all threads wait, and at once. It starts at midnight UTC 2000-01-01, as that of package testing/synctest, in a bubble of which every
// execution takes place: so time.Now, contexts with deadlines, and timers are virtual, too.
//
// A thread that blocks in an operation of Go's (a channel, a sync.Mutex, time.Sleep, a system call) holds the only carrier. If it cannot go on unless another thread does,
// or time passes, the execution fails, and tells which thread blocks where. So a thread must not hold a sync.Mutex at a point where others come in between and want
// it. What Recv, Send, Select and Blocking of package vthread wait for is covered. A thread that never comes to a point again, in an endless loop, cannot be
// stopped; the test fails after a while all the same.
//
// Carriers are unlimited unless [Options.Carriers] limits them. Then a thread that parks while pinned keeps
// its carrier, and so does a thread that loses the turn at a point. So a simulation finds deadlocks in
// which pinned threads hold all carriers.
//
// After a failure the threads that are left end where they are, by runtime.Goexit, and execute what they have deferred. One that blocks in an operation of Go's for
// good stays until the process ends.
//
// Plain goroutines that the test starts, and threads that those start, are not simulated: before each choice they go on until they all
// wait. They do not make executions different, as long as it does not matter which of them is first.
//
// An execution can only be repeated if nothing else decides: no real time, random number, order of a map, select statement, or file. Run executes
// the first one twice, and tells if they were different. Random numbers that are the same each time are those of [Random].
//
// # Concurrency
//
// All functions are called on the goroutine of the test. Tests that use [Run] may be parallel.
//
// # Where to start reading
//
// run.go: [Run]. explore.go: which executions there are; strategy.go: how each chooses. bubble.go: one execution, and who watches it. Package sched has the
// scheduler, in simulated.go.
package vttest
