// Package jfr writes what a recording holds as a file of JDK Flight Recorder, which jfr, JDK Mission Control and other readers of Java profiles open.
//
//	stats, err := jfr.Write(ctx, file, source, jfr.Options{})
//
// Threads are virtual threads of the JDK, and what the JDK has events of is written as these; everything else in the catalogue of kinds becomes an event of
// ours, with names, labels and units from the table. What becomes what, and how to open it, stands in docs/jfr.md.
//
// # Concurrency
//
// A call of [Write] uses its source and its writer from one goroutine; calls with sources of their own may go on side by side.
//
// # Where to start reading
//
// [Write], then likenesses, which says what the JDK has too, and uses, which says what a field becomes. A chunk is what the file is made of: chunk, pool and
// threads carry the rules that readers rely on.
package jfr
