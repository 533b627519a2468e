// Command vtdelve tells the frames and variables of one goroutine, as JSON: of one that waits in a process that goes on, or of a core file.
//
//	vtdelve --pid=4711 --g=0x1c4d3a2b8e00
//
// vtdump --locals starts it: package dump/locals has the arguments and the answer. It is a command of its own because merely having Delve in a
// program changes that; docs/decisions/0010 has the reasons.
//
// # Concurrency
//
// It answers once, and ends.
//
// # Where to start reading
//
// run.
package main
