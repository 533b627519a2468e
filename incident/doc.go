// Package incident keeps what is known of a process at a bad moment in one file, a bundle: its threads, who waits for whom, findings, schedulers, the last
// events, profiles, figures, build and settings, what made somebody take it, and what could not be had.
//
//	s, err := incident.OpenStore(incident.Options{Dir: "incidents"})
//	…
//	path, err := s.Take(ctx, reader, incident.Cause{Rule: "park > 5s in requests", What: "12 threads …"})
//
//	b, err := incident.Open(path)
//	…
//	text, err := b.Text("waits")
//
// A bundle is a zip file whose entries docs/incidents.md describes. Any unzip opens one; [Open] trusts nothing in it.
//
// # Concurrency
//
// A [Store] may be used by several goroutines: one bundle is taken at a time. A [Bundle] may be read by several. The process is not disturbed but for
// the profiles that it offers itself.
//
// # Where to start reading
//
// [Manifest] says what a bundle is, the table parts in take.go what goes into one, write.go and read.go how, store.go what stays.
package incident
