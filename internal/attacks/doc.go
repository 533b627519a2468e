// Command attacks runs the tests that attack vtscope, and writes what came of it: `make attacks`, docs/attacks.md.
//
//	go run ./internal/attacks                        # runs all, prints the table
//	go run ./internal/attacks -only neighbour        # those whose row has the word
//	go run ./internal/attacks -count 10 -page docs/attacks.md
//
// To add an attack, write a test and add its row to table.go. A test that makes many tries says how many: t.Attr("attempts", "1000").
//
// # Concurrency
//
// Packages are tested one after the other: attacks need the machine's memory and time.
//
// # Where to start reading
//
// table.go has the attacks, run.go starts the tests, page.go writes the table.
package main
