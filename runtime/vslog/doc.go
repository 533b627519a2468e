// Package vslog makes log records tell which thread wrote them, and in which scope.
//
//	log := slog.New(vslog.New(slog.NewJSONHandler(os.Stderr, nil), vslog.Options{}))
//	log.Info("paid", "order", 4711)   // … "thread":{"id":12,"name":"POST /pay"},"scope":"requests"
//
// The id is that of dumps, of the page and of events, so a line of a log leads to the thread's stack and history: vtdump PID --thread 12.
//
// # Concurrency
//
// A [Handler] may be used by any number of goroutines and threads, as every handler may.
//
// # Where to start reading
//
// [Handler.Handle].
package vslog
