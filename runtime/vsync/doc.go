// Package vsync has synchronizers that give the carrier away: a thread that has to wait parks, a plain goroutine
// blocks, and both may use the same object at once.
//
//	var mu vsync.Mutex
//	mu.Lock()
//	defer mu.Unlock()
//
// There are locks ([Mutex], [RWMutex], [ReentrantMutex], which belongs to who holds it), conditions ([Cond]), permits ([Semaphore]), places where many wait for
// each other ([Latch], [Barrier]), ways to pass values ([Queue], [Exchanger]) and what is done [Once]. A value that comes later is a Future of package vthread.
//
// # Waits
//
// What may wait has four forms. Of Lock these are
//
//	Lock()                     waits for as long as it takes, whether the thread is interrupted or not
//	LockInterruptibly() error  ends with [ErrInterrupted] when the thread is interrupted, or was before; the interrupt status is cleared
//	LockFor(d) error           so, too, and with [ErrTimeout] after d; it tries at least once
//	LockContext(ctx) error     so, too, and with the context's cause when that ends, or had ended before
//
// An abandoned wait has no effect, except that it breaks a [Barrier]. Interrupts do not reach goroutines.
//
// A thread whose scheduler closes or refuses it while it waits gets nothing; the next waiter does. If
// pinned threads hold all carriers of a thread that was handed something, the hand-over is revoked after
// 5 to 10 ms in favour of a waiter that can resume, and the thread waits again.
//
// A context that ends while its caller waits wins over what arrives at the same moment, as in
// golang.org/x/sync/semaphore: LockContext, AcquireContext, TakeContext and the WaitContext of a latch
// give back what they got, and return the cause. What other parties have observed stays: a put element,
// an exchange, a round of a barrier, the choice of Signal.
//
// Waits nest: code that runs while its thread is queued may wait itself, such as the Unlock of a [Cond]'s
// lock or the methods of a context.
//
// # Misuse
//
// Unlocking what is not locked, releasing permits that nobody has, a negative count: these panic, where package sync panics or ends the program. A
// lock is not poisoned by a panic of its holder, who unlocks it by a deferred call, as everywhere in Go.
//
// # Dumps
//
// While somebody waits for a synchronizer, the flight file says so: what it is, its name (SetName), where it was made, who holds it, how many permits or elements there
// are, and how many wait. Where nobody waits it costs nothing, but that a lock knows its holder.
//
// # Concurrency
//
// Everything is safe for concurrent use, but SetName, which comes first. Nothing may be copied after its first use.
//
// # Where to start reading
//
// waiters.go: who waits, and how they are woken. Then [Mutex], and [Queue] for the simple case. account.go has what dumps show, simulated.go the points of
// simulations.
package vsync
