package profile

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// recorded writes a source to a recording, and opens that.
func recorded(t testing.TB, src recording.Source) *recording.File {
	t.Helper()
	var b bytes.Buffer
	w := recording.NewWriter(&b, src.Info(), src, nil)
	var last time.Duration
	if err := src.Read(context.Background(), func(batch *recording.Batch) bool {
		if batch.State != nil {
			if err := w.Begin(batch.State); err != nil {
				t.Error(err)
			}
		}
		w.Add(batch.Events...)
		if n := len(batch.Events); n > 0 {
			last = batch.Events[n-1].Time
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.CloseAt(last); err != nil {
		t.Fatal(err)
	}
	f, err := recording.NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A stretch of a recording has the time that threads waited in it, whenever they began to.
func TestAStretchOfARecordingHasItsOwnTime(t *testing.T) {
	s := recordingtest.New()
	at := s.At("shop.wait wait.go:1")
	s.Start(1, 0, 0)
	s.Mount(1, 0)
	s.After(10*ms).Park(1, flight.ReasonPark, 0, at)
	s.After(30*ms).Unpark(1, 0) // at 40 ms
	s.Mount(1, 0)
	s.After(20*ms).Park(1, flight.ReasonPark, 0, at) // at 60 ms
	s.After(40 * ms).Emit(recording.Event{Kind: flight.EventMark})
	f := recorded(t, s)
	for _, c := range []struct {
		from, to time.Duration
		want     []string
	}{
		{0, 100 * ms, []string{"2 70ms root|parked|park||| shop.wait"}},
		{0, 30 * ms, []string{"1 20ms root|parked|park||| shop.wait"}},
		{20 * ms, 30 * ms, []string{"0 10ms root|parked|park||| shop.wait"}},
		{30 * ms, 70 * ms, []string{"1 20ms root|parked|park||| shop.wait"}},
		{45 * ms, 55 * ms, nil},
		{70 * ms, 80 * ms, []string{"0 10ms root|parked|park||| shop.wait"}},
	} {
		p, err := OfRecording(t.Context(), KindOf("park"), f, c.from, c.to, CollectorOptions{})
		if err != nil {
			t.Errorf("%v to %v: %v", c.from, c.to, err)
			continue
		}
		want(t, c.from.String()+" to "+c.to.String(), p, c.want...)
		if got, want := p.DurationNanos, int64(c.to-c.from); got != want {
			t.Errorf("%v to %v: got a duration of %v", c.from, c.to, time.Duration(got))
		}
		if got, want := p.TimeNanos, f.Info().From.Add(c.to).UnixNano(); got != want {
			t.Errorf("%v to %v: got the time %v, want that of its end", c.from, c.to, time.Unix(0, got))
		}
	}
	p, err := OfRecording(t.Context(), KindOf("leak"), f, 0, 100*ms, CollectorOptions{})
	if err != nil || len(p.Sample) != 1 || p.Sample[0].Value[1] != int64(40*ms) {
		t.Errorf("leak at the end: got %v, %v; want a thread that has waited for 40 ms", p, err)
	}
	if _, err := OfRecording(t.Context(), KindOf("cpu"), f, 0, ms, CollectorOptions{}); !errors.Is(err, ErrNone) {
		t.Errorf("cpu: got %v, want %v", err, ErrNone)
	}
	if _, err := OfRecording(t.Context(), KindOf("park"), f, 2*ms, ms, CollectorOptions{}); err == nil {
		t.Error("from after its end: got no error")
	}
}
