// Command apidoc writes what the stable packages export into docs/api.txt, a line for each name with its type, and tells which of them a
// release before had and this one has not.
//
//	go generate ./internal/apidoc                 # writes docs/api.txt
//	go run ./internal/apidoc -breaks OLD.txt docs/api.txt CHANGELOG.md
//
// # Concurrency
//
// It is a command with one goroutine.
//
// # Where to start reading
//
// [surface], then [breaks].
package main

//go:generate go run . ../../docs/api.txt
