// Package recordingtest makes sources of events by hand, for tests of what reads recordings.
//
//	s := recordingtest.New()
//	s.Start(1, 0, 0)
//	s.After(time.Millisecond).Mount(1, 0)
//	s.After(time.Millisecond).Park(1, flight.ReasonSleep, 0, s.At("shop.query store.go:88"))
//	export(s)
//
// A [Script] is what is said of it, a [Load] as long as one likes.
//
// # Concurrency
//
// A script or load is used from one goroutine at a time.
//
// # Where to start reading
//
// [Script].
package recordingtest
