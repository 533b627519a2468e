// Package steppingtest finds lines in the programs that tests step through.
//
//	line := steppingtest.LineOf(t, "testdata/stepping/main.go", "locks", "lock.Lock")
//
// # Concurrency
//
// All of it may be called from any goroutine.
//
// # Where to start reading
//
// [LineOf].
package steppingtest
