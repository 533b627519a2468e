package profile

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// eventually waits until something is so.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * ms) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// counted sums the counts of a mark by reason.
func counted(m *Mark, w what) (by [flight.ReasonCount]uint64, all uint64) {
	for i := range m.keys {
		if m.keys[i].what == w {
			by[m.keys[i].reason] += m.sums[i].count
			all += m.sums[i].count
		}
	}
	return by, all
}
