//go:build unix

package flight

import (
	"syscall"
	"time"
)

// realtime reads CLOCK_REALTIME, also inside a testing/synctest bubble.
func realtime() int64 {
	var tv syscall.Timeval
	if syscall.Gettimeofday(&tv) != nil {
		return time.Now().UnixNano()
	}
	return tv.Nano()
}
