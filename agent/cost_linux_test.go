package agent

import (
	"testing"
	"time"
)

func TestWaitingIsNotOnAProcessor(t *testing.T) {
	const nap = 200 * time.Millisecond
	if got := onProcessor(func() { time.Sleep(nap) }); got > nap/2 {
		t.Errorf("a nap of %v: %v on a processor", nap, got)
	}
	computed := time.Duration(0)
	got := onProcessor(func() {
		for began := threadCPU(); computed < 20*time.Millisecond; {
			computed = threadCPU() - began
		}
	})
	if got < computed {
		t.Errorf("%v on a processor, want at least the %v that were computed", got, computed)
	}
}
