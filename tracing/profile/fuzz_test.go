package profile

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime/pprof"
	"testing"
	"time"

	gopprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// FuzzRelabel: what a process answers is not to be trusted.
func FuzzRelabel(f *testing.F) {
	var heap bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&heap, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(heap.Bytes())
	f.Add([]byte("\x1f\x8b"))
	var small bytes.Buffer
	fn := &gopprof.Function{ID: 1, Name: "main.burn"}
	at := &gopprof.Location{ID: 1, Line: []gopprof.Line{{Function: fn, Line: 1}}}
	if err := (&gopprof.Profile{
		SampleType: []*gopprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, Function: []*gopprof.Function{fn}, Location: []*gopprof.Location{at},
		Sample: []*gopprof.Sample{{Value: []int64{1}, Location: []*gopprof.Location{at}, Label: map[string][]string{goScope: {"requests"}, goThread: {"GET 7"}}}},
	}).WriteUncompressed(&small); err != nil {
		f.Fatal(err)
	}
	f.Add(small.Bytes())
	rows := []flight.ScopeRow{{Index: 1, Name: "requests", State: flight.ScopeOpen}, {Index: 2, Parent: 2, Name: "circle", State: flight.ScopeOpen}}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			return
		}
		p, err := Relabel(data, rows)
		if err != nil {
			return
		}
		for _, s := range p.Sample {
			if _, ok := one(s, goScope); ok {
				t.Fatal("a sample has its old label")
			}
		}
		if err := p.Write(new(bytes.Buffer)); err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := Text(&text, "cpu", p); err != nil {
			t.Fatal(err)
		}
	})
}

// events makes events of bytes: of few threads and scopes, in any order, with any times.
func events(data []byte) (all []recording.Event) {
	kinds := []flight.Kind{
		flight.EventThreadStart, flight.EventMount, flight.EventPark, flight.EventUnpark, flight.EventUnmount, flight.EventYield, flight.EventPinned, flight.EventThreadEnd,
		flight.EventSubmitFailed, flight.EventThreadName, flight.EventScopeOpen, flight.EventScopeFork, flight.EventScopeClose, flight.EventCarrierStart,
	}
	for ; len(data) >= 6; data = data[6:] {
		e := recording.Event{
			Kind: kinds[int(data[0])%len(kinds)], Code: flight.Reason(data[1] % 24), Thread: flight.ThreadID(data[2] % 8), Ref: uint32(data[3] % 8),
			Time: time.Duration(binary.LittleEndian.Uint16(data[4:])) * time.Microsecond, Arg: uint64(data[3]),
		}
		switch e.Kind {
		case flight.EventThreadName:
			e.More = recordingtest.Text(string(data[1:4]))
		case flight.EventScopeOpen:
			e.More = []uint64{uint64(data[1] % 8), 0, uint64(data[3] % 8)}
		}
		all = append(all, e)
	}
	return all
}

// FuzzEvents: whatever the events say, each park, mount and pin counts once, and what goes on is what the tracker knows.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00\x00\x00\x01\x00\x01\x00\x01\x00\x02\x02\x01\x01\x02\x00\x03\x00\x01\x00\x03\x00\x01\x00\x01\x00\x04\x00"), uint8(0))
	f.Add([]byte("\x0a\x00\x01\x01\x00\x00\x0a\x01\x01\x01\x00\x00\x0b\x00\x01\x01\x00\x00\x02\x04\x01\x01\xff\xff\x03\x00\x01\x00\x00\x00"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, again uint8) {
		if len(data) > 1<<11 {
			return
		}
		s := recordingtest.New()
		s.At("a a.go:1")
		c, err := NewCollector(s.Stack, CollectorOptions{Samples: 50})
		if err != nil {
			t.Fatal(err)
		}
		tr := recording.NewTracker(s)
		c.Reset(tr)
		want := map[what]uint64{}
		var marks []*Mark
		for i, e := range events(data) {
			c.Event(&e, tr.Apply(&e), tr)
			switch e.Kind {
			case flight.EventPark:
				want[whatPark]++
			case flight.EventMount:
				want[whatReady]++
				want[whatRun]++
			case flight.EventPinned:
				want[whatPinned]++
			}
			if again > 0 && i%int(again) == 0 && len(marks) < 20 {
				marks = append(marks, c.Mark())
			}
			if again > 100 && i%50 == 49 {
				c.Lost(1)
				tr.Reset(tr.State())
				c.Reset(tr)
			}
		}
		m := c.Mark()
		for w := whatPark; w <= whatRun; w++ {
			if _, got := counted(m, w); got != want[w] {
				t.Errorf("%d: got %d, want %d", w, got, want[w])
			}
		}
		live, busy := int64(0), int64(0)
		for i := range c.mu.tallies {
			if c.mu.tallies[i].live < 0 {
				t.Errorf("sample %d: %d threads are at it", i, c.mu.tallies[i].live)
			}
			live += c.mu.tallies[i].live
		}
		tr.Threads(func(th *recording.Thread) bool {
			switch th.State {
			case flight.StateFree, flight.StateNew, flight.StateDone:
			default:
				busy++
			}
			return true
		})
		if live != busy {
			t.Errorf("got %d threads that are at something, the tracker knows %d", live, busy)
		}
		for i := range Kinds {
			if k := &Kinds[i]; k.Origin == OfEvents {
				from := (*Mark)(nil)
				for _, to := range append(marks, m) {
					for _, s := range made(t, c, k.Name, from, to).Sample {
						for _, v := range s.Value {
							if v < 0 {
								t.Fatalf("%s: got %v", k.Name, s.Value)
							}
						}
					}
					from = to
				}
			}
		}
	})
}

// Profiles are made while events come.
func TestMarksAreTakenWhileEventsCome(t *testing.T) {
	load := &recordingtest.Load{Threads: 300, Events: 100_000}
	c, err := NewCollector(func(flight.StackID) flight.Stack { return flight.Stack{} }, CollectorOptions{Samples: 100})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- recording.Observe(context.Background(), load, c) }()
	var from *Mark
	for made := 0; ; made++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			if _, parks := counted(c.Mark(), whatPark); parks != load.Counts[flight.EventPark] {
				t.Errorf("got %d parks, want %d; made %d profiles meanwhile", parks, load.Counts[flight.EventPark], made)
			}
			return
		default:
		}
		to := c.Mark()
		for _, k := range []string{"park", "ready", "run"} {
			if err := c.Profile(KindOf(k), "x", time.Now(), from, to).CheckValid(); err != nil {
				t.Fatal(err)
			}
		}
		from = to
	}
}
