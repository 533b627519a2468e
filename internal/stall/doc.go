// Stall runs a program, and again and again stops some OS thread of it for a moment, as a host with too much to do does to threads at the worst of places: between a change and
// the event that tells it, or with a lock held. What holds under it does not rest on a machine being fast. It is made for go test:
//
//	go build -o build/stall ./internal/stall
//	go test -exec build/stall -count 20 ./recording
//
// Flags go with -exec: -exec 'build/stall -most 200ms'. It ends with the program's exit code, and prints how often it stopped which many of its threads.
//
// # Concurrency
//
// A few stoppers, each a goroutine with an OS thread of its own: a stopped thread obeys only the thread that stopped it.
//
// # Where to start reading
//
// stopper.stop is all it does.
package main
