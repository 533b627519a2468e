// Package goroutines reads the goroutine dumps of any Go program, as a source of snapshots: the text that a crash, SIGQUIT, debug.Stack or the goroutine
// profile with debug=2 prints, in the midst of other text; that of debug=1; and the profile itself.
//
//	r, err := goroutines.Read(file, goroutines.Options{Name: "crash.log"})
//	s, err := dump.Take(ctx, r, dump.Options{})
//
// Goroutines are threads with the state that their wait reason says; the reason itself stands where others have what they wait for. Labels of the profiler
// become scopes: the label "scope" is one, or else each label is, key=value, one in the other. docs/formats.md tells the rest.
//
// # Concurrency
//
// Nothing here starts a goroutine or keeps anything.
//
// # Where to start reading
//
// [Read], then the table waits.
package goroutines
