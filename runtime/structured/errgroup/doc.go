// Package errgroup has groups of threads with the interface of golang.org/x/sync/errgroup: code that uses that changes one import.
//
//	g, ctx := errgroup.WithContext(ctx)
//	for _, url := range urls {
//		g.Go(func() error { return fetch(ctx, url) })
//	}
//	err := g.Wait()
//
// Each function executes on a thread, and all are in a scope of the group's, so a dump shows them together. These are different:
//
//   - A panic of a function comes out of Wait, as a [*structured.Panic] with the thread's stack, and cancels the context. There it ends the program.
//   - A function that calls runtime.Goexit has failed, with [structured.ErrGoexit]. There nobody is told.
//   - Scopes that a function has opened and not closed are closed when it ends, which is an error then.
//   - A group has a name.
//   - SetLimit releases the callers of Go that the new limit allows. There they wait for good.
//   - A caller of Go that has a slot under the limit, but no carrier, keeps the slot. If pinned callers of
//     Go hold all carriers of its scheduler, they wait for ever.
//
// A failure ends the context of the group, and interrupts nobody. The threads' contexts ([vthread.Thread.Context]) are derived from that of the group, or
// else from that of the scope around. New code does better with a scope of package structured, which has an owner, and whose threads cannot outlive it.
//
// # Concurrency
//
// Everything may be called from anywhere, by threads and goroutines, functions of the group included, except that a limit is not replaced by another while
// a function executes that it has let in. A method that blocks parks a thread and blocks a goroutine.
//
// # Where to start reading
//
// [Group.Go], then call.Run, which is what threads execute.
package errgroup
