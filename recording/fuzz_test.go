package recording

import (
	"bytes"
	"context"
	"hash/crc32"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// FuzzBody gives the decoders bodies whose checksums are right.
func FuzzBody(f *testing.F) {
	var out bytes.Buffer
	w := NewWriter(&out, Info{Program: "p", From: time.Unix(1, 0), Started: time.Unix(0, 0)}, nothing{}, &State{
		Threads: []Thread{{ID: 3, Name: "t", Stack: 9, State: flight.StateParked}}, Scopes: []Scope{{ID: 4, Name: "s"}},
		Carriers: []Carrier{{1, 1}}, Scheduler: []Scheduler{{1, "default"}},
	})
	w.Label(1, []flight.LabelRow{{Thread: 3, Labels: []flight.Label{{Key: "k", Value: "v"}}, Cut: true}, {Thread: 5}})
	w.Add(
		Event{Time: 1, Kind: flight.EventThreadStart, Thread: 5, Arg: 3, Ref: 1}, Event{Time: 2, Kind: flight.EventMount, Thread: 5},
		Event{Time: 3, Kind: flight.EventPark, Thread: 5, Ref: 12, Arg: 99, Code: 1}, Event{Time: 3, Kind: flight.EventUnmount, Thread: 5, Code: 1},
		Event{Time: 9, Kind: flight.EventMark, Ref: 7, More: []uint64{1, 2, 3}},
	)
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	var h chunkHead
	if err := h.parse((*[chunkHeader]byte)(out.Bytes())); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes()[chunkHeader:chunkHeader+h.body], h.events)
	f.Fuzz(func(t *testing.T, body []byte, events uint32) {
		if len(body) > 1<<20 {
			return
		}
		h := chunkHead{body: uint32(len(body)), events: events % maxChunkEvents, sum: crc32.Checksum(body, castagnoli), last: time.Hour, flags: chunkHasState}
		b := append(h.append(nil), body...)
		file, err := NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		tracker := NewTracker(file)
		if err := file.Read(context.Background(), func(b *Batch) bool {
			if b.State != nil {
				tracker.Reset(b.State)
			}
			if len(b.Events) > int(h.events) {
				t.Fatalf("got %d events, want at most %d", len(b.Events), h.events)
			}
			for i := range b.Events {
				tracker.Apply(&b.Events[i])
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		_ = tracker.State()
	})
}

// nothing defines nothing.
type nothing struct{}

func (nothing) String(flight.StringID) string        { return "" }
func (nothing) Stack(id flight.StackID) flight.Stack { return flight.Stack{ID: id} }
func (nothing) UserKind(uint32) *flight.UserKindInfo { return nil }
