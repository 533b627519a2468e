// Package vthread has threads that are cheap and can be seen.
//
// A [Thread] executes a function concurrently with its maker, as a goroutine does. It differs in that it has an identity:
// an id, a name, a state, a scope; it can be parked, unparked and joined; and it stands in the
// process's flight file, so that vtdump and vtserve show it with its stack, from outside, without a pause.
//
//	t := vthread.Start(func() { vthread.Sleep(time.Second) })
//	t.Join()
//
// Unmodified code runs on threads. What blocks through this package, vsync or structured gives its carrier to other
// threads; what blocks in Go's own ways (a channel, a sync.Mutex, a system call) holds its carrier meanwhile: it is pinned,
// the scheduler adds carriers, and the page shows it.
//
// # Concurrency
//
// Methods of a Thread may be called from anywhere. Functions without a thread (Park, Sleep, Yield …) act on the calling
// thread; their comments tell what they do on a plain goroutine.
//
// # Where to start reading
//
// [Thread], [Builder.Unstarted], then body.End in thread.go. The mechanism is in package sched.
package vthread
