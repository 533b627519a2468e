// Package figures reads what Go benchmarks print.
//
//	all := figures.Figures{}
//	rest, err := all.Read(output)
//	ns := figures.Median(all[figures.Metric{"PingPong/impl=vthread", "ns/op"}])
//
// # Concurrency
//
// None: the caller sees to it.
//
// # Where to start reading
//
// [Figures.Read].
package figures
