// Eventdoc writes docs/events.md from the tables of runtime/flight.
//
//	go generate ./internal/eventdoc
//
// # Concurrency
//
// None.
//
// # Where to start reading
//
// [write].
package main

//go:generate go run . ../../docs/events.md
