package recording_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A named is a script that knows what some blockers are called.
type named struct {
	*recordingtest.Script
	names map[flight.Blocker]string
}

func (n named) BlockerName(b flight.Blocker) string { return n.names[b] }

// What threads wait for has its name in recordings too: in events, and at moments.
func TestBlockersHaveTheirNamesInARecording(t *testing.T) {
	s := recordingtest.New()
	address, mutex, nameless := flight.DurableSignal.Blocker("address"), flight.BlockAt(flight.BlockedByMutex, 0xc000), flight.BlockAt(flight.BlockedByMutex, 0xd000)
	for i, b := range []flight.Blocker{address.Limited(), mutex, nameless} {
		id := flight.ThreadID(i + 1)
		s.Start(id, 0, 0)
		s.After(time.Millisecond).Mount(id, 4)
		s.After(time.Millisecond).Park(id, flight.ReasonSignal, b, 0)
	}
	s.Batch()
	s.After(time.Second).Start(9, 0, 0)
	b, _ := recorded(t, named{s, map[flight.Blocker]string{address: "address", mutex: "stock", flight.BlockThread(1): "none"}})
	f := opened(t, b)
	var texts []string
	if err := f.Read(t.Context(), func(b *recording.Batch) bool {
		for i := range b.Events {
			b.Events[i].Fields(f, time.Time{}, nil, func(field flight.Field, _ uint64, text string) {
				if field.Use == flight.FieldBlocker {
					texts = append(texts, text)
				}
			})
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{`signal "address"`, `mutex "stock"`, "mutex 0xd000"}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
	rows, err := momentOf(t, opened(t, b), 500*time.Millisecond).Blockers()
	if err != nil {
		t.Fatal(err)
	}
	got := map[flight.Blocker]string{}
	for i := range rows {
		got[rows[i].Blocker] = rows[i].Name
	}
	if len(rows) != 2 || got[address] != "address" || got[mutex] != "stock" {
		t.Errorf("got %+v", rows)
	}
}

// A time of another day than the event has its date.
func TestATimeOfAnotherDayHasItsDate(t *testing.T) {
	from := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	for until, want := range map[time.Duration]string{time.Hour: "13:00:00.000", 24 * time.Hour: "2026-11-23 12:00:00.000"} {
		e := recording.Event{Kind: flight.EventDurableHibernate, Time: time.Minute, More: append(recordingtest.Text("order-1"), 0, 3, uint64(until))}
		got := ""
		e.Fields(recordingtest.New(), from, nil, func(f flight.Field, _ uint64, text string) {
			if f.Name == "until" {
				got = text
			}
		})
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A process tells the names while somebody waits.
func TestARecordingOfAProcessHasTheNamesOfWhatItWaitsFor(t *testing.T) {
	r, err := flight.New(flight.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d := r.OpenDurable("order-1", "checkout")
	d.Is(7, false)
	d.Waits(flight.DurableSignal, "address", 0, time.Now(), time.Time{})
	row := r.GetRecord()
	address := flight.DurableSignal.Blocker("address")
	row.Hibernated(flight.Now(), 7, flight.ReasonSignal, 0, address)
	file, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	path := filepath.Join(t.TempDir(), "r.vtr")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := recording.Record(t.Context(), file, out, recording.Options{For: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	f, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := momentOf(t, f, f.Info().To.Sub(f.Info().From))
	rows, err := m.Blockers()
	if err != nil || len(rows) != 1 || rows[0].Blocker != address || rows[0].Name != "address" {
		t.Errorf("got %+v, %v of %+v", rows, err, m.State().Threads)
	}
}
