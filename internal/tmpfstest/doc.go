// Package tmpfstest mounts small file systems for tests of what happens when memory for files is short.
//
//	dir := tmpfstest.Mount(t, 3<<20, 0)
//
// # Concurrency
//
// [Mount] belongs to its test's goroutine.
//
// # Where to start reading
//
// [Mount] is all there is.
package tmpfstest
