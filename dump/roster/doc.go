// Package roster holds threads that something else has listed, such as a goroutine dump, as a source of snapshots.
//
//	r := roster.New(flight.Process{Program: "shop"}, at)
//	scope := r.Scope(0, "requests")
//	r.Add(roster.Thread{ID: 7, Scope: scope, Stack: r.Intern(frames, false), State: flight.StateParked})
//	s, err := dump.Take(ctx, r, dump.Options{})
//
// A thread takes about ten bytes, and what its name has that the one before has not; stacks, scopes and their texts are kept once. What finds no room is counted, and told.
//
// # Concurrency
//
// A [Roster] is for one goroutine while it is filled. Then any number may read it.
//
// # Where to start reading
//
// [Roster.Add], and [Roster.Threads], which is its reverse. How threads are kept stands at pack.
package roster
