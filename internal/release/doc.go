// Command release builds what a release of vtscope has: an archive for each system with the commands, their manual pages and the licence, a
// software bill of materials for each, and the checksums of all.
//
//	make release              # builds everything twice, compares, and leaves it in release
//
// The same commit makes the same bytes, on any machine with the same release of Go: nothing of the machine is in them, and all times are
// that of the commit.
//
// # Concurrency
//
// It is a command with one goroutine.
//
// # Where to start reading
//
// [release.all].
package main
