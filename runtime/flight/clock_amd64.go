package flight

import (
	"os"
	"runtime"
	"strings"
)

// counter reads the time stamp counter. It is not ordered with the instructions around it; a few
// nanoseconds do not matter here.
//
//go:noescape
func counter() uint64

//go:noescape
func cpuid(leaf uint32) (eax, edx uint32)

func counterHz() uint64 { return 0 } // unknown: calibrate

// detectClock trusts the time stamp counter only where the processor says that it never changes
// its rate and the kernel itself keeps time with it.
func detectClock() ClockKind {
	if runtime.GOOS != "linux" {
		return ClockMonotonic
	}
	const features, invariant = 0x80000007, 1 << 8
	if top, _ := cpuid(0x80000000); top < features {
		return ClockMonotonic
	}
	if _, edx := cpuid(features); edx&invariant == 0 {
		return ClockMonotonic
	}
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil || strings.TrimSpace(string(source)) != "tsc" {
		return ClockMonotonic
	}
	return ClockTSC
}
