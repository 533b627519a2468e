package flight

import "runtime"

// counter reads the virtual counter, the one Linux keeps time with.
//
//go:noescape
func counter() uint64

// counterHz reads the counter's frequency.
//
//go:noescape
func counterHz() uint64

func detectClock() ClockKind {
	if runtime.GOOS == "linux" {
		return ClockCNTVCT
	}
	return ClockMonotonic
}
