package vthread_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestAGoroutineThatJoinsAThreadIsSeenToWait(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	waits := func(id flight.ThreadID) (n int) {
		t.Helper()
		rows, err := r.Waits()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range rows {
			if w.Blocker == flight.BlockThread(id) && w.Reason == flight.ReasonJoin {
				n++
			}
		}
		return n
	}
	until := func(id flight.ThreadID, want int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); waits(id) != want; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("got %d that wait for #%d, want %d", waits(id), id, want)
			}
		}
	}
	th := vthread.Start(func() { vthread.Park() })
	joined := make(chan struct{})
	go func() { defer close(joined); th.Join() }()
	until(th.ID(), 1)
	th.Unpark()
	<-joined
	until(th.ID(), 0)
}
