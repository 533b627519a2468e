package dump

import (
	"context"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

func TestSlowOperationsAreToldWithBytesAndAddresses(t *testing.T) {
	r, rd := privateRecorder(t)
	ring := r.AcquireRing(1, 1, 1<<10)
	place := r.AddStack([]flight.Frame{{Func: "main.call", File: "/src/main.go", Line: 4}})
	for i := range maxSlow + 5 {
		with := flight.TextOf("10.1.2.3:80")
		more := append([]uint64{uint64(time.Duration(i) * time.Millisecond), 11}, with[:]...)
		ring.EmitMore(flight.Now(), flight.EventIO, flight.ReasonRead, place, 7, uint64(flight.BlockSocket(12)), more...)
	}
	s, err := TakeSchedulers(context.Background(), rd)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Slow) != maxSlow {
		t.Fatalf("%d operations, want the newest %d", len(s.Slow), maxSlow)
	}
	got := s.Slow[0]
	if got.Place == nil || got.Place.Func != "main.call" || got.Ago < 0 || got.Ago > time.Minute {
		t.Errorf("the newest is of %+v, %v ago", got.Place, got.Ago)
	}
	got.Place, got.Ago = nil, 0
	want := SlowIO{Reason: flight.ReasonRead, Blocker: "socket #12", With: "10.1.2.3:80", For: (maxSlow + 4) * time.Millisecond, Bytes: 11, Thread: 7}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
