package dump

import (
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// Records of locks are read before those of threads: a holder that unlocks and ends in between is not gone.
func TestALockThatIsHandedOverWhileItIsReadHasNoHolderThatIsGone(t *testing.T) {
	b := flight.BlockAt(flight.BlockedByMutex, 0xb)
	for name, c := range map[string]struct {
		meanwhile func(rec *flight.BlockerRecord, file *flighttest.File)
		gone      bool
	}{
		"nothing happens":    {func(*flight.BlockerRecord, *flighttest.File) {}, true},
		"another one has it": {func(rec *flight.BlockerRecord, _ *flighttest.File) { rec.HeldBy(flight.PartyThread(2), flight.Now()) }, false},
		"one that ended has it": {func(rec *flight.BlockerRecord, _ *flighttest.File) {
			rec.HeldBy(flight.PartyThread(5001), flight.Now())
		}, false},
		"nobody waits any more": {func(rec *flight.BlockerRecord, f *flighttest.File) { f.Recorder.CloseBlocker(rec) }, false},
		"it is waited for again": {func(rec *flight.BlockerRecord, f *flighttest.File) {
			f.Recorder.CloseBlocker(rec)
			f.Recorder.OpenBlocker(flight.BlockerSpec{Blocker: b}, flight.Now()).HeldBy(flight.PartyThread(5000), flight.Now())
		}, false},
	} {
		file := flighttest.Write(t, flighttest.Spec{Threads: 3, Stacks: []flighttest.Stack{{{Func: "main.f", File: "a.go", Line: 1}}}, Thread: func(i int) flighttest.Thread {
			th := flighttest.Thread{State: flight.StateBlocked, Reason: flight.ReasonLock, Stack: 1, Blocker: b, Age: time.Minute}
			if i == 1 {
				th = flighttest.Thread{State: flight.StateMounted}
			}
			return th
		}})
		rec := file.Recorder.OpenBlocker(flight.BlockerSpec{Blocker: b}, flight.Now().Add(-time.Minute))
		rec.HeldBy(flight.PartyThread(5000), flight.Now().Add(-time.Minute))
		r, err := flight.Open(file.Path)
		if err != nil {
			t.Fatal(err)
		}
		taker := beginWaits(r, time.Now())
		c.meanwhile(rec, file)
		torn, err := r.Threads(t.Context(), taker.threads)
		w, err := taker.finish(t.Context(), torn, err)
		if err != nil || len(w.Groups) != 1 || w.Groups[0].Count != 2 {
			t.Fatalf("%s: got %+v, %v, want a group of two", name, w, err)
		}
		if g := &w.Groups[0]; g.Gone != c.gone || (g.Holders[0].State == endedState) != c.gone {
			t.Errorf("%s: the holder is gone: %v, %+v; want %v", name, g.Gone, g.Holders, c.gone)
		}
		r.Close()
	}
}
