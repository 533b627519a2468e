// Package adapter stands between an editor and Delve, and shows the editor threads that matter instead of a
// list of a million goroutines. Both sides speak the Debug Adapter Protocol: what vtscope does not add to is
// passed on unchanged.
//
//	err := adapter.Serve(ctx, editor, delve, adapter.Options{})
//
// While the process is stopped, its goroutines and the threads of vtscope are read in its memory, as
// package dump/memory does it. The list of threads then has the one that stopped, those that had an event
// before, those that the user pinned, and a row for each group of the others. docs/debugging.md shows it.
//
// # Concurrency
//
// [Serve] blocks until both sides have ended, and starts goroutines that end before it returns.
//
// # Where to start reading
//
// [Adapter.fromEditor] and [Adapter.fromDelve], then [look].
package adapter
