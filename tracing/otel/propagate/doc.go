// Package propagate makes a program record which span of its own traces each scope was opened in, so that the spans that package otel builds of scopes are
// children of it. A program imports it for that:
//
//	import _ "github.com/vtscope/vtscope/tracing/otel/propagate"
//
// With it, opening a scope looks for a span in the context it is given ([trace.SpanContextFromContext]), and if there is one, records an event of three slots.
// Without it nothing is looked for, and scopes begin traces of their own.
//
// # Concurrency
//
// The package has no state but what its initialisation leaves.
//
// # Where to start reading
//
// record, in propagate.go; package traceid reads the events.
package propagate
