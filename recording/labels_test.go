package recording_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func labelsOf(t *testing.T, m *recording.Moment, id flight.ThreadID) []flight.Label {
	t.Helper()
	rows, err := m.Labels()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Thread == id {
			return row.Labels
		}
	}
	return nil
}

func TestARecordingHasTheLabelsOfThreads(t *testing.T) {
	r := ours(t)
	stop := make(chan struct{})
	wait := func(tenant string) *vthread.Thread {
		return vthread.Builder{Labels: map[string]string{"tenant": tenant}}.Start(func() { <-stop })
	}
	before := wait("before")
	rec := record(t, r, recording.Options{Every: time.Millisecond})
	since := wait("since")
	rec.end()
	close(stop)
	before.Join()
	since.Join()
	if rec.err != nil {
		t.Fatal(rec.err)
	}
	f := opened(t, rec.out.Bytes())
	end := f.Info().To.Sub(f.Info().From)
	m := momentOf(t, f, end)
	for tenant, th := range map[string]*vthread.Thread{"before": before, "since": since} {
		if got, want := labelsOf(t, m, th.ID()), []flight.Label{{Key: "tenant", Value: tenant}}; !slices.Equal(got, want) {
			t.Errorf("labels at the end of the thread that was started %s: %v, want %v", tenant, got, want)
		}
	}
	m = momentOf(t, f, 0)
	if got := labelsOf(t, m, before.ID()); len(got) != 1 {
		t.Errorf("labels at the beginning: %v, want those of the thread that was there", got)
	}
	if got := labelsOf(t, m, since.ID()); len(got) != 0 {
		t.Errorf("labels at the beginning of a thread that is not there yet: %v", got)
	}
}

// TestEachStateComesWithTheLabelsOfItsThreads reads a recording from each of its states on, and knows as much.
func TestEachStateComesWithTheLabelsOfItsThreads(t *testing.T) {
	var out bytes.Buffer
	row := func(id flight.ThreadID, cut bool) flight.LabelRow {
		return flight.LabelRow{Thread: id, Labels: []flight.Label{{Key: "n", Value: fmt.Sprint(id)}, {Key: "same", Value: "\x1b[2J"}}, Cut: cut}
	}
	thread := func(id flight.ThreadID) recording.Thread { return recording.Thread{ID: id, State: flight.StateParked} }
	w := recording.NewWriter(&out, recording.Info{From: recordingtest.Began, Started: recordingtest.Began}, recordingtest.New(), &recording.State{Threads: []recording.Thread{thread(1), thread(7)}})
	w.Label(0, []flight.LabelRow{row(1, true), row(7, false)})
	flush := func(at time.Duration) {
		t.Helper()
		w.Add(recording.Event{Time: at, Kind: flight.EventMark})
		if err := w.Flush(at); err != nil {
			t.Fatal(err)
		}
	}
	flush(time.Second)
	w.Label(99*time.Second, []flight.LabelRow{row(1, true), row(9, false)}) // 1 has the same
	w.Add(recording.Event{Time: 90 * time.Second, Kind: flight.EventThreadStart, Thread: 9})
	w.Add(recording.Event{Time: 95 * time.Second, Kind: flight.EventThreadEnd, Thread: 7})
	flush(100 * time.Second)
	if err := w.Begin(&recording.State{At: 200 * time.Second, Threads: []recording.Thread{thread(1), thread(9)}}); err != nil {
		t.Fatal(err)
	}
	flush(201 * time.Second)
	w.Label(203*time.Second, []flight.LabelRow{{Thread: 1}, {Thread: 9, Labels: []flight.Label{{Key: "other", Value: "9"}}}})
	flush(204 * time.Second)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	f := opened(t, out.Bytes())
	written := map[flight.ThreadID]int{}
	if err := f.Read(t.Context(), func(b *recording.Batch) bool {
		for _, l := range b.Labels {
			written[l.Thread]++
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if written[1] != 3 || written[7] != 1 || written[9] != 3 {
		t.Errorf("labels were written so often: %v; want those of 1 and 9 with the second state again, and once more as they changed", written)
	}
	m := momentOf(t, f, 204*time.Second)
	if got := labelsOf(t, m, 9); len(got) != 1 || got[0].Key != "other" || len(labelsOf(t, m, 1)) != 0 {
		t.Errorf("labels at the end: %v and %v; want other ones of 9, and none of 1", got, labelsOf(t, m, 1))
	}
	for at, want := range map[time.Duration][]flight.ThreadID{time.Second: {1, 7}, 100 * time.Second: {1, 9}, 201 * time.Second: {1, 9}} {
		rows, err := momentOf(t, f, at).Labels()
		if err != nil || len(rows) != len(want) {
			t.Fatalf("labels at %v: %v, %+v; want those of %v", at, err, rows, want)
		}
		for i, id := range want {
			if l := rows[i].Labels; rows[i].Thread != id || len(l) != 2 || l[0].Value != fmt.Sprint(id) || l[1].Value != "�[2J" || rows[i].Cut != (id == 1) {
				t.Errorf("labels at %v: %+v, want those of %d, whole but of 1, and safe to print", at, rows[i], id)
			}
		}
	}
}
