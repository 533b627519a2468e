// Command vtserve follows vtscope processes and serves a page that shows them.
//
//	vtserve              # every vtscope process of this user, on http://127.0.0.1:7070
//	vtserve 4711         # only this one
//	vtserve --demo       # starts a small web shop with 100,000 threads and shows it
//
// It reads flight files from outside: what it shows is not paused and need not cooperate. It listens on
// loopback addresses only, since the page has no password.
//
// # Concurrency
//
// run starts the agent, the HTTP server and the demo's child process, and stops and awaits all of them
// before it returns.
//
// # Where to start reading
//
// flags.go is the table that parser and help derive from, run.go the way from arguments to the end, demo.go
// the child process.
package main
