// Package control asks a vtscope process to do something: to change what its recorder records, or to take a profile of itself.
//
//	text, err := control.Ask(ctx, r.Process().Path, "settings", nil)
//
// Looking at a process never needs it: that is what its flight file is for. The process may refuse, be too busy, hang, or be gone; docs/settings.md
// describes the protocol.
//
// # Concurrency
//
// [Ask] may be called from any goroutine. A process answers within about a second: it looks once in a second whether somebody asks.
//
// # Where to start reading
//
// [Ask].
package control
