// Package prom serves metrics to Prometheus.
//
//	http.Handle("/metrics", prom.Handler(collector))
//
// It answers in the text format of Prometheus, or in OpenMetrics where it is asked for: that has exemplars too. Each series has the labels pid and program of its
// process; names are those of OpenTelemetry with underscores, and with units and suffixes as Prometheus wants them.
//
// # Concurrency
//
// A handler may be used by many requests at once; [metrics.Collector] makes them one after the other.
//
// # Where to start reading
//
// [Handler].
package prom
