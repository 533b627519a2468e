package flight

import (
	"testing"
	"time"
)

func TestPausesForManyRecordsAreBounded(t *testing.T) {
	r := newTest(t)
	const names = 20
	var rows [names]ThreadRow
	for i := range rows {
		rec := r.GetRecord()
		rec.Init(StateNew, ThreadID(i+1), 0, 0, 0, 0, 1)
		r.SetName(rec, "name")
		rows[i] = ThreadRow{ID: ThreadID(i + 1), Name: NameRef(rec.name)}
	}
	rd := openFile(t, r)
	for i := range rows {
		if got := rd.ThreadName(rows[i]); got != "name" {
			t.Fatalf("thread %d: got name %q", i+1, got)
		}
		r.names.mu.Lock()
		beginWrite(&r.names.slot(uint32(rows[i].Name)).Ver) // and the process lives
		r.names.mu.Unlock()
	}
	nameless := func() (pauses int) {
		before := rd.pauses.n
		for i := range rows {
			if got := rd.ThreadName(rows[i]); got != "" {
				t.Fatalf("thread %d: got name %q of a record that is half written", i+1, got)
			}
		}
		return rd.pauses.n - before
	}
	if nameless() == 0 {
		t.Error("it did not pause for any record")
	}
	rd.pauses.since, rd.pauses.spent = time.Now().Add(time.Hour), pauseMost // as if this second's time were spent
	if n := nameless(); n != 0 {
		t.Errorf("its time for pauses is spent: it paused %d times, want never", n)
	}
}
