// Package leaktest fails a package's tests when something of vtscope outlives them.
//
//	func TestMain(m *testing.M) { leaktest.Main(m) }
//
// After the tests have passed, within a few seconds there must be no more
//
//   - thread that has not ended, as told by the flight recorder of the process (when it is on);
//   - timer of a sleep or a timed park;
//   - goroutine, but for those of the testing package, idle carriers and the coroutines they keep for later: the
//     default scheduler's live as long as the process, and those of one that was not closed look the same;
//   - flight file: neither a name in a folder, nor an open file, nor a mapping of a file that still has a name.
//
// What else a package can count, it adds with [Also]. Test in an external package
// (flight_test) where the tested package is one that leaktest imports.
//
// # Concurrency
//
// [Main] runs in TestMain, when no test runs.
//
// # Where to start reading
//
// [Main].
package leaktest
