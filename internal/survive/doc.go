// Package survive has tests only: programs that die, or run short of something, and what their flight files then say.
//
//	go test ./internal/survive                          # ten deaths of each kind
//	VTSCOPE_DEATHS=100 go test -v ./internal/survive    # as many as make nightly does; -v prints how old the last events were
//
// All programs are the test binary again. A victim has so many threads that wait in ways that are known, and for each processor two that
// wake each other as fast as they can. These also write what time it is into a page of memory that the test has mapped too, the witness: so the test knows
// when the program did its last work, by another way than the flight file's and on however busy a machine. A round is noted before its events are recorded. So the last
// event is younger than the last round by as long as the thread was without a processor in between, and older if it died there. A worker
// lacks something or loses it (room, rights, its file), and adds numbers with many threads.
//
// # Concurrency
//
// One program runs at a time.
//
// # Where to start reading
//
// TestTheFileOfAProcessThatDiesHasItsLastMoments in deaths_linux_test.go, and shortages in shortages_linux_test.go.
package survive
