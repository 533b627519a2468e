package flighttest_test

import (
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestEndedFileStaysAndIsCalledEnded(t *testing.T) {
	f := flighttest.Write(t, flighttest.Spec{Threads: 10, Events: 5, Carriers: 2, Ended: true})
	r, err := flight.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p := r.Process(); p.Status != flight.StatusEnded || p.Threads != 10 {
		t.Errorf("got %+v, want 10 threads, ended", p)
	}
	rings, err := r.Rings()
	var events uint64
	for _, g := range rings {
		if g.Owner == flight.RingOfCarrier {
			events += g.Head
		}
	}
	if err != nil || events != 10 {
		t.Errorf("got %d events in rings of carriers, error %v; want 10", events, err)
	}
}

func TestAnOpenFileCanBeWrittenFurther(t *testing.T) {
	f := flighttest.Write(t, flighttest.Spec{Threads: 3})
	r, err := flight.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f.Records[1].Runnable(flight.Now(), 3)
	row, found, err := r.FindThread(2)
	if err != nil || !found || row.State != flight.StateRunnable || row.Waker != 3 {
		t.Errorf("got %+v, found %v, error %v; want it runnable, woken by 3", row, found, err)
	}
}
