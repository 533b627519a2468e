// Metricsdoc writes docs/metrics.md from the table of tracing/metrics.
//
//	go generate ./internal/metricsdoc
//
// # Concurrency
//
// None.
//
// # Where to start reading
//
// [write].
package main

//go:generate go run . ../../docs/metrics.md
