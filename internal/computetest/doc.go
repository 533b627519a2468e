// Package computetest has the body of a thread that computes, for tests.
//
//	th := vthread.Start(func() { computetest.Until(&stop) })
//
// An empty loop would do, except where Go preempts only at calls (GODEBUG=asyncpreemptoff=1): there it
// stops the whole test process at the next garbage collection, or at once on one processor.
//
// # Concurrency
//
// Any number of goroutines may call Until.
//
// # Where to start reading
//
// [Until].
package computetest
