// Package panicstack has the stack of a panic from where it was raised.
//
//	defer func() {
//		if v := recover(); v != nil {
//			report(v, panicstack.Of())
//		}
//	}()
//
// # Concurrency
//
// None: it tells of the calling goroutine.
//
// # Where to start reading
//
// [Of].
package panicstack
