package computetest

import "sync/atomic"

// Until computes until stop is true. It neither waits nor passes a scheduling point of vtscope, and Go can preempt it in every mode.
// A look from outside may find no trace of Until and its callees.
//
//go:noinline
func Until(stop *atomic.Bool) {
	for !reached(stop) {
	}
}

// reached is where Go preempts: the compiler leaves the check out of functions without calls, such as isSet.
//
//go:noinline
func reached(stop *atomic.Bool) bool { return isSet(stop) }

//go:noinline
func isSet(stop *atomic.Bool) bool { return stop.Load() }
