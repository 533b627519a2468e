package sched_test

import (
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestACarrierIsRunningFromItsFirstThreadOn(t *testing.T) {
	path := flight.Default().Path()
	if path == "" {
		t.Skip("the recorder is off or private")
	}
	reader, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	b := vthread.Builder{Scheduler: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1})}
	b.Start(func() {
		rings, err := reader.Rings()
		if err != nil {
			t.Error(err)
		}
		me := vthread.Current().ID()
		for _, r := range rings {
			events, _, _, _ := reader.Events(r.Index, r.Head-min(r.Head, 1), 1)
			if len(events) == 1 && events[0].Kind == flight.EventMount && events[0].Thread == me {
				if r.State != flight.CarrierRunning {
					t.Errorf("state %v, want running", r.State)
				}
				return
			}
		}
		t.Error("found no ring with our mount")
	}).Join()
}
