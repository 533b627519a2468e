// Package profile makes profiles for pprof of what threads do: what they wait for, and how long.
//
//	p := profile.NewProcess(reader, profile.ProcessOptions{})
//	go recording.Observe(ctx, live, p.Events())
//	http.Handle(profile.Prefix, profile.Handler(profile.One(p)))
//
//	go tool pprof http://localhost:7070/debug/vt/pprof/park?seconds=10
//
// The profiles are the rows of [Kinds]; docs/profiles.md tells of each. Those of threads are made of a look at the process ([dump.Source]), those of events by
// a [Collector], which follows them beside other observers, and that of processors is Go's own, which the process takes of itself.
//
// # Concurrency
//
// A [Collector] is told of events on the goroutine of [recording.Observe], and asked from any other. Handlers may be used by several servers. Nothing here
// outlives the call that started it.
//
// # Where to start reading
//
// kinds.go is what there is. [Take] makes one of a [Source]; collector.go counts, keys.go tells samples apart, mark.go makes profiles of the counts.
package profile
