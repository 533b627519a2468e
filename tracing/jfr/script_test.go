package jfr_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/jfr"
	"github.com/vtscope/vtscope/tracing/jfr/jfrtest"
)

const ms = time.Millisecond

// export writes a source, and reads what was written.
func export(t testing.TB, src recording.Source, o jfr.Options) (*jfrtest.File, jfr.Stats, []byte) {
	t.Helper()
	var b bytes.Buffer
	stats, err := jfr.Write(t.Context(), &b, src, o)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	f, err := jfrtest.Read(b.Bytes())
	if err != nil {
		t.Fatalf("read what was written: %v", err)
	}
	if stats.Bytes != uint64(b.Len()) || stats.Chunks != len(f.Chunks) {
		t.Errorf("got %d bytes in %d chunks, want what the statistics say: %d and %d", b.Len(), len(f.Chunks), stats.Bytes, stats.Chunks)
	}
	for i, c := range f.Chunks {
		if i > 0 && c.StartTicks != f.Chunks[i-1].StartTicks+f.Chunks[i-1].DurationNanos {
			t.Errorf("chunk %d begins at %d, want where the one before ends", i, c.StartTicks)
		}
		if c.Last != (i == len(f.Chunks)-1) {
			t.Errorf("chunk %d of %d: got last %v", i, len(f.Chunks), c.Last)
		}
	}
	return f, stats, b.Bytes()
}

// checkout is the kind that the events of the program's own in [everything] are of.
var checkout = flight.UserKindInfo{
	Number: 1, Name: "cart.Checkout", Setting: flight.Setting{On: true},
	Fields: []flight.Field{
		{Name: "items", At: flight.AtMore, Use: flight.FieldCount},
		{Name: "total weight", At: flight.AtMore + 1, Use: flight.FieldBytes},
		{Name: "delta", At: flight.AtMore + 2, Use: flight.FieldInt},
		{Name: "rate", At: flight.AtMore + 3, Use: flight.FieldFloat},
		{Name: "paid", At: flight.AtMore + 4, Use: flight.FieldBool},
		{Name: "duration", At: flight.AtMore + 5, Use: flight.FieldDuration},
		{Name: "customer", At: flight.AtMore + 6, Use: flight.FieldText},
	},
}

func checkoutWords() []uint64 {
	delta := -5
	return append([]uint64{3, 4096, uint64(delta), math.Float64bits(0.75), 1, uint64(7 * ms)}, recordingtest.Text("Ada")...)
}

