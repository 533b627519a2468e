// Package jfrtest reads files of JDK Flight Recorder, of any types, and refuses what any of the readers in use would stumble over.
//
//	f, err := jfrtest.Read(data)
//	for e := range f.Events("jdk.VirtualThreadPinned") {
//		fmt.Println(e.Get("eventThread.javaName"), e.Duration())
//	}
//
// It holds the whole file in memory: it is for tests.
//
// # Concurrency
//
// A [File] does not change once it was read, and may be used from any goroutine.
//
// # Where to start reading
//
// [Read], which goes over a file chunk by chunk; what it refuses stands at [Read].
package jfrtest
