package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// recordingFile writes what a script tells to a file: thread 1 of requests sleeps from 2 s on, and ends after 9 s.
func recordingFile(t *testing.T) string {
	t.Helper()
	s := recordingtest.New()
	s.Define(flight.UserKindInfo{Number: 1, Name: "cart.Checkout", Fields: []flight.Field{{Name: "items", At: flight.AtMore, Use: flight.FieldCount}}})
	s.Open(7, "requests", 0, 0)
	s.After(time.Second).Start(1, 7, 0)
	s.Name(1, "GET /cart")
	s.Mount(1, 3)
	s.After(time.Second).Park(1, flight.ReasonSleep, 0, s.At("shop.query /src/shop/store.go:88", "shop.checkout /src/shop/cart.go:12"))
	s.After(6*time.Second).Unpark(1, 0)
	s.After(time.Second).Mount(1, 4)
	s.Emit(recording.Event{Kind: flight.EventMark, Carrier: 4, Ref: 1, Thread: 1, More: []uint64{12, 0, 0}})
	s.End(1, flight.ReasonEnd)
	s.After(time.Second).Close(7)

	path := filepath.Join(t.TempDir(), "run.vtr")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewWriter(f, s.Info(), s, nil)
	if err := s.Read(t.Context(), func(b *recording.Batch) bool { err = w.WriteBatch(b); return err == nil }); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReplayShowsTheThreadsAsTheyWere(t *testing.T) {
	path := recordingFile(t)
	began := recordingtest.Began.Local().Format("15:04:05")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"replay", path, "--at", "3500ms"}, []string{"1 thread in 2 scopes   timed-parked 1", "a moment of a recording", "complete", "requests", "timed-parked 1.5s", "shop.query", "store.go:88", `#1 "GET /cart"`}},
		{[]string{path + "@3500ms"}, []string{"timed-parked 1.5s"}},
		{[]string{path, "--at", "-2500ms"}, []string{"timed-parked 5.5s"}},
		{[]string{"replay", path, "--at", recordingtest.Began.Add(3 * time.Second).Format(time.RFC3339)}, []string{"timed-parked 1s"}},
		{[]string{path, "--at", strconv.FormatInt(recordingtest.Began.Add(3*time.Second).UnixMilli(), 10)}, []string{"timed-parked 1s"}},
		{[]string{"replay", path, "--at", "8500ms"}, []string{"runnable 500ms"}},
		{[]string{"replay", path, "--at", "1500ms"}, []string{"mounted 500ms"}},
		{[]string{"replay", path, "--at", began}, []string{"0 threads"}},
		{[]string{"replay", path}, []string{"0 threads in 1 scope"}},
		{[]string{"replay", path, "--at", "3s", "--growth", "2500ms"}, []string{"▲ 1"}},
	} {
		out := succeeds(t, c.args...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("vtdump %q: want %q in\n%s", c.args, want, out)
			}
		}
	}
	var snap dump.Snapshot
	if err := json.Unmarshal([]byte(succeeds(t, "--json", path+"@4s")), &snap); err != nil {
		t.Fatal(err)
	}
	if snap.Process.Status != dump.StatusRecorded || !snap.AsOf.Equal(recordingtest.Began.Add(4*time.Second)) || snap.Threads != 1 || !snap.Complete {
		t.Errorf("got %+v, want the complete state of 4 s after the beginning", snap)
	}
}

func TestReplayRefusesWhatIsNotThere(t *testing.T) {
	path := recordingFile(t)
	fails(t, exitFailed, "no moment 11s: it is from 0s to 10s", "replay", path, "--at", "11s")
	fails(t, exitUsage, `"soon" is no moment`, "replay", path, "--at", "soon")
	fails(t, exitUsage, "two moments", "replay", path+"@1s", "--at", "2s")
	fails(t, exitFailed, "a recording tells what its threads did; waits needs something else", "waits", path)
	fails(t, exitFailed, "no such file", "replay", path+".none")
	fails(t, exitUsage, "replay needs a target", "replay")
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitFailed, "not a readable recording", "replay", other)
}

func TestEventsArePrintedOneALine(t *testing.T) {
	path := recordingFile(t)
	lines := strings.Split(strings.TrimSuffix(succeeds(t, "events", path), "\n"), "\n")
	if len(lines) != 12 {
		t.Fatalf("got %d lines, want 12:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	for i, want := range map[int][]string{
		0: {"scope-open", `scope #7 "requests"`, `name "requests"`}, 1: {"thread-start", "#1"}, 4: {"park", `#1 "GET /cart"`, "reason sleep", "stack shop.query store.go:88"},
		8: {"cart.Checkout", "items 12"}, 9: {"thread-end", `"GET /cart"`}, 11: {"scope-close"},
	} {
		for _, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %d: want %q in %q", i, w, lines[i])
			}
		}
	}
	if out := succeeds(t, "events", path, "--kind", "park", "--kind", "cart.Checkout"); strings.Count(out, "\n") != 2 {
		t.Errorf("two kinds: got\n%s\nwant two lines", out)
	}
	if out := succeeds(t, "events", path, "--stats"); !strings.Contains(out, "mount                          2          0.2\n") || !strings.Contains(out, "all                           12          1.2\n") {
		t.Errorf("stats: got\n%s", out)
	}
	n := 0
	for line := range strings.Lines(succeeds(t, "events", path, "--json")) {
		var e eventDoc
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 12 {
		t.Errorf("as JSON: got %d lines, want 12", n)
	}
}

func TestCatalogueIsThatOfTheTable(t *testing.T) {
	var doc struct{ Kinds []kindDoc }
	if err := json.Unmarshal([]byte(succeeds(t, "events", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	text := succeeds(t, "events")
	n := 0
	for k := range flight.Kinds {
		if flight.Kinds[k].Category == "" || flight.Kind(k) == flight.EventMore {
			continue
		}
		if n >= len(doc.Kinds) || doc.Kinds[n].Name != flight.Kinds[k].Name || len(doc.Kinds[n].Fields) != len(flight.Kinds[k].Fields) {
			t.Fatalf("kind %d: got %+v, want %+v", n, doc.Kinds[n:min(n+1, len(doc.Kinds))], flight.Kinds[k])
		}
		if !strings.Contains(text, "\n"+flight.Kinds[k].Name+" ") && n > 0 {
			t.Errorf("no line of %s", flight.Kinds[k].Name)
		}
		n++
	}
	if n < 30 || n != len(doc.Kinds) {
		t.Errorf("got %d kinds, want %d, 30 at least", len(doc.Kinds), n)
	}
}

func TestSizesOfDisksAreRead(t *testing.T) {
	for text, want := range map[string]int64{"100MB": 100_000_000, "3KB": 3000, "2GB": 2_000_000_000, "2MiB": 2 << 20, "77": 77} {
		if got, err := size(text); got != want || err != nil {
			t.Errorf("%s: got %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MB", "-3MB", "12XB", "99999999999999999GB", "1.5MB"} {
		if got, err := size(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}
