package flight

import "testing"

func TestPollersTellTheirFigures(t *testing.T) {
	rec, err := New(Options{Mode: ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	write, read := rec.OpenPoller(PollerWrite, 2), rec.OpenPoller(PollerRead, 1)
	f := PollerFigures{Watched: 10, Wakeups: 3, Ready: 70, Failed: 1, Batches: [PollerBatches]uint32{1, 0, 0, 0, 0, 0, 2, 0}}
	read.Write(&f, 4711)
	r, err := rec.Reader()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := r.Pollers()
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %+v, %v", rows, err)
	}
	if rows[0] != (PollerRow{PollerRead, 1, f, 4711}) || rows[1] != (PollerRow{Kind: PollerWrite, Number: 2}) {
		t.Errorf("got %+v", rows)
	}
	var none *PollerRecord
	none.Write(&f, 1)
	_ = write
}
