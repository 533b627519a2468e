// Package structured has scopes: threads that are forked in a scope end before the scope is closed.
//
//	err := structured.Run(ctx, "checkout", func(s *structured.Scope) error {
//		s.Fork(func() error { return reserve(s.Context()) })
//		s.Fork(func() error { return charge(s.Context()) })
//		return s.Join()
//	})
//
// Scopes form a tree: the parent of a scope is the innermost open scope of the thread that opens it, or else
// the scope that thread was forked in. vtdump and vtserve show that tree.
//
// # Concurrency
//
// A scope belongs to the thread or goroutine that opened it: only the owner may call Fork, Join and Close, and
// any other caller is told by a panic. Cancel and Context may be called from anywhere.
//
// # Where to start reading
//
// [Run], then [Scope.Fork]; Scope.ended is where threads leave.
package structured
