// Package continuation has one-shot, stackful, delimited continuations: sequential code that can suspend itself, from any
// depth of calls, and be resumed by its caller. Threads, generators and the like are built from them; most
// programs want package vthread instead.
//
//	prompt := continuation.NewPrompt("gen")
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
// The behaviour is that of the classes of "Project Loom: Fibers and Continuations", section Continuations, adapted to Go.
//
// # Concurrency
//
// A continuation is not safe for concurrent use, and creates no happens-before edges but between those who run
// it and its body. It may be run by different goroutines, one after the other.
//
// # Where to start reading
//
// [Continuation.Run] and [Suspend].
package continuation
