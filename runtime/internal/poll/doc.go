// Package poll is what packages vnet and vfile share: pollers, by which threads wait for descriptors.
//
//	var w poll.Watch
//	var ready poll.Readiness
//	err := w.Add(fd, poll.Reading, &ready, func() flight.BlockerSpec { return flight.BlockerSpec{Name: name} })
//	…
//	for {
//		n, err := unix.Read(fd, b)
//		if err != syscall.EAGAIN {
//			return n, err
//		}
//		ready.Wait(me, limits, pause) // parks
//	}
//
// A descriptor is registered once for each direction, edge-triggered. A poller's queue, of epoll or kqueue, is itself a descriptor that Go's own poller watches; carriers
// that have nothing to do look into it as well.
//
// # Concurrency
//
// Everything may be used by any number of threads and goroutines, but one at a time waits for a [Readiness].
//
// # Where to start reading
//
// watch.go and readiness.go are what callers use; poller.go wakes; queue_linux.go and queue_bsd.go ask the system.
package poll
