// Command vtdelve is Delve for vtscope. It tells the frames and variables of one goroutine, as JSON: of one that waits
// in a process that goes on, or of a core file.
//
//	vtdelve --pid=4711 --g=0x1c4d3a2b8e00
//
// And it is a debug adapter for editors:
//
//	vtdelve dap --listen 127.0.0.1:38697
//
// vtdump --locals and vtdump dap start it: package dump/locals has the arguments and the answer of the first, and
// debugUsage those of the second. It is a command of its own because merely having Delve in a program changes that;
// docs/decisions/0010 has the reasons.
//
// # Concurrency
//
// It answers once, or serves one session, and ends.
//
// # Where to start reading
//
// run, and debug.
package main
