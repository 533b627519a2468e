// Package memory reads the threads of a process from its memory: of one that lives, without pausing it, or of one that has left a core file. It
// finds what the flight recorder keeps there, and where the goroutines of threads are it reads their stacks itself, exactly, whatever the
// recorder's settings are. The binary needs no symbols: stripped, trimmed, PIE and cgo programs are the same.
//
//	p, err := memory.Attach(4711, memory.Options{})
//	defer p.Close()
//	snapshot, err := dump.Take(ctx, p, dump.Options{})
//
// A program without a recorder is read by its goroutines, as [AttachGo] and [OpenGoCore] have them.
//
// Nothing is ever written into a process. docs/outside.md says how it is done, what permission it takes, and what it costs the process.
//
// # Concurrency
//
// A [Source] is for one goroutine at a time, and so are [Goroutines].
//
// # Where to start reading
//
// [Source], then the protocol of [walker]; for any Go program [Goroutines], then program.walk. layout.go has what is known of Go's releases.
package memory
