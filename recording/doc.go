// Package recording keeps the events of a process in a file, and gives them back: all of them, or the state of all threads at a moment.
//
//	store, err := recording.Create("run.vtr", recording.Limits{MaxSize: 100 << 20})
//	report, err := recording.Record(ctx, reader, store, recording.Options{For: time.Minute})
//
//	f, err := recording.Open("run.vtr")
//	err = f.Read(ctx, func(b *recording.Batch) bool { …; return true })
//
// docs/recordings.md describes the format.
//
// # Concurrency
//
// A [Source], a [Tracker], a [Writer] and a [Store] are used from one goroutine at a time. [Record] returns when the goroutines it started are gone.
//
// # Where to start reading
//
// [Source] is what exporters see, and [Tracker] what they follow threads with. [Record] reads rings (live.go) and gives events to a [Writer], which writes chunks
// (chunk.go) of events (eventcodec.go), states (statecodec.go) and definitions; [File] reads them.
package recording
