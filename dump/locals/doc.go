// Package locals tells the frames of one thread with their arguments and local variables. Delve reads them, in a command of its own,
// vtdelve, which this package starts: a program that does not ask for variables does not have Delve in it.
//
//	answer, err := locals.Ask(ctx, locals.Question{PID: 4711, G: detail.G})
//	err = locals.Text(os.Stdout, answer, locals.TextOptions{})
//
// vtdelve reads the memory of the process, without stopping it and without ptrace, so only a thread that waits can be looked at. It
// looks twice, and an answer is of a thread that stood still in between; what is on the heap is as it was when it was read.
//
// # Concurrency
//
// All functions may be called from any goroutine.
//
// # Where to start reading
//
// [Answer], then [Ask]. How variables are read is in dump/delve.
package locals
