// Package childtest runs a program of the repository as a child process of a test.
//
//	c := childtest.Start(t, "./fixtures/storm", "-threads", "100")
//	c.WaitFor(regexp.MustCompile(`parked in`))
//	reader := c.Flight()
//	c.CloseStdin()
//	c.WantExit(0)
//
// The child's flight file is in a folder that belongs to the test alone. When the test ends, the child is killed
// if it still runs, and the folder removed.
//
// Programs are built once for all test processes, in the folder build of the repository: see [Program].
//
// # Concurrency
//
// A Child belongs to its test's goroutine. Any number of goroutines and processes may call [Build].
//
// # Where to start reading
//
// [Start], and [Program] for what it starts.
package childtest
