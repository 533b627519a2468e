// Package coro switches between goroutines without the Go scheduler.
//
// A [Slot] holds one suspended goroutine. [Slot.Switch] suspends the caller in the slot and continues
// the goroutine that was there: an exchange, not a call. A [Routine] is a goroutine of ours that
// was made to be switched to.
//
//	r := coro.New(func(r *coro.Routine) { // runs at the first switch
//		for { work(); r.At.Switch() }
//	})
//	r.At.Switch()
//
// Because a switch is an exchange, a thread can hand its carrier to the next thread in one switch
// and need not return to the carrier first, and a continuation can be suspended from inside
// continuations nested in it in one switch. docs/decisions/0001 tells why and what it costs.
//
// # Concurrency
//
// A slot belongs to one owner at a time; the owner is whoever may legally continue the goroutine in
// it. Nothing here locks. A switch is a happens-before edge from the goroutine that
// leaves to the goroutine that continues.
//
// # Where to start reading
//
// [Slot.Switch], then [New]; [Self] finds the routine of the calling goroutine; [Locked] is the
// probe that keeps the process alive where a switch would be fatal.
package coro
