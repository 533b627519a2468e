// Package flock has what scopes are made of: a set of threads that is closed when all have ended.
//
//	f.Open(flock.Options{Name: "requests", Limit: 64})
//	err := f.Start(&w.member, w, vthread.Builder{}, false)
//	f.Await(sched.Limits{}, false)
//	f.Close()
//
// It knows no owner and no policy. Package structured makes a scope of it, package errgroup a group.
//
// # Concurrency
//
// Everything may be called from anywhere, unless its comment says otherwise.
//
// # Where to start reading
//
// [Flock.Start], then Member.run, which is what its threads execute.
package flock
