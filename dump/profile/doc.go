// Package profile writes snapshots as profiles of pprof, like Go's goroutine profile, with labels for what that does not know.
//
//	err := profile.Write(w, s)
//
// Package tracing/profile has more profiles, which are made with the same [Builder].
//
// # Concurrency
//
// Nothing here starts a goroutine or keeps anything. A Builder is for one goroutine at a time.
//
// # Where to start reading
//
// [Write], and [Builder.Stack] for what becomes of a stack.
package profile
