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

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Stack is a stack to record, innermost frame first.
type Stack []flight.Frame

// A Scope is a scope to record.
type Scope struct {
	Name   string
	Parent int // position in [Spec.Scopes] counted from 1; 0 is the root scope; must come earlier
	Owner  flight.ThreadID
	State  flight.ScopeState // zero: open
}

// A Thread is a thread to record.
type Thread struct {
	Name    string
	Scope   int // position in [Spec.Scopes] counted from 1; 0 is the root scope
	Stack   int // position in [Spec.Stacks] counted from 1; 0 is none
	State   flight.State
	Reason  flight.Reason
	Carrier flight.CarrierID // of mounted and pinned ones
	Age     time.Duration    // how long it has been in State
	Blocker flight.Blocker
	Waker   flight.ThreadID
	Creator flight.ThreadID
	Mounts  int
}

// A Spec says what to write.
type Spec struct {
	Scopes   []Scope
	Stacks   []Stack
	Threads  int                // threads have the ids 1 … Threads
	Thread   func(i int) Thread // describes thread i, 0 ≤ i < Threads; nil: all parked in the root scope
	Carriers int                // rings to make, with ids from 0; zero: 1
	Events   int                // events to write to each carrier's ring: mounts and parks in turn
	Ended    bool               // close the recorder; the file is kept
	Small    bool               // keep the file as small as possible
}

// A File is a written flight file.
type File struct {
	Path     string
	Dir      string
	Recorder *flight.Recorder // still open, so that a test can go on writing; nil if Spec.Ended
	Scopes   []flight.ScopeIndex
	Stacks   []flight.StackID
	Rings    []*flight.Ring
	Records  []*flight.Record // of the threads, in order
}

// Write writes a flight file; it fails the test if it cannot, and skips it where there are no
// flight files.
func Write(t testing.TB, s Spec) *File { t.Helper(); return nil }

// Dir makes an empty directory on a tmpfs, removed by the test's cleanup; it skips the test with
// the reason where there is none.
func Dir(t testing.TB) string { t.Helper(); return "" }
