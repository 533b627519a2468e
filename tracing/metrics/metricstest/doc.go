// Package metricstest reads what metrics must say from a flight file, in another way than they are made, for tests of the ways out and of what stands behind them.
//
//	wants, err := metricstest.Read(ctx, reader)
//	for _, w := range wants {
//		// ask a Prometheus for w.Query(pid)
//	}
//
// # Concurrency
//
// None of its own.
//
// # Where to start reading
//
// [Read].
package metricstest
