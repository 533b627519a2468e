// Package otlp gives metrics to OpenTelemetry: to the reader of an SDK, or to a collector by OTLP.
//
// A program that has an SDK already adds the metrics of its threads to what that exports:
//
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(otlp.NewProducer(collector)))
//
// vtserve sends by itself, as the standard environment variables say, with a resource for each process:
//
//	config, err := otlpenv.Read(os.LookupEnv)
//	e, err := otlp.Start(ctx, collector, otlp.Options{Config: config})
//	…
//	err = e.Shutdown(ctx)
//
// # Temporality
//
// Flight files count from the beginning of a process. Where deltas are wanted, an [Exporter] tells what came since the collector last took something; what could
// not be sent is in the next message, so a collector that was away misses nothing. Of a process that began before the exporter did, the first delta begins
// with the exporter: what was before may have been told by another one.
//
// # Concurrency
//
// A [Producer] and an [Exporter] may be used from any goroutine. An Exporter has one goroutine, and one message under way.
//
// # Where to start reading
//
// convert.go makes points, delta.go differences of them, export.go sends.
package otlp
