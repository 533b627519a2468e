package flight

import (
	"strconv"
	"strings"
	"time"
)

// A Setting tells how much of a kind of events is recorded. Counters stay exact whatever it says.
type Setting struct {
	On        bool
	Threshold time.Duration // of kinds with a duration: shorter ones are left out
	Stack     bool          // of kinds with a stack
	Depth     int           // of that stack, 1 to 64; 0: 64
	Every     uint32        // one event in so many is recorded; 0 and 1: all are
	PerSecond uint32        // at most so many events in a second of each carrier, and of all others together; 0: no limit
}

// String returns, for example, "on, from 20ms, stack 64".
func (s Setting) String() string {
	if !s.On {
		return "off"
	}
	parts := []string{"on"}
	if s.Threshold > 0 {
		parts = append(parts, "from "+s.Threshold.String())
	}
	if s.Stack {
		parts = append(parts, "stack "+strconv.Itoa(s.Depth))
	}
	if s.Every > 1 {
		parts = append(parts, "1 in "+strconv.FormatUint(uint64(s.Every), 10))
	}
	if s.PerSecond > 0 {
		parts = append(parts, "at most "+strconv.FormatUint(uint64(s.PerSecond), 10)+"/s")
	}
	return strings.Join(parts, ", ")
}
