// Package otel makes OpenTelemetry's traces and logs of what a process did, after the fact: its threads pay nothing for it.
//
//	env, err := otlpenv.Read(os.LookupEnv)
//	x, err := otel.New(otel.Options{Env: env})
//	defer x.Close(ctx)
//	err = recording.Observe(ctx, source, x.Observe(process, source)...)
//	fmt.Println(x.Stats().Traces.Sent)
//
// A scope is a span, and a thread a child span of it; long parks, and pins, are events or spans of the thread's, and a span is linked to that of who woke its thread. What is kept
// is decided when a scope is closed, by [Rule]. Findings and rules that came true are log records. docs/opentelemetry.md has what maps to what.
//
// # Concurrency
//
// An [Exporter] may be used from any goroutine. What [Exporter.Observe] returns is told by one. Neither waits for a collector: queues are bounded, and what has no room
// is dropped and counted in [Stats].
//
// # Where to start reading
//
// [Spans.Event] follows threads and scopes; closed (scopes.go) and ended (threads.go) decide. A queue (queue.go) gathers spans, which are messages of the protocol that
// are used again (arena.go), for a sender (send.go) and the official clients (clients.go).
package otel
