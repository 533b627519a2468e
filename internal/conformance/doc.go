// Conformance counts which behaviours of mature virtual threads are tested here, and pass.
//
//	go run ./internal/conformance                     # make conformance: exit 1 when anything is missing
//	go run ./internal/conformance -race -count 100    # a part of make stress
//	go generate ./internal/conformance                # writes docs/conformance.md
//
// The inventory of behaviours is the table [groups]. A test names the behaviours that it shows by a comment line of
// their codes, above the test function:
//
//	// PK-04, PK-05: a permit is kept, and there is one at most.
//	func TestUnparkBeforeParkLetsTheNextParkReturn(t *testing.T) {
//
// A behaviour passes when all tests with its code ran and passed; a skipped one does not count.
//
// # Concurrency
//
// None: one package is tested at a time.
//
// # Where to start reading
//
// behaviours.go, then judge in judge.go.
package main
