// Package delve reads the frames, arguments and local variables of a thread that waits, from the memory of a process
// that goes on or from a core file.
//
//	answer, err := delve.Look(ctx, question)
//
// Delve is given a process of which it sees one thread, whose registers are those that the goroutine has left when it
// was suspended, and memory that can only be read. Nothing is attached, stopped or written.
//
// It is a module of its own, the only one that imports Delve, so that vtscope's users and its other commands do not
// have Delve: merely importing it changes a limit of the process. Command vtdelve is the module as a program: package
// dump/locals starts it for variables, and vtdump dap for editors, which package adapter talks to.
// docs/debugging.md tells the difference.
//
// # Concurrency
//
// [Look] may be called from any goroutine.
//
// # Where to start reading
//
// [Look], then [frozen].
package delve