// everything is a script with each kind of the catalogue.
func everything() *recordingtest.Script {
	s := recordingtest.New()
	s.Define(checkout)
	query := s.At("github.com/vtscope/vtscope/runtime/vsync.(*Mutex).Lock mutex.go:31", "github.com/acme/shop/cart.(*Service).Checkout cart.go:88", "main.main.func3.1 main.go:12")
	emit := func(e recording.Event) { s.After(ms); s.Emit(e) }
	carrier := func(kind flight.Kind, c flight.CarrierID, ref uint32) {
		emit(recording.Event{Kind: kind, Carrier: c, Ref: ref})
	}
	carrier(flight.EventCarrierStart, 0, 1)
	carrier(flight.EventCarrierStart, 1, 1)
	s.After(ms).Open(7, "requests", 0, 0)
	s.After(ms).Start(1, 7, 0)
	emit(recording.Event{Kind: flight.EventScopeFork, Carrier: flight.NoCarrier, Thread: 1, Arg: 7})
	s.Name(1, "GET /cart")
	s.After(ms).Mount(1, 0)
	s.After(ms).Start(2, 7, 1)
	s.After(ms).Start(3, 0, 1)
	s.After(ms).Mount(2, 1)
	s.After(5*ms).Park(1, flight.ReasonLock, flight.BlockAt(flight.BlockedByMutex, 0xc000010000), query)
	s.After(20*ms).Unpark(1, 2)
	s.After(3*ms).Mount(1, 0)
	s.After(ms).Park(2, flight.ReasonSleep, 0, s.At("time.Sleep sleep.go:1", "main.nap main.go:40"))
	s.After(10*ms).Unpark(2, 0)
	s.After(ms).Mount(2, 1)
	s.After(ms).Park(2, flight.ReasonCondition, flight.BlockAt(flight.BlockedByCondition, 0xc000020000), query)
	s.After(10*ms).Unpark(2, 1)
	s.After(ms).Mount(2, 1)
	s.After(ms).Park(2, flight.ReasonJoin, flight.BlockThread(1), query)
	s.After(10*ms).Unpark(2, 1)
	s.After(ms).Mount(2, 1)
	s.After(ms).Yield(2)
	held := func(d time.Duration, n uint64) uint64 { return uint64(flight.MakeHeld(d, n)) }
	emit(recording.Event{Kind: flight.EventPinned, Code: flight.ReasonPinnedGo, Carrier: 0, Ref: uint32(s.At("sync.(*Mutex).lockSlow mutex.go:9", "sync.(*Mutex).Lock mutex.go:90", "github.com/acme/shop/cart.(*Service).Checkout cart.go:99")), Thread: 1, Arg: held(30*ms, 4)})
	emit(recording.Event{Kind: flight.EventMonopolized, Code: flight.ReasonMonopoly, Carrier: 0, Ref: uint32(query), Thread: 1, Arg: held(12*ms, 1)})
	emit(recording.Event{Kind: flight.EventStarved, Code: flight.ReasonPinnedGo, Carrier: 0, Ref: uint32(query), Thread: 1, Arg: held(8*ms, 2)})
	emit(recording.Event{Kind: flight.EventDeadlock, Code: flight.ReasonLock, Carrier: flight.NoCarrier, Ref: uint32(query), Thread: 1, Arg: uint64(flight.BlockAt(flight.BlockedByMutex, 0xc000010000))})
	emit(recording.Event{Kind: flight.EventSubmitFailed, Carrier: 0, Thread: 3, Arg: 1})
	emit(recording.Event{Kind: flight.EventQueued, Carrier: 1, Thread: 2, Arg: uint64(25 * ms)})
	emit(recording.Event{Kind: flight.EventSlice, Code: flight.ReasonYield, Carrier: 1, Thread: 2, Arg: uint64(21 * ms)})
	emit(recording.Event{Kind: flight.EventSteal, Carrier: 1, Arg: 3})
	emit(recording.Event{Kind: flight.EventCompensated, Carrier: 1, Arg: 2})
	emit(recording.Event{Kind: flight.EventScopeCancel, Carrier: 0, Thread: 1, Arg: 7})
	emit(recording.Event{Kind: flight.EventScopeDeadline, Carrier: flight.NoCarrier, Arg: 7})
	emit(recording.Event{Kind: flight.EventScopeJoin, Carrier: 0, Thread: 1, Arg: 7})
	emit(recording.Event{Kind: flight.EventLockWait, Code: flight.ReasonLock, Carrier: 0, Ref: uint32(query), Thread: 1, Arg: uint64(flight.BlockAt(flight.BlockedByMutex, 0xc000010000)), More: []uint64{uint64(20 * ms), 2, 0}})
	emit(recording.Event{Kind: flight.EventLockHold, Carrier: 0, Ref: uint32(query), Thread: 2, Arg: uint64(flight.BlockAt(flight.BlockedByMutex, 0xc000010000)), More: []uint64{uint64(19 * ms), 1, 0}})
	emit(recording.Event{Kind: flight.EventTimerLate, Carrier: flight.NoCarrier, Thread: 2, Arg: uint64(22 * ms)})
	emit(recording.Event{Kind: flight.EventLocalSet, Carrier: 0, Ref: uint32(s.Intern("user")), Thread: 1})
	emit(recording.Event{Kind: flight.EventMark, Carrier: 0, Ref: 1, Thread: 1, Arg: uint64(query), More: checkoutWords()})
	emit(recording.Event{Kind: flight.EventSpanBegin, Carrier: 0, Ref: 1, Thread: 1, Arg: uint64(query), More: checkoutWords()})
	emit(recording.Event{Kind: flight.EventSpanEnd, Carrier: 0, Ref: 1, Thread: 1, Arg: uint64(6 * ms), More: checkoutWords()})
	emit(recording.Event{Kind: flight.EventSettings, Carrier: flight.NoCarrier, Ref: uint32(s.Intern("profile"))})
	text := recordingtest.Text("127.0.0.1:4711")
	emit(recording.Event{Kind: flight.EventIO, Code: flight.ReasonRead, Carrier: 0, Ref: uint32(query), Thread: 1, Arg: uint64(flight.BlockFile(9)), More: append([]uint64{uint64(21 * ms), 512}, text...)})
	emit(recording.Event{Kind: flight.EventPoll, Carrier: flight.NoCarrier, Ref: 1, Arg: 17})
	emit(recording.Event{Kind: flight.EventExhausted, Carrier: 0, Thread: 1, Arg: uint64(flight.BlockFile(9))})
	emit(recording.Event{Kind: flight.EventGC, Carrier: flight.NoCarrier, Ref: 412, Arg: uint64(180 * time.Microsecond), More: []uint64{38 << 20, 0, 0}})
	durable := func(k flight.Kind, thread flight.ThreadID, ref uint32, arg uint64, more ...uint64) {
		emit(recording.Event{Kind: k, Carrier: flight.NoCarrier, Thread: thread, Ref: ref, Arg: arg, More: append(recordingtest.Text("order-4711"), more...)})
	}
	body := uint32(s.Intern("checkout"))
	durable(flight.EventDurableHibernate, 40, uint32(query), uint64(flight.DurableSignal.Blocker("approved")), uint64(body), 214, 0)
	durable(flight.EventDurableResume, 40, body, 214, 0, uint64(3*ms), 41)
	durable(flight.EventDurableLeave, 42, body, 4)
	durable(flight.EventDurableReplay, 41, body, uint64(2*ms), 214, 0, 0)
	durable(flight.EventDurablePark, 41, body, 214, 4096, 0, 0)
	durable(flight.EventDurableLease, 0, body, 0, append(recordingtest.Text("node-a"), recordingtest.Text("node-b")...)...)
	durable(flight.EventDurableCheckpoint, 41, body, 215, 100, 214, 0)
	durable(flight.EventDurableDivergence, 41, body, 12, append(recordingtest.Text("do \"pay\""), recordingtest.Text("time")...)...)
	durable(flight.EventDurableStep, 41, body, 216, recordingtest.Text("do \"pay\"")...)
	s.After(ms).End(1, flight.ReasonPanic)
	s.After(ms).Close(7)
	carrier(flight.EventCarrierStop, 1, 1)
	s.Is.To = s.Is.From.Add(s.Now() + ms)
	return s
}

// late is a script whose program has an event of its own only when some chunks are full.
func late() *recordingtest.Script {
	s := recordingtest.New()
	s.Define(checkout)
	s.Start(1, 0, 0)
	for range 300 {
		s.After(ms).Mount(1, 0)
		s.After(ms).Yield(1)
	}
	for range 300 {
		s.After(ms).Emit(recording.Event{Kind: flight.EventMark, Carrier: 0, Ref: 1, Thread: 1, More: checkoutWords()})
	}
	return s
}
