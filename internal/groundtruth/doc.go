// Package groundtruth holds tests that do something a known number of times, and count what the flight recorder says of it: for every kind of events there
// is one. There is no code to import.
//
//	go test -v ./internal/groundtruth
//
// # Concurrency
//
// The tests look at the counters of the whole process, so they run one after the other.
//
// # Where to start reading
//
// The table scenarios.
package groundtruth
