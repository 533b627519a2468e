// Package vsync has synchronizers that give the carrier away: a thread that has to wait parks, a plain goroutine
// blocks, and both may use the same object at once.
//
//	var mu vsync.Mutex
//	mu.Lock()
//	defer mu.Unlock()
//
// # Concurrency
//
// Everything is safe for concurrent use. Nothing may be copied after its first use.
//
// # Where to start reading
//
// [Mutex.Lock].
package vsync
