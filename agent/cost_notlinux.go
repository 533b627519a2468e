//go:build !linux

package agent

import "time"

// onProcessor calls f and returns how long that took: other systems have no clock of one OS thread that
// package syscall reads.
func onProcessor(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
