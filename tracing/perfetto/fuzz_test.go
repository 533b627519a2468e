package perfetto_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/perfetto"
	"github.com/vtscope/vtscope/tracing/perfetto/perfettotest"
)

// A soup is a source of events that need not make sense: each byte of data makes one, of few threads, scopes and carriers.
type soup struct {
	*recordingtest.Script
	data []byte
	seed uint64
}

func (s *soup) Read(_ context.Context, f func(*recording.Batch) bool) error {
	r := rand.New(rand.NewPCG(s.seed, 2))
	tracker := recording.NewTracker(s)
	at := time.Duration(0)
	b := &recording.Batch{State: tracker.State()}
	for i, c := range s.data {
		at += time.Duration(r.IntN(1000)-100) * time.Microsecond
		e := recording.Event{
			Time: max(at, 0), Kind: flight.Kind(c) % (flight.KindCount + 1), Code: flight.Reason(r.IntN(int(flight.ReasonCount) + 2)),
			Carrier: flight.CarrierID(r.IntN(3)), Ref: uint32(r.IntN(4)), Thread: flight.ThreadID(r.IntN(6)), Arg: uint64(r.IntN(6)),
		}
		if e.Carrier == 2 {
			e.Carrier = flight.NoCarrier
		}
		if r.IntN(8) == 0 {
			e.Arg = r.Uint64()
		}
		for range r.IntN(8) {
			e.More = append(e.More, r.Uint64N(9))
		}
		tracker.Apply(&e)
		b.Events = append(b.Events, e)
		if r.IntN(20) == 0 {
			if !f(b) {
				return nil
			}
			b = &recording.Batch{}
			switch r.IntN(3) {
			case 0:
				b.State, b.Lost = tracker.State(), uint64(1+i)
			case 1:
				b.Lost = 1
			}
		}
	}
	f(b)
	return nil
}

// Whatever the events are, times go up, slices nest and end, and arrows have two ends.
func FuzzAnyEventsMakeATraceThatReads(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, 600)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(seed, data, int8(seed%4)-1)
	}
	f.Fuzz(func(t *testing.T, seed uint64, data []byte, few int8) {
		s := &soup{recordingtest.New(), data, seed}
		s.Intern("a")
		s.Intern("b\xff")
		s.At("f f.go:1", "g g.go:2")
		s.Define(flight.UserKindInfo{Number: 2, Name: "two", Fields: []flight.Field{{Name: "n", At: flight.AtMore, Use: flight.FieldInt}}})
		n := max(int(few), -1)
		var out bytes.Buffer
		if _, err := perfetto.Write(context.Background(), &out, s, perfetto.Options{Threads: n, Lanes: n, Scopes: n, Flows: n}); err != nil {
			t.Fatal(err)
		}
		if _, err := perfettotest.Read(out.Bytes()); err != nil {
			t.Fatal(err)
		}
	})
}
