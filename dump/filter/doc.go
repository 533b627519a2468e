// Package filter is the language in which one says which threads one wants to see: on the command line, in the page and in its address.
//
//	scope~"req/.*" state=parked wait>30s
//	(stack~sql or stack~redis) -name="idle*" not reason=sleep
//	checkout                                   # anywhere: in the name, the scope or the stack
//
// docs/filter.md has the grammar; the table [Fields] what can be asked.
//
// # Concurrency
//
// A [Filter] does not change. A [Matcher] is for one goroutine at a time.
//
// # Where to start reading
//
// [Parse], then [Matcher.Match].
package filter
