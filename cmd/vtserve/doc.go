// Command vtserve follows vtscope processes and serves a page that shows them.
//
//	vtserve              # every vtscope process of this user, on http://127.0.0.1:7070
//	vtserve 4711         # only this one
//	vtserve run.vtr      # the process that a recording, or an incident bundle, tells of
//	vtserve --connect https://box:7070,token-file=box.token,ca=box.pem
//	vtserve --demo       # starts a small web shop with 100,000 threads and shows it
//
// It reads flight files from outside: what it shows is not paused and need not cooperate. It listens on
// loopback or a Unix socket, and answers its own user; on other addresses it asks for tokens or certificates, by TLS, and refuses to start without:
// docs/security.md.
//
// # Concurrency
//
// run starts the agent, the HTTP server and the demo's child process, and stops and awaits all of them
// before it returns.
//
// # Where to start reading
//
// flags.go is the table that parser and help derive from, run.go the way from arguments to the end, access.go who may
// ask, sources.go what is shown, demo.go the child process.
package main
