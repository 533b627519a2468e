// Package companion asks commands that are built apart from vtdump, since they need much that it does not: vtdelve and vtstream.
//
//	if path, ok := companion.Find("vtdelve"); ok {
//		answer, err := companion.Ask[Answer, *Problem](ctx, companion.Call{Path: path, Patience: time.Minute}, Read)
//	}
//
// # Concurrency
//
// Functions may be called at a time: each call is a process of its own.
//
// # Where to start reading
//
// companion.go.
package companion
