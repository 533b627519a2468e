// Package agent follows vtscope processes from outside and shows them to browsers.
//
// An [Agent] looks for flight files, follows the process of each: it reads counters and what schedulers tell and
// takes a snapshot about once a second, keeps a short time line, and notices when the process ends or is killed. Its
// handler serves the page, a websocket that streams aggregates ([Protocol], docs/protocol.md), and a small
// HTTP interface:
//
//	a, err := agent.New(agent.Options{})
//	…
//	defer a.Close()
//	err = http.Serve(listener, a.Handler())
//
//	GET /                                the page
//	GET /ws                              the websocket
//	GET /api/v1/processes                what is followed, as JSON
//	GET /api/v1/processes/{pid}/dump     a fresh snapshot, as vtdump --json prints it
//
// The observed process does not take part: the agent never writes to it, stops it or waits for it, and
// what it reads it may read while the process hangs, is stopped, or is gone.
//
// # Who may ask
//
// A dump tells much about a program, and there is no password. The handler answers only requests whose
// Host is a loopback name or address (or one of [Options.Hosts]), so that a foreign page cannot reach it by
// pointing its own name at 127.0.0.1, and refuses requests that a browser marks as coming from another site.
// Listen on loopback.
//
// # Concurrency
//
// An Agent has one goroutine that looks for processes and, for each process, one that follows it and at
// most one that takes a snapshot. Each websocket has one goroutine that reads and one that writes. A client
// that reads slowly makes only its own goroutine wait: frames are made when they can be sent, so it gets
// fewer of them, and is told how many it lost. [Agent.Close] stops all of them and waits.
//
// # Where to start reading
//
// agent.go owns the processes, follower.go follows one, view.go turns what a follower saw into the rows of
// protocol.go, with schedulers.go and survey.go for what is about schedulers, client.go sends them, http.go is the outside.
package agent
