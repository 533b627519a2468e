// Package delve reads the frames, arguments and local variables of a thread that waits, from the memory of a process that goes on or from a core
// file. It is the only package that imports Delve, and a module of its own, so that vtscope's users and its other commands do not have Delve:
// merely importing it changes a limit of the process. Command vtdelve is this package as a program; package dump/locals starts it.
//
//	answer, err := delve.Look(ctx, question)
//
// Delve is given a process of which it sees one thread, whose registers are those that the goroutine has left when it was suspended, and
// memory that can only be read. Nothing is attached, stopped or written. docs/debugging.md tells the difference to a debugger.
//
// # Concurrency
//
// [Look] may be called from any goroutine.
//
// # Where to start reading
//
// [Look], then [frozen].
package delve
