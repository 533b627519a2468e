// Package flighttest writes flight files with made-up contents, for the tests of whatever reads
// them. It uses the real writer, in a directory of its own on a tmpfs that the test's cleanup
// removes.
//
//	f := flighttest.Write(t, flighttest.Spec{
//		Scopes:  []flighttest.Scope{{Name: "shop"}, {Name: "requests", Parent: 1}},
//		Stacks:  []flighttest.Stack{{{Func: "shop.query", File: "store.go", Line: 88}}},
//		Threads: 1000,
//		Thread:  func(i int) flighttest.Thread { return flighttest.Thread{Scope: 2, Stack: 1, State: flight.StateParked} },
//	})
//	r, err := flight.Open(f.Path)
//
// # Concurrency
//
// [Write] may be called from several tests at once; a [File] belongs to its test.
//
// # Where to start reading
//
// [Spec] is all there is to say, [Write] does it.
package flighttest
