// Package spin has a lock for a few instructions.
//
//	var l spin.Mutex
//	l.Lock()
//	n++
//	l.Unlock()
//
// Threads take such locks on stacks of 2 KB, which a sync.Mutex that has to wait would make grow for good.
//
// # Concurrency
//
// A Mutex is safe for concurrent use, and must not be copied after its first use.
//
// # Where to start reading
//
// [Mutex].
package spin
