package dump

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// privateRecorder returns a recorder of this process, and a reader of it.
func privateRecorder(t *testing.T) (*flight.Recorder, *flight.Reader) {
	t.Helper()
	r, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	rd, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rd.Close() })
	return r, rd
}

func TestScopesOfOneNameTellTogetherWhatTheirThreadsUsed(t *testing.T) {
	r, rd := privateRecorder(t)
	g := r.AcquireRing(5, 0, 64)
	second := flight.TicksOf(int64(time.Second))
	for s := range 2 {
		scope := r.OpenScope(flight.ScopeID(s+1), "requests", 0, 0, 0, flight.Now())
		for id := range flight.ThreadID(3) {
			rec := r.GetRecord()
			at := flight.Now()
			rec.Init(flight.StateRunnable, id+1, scope, 0, 0, 0, at)
			g.Mount(rec, id+1, at+second)
			g.End(rec, id+1, at+3*second, flight.ReasonEnd)
			r.PutRecord(rec)
		}
	}
	g.SetCarrier(flight.CarrierIdle)
	s, err := Take(context.Background(), rd, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got *Used
	for i := range s.Scopes {
		if s.Scopes[i].Name == "requests" {
			got = s.Scopes[i].Used
		}
	}
	if got == nil || got.Ended != 6 || got.Mounts != 6 || got.Run.Round(time.Second) != 12*time.Second || got.Ready.Round(time.Second) != 6*time.Second || got.Park.Round(time.Second) != 0 {
		t.Fatalf("got %+v, want 6 threads that ran 12s and waited 6s to run", got)
	}
	var page bytes.Buffer
	if err := Text(&page, s, TextOptions{Used: true, Width: 200}); err != nil {
		t.Fatal(err)
	}
	if want := "6 ended, ran 12s, were ready 6s, parked 0s"; !strings.Contains(page.String(), want) {
		t.Errorf("got\n%s\nwant %q", page.String(), want)
	}
}

func TestADumpSaysThatStacksAreOff(t *testing.T) {
	r, rd := privateRecorder(t)
	set := flight.DefaultSettings()
	for _, one := range []string{"park.stack=off", "unpark=off", "mount.every=10", "starved=off", "name=quiet"} {
		if err := set.Set(one); err != nil {
			t.Fatal(err)
		}
	}
	r.SetSettings(set)
	s, err := Take(context.Background(), rd, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if why := strings.Join(s.Incomplete, "\n"); s.Complete || !strings.Contains(why, `stacks are off in the settings "quiet"`) {
		t.Errorf("got %v, %q", s.Complete, why)
	}
	all, err := TakeSchedulers(context.Background(), rd)
	if err != nil {
		t.Fatal(err)
	}
	why := strings.Join(all.Incomplete, "\n")
	for _, want := range []string{"events unpark are off: delays", "events mount are recorded in part", "events starved are off: the incidents miss them"} {
		if !strings.Contains(why, want) {
			t.Errorf("got %q, want %q", why, want)
		}
	}
}
