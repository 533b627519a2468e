// Package profiling lets other processes of the user take Go's own profiles of a program: vtdump puts them into incident bundles. A program has it with
//
//	import _ "github.com/vtscope/vtscope/runtime/flight/profiling"
//
// and without it none of this is linked.
//
// # Concurrency
//
// A profile is taken on a goroutine of the recorder's, one at a time. It is refused while the program takes one of its own.
//
// # Where to start reading
//
// The table kinds.
package profiling
