// Command vtdump shows what the threads of a vtscope process do.
//
//	vtdump                   lists the processes that can be looked at
//	vtdump 4711              prints the threads of one, grouped
//	vtdump scheduler 4711    prints its schedulers: figures, delays, carriers, pins
//	vtdump waits 4711        prints who waits for whom, deadlocks first
//	vtdump findings 4711     checks for scopes that grow or were left, and threads that wait too long
//
// It reads the process's flight file: the process is not paused, and may hang, be stopped, or be gone.
// vtdump -h and docs/cli.md explain everything.
//
// # Concurrency
//
// vtdump has one goroutine and changes nothing: any number may look at one process.
//
// # Where to start reading
//
// flags.go is the tables that parser, help and documentation derive from, run.go the way from arguments
// to output, target.go what a target may be.
package main
