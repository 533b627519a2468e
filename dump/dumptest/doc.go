// Package dumptest checks at the end of a test what vtdump check checks of a process: how many threads there are, that none is left in a scope, that none was
// pinned, and that none wait for each other.
//
//	func TestCheckout(t *testing.T) {
//		dumptest.Check(t, dumptest.Limits{NoLeaks: []string{"requests"}, NoPins: true, NoDeadlock: true})
//		…
//	}
//
// It reads the flight file of the test's own process, so it sees what vtdump would: all threads of the process, and not only the test's. What package vttest
// has needs no flight file, and sees threads alone that were started after its call.
//
// # Concurrency
//
// [Check] is called on the goroutine of the test. A test that runs beside others sees their threads, too: give it a Filter.
//
// # Where to start reading
//
// [Check]; the limits are judged by [dump.Judge].
package dumptest
