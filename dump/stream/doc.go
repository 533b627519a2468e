// Package stream tells of durable threads in a stream that many keepers share. NATS is not in this module: a command of its own, vtstream, reads the stream, and this package
// starts it.
//
//	answer, err := stream.Ask(ctx, stream.Question{URL: "nats://127.0.0.1:4222"})
//	err = dump.DurablesText(os.Stdout, answer.Durables, dump.TextOptions{})
//
// vtstream takes no part: it takes no lease and changes nothing.
//
// # Concurrency
//
// All functions may be called from any goroutine.
//
// # Where to start reading
//
// [Question] and [Answer], then [Ask]. How a stream is read is in runtime/durable/jetstream: Reader.
package stream
