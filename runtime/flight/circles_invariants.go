//go:build invariants

package flight

// watchesCircles reports whether this build looks for deadlocks.
const watchesCircles = true
