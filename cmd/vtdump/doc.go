// Command vtdump shows what the threads of a vtscope process do.
//
//	vtdump                   lists the processes that can be looked at
//	vtdump 4711              prints the threads of one, grouped
//	vtdump diff A B          prints what changed from one to the other
//	vtdump top 4711          shows it live on a terminal
//	vtdump scheduler 4711    prints its schedulers: figures, delays, carriers, pins
//	vtdump waits 4711        prints who waits for whom, deadlocks first
//	vtdump findings 4711     checks for scopes that grow or were left, and threads that wait too long
//	vtdump check 4711        checks that it keeps limits, for scripts
//	vtdump settings 4711     prints what its recorder records, or changes it
//	vtdump incident 4711     keeps all that is known of it now in one file
//	vtdump watch 4711        does so when a rule comes true
//	vtdump open FILE         tells the story of such a file
//
// It reads the process's flight file: the process is not paused, and may hang, be stopped, or be gone.
// vtdump help all and docs/cli.md explain everything.
//
// # Concurrency
//
// vtdump reads and prints in one goroutine; another tells on standard error that a command takes long. Looking changes nothing: any number may look at one
// process.
//
// # Where to start reading
//
// flags.go is the tables that parser, help and documentation derive from, run.go the way from arguments
// to output, target.go what a target may be.
package main
