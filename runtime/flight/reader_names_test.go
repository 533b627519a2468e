package flight_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestNamesOfManyAreReadByTheBlockAndBounded(t *testing.T) {
	const threads = 600_000 // more than the blocks that are kept have
	f := flighttest.Write(t, flighttest.Spec{Threads: threads, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{Name: "w" + strconv.Itoa(i), State: flight.StateParked, Reason: flight.ReasonPark}
	}})
	r := open(t, f.Path)
	var rows []flight.ThreadRow
	if _, err := r.Threads(context.Background(), func(some []flight.ThreadRow) { rows = append(rows, some...) }); err != nil || len(rows) != threads {
		t.Fatalf("got %d rows, %v", len(rows), err)
	}
	names := r.Names()
	look := func(i int) (has bool, kept, loaded int) {
		t.Helper()
		if got, want := names.Of(rows[i]), "w"+strconv.Itoa(int(rows[i].ID)-1); got != want {
			t.Fatalf("row %d: got %q, want %q", i, got, want)
		}
		return names.Has(rows[i])
	}
	alone, kept, loaded := 0, 0, 0
	for i := range rows {
		has := false
		if has, kept, loaded = look(i); !has {
			alone++
		}
	}
	if alone > threads/50 || kept > 512 || loaded > 600 {
		t.Errorf("in order: got %d names read by themselves, %d blocks kept and %d loaded; want few, at most 512, and each once", alone, kept, loaded)
	}
	before := loaded
	for i := range 2000 {
		_, kept, loaded = look(i * 7919 % threads)
	}
	if kept > 512 || loaded-before > 2000/16+1 {
		t.Errorf("in any order: got %d blocks kept and %d more loaded for 2,000 names", kept, loaded-before)
	}
}
