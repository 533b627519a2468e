// Package vthread has threads that are cheap and can be seen.
//
// A [Thread] executes a function concurrently with its maker, as a goroutine does. It differs in that it has an identity:
// an id, a name, a state, a scope; it can be parked, unparked, interrupted and joined; and it stands in the
// process's flight file, so that vtdump and vtserve show it with its stack, from outside, without a pause.
//
//	t := vthread.Start(func() { vthread.Sleep(time.Second) })
//	t.Join()
//
// # Kinds
//
// A thread is virtual unless its [Builder] says otherwise: it is mounted on carriers in turn with others, and a million of them are
// nothing special. [OnGoroutine] gives it a goroutine of its own, [OnOSThread] one that is locked to an OS thread. All kinds have the same
// methods and stand in the same dump, so code moves between them by one word:
//
//	vthread.Builder{Name: "gpu", Kind: vthread.OnOSThread}.Start(render)
//
// A goroutine that is there already becomes a thread for the time of a call, of kind [Adopted], by [Run]:
//
//	vthread.Run("refresh prices", refresh)
//
// # Blocking
//
// Unmodified code runs on threads. What blocks through this package, vsync or structured gives its carrier to other
// threads; what blocks in Go's own ways (a channel, a sync.Mutex, a system call) holds its carrier meanwhile: it is pinned,
// the scheduler adds carriers, and the page shows it. [Recv], [Send] and [Select] wait for Go's channels, [Blocking] for any call,
// and [Await] for a callback, without holding the carrier for long.
//
// # Interrupts
//
// [Thread.Interrupt] asks a thread to stop what it is doing. It sets a status that makes every wait of the thread end: sleeps, joins and
// the like clear the status and return [ErrInterrupted]; [Park] returns, and leaves it set. It ends [Thread.Context] too, so it
// reaches what takes a context.
//
// # Results
//
// An [Executor] starts a thread for each task, and gives a [Future] for its result. A panic that nobody handles (the builder, a scope, a
// future) ends the program with the thread's own stack.
//
// # What belongs to a thread
//
// A [Local] is a variable of which each thread has its own; a [CarrierLocal] one of which each carrier has its own, for counters and caches
// that would otherwise be fought for.
//
// # Concurrency
//
// Methods of a Thread may be called from anywhere. Functions without a thread (Park, Sleep, Yield …) act on the calling
// thread; their comments tell what they do on a plain goroutine.
//
// # Where to start reading
//
// [Thread], [Builder.Unstarted], then body.End in body.go. The mechanism is in package sched.
package vthread
