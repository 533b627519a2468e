package recording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

func momentOf(t *testing.T, f *recording.File, at time.Duration) *recording.Moment {
	t.Helper()
	m, err := f.At(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMomentIsTheStateAfterAllEventsUpToIt(t *testing.T) {
	l := recordingtest.NewLoad(150_000)
	b, _ := recorded(t, l)
	f := opened(t, b)
	end := f.Info().To.Sub(f.Info().From)
	for _, at := range []time.Duration{0, end / 7, end / 2, end - time.Millisecond, end} {
		want := recording.NewTracker(f)
		if err := f.Read(t.Context(), func(b *recording.Batch) bool {
			for i := range b.Events {
				if b.Events[i].Time <= at {
					want.Apply(&b.Events[i])
				}
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		m := momentOf(t, f, at)
		if got := len(m.State().Threads); got != want.Len() {
			t.Fatalf("at %v: got %d threads, want %d", at, got, want.Len())
		}
		for _, th := range m.State().Threads {
			if w := want.Thread(th.ID); w == nil || w.State != th.State || w.Since != th.Since || w.Scope != th.Scope || w.Name != th.Name {
				t.Fatalf("at %v: got %+v, want %+v", at, th, w)
			}
		}
		if in := m.Incomplete(); len(in) > 0 {
			t.Errorf("at %v: got %q incomplete, want nothing", at, in)
		}
	}
	for _, at := range []time.Duration{-1, end + 1} {
		if m, err := f.At(t.Context(), at); err == nil || !strings.Contains(err.Error(), "no moment") {
			t.Errorf("at %v of %v: got %+v, %v; want an error", at, end, m, err)
		}
	}
}

func TestMomentWithinAPinSaysSo(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.After(time.Millisecond).Mount(1, 4)
	at := s.At("os.Read file.go:9")
	s.After(9 * time.Millisecond).Emit(recording.Event{
		Kind: flight.EventPinned, Code: flight.ReasonPinnedGo, Carrier: 4, Thread: 1, Ref: uint32(at), Arg: uint64(flight.MakeHeld(6*time.Millisecond, 0)),
	})
	s.After(time.Millisecond).End(1, flight.ReasonEnd)
	b, _ := recorded(t, s)
	f := opened(t, b)
	for at, want := range map[time.Duration]flight.State{
		2 * time.Millisecond: flight.StateMounted, 5 * time.Millisecond: flight.StatePinned, 10500 * time.Microsecond: flight.StateMounted,
	} {
		threads := momentOf(t, f, at).State().Threads
		if len(threads) != 1 || threads[0].State != want || want == flight.StatePinned && (threads[0].Since != 4*time.Millisecond || threads[0].Reason != flight.ReasonPinnedGo) {
			t.Errorf("at %v: got %+v, want it %v", at, threads, want)
		}
	}
}

func TestMomentTellsWhatIsMissingBeforeIt(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.After(time.Second).Mount(1, 4)
	s.Lose(5)
	s.After(time.Second).Park(2, flight.ReasonPark, 0, 0)
	s.After(time.Second).Unpark(1, 0)
	b, _ := recorded(t, s)
	in := strings.Join(momentOf(t, opened(t, b), 2500*time.Millisecond).Incomplete(), "; ")
	for _, want := range []string{"threads of which the recording does not have all: 1", "missing since the last state before the moment: 5"} {
		if !strings.Contains(in, want) {
			t.Errorf("got %q, want %q in it", in, want)
		}
	}
}
