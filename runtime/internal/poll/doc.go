// Package poll is what packages vnet and vfile share: pollers, by which threads wait for descriptors.
//
//	c.at.Init(raw, owner, poll.Kind{Interrupted: errInterrupted}) // in a connection, whose field is at poll.Descriptor
//	…
//	n, err := c.at.Do(sched.Current(), poll.Reading, flight.ReasonRead, b, nil) // parks until there is something to read
//
// A descriptor is registered once for each direction, edge-triggered. A poller's queue, of epoll or kqueue, is itself a descriptor that Go's own poller watches; carriers
// that have nothing to do look into it as well.
//
// # Concurrency
//
// Everything may be used by any number of threads and goroutines. One operation of each direction of a [Descriptor] is under way at a time, the others wait for their turn.
//
// # Where to start reading
//
// [Descriptor] is what callers use. It has a [Watch], by which a poller knows it, and for each direction a [Readiness], which that marks. poller.go wakes; queue_linux.go
// and queue_bsd.go ask the system.
package poll
