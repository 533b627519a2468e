// Package cli has what the commands' help, completion and manual pages have in common.
//
//	fmt.Print(cli.Script("vtdump", "bash"))
//
// # Concurrency
//
// All functions are safe for concurrent use. A [Manual] is for one goroutine at a time.
//
// # Where to start reading
//
// [Manual] for pages of man, [Script] for shells, [Wrap] for help on a terminal.
package cli
