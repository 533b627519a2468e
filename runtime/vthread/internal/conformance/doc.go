// Package conformance has the tests that show the behaviours of threads, as docs/conformance.md lists them. It has no
// other code.
//
//	// PK-05: two unparks give one permit.
//	func TestPermitsDoNotAddUp(t *testing.T) {
//		everywhere(t, axes{callers: true, kinds: true, pins: true}, func(w *world) { … })
//	}
//
// A test runs in all worlds that its behaviour speaks of: called by a goroutine and by a thread, with threads of each kind, on one
// carrier and on several, free and pinned. Behaviours of continuations are tested in their own package.
//
// # Concurrency
//
// One test runs at a time, but children of a test may run beside it.
//
// # Where to start reading
//
// world_test.go, then the file of a group: life, park, interrupt, sleep, join and so on.
package conformance
