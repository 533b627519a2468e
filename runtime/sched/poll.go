package sched

import (
	"slices"
	"sync"
	"sync/atomic"
)

// polls are what [Poll] was given. The slice is replaced, never changed.
var polls struct {
	sync.Mutex // of who adds
	all        atomic.Pointer[[]func() bool]
}

// Poll makes the carriers of all [ForkJoin] schedulers call poll when they find nothing to do, before they sleep, and now and then while they have something to
// do. It looks for what threads wait for outside of the process, makes those go on, and reports whether there were any. It must not block, and may be called by
// several carriers at a time. It is added to those of earlier calls, for good. Packages vnet and vfile have one; without it a thread whose socket is ready waits until
// Go's scheduler executes the poller's goroutine, which on processors that carriers keep busy may take its time slice of 10 ms.
func Poll(poll func() bool) {
	polls.Lock()
	defer polls.Unlock()
	var all []func() bool
	if p := polls.all.Load(); p != nil {
		all = *p
	}
	all = append(slices.Clone(all), poll)
	polls.all.Store(&all)
}

// poll asks for what has become ready outside.
func (w *worker) poll() (found bool) {
	p := polls.all.Load()
	if p == nil {
		return false
	}
	for _, poll := range *p {
		if poll() {
			found = true
		}
	}
	return found
}
