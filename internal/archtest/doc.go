// Package archtest checks what the compiler does not: which package may import which, that each package
// says what it is, that the repository names nothing of the machine it was written on, and that the code
// in README.md is code that compiles.
//
//	broken := check(rules, edges) // no broken rule: nothing to say
//
// The rules are the rows of [rules]. A rule is broken by an edge of the import graph, and carries the
// reason to print.
//
// # Concurrency
//
// None: the package is used by its own tests alone.
//
// # Where to start reading
//
// rules.go, then the test of the thing that failed.
package archtest
