package durable

import "github.com/vtscope/vtscope/runtime/durable/journal"

// A Store keeps what threads have learned, so that they go on when their process is gone. It is used by one [Keeper] at a time. Its methods may be called from any
// goroutine.
type Store interface {
	// Load calls f with all entries that Commit has taken, in an order in which those of one thread are as they were. It is called once, before Commit.
	Load(f func(journal.Entry) error) error
	// Commit makes entries last, all of them or none, and returns when they do: what it returned nil for is there after a power cut. After an error it is not known
	// what lasts of them, and all further calls fail.
	Commit(entries ...journal.Entry) error
	// Close gives everything back. What was committed stays.
	Close() error
}
