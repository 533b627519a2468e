package vsync_test

import (
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestAFunctionIsCalledOnceWhoeverCallsIt(t *testing.T) {
	fromBoth(t, func(t *testing.T) {
		var n atomic.Int32
		f := vsync.OnceFunc(func() { n.Add(1) })
		v := vsync.OnceValue(func() int { return int(n.Add(10)) })
		two := vsync.OnceValues(func() (string, error) { n.Add(100); return "v", nil })
		for range 3 {
			f()
			if got := v(); got != 11 {
				t.Errorf("OnceValue returns %d", got)
			}
			if s, err := two(); s != "v" || err != nil {
				t.Errorf("OnceValues returns %q, %v", s, err)
			}
		}
		if n.Load() != 111 {
			t.Errorf("they were called for %d, want each once", n.Load())
		}
		broken := vsync.OnceFunc(func() { n.Add(1000); panic("no") })
		for range 3 {
			if got := panics(broken); got != "no" {
				t.Errorf("it panics with %v", got)
			}
		}
		if n.Load() != 1111 {
			t.Error("a function that panics is called again")
		}
	})
}

func TestWhoWaitsForTheOneCallParks(t *testing.T) {
	out := make(chan struct{})
	f := vsync.OnceFunc(func() { vthread.Recv(out) })
	var all []*vthread.Thread
	for range 3 {
		all = append(all, vthread.Start(f))
	}
	parked := func() (n int) {
		for _, th := range all {
			if s := th.State(); s.String() == "parked" || s.String() == "waiting" || s.String() == "blocked" {
				n++
			}
		}
		return n
	}
	for parked() < 3 {
		vthread.Start(func() {}).Join()
	}
	close(out)
	for _, th := range all {
		th.Join()
	}
}
