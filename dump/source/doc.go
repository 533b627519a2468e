// Package source opens what was kept of a process by somebody who knows nothing of vtscope: a core file, the text
// of goroutines that Go prints, a profile of goroutines, or a thread dump of the JDK.
//
//	src, err := source.Open("crash.log", source.Options{})
//	snapshot, err := dump.Take(ctx, src, dump.Options{})
//
// # Concurrency
//
// Nothing here starts a goroutine. What is opened is for one goroutine at a time.
//
// # Where to start reading
//
// [Open]; [Read] is for text alone.
package source
