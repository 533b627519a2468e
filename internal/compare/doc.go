// Compare measures the works of package bench beside the same works in Java, and prints one line for each.
//
//	go run ./internal/compare                  # all works, three rounds: half an hour or more
//	go run ./internal/compare -only ping-pong  # some
//
// It needs a JDK of version 21 or newer, and looks for one in JAVA_HOME, then PATH, then the usual folders; if there is
// none it says where it looked, and compares servers alone. The Java programs are in fixtures/compare, and are compiled into a temporary folder.
//
// A round measures each work in turn: ours with the recorder on, the goroutines' way, ours with the recorder off, the JDK,
// the JDK with a flight recording of its default settings, and, where the cost of a recorder is the question, with all events that it has for threads, and
// with one of the program's own at each wait. Each is a process of its own. Figures are medians of the rounds; a ratio is taken within each round.
//
// A second table has what recorders add to those works, Go's own trace among them, how many bytes an event takes on the disk, and who is the cheapest.
//
// A third one, which needs no JDK, has servers: net/http alone, and package vhttp with adopted and with virtual threads.
//
// # Concurrency
//
// None: one process runs at a time.
//
// # Where to start reading
//
// works.go has what is compared, table.go what is printed, recorders.go the second table, servers.go the third.
package main
