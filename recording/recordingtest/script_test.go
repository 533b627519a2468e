package recordingtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

func TestLoadEndsAllItStartsAndTellsTheSameTwice(t *testing.T) {
	l := recordingtest.NewLoad(50_000)
	read := func() (n, batches int, counts [flight.KindCount]uint64) {
		var last time.Duration
		if err := l.Read(t.Context(), func(b *recording.Batch) bool {
			if (b.State != nil) != (batches == 0) {
				t.Errorf("batch %d: got state %v, want one in the first batch only", batches, b.State)
			}
			batches++
			for i := range b.Events {
				if b.Events[i].Time < last {
					t.Fatalf("event %d is older than the one before", n)
				}
				last = b.Events[i].Time
				counts[b.Events[i].Kind]++
				n++
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return n, batches, counts
	}
	n, batches, counts := read()
	if n < 50_000 || batches < 6 || counts != l.Counts {
		t.Errorf("got %d events in %d batches, counts %v; want 50,000 or more in 6 or more and %v", n, batches, counts, l.Counts)
	}
	if s, e := counts[flight.EventThreadStart], counts[flight.EventThreadEnd]; s != e || s < 1000 {
		t.Errorf("got %d starts and %d ends, want as many, 1,000 at least", s, e)
	}
	if counts[flight.EventMount] != counts[flight.EventUnmount] {
		t.Errorf("got %d mounts and %d unmounts, want as many", counts[flight.EventMount], counts[flight.EventUnmount])
	}
	if again, _, _ := read(); again != n {
		t.Errorf("second reading: got %d events, want %d", again, n)
	}
}

func TestScriptIsASource(t *testing.T) {
	s := recordingtest.New()
	s.Open(7, "requests", 0, 0)
	s.After(time.Millisecond).Start(1, 7, 0)
	s.Name(1, "GET /cart")
	s.After(time.Millisecond).Mount(1, 2)
	at := s.At("shop.query store.go:88", "shop.checkout cart.go:12")
	s.After(time.Millisecond).Park(1, flight.ReasonSleep, 0, at)
	s.Batch()
	s.Lose(3)
	s.After(time.Millisecond).Unpark(1, 0)
	var batches []recording.Batch
	if err := s.Read(context.Background(), func(b *recording.Batch) bool { batches = append(batches, *b); return true }); err != nil {
		t.Fatal(err)
	}
	if len(batches) != 2 || len(batches[0].Events) != 6 || len(batches[1].Events) != 1 || batches[1].Lost != 3 {
		t.Fatalf("got %+v, want batches of 6 and 1 events, the second with a loss of 3", batches)
	}
	th := batches[1].State.Threads
	if len(th) != 1 || th[0].Name != "GET /cart" || th[0].Scope != 7 || th[0].State != flight.StateTimedParked || th[0].Stack != at {
		t.Errorf("got %+v, want thread 1 of scope 7, asleep at stack %d", th, at)
	}
	if st := s.Stack(at); len(st.Frames) != 2 || st.Frames[0].Func != "shop.query" || st.Frames[1].Line != 12 {
		t.Errorf("got %+v, want both frames", st)
	}
}
