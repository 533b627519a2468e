package durable

import (
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ownFrames are those of the runtime above the body where it waits.
const ownFrames = 1

// showLocked gives a hibernated thread a row in the flight file, since it has no thread that has one.
func (t *Thread) showLocked() {
	r := flight.Default()
	if t.mu.shown = r.GetRecord(); t.mu.shown == nil {
		return // the recorder is off, or the table is full, which it counts
	}
	t.mu.shown.Hibernated(flight.Now(), sched.NewID(nil), t.mu.wait.reason(), t.mu.wait.stack)
	r.SetName(t.mu.shown, t.label())
}

func (t *Thread) hideLocked() {
	if t.mu.shown != nil {
		t.mu.shown.End(flight.Now())
		flight.Default().PutRecord(t.mu.shown)
		t.mu.shown = nil
	}
}

// label is what dumps call the thread.
func (t *Thread) label() string { return t.body.name + " " + t.id }
