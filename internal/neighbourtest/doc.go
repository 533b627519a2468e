// Package neighbourtest plays another user of the machine, who prepares names and opens connections, for tests that run as root.
//
//	neighbourtest.Do(t, func() error { return os.Symlink("/etc/passwd", path) })
//
// # Concurrency
//
// [Do] may be called from any goroutine.
//
// # Where to start reading
//
// [Do] is all there is.
package neighbourtest
