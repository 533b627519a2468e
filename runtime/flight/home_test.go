package flight

import "testing"

func TestHomesKeepToRingsAndRecordsOfTheirOwn(t *testing.T) {
	r := newTest(t)
	at := func() (heads [stripes]uint64) {
		for i := range r.stripes {
			heads[i] = r.stripes[i].ring.pos
		}
		return heads
	}
	first, records := at(), map[*Record]bool{}
	for i := range stripes {
		h, before := NewHome(), at()
		for range 2 {
			h.Emit(r, Now(), EventThreadStart, 0, 0, 7, 0)
			h.EmitMore(r, Now(), EventThreadName, 0, 0, 7, 0, 1, 2)
		}
		moved := 0
		for j, pos := range at() {
			if pos != before[j] {
				moved++
				if before[j] != first[j] {
					t.Errorf("home %d shares ring %d", i, j)
				}
			}
		}
		if moved != 1 {
			t.Errorf("home %d wrote to %d rings", i, moved)
		}
		rec := h.GetRecord(r)
		rec.Init(StateNew, ThreadID(i+1), 0, 0, 0, 0, 1)
		rec.End(2)
		h.PutRecord(r, rec)
		if h.GetRecord(r) != rec {
			t.Errorf("home %d got another record than it gave back", i)
		}
		records[rec] = true
	}
	if len(records) != stripes {
		t.Errorf("%d records of %d homes", len(records), stripes)
	}
}
