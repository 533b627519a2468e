package flight

import (
	"math"
	"sync/atomic"
	"time"
)

// Ticks is a moment on the recorder's clock: of the processor's counter where that is safe, else
// nanoseconds of CLOCK_MONOTONIC. Only differences within one process mean anything by themselves;
// a [Reader] converts moments to time with [Reader.Time]. 0 is no moment.
type Ticks uint64

// A ClockKind is what [Now] reads.
type ClockKind uint32

// The kinds of clocks. Values are part of the flight format.
const (
	ClockMonotonic ClockKind = 1 // nanoseconds of CLOCK_MONOTONIC
	ClockTSC       ClockKind = 2 // x86 time stamp counter, invariant and trusted by the kernel
	ClockCNTVCT    ClockKind = 3 // arm64 virtual counter
)

// String returns the clock's name.
func (k ClockKind) String() string {
	switch k {
	case ClockMonotonic:
		return "monotonic"
	case ClockTSC:
		return "tsc"
	case ClockCNTVCT:
		return "cntvct"
	}
	return "unknown"
}

// Before reports whether t is before u. Moments are compared by their difference: one before the machine was started is a large number.
func (t Ticks) Before(u Ticks) bool { return int64(t-u) < 0 }

// Sub returns the time from u to t.
func (t Ticks) Sub(u Ticks) time.Duration { return ticksToDuration(int64(t - u)) }

// Add returns the moment d after t.
func (t Ticks) Add(d time.Duration) Ticks { return t + Ticks(durationToTicks(d)) }

// TicksOf returns a duration in nanoseconds as ticks.
func TicksOf(nanoseconds int64) Ticks { return Ticks(durationToTicks(time.Duration(nanoseconds))) }

// Since returns the time passed since t.
func Since(t Ticks) time.Duration { return Now().Sub(t) }

// How the clock runs. Set by package init and never changed: [Now] must be cheap.
var (
	clockKind   = detectClock()
	startAnchor = readAnchor() // the first of every conversion
	startTicks  = startAnchor.Ticks
	startMono   = startAnchor.Mono
)

// Now returns the present moment. It costs about ten nanoseconds, never blocks, and may be called
// from anywhere.
func Now() Ticks {
	if clockKind != ClockMonotonic {
		return Ticks(counter())
	}
	return Ticks(nanotime())
}

func counterNow() uint64 { return uint64(Now()) }

// calibration is the least time between the two anchors that the first conversion uses.
const calibration = 200 * time.Microsecond

// scale holds the nanoseconds of a tick; 0 until first needed. It is stored by whoever
// calibrates: any converter at first, then the recorder's background goroutine.
var scale atomic.Uint64 // float64 bits

func nsPerTick() float64 {
	if bits := scale.Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	return calibrate()
}

// calibrate compares the counter with CLOCK_MONOTONIC over the life of the process, waiting if
// that has been shorter than [calibration].
func calibrate() float64 {
	if clockKind == ClockMonotonic {
		scale.Store(math.Float64bits(1))
		return 1
	}
	if hz := counterHz(); hz != 0 {
		f := 1e9 / float64(hz)
		scale.Store(math.Float64bits(f))
		return f
	}
	a := readAnchor()
	for a.Mono-startMono < int64(calibration) {
		a = readAnchor()
	}
	f := float64(a.Mono-startMono) / float64(a.Ticks-startTicks)
	if !(f > 0) || math.IsInf(f, 0) {
		f = 1
	}
	scale.Store(math.Float64bits(f))
	return f
}

// readAnchor reads counter, CLOCK_MONOTONIC and CLOCK_REALTIME close together: the closest of a few tries.
func readAnchor() anchor {
	var best anchor
	width := int64(math.MaxInt64)
	for range 4 {
		before := nanotime()
		ticks := counterNow()
		after := nanotime()
		if after-before < width {
			width = after - before
			best.Ticks, best.Mono = ticks, before+width/2
			if clockKind == ClockMonotonic {
				best.Mono = int64(ticks)
			}
		}
	}
	width = math.MaxInt64
	for range 4 {
		before := nanotime()
		real := realtime()
		if after := nanotime(); after-before < width {
			width = after - before
			best.Real = real - (before + width/2 - best.Mono)
		}
	}
	return best
}

func ticksToDuration(d int64) time.Duration {
	return time.Duration(float64(d) * nsPerTick())
}

func durationToTicks(d time.Duration) int64 {
	return int64(float64(d) / nsPerTick())
}
