// Package buildinfo tells which version of vtscope is in the program.
//
//	fmt.Println(buildinfo.Line("vtdump")) // vtdump v0.1.0, commit 1f2e3d4c5b6a, go1.26.8 linux/amd64
//
// # Concurrency
//
// All functions are safe for concurrent use.
//
// # Where to start reading
//
// [Line].
package buildinfo
