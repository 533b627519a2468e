// Package traceid says which trace and which span a scope or a thread is. The ids follow from the process and from the ids of scopes and threads alone, so that
// whoever observes a process names its spans alike: what exports spans, and what points to them from a metric or a log record.
//
//	f := traceid.NewFollower(process, source)
//	err := recording.Observe(ctx, source, f, observerThatAsks)
//	…
//	trace, span := f.Scope(t, scope), f.Seed().Scope(scope)
//
// A scope that is opened within a span of the program's own (package propagate) is of the trace of that. Another one is of the trace of the scope around, or begins one
// if that is the root scope, or has been open for [LongLived]: a server's scope that lives for days is no trace.
//
// # Concurrency
//
// A [Seed] is a value. A [Follower] is used from one goroutine at a time.
//
// # Where to start reading
//
// [Follower.Scope].
package traceid
