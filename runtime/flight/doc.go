// Package flight records what the threads of a process do, in memory that other processes can read
// at any time: while the process runs, while it hangs or is stopped, and after it was killed. It
// is the only meeting point of the runtime, which writes, and of everything that looks: a file
// format, a writer and a reader. docs/flight-format.md specifies the format.
//
// The smallest program that is recorded, and the smallest one that looks:
//
//	r := flight.Default()                      // nil when the recorder is off; all methods accept nil
//	r.Emit(flight.Now(), flight.EventYield, 0, 0, 1, 0)
//	defer flight.Close()
//
//	f, err := flight.OpenPID(4711)
//	torn, err := f.Threads(ctx, func(rows []flight.ThreadRow) { … })
//
// The environment sets up the process's recorder: VTSCOPE=off turns it off, VTSCOPE=private keeps
// it in memory that no other process sees, VTSCOPE_DIR names another directory than
// /dev/shm/vtscope-UID; it must be on a tmpfs.
//
// Flight files exist on Linux. On other systems, and where no file can be made, the recorder works
// in private memory, which only [Recorder.Reader] can read.
//
// # Concurrency
//
// A [Ring] and a [RecordCache] have one owner, a [Record] one writer at a time: whoever owns the
// thread's state. A [BlockerRecord] has one too: whoever has the lock of the synchronizer's queue. Everything else of a [Recorder] may be called from any goroutine. The hot paths
// ([Ring.Emit], the methods of [Record], [Recorder.Stack] of a known stack, [Now]) neither wait nor
// allocate. A [Reader] may be used by several goroutines. Never use recorded memory to synchronise.
//
// # Where to start reading
//
// [Kinds], [States] and [Reasons] say what is recorded; [Ring] and [Record] how, with numbered
// invariants; layout.go how it lies in the file; [Recorder] puts it together; [Reader] reads it.
package flight
