package flight

import (
	"slices"
	"testing"
)

// One step of a thread's life, in the combined form and in single calls.
var switches = []struct {
	name     string
	combined func(g *Ring, rec *Record, t Ticks)
	single   func(g *Ring, rec *Record, t Ticks)
}{
	{"Start",
		func(g *Ring, rec *Record, t Ticks) { g.Start(7, t, 3, 2, RecordOnGoroutine) },
		func(g *Ring, rec *Record, t Ticks) { g.Emit(t, EventThreadStart, Reason(RecordOnGoroutine), 2, 7, 3) }},
	{"Mount",
		func(g *Ring, rec *Record, t Ticks) { g.Mount(rec, 7, t) },
		func(g *Ring, rec *Record, t Ticks) { rec.Mounted(t, 5); g.Emit(t, EventMount, 0, 0, 7, 0) }},
	{"Yield",
		func(g *Ring, rec *Record, t Ticks) { g.Yield(rec, 7, t) },
		func(g *Ring, rec *Record, t Ticks) {
			rec.Yielded(t)
			g.Emit(t, EventYield, 0, 0, 7, 0)
			g.Emit(t, EventUnmount, ReasonYield, 0, 7, 0)
		}},
	{"Park",
		func(g *Ring, rec *Record, t Ticks) {
			g.Park(rec, 7, t, StateBlocked, ReasonLock, 11, BlockLock(0x1000))
		},
		func(g *Ring, rec *Record, t Ticks) {
			rec.Parked(t, StateBlocked, ReasonLock, 11, BlockLock(0x1000))
			g.Emit(t, EventPark, ReasonLock, 11, 7, uint64(BlockLock(0x1000)))
			g.Emit(t, EventUnmount, ReasonLock, 0, 7, 0)
		}},
	{"Unpark",
		func(g *Ring, rec *Record, t Ticks) { g.Unpark(rec, 7, t, 9) },
		func(g *Ring, rec *Record, t Ticks) { rec.Runnable(t, 9); g.Emit(t, EventUnpark, 0, 0, 7, 9) }},
	{"End",
		func(g *Ring, rec *Record, t Ticks) { g.End(rec, 7, t, ReasonPanic) },
		func(g *Ring, rec *Record, t Ticks) {
			used, _ := rec.End(t)
			g.Emit(t, EventThreadEnd, ReasonPanic, StackID(used.Mounts), 7, uint64(used.Run.Sub(0)))
			g.Emit(t, EventUnmount, ReasonPanic, 0, 7, 0)
		}},
}

func TestCombinedSwitchesRecordWhatSingleCallsDo(t *testing.T) {
	type side struct {
		g   *Ring
		rec *Record
		rd  *Reader
	}
	var sides [2]side
	for i := range sides {
		r := newTest(t)
		sides[i] = side{r.AcquireRing(5, 0, 64), r.GetRecord(), openFile(t, r)}
		sides[i].rec.Init(StateRunnable, 7, 0, 1, 0, 0, 100)
	}
	for step, sw := range switches {
		at := Ticks(200 + step)
		sw.combined(sides[0].g, sides[0].rec, at)
		sw.single(sides[1].g, sides[1].rec, at)
		var (
			rows   [2]ThreadRow
			events [2][]Event
			rings  [2]RingRow
		)
		for i, s := range sides {
			var err error
			if rows[i], _, err = s.rd.FindThread(7); err != nil {
				t.Fatal(err)
			}
			rings[i] = ringOfCarrier(t, s.rd, 5)
			if events[i], _, _, err = s.rd.Events(rings[i].Index, 0, 100); err != nil {
				t.Fatal(err)
			}
		}
		if rows[0] != rows[1] {
			t.Errorf("%s: got row %+v, want %+v", sw.name, rows[0], rows[1])
		}
		if !slices.Equal(events[0], events[1]) {
			t.Errorf("%s: got events %+v, want %+v", sw.name, events[0], events[1])
		}
		if rings[0].Head != rings[1].Head || rings[0].Counts != rings[1].Counts {
			t.Errorf("%s: got head and counts %+v, want %+v", sw.name, rings[0], rings[1])
		}
		if sides[0].rec.ver != sides[1].rec.ver {
			t.Errorf("%s: got version %d, want %d", sw.name, sides[0].rec.ver, sides[1].rec.ver)
		}
	}
}
