//go:build !amd64 && !arm64

package flight

func counter() uint64 { return uint64(nanotime()) }

func counterHz() uint64 { return 0 }

func detectClock() ClockKind { return ClockMonotonic }
