// Package continuation has one-shot, stackful, delimited continuations: sequential code that can suspend itself, from any
// depth of calls, and be resumed by its caller. Threads, generators and the like are built from them; most
// programs want package vthread instead, and [Generate].
//
//	prompt := continuation.NewPrompt("greeting")
//	c := continuation.New(prompt, func() {
//		fmt.Println("one")
//		continuation.Suspend(prompt, nil)
//		fmt.Println("two")
//	})
//	c.Run() // prints one, returns false
//	c.Run() // prints two, returns true
//
// A prompt names a kind of continuation: [Suspend] suspends the innermost enclosing continuation of its prompt, and all that
// are nested in that. A continuation that runs on a virtual thread may park the thread.
//
// A generator is a sequence whose values are yielded by code, from any depth of calls:
//
//	primes := continuation.Generate(func(yield func(int)) {
//		for n := 2; ; n++ {
//			if big.NewInt(int64(n)).ProbablyPrime(0) {
//				yield(n)
//			}
//		}
//	})
//	for p := range primes { … }
//
// [Coroutine] passes values both ways. [Reset] marks a place in the stack, and [Invoke] unwinds to it and calls a function there, so that functions
// can call each other forever:
//
//	func even(n int) bool {
//		if n == 0 {
//			return true
//		}
//		return continuation.Invoke(prompt, odd, n-1)
//	}
//	continuation.Reset(prompt, func() bool { return even(10_000_000) })
//
// A continuation that is suspended shows its [Continuation.Stack]; [Continuation.Close] ends it. Between [Pin] and [Unpin] it
// cannot be suspended.
//
// The behaviour is that of the classes of "Project Loom: Fibers and Continuations", sections Continuations and Unwind-and-Invoke, adapted to
// Go: errors.go lists what can go wrong.
//
// # Concurrency
//
// A continuation is not safe for concurrent use, and creates no happens-before edges but between those who run
// it and its body. It may be run by different goroutines, one after the other. Of two who run it at once one panics with
// [ErrRunning]; nothing breaks. All else that is wrong panics, or is an error, too, and nothing hangs.
//
// A body executes on a goroutine of its own, nested in that of who runs it: [Suspend] and [Invoke] find what encloses them by
// the goroutine, so they cannot be called on goroutines that the body starts, nor in an iter.Pull of the body. (The other way
// round, a generator in an iter.Pull, works; it is not on the thread that pulls.)
//
// # Where to start reading
//
// [Continuation.Run] and [Suspend]; then end.go for how bodies end, which closing and unwinding are built on.
package continuation
