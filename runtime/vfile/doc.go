// Package vfile has files, pipes, processes and the console that cost a thread, not a carrier: a thread that waits for one parks.
//
//	f, err := vfile.Open(name)
//	…
//	defer f.Close()
//	n, err := f.ReadAt(b, off) // parks, unless the system has it in memory
//
// Everything is shaped like package os and built on it: a [File] has the methods of [os.File], and its errors; [DirFS] is a [io/fs.FS]; a [Cmd] is a [os/exec.Cmd].
// What differs is how a thread waits:
//
//   - What is read from a file on disk is first asked of the system's memory, without waiting (on Linux). Else, and for writing and synchronizing, the operation is
//     given to a ring of the kernel, io_uring, where the kernel allows it, and the thread parks, with the reason file, until it is completed.
//   - Where there is no ring, and for what a ring has no operation for (folders, names, sizes), a helper goroutine makes the call. There is a bound of helpers, and a
//     queue. [Configure] and VTSCOPE_FILES=ring or helpers choose; [In] tells.
//   - Pipes, FIFOs, terminals and the pipes to child processes are waited for by the pollers that sockets have, with the reasons read and write.
//
// On a plain goroutine an operation is that of package os. Threads and goroutines may use one file at a time.
//
// # Interrupts
//
// An interrupt that comes while a thread waits for an operation on a file makes the runtime ask for its cancellation, and the thread waits for the outcome, because
// the kernel or a helper uses its buffer until then. If it was cancelled the error matches [sched.ErrInterrupted]; if it was done all the same, its result is returned.
// Either way the interrupt status stays set, and the file stays open. A thread that was interrupted before can still use files: what it has to save is not lost.
//
// An interrupt of a thread that waits for a pipe, FIFO or terminal, or was interrupted before it would wait, closes that, as for sockets: the error matches [os.ErrClosed]
// too.
//
// # Concurrency
//
// Everything may be used by any number of threads and goroutines, but a [Cmd] by one at a time. Reads and writes where a file stands take turns; those with an offset
// do not.
//
// # Where to start reading
//
// [File] is the face; op.go is what is executed for a thread, ring_linux.go and helpers.go who executes it; pipe.go is for what can be polled.
package vfile
