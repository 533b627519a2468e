// Package perfetto writes recordings as Perfetto traces, which ui.perfetto.dev and Perfetto's trace processor open.
//
//	stats, err := perfetto.Write(ctx, file, source, perfetto.Options{})
//
// There is a track for each carrier, with a slice for each time a thread was mounted; a tree of tracks for the scopes, where scopes of one name below
// the same parent share theirs; and one for each thread if there are few. Arrows lead from who unparked a thread to where it went on. docs/perfetto.md shows
// what is where. What is drawn of a kind of events, beyond those that move threads and scopes, derives from [flight.Kinds].
//
// # Concurrency
//
// Calls of [Write] are independent of each other.
//
// # Where to start reading
//
// [Write]; then export.event, which sends each event where it belongs. fields.go has the numbers of Perfetto's published messages, and sequence.go writes them.
package perfetto
