//go:build !unix

package agent

import "time"

// processCPU is not known on this system; the page says so.
func processCPU() (time.Duration, bool) { return 0, false }
