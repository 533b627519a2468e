package main

import (
	"fmt"
	"io"
)

// write prints the table as a page.
func write(w io.Writer, table []group) {
	fmt.Fprint(w, `<!-- Written by go generate ./internal/conformance from its tables. -->

# Behaviours

What OpenJDK's own tests assert of continuations and virtual threads, in our words and adapted to Go: a goroutine that is no
thread takes the place of a platform thread, a carrier that of a worker, an error that of an exception, an explicit pin section or
a locked OS thread that of a native frame. The numbers have gaps.

A test names the behaviours that it shows in a comment line above it, so `+"`grep -rn LC-14 runtime`"+` finds it. `+"`make conformance`"+` runs
all of these tests, and prints a line for each group, `+"`GROUP passing/not-applicable/missing`"+`. A behaviour passes when all tests with its code
ran and passed. One that waits is of a part that a later issue builds.

The group DU is of the proposal's demands that no runtime has built: continuations that are cloned (C12), and serialized (C13).

Go's own packages have no such inventory. What differs from those of package sync, and from x/sync's semaphore and errgroup, is told in
[synchronizers.md](synchronizers.md) and [structured.md](structured.md).

`)
	fmt.Fprintf(w, "| group | about | tested | not applicable | waiting |\n| --- | --- | --- | --- | --- |\n")
	var all [isWaiting + 1]int
	for _, g := range table {
		var n [isWaiting + 1]int
		for _, b := range g.rows {
			n[b.kind]++
			all[b.kind]++
		}
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d |\n", g.name, g.about, n[isTested], n[isNotApplicable], n[isWaiting])
	}
	fmt.Fprintf(w, "| all | | %d | %d | %d |\n", all[isTested], all[isNotApplicable], all[isWaiting])
	for _, g := range table {
		fmt.Fprintf(w, "\n## %s: %s\n\n| code | what holds | here |\n| --- | --- | --- |\n", g.name, g.about)
		for _, b := range g.rows {
			fmt.Fprintf(w, "| %s | %s | %s |\n", b.code, b.says, b.verdict)
		}
	}
}
