// Package metrics turns what flight files count into metrics: one table of instruments, which every way out reads.
//
//	c, err := metrics.New(metrics.Options{})
//	a, err := agent.New(agent.Options{Observe: c.Observe, Mount: map[string]http.Handler{"/metrics": prom.Handler(c)}})
//	c.From(a.Figures)
//
// Package prom beside it serves Prometheus, package otlp gives the same to the SDK of OpenTelemetry and to collectors. docs/metrics.md is made of the table.
//
// Threads pay nothing: all figures are of flight files, where they stand anyway, and totals there are exact also where events were overwritten.
//
// # Concurrency
//
// A [Collector] may be used from any goroutine. The observers of [Collector.Observe] are used by one goroutine each.
//
// # Where to start reading
//
// [Instruments] is the table; [Figures] is what it is filled from, collect.go fills it, outliers.go finds exemplars.
package metrics
