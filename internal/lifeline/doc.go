// Package lifeline ends a command when its user, or the process that started it, wants it to end.
//
//	ctx, release := lifeline.Hold(context.Background(), withStdin)
//	defer release()
//	<-ctx.Done() // interrupt, termination, or the end of standard input
//
// A parent that gives its child a pipe as standard input and keeps the other end open has a lifeline:
// the kernel closes the pipe when the parent dies, however it dies, and the child ends too.
//
// # Concurrency
//
// [Hold] may be called from any goroutine. It starts one goroutine for the signals, which release stops,
// and with the lifeline one that reads standard input; that one lives until the input ends.
//
// # Where to start reading
//
// [Hold] is all there is.
package lifeline
