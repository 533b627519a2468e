// Package structured has scopes: threads that are forked in a scope end before the scope is closed.
//
//	err := structured.Run(ctx, "checkout", func(s *structured.Scope) error {
//		s.Fork(func() error { return reserve(s.Context()) })
//		s.Fork(func() error { return charge(s.Context()) })
//		return s.Join()
//	})
//
// The first that fails cancels the others: their contexts end, and they are interrupted. [Options] have other policies, a deadline, a limit, a scheduler.
// [Fork], a function, forks what has a result:
//
//	price := structured.Fork(s, func() (int, error) { return ask(shop) })
//
// Scopes form a tree: the parent of a scope is the innermost open scope of the thread or goroutine that opens it, or else
// the scope that the thread was forked in, or for a goroutine that of the context. vtdump and vtserve show that tree.
//
// A [ScopedValue] is bound for the time of a call, and seen by what is called and by what that forks. It is in this package because a binding is nested among
// the scopes of its thread: whichever is closed takes along what was opened later.
//
// # Concurrency
//
// A scope belongs to the thread or goroutine that opened it: only the owner may call Fork, Join and Close, and
// any other caller is told by a panic. Its other methods may be called from anywhere.
//
// # Where to start reading
//
// [Options.Run], then [Scope.Join]; task.run is what forked threads execute, and nest.go has what a thread has opened. What a scope is made of is package
// flock, in internal.
package structured
