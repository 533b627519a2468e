// Package agent follows processes from outside and shows their threads, or goroutines, to browsers.
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
// Its paths are the rows of routes.go, and docs/openapi.json; docs/agent.md tells of them, of recordings and remote agents. [Handler] is the agent of the program that it is in.
//
// The observed process does not take part: the agent never writes to it, stops it or waits for it, and
// what it reads it may read while the process hangs, is stopped, or is gone.
//
// # Who may ask
//
// A dump tells much about a program. Package agent/access decides who may see it and who may act: without [Options.Access] that is this user, on loopback, by no
// page of another site and by no proxy. docs/security.md has the threats, the roles and the limits.
//
// # Concurrency
//
// An Agent has one goroutine that looks for processes and, for each process, one that follows it and at
// most one that takes a snapshot, with rules one that watches for them, and with observers or profiles of events one each that reads events; for each remote agent it
// has one that asks. Each websocket has one goroutine that reads and one that writes. A client
// that reads slowly makes only its own goroutine wait: frames are made when they can be sent, so it gets
// fewer of them, and is told how many it lost. [Agent.Close] stops all of them and waits.
//
// # Where to start reading
//
// agent.go owns the processes, follower.go follows one, goroutines.go one without a recorder, endpoints.go one that is asked for its profile, view.go turns what a follower saw into the rows of
// protocol.go, with schedulers.go and survey.go for what is about schedulers, client.go sends them; panels.go is the table of what frames carry, part.go
// encodes it once for all clients and as deltas, filters.go shares filtered snapshots; cost.go measures what all that costs, and thrift.go says what is left
// out when it is too much. triggers.go takes incident bundles. routes.go is the outside, with params.go, formats.go, api.go and openapi.go; handler.go is the
// agent inside a program, stream.go tells observers, profiles.go makes profiles, recorded.go shows files, and remote.go other agents.
package agent
