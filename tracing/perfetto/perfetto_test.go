package perfetto_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/perfetto"
	"github.com/vtscope/vtscope/tracing/perfetto/perfettotest"
)

// write writes a source, and reads the trace back.
func write(t testing.TB, src recording.Source, o perfetto.Options) (*perfettotest.Trace, perfetto.Stats) {
	t.Helper()
	var out bytes.Buffer
	stats, err := perfetto.Write(context.Background(), &out, src, o)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Bytes != uint64(out.Len()) {
		t.Errorf("got %d bytes in the figures, want %d", stats.Bytes, out.Len())
	}
	trace, err := perfettotest.Read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if stats.Packets != uint64(trace.Packets) {
		t.Errorf("got %d packets in the figures, want %d", stats.Packets, trace.Packets)
	}
	return trace, stats
}

// lines returns slices as text: name, from and to in milliseconds, and some annotations.
func lines(all []*perfettotest.Slice, notes ...string) string {
	var out []string
	start := int64(time.Minute) // the script's process is a minute old
	for _, s := range all {
		line := fmt.Sprintf("%s %g-%g", s.Name, float64(s.From-start)/1e6, float64(s.To-start)/1e6)
		for _, n := range notes {
			if v, there := s.Notes[n]; there {
				line += fmt.Sprintf(" %s=%v", n, v)
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if want = strings.TrimSpace(strings.ReplaceAll(want, "\t", "")); got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

const ms = time.Millisecond

// shop is a script of two threads in a scope, the second of which wakes the first.
func shop() *recordingtest.Script {
	s := recordingtest.New()
	s.After(1*ms).Open(1, "requests", 0, 0)
	s.After(1*ms).Open(2, "checkout", 1, 0)
	s.After(1*ms).Start(7, 2, 0)
	s.Name(7, "worker-1")
	s.Start(8, 2, 7)
	s.After(1*ms).Mount(7, 0)
	s.After(2*ms).Park(7, flight.ReasonLock, flight.BlockAt(flight.BlockedByMutex, 0x40), s.At("shop.pay pay.go:12", "shop.work shop.go:3"))
	s.Mount(8, 0)
	s.After(1*ms).Unpark(7, 8)
	s.After(1 * ms).Yield(8)
	s.Mount(7, 1)
	s.After(1*ms).Mount(8, 0)
	s.After(1*ms).End(7, flight.ReasonEnd)
	s.After(1*ms).End(8, flight.ReasonPanic)
	s.After(1 * ms).Close(2)
	s.After(1 * ms).Close(1)
	return s
}

func TestCarriersShowWhoIsMountedAndWhyItLeft(t *testing.T) {
	trace, _ := write(t, shop(), perfetto.Options{})
	want(t, "carrier 0", lines(trace.Slices("carriers", "carrier 0"), "thread", "scope", "ready", "reason", "stack"), `
		worker-1 4-6 thread=7 scope=checkout ready=1000000 reason=lock stack=shop.pay pay.go:12
		shop.work shop.go:3
		thread 6-8 thread=8 scope=checkout ready=3000000 reason=yield
		thread 9-11 thread=8 scope=checkout ready=1000000 reason=panic`)
	want(t, "carrier 1", lines(trace.Slices("carriers", "carrier 1"), "thread", "reason"), `
		worker-1 8-10 thread=7 reason=end`)
}

func TestSlicesAreCalledByTheFunctionThatAThreadBeganWith(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	at := s.At("runtime.park a.go:1", "shop.wait b.go:2", "shop.Serve c.go:3", "vthread.run d.go:4")
	frames := s.Stack(at).Frames
	frames[0].Internal, frames[3].Internal = true, true
	for range 2 {
		s.After(ms).Mount(1, 0)
		s.After(ms).Park(1, flight.ReasonSleep, 0, at)
		s.After(ms).Unpark(1, 0)
	}
	trace, _ := write(t, s, perfetto.Options{})
	want(t, "carrier 0", lines(trace.Slices("carriers", "carrier 0"), "stack"), `
		thread 1-2 stack=shop.wait b.go:2
		shop.Serve c.go:3
		shop.Serve 4-5 stack=shop.wait b.go:2
		shop.Serve c.go:3`)
}

func TestScopesAreATreeOfTracks(t *testing.T) {
	trace, _ := write(t, shop(), perfetto.Options{})
	want(t, "requests", lines(trace.Slices("scopes", "requests"), "scope"), `requests 1-13 scope=1`)
	want(t, "checkout", lines(trace.Slices("scopes", "requests", "checkout"), "scope"), `checkout 2-12 scope=2`)
}

func TestScopesOfOneNameShareATrackInRows(t *testing.T) {
	s := recordingtest.New()
	for i := range 12 {
		s.After(ms).Open(flight.ScopeID(1+i), "request", 0, 0)
	}
	for i := range 12 {
		s.After(ms).Close(flight.ScopeID(1 + i))
	}
	s.After(ms).Open(20, "request", 0, 0)
	s.After(ms).Close(20)
	trace, stats := write(t, s, perfetto.Options{Lanes: 5})
	tracks := trace.Find("scopes", "request")
	if len(tracks) != 5 || stats.ScopeTracks != 1 || stats.HiddenScopes != 7 {
		t.Errorf("got %d rows, %d tracks of scopes, %d hidden, want 5, 1, 7", len(tracks), stats.ScopeTracks, stats.HiddenScopes)
	}
	if n := len(trace.Slices("scopes", "request")); n != 6 {
		t.Errorf("got %d slices, want 6", n)
	}
	values := trace.Find("scopes", "request", "open scopes")[0].Values
	if peak := slices.MaxFunc(values, func(a, b perfettotest.Value) int { return int(a.Value - b.Value) }); peak.Value < 7 {
		t.Errorf("open scopes: got a peak of %d, want the hidden ones counted too", peak.Value)
	}
	// What is too much is folded into the track above.
	for i := range 30 {
		s.After(ms).Open(flight.ScopeID(100+i), fmt.Sprintf("tenant-%d", i), 0, 0)
	}
	_, stats = write(t, s, perfetto.Options{Scopes: 10})
	if stats.ScopeTracks != 10 || stats.FoldedScopes != 21 {
		t.Errorf("got %d tracks and %d folded scopes, want 10 and 21", stats.ScopeTracks, stats.FoldedScopes)
	}
}

func TestThreadsHaveTracksWhileThereAreFew(t *testing.T) {
	trace, stats := write(t, shop(), perfetto.Options{})
	want(t, "worker-1", lines(trace.Slices("threads", "worker-1 #7"), "reason", "blocker", "carrier", "by"), `
		runnable 3-4
		mounted 4-6 carrier=0
		blocked 6-7 reason=lock blocker=mutex 0x40
		runnable 7-8 reason=lock by=8
		mounted 8-10 carrier=1`)
	want(t, "#8", lines(trace.Slices("threads", "#8"), "reason", "carrier"), `
		runnable 3-6
		mounted 6-8 carrier=0
		runnable 8-9 reason=yield
		mounted 9-11 carrier=0`)
	if stats.ThreadTracks != 2 || stats.OtherThreads != 0 {
		t.Errorf("got %+v, want two tracks of threads, and no other threads", stats)
	}
	trace, stats = write(t, shop(), perfetto.Options{Threads: 1})
	if n := len(trace.Find("threads", "worker-1 #7")); n != 1 || stats.ThreadTracks != 1 || stats.OtherThreads != 1 {
		t.Errorf("got %+v, want one track of a thread, and one thread without", stats)
	}
	trace, stats = write(t, shop(), perfetto.Options{Threads: -1})
	if n := len(trace.Find("threads")); n != 0 || stats.ThreadTracks != 0 {
		t.Errorf("got %d tracks, %+v, want none of threads", n, stats)
	}
}

func TestArrowsLeadFromTheWakerToTheNextMount(t *testing.T) {
	for _, threads := range []int{0, -1} {
		trace, stats := write(t, shop(), perfetto.Options{Threads: threads})
		if len(trace.Flows) != 1 || stats.Flows != 1 {
			t.Fatalf("got %d flows, %+v, want one", len(trace.Flows), stats)
		}
		for f := range maps.Values(trace.Flows) {
			if f.From.Name != "unpark" || f.From.On().Name != "carrier 0" || f.To.Name != "worker-1" || f.To.On().Name != "carrier 1" || f.To.Time-f.From.Time != int64(ms) {
				t.Errorf("got a flow from %q on %q to %q on %q", f.From.Name, f.From.On().Name, f.To.Name, f.To.On().Name)
			}
		}
	}
	if _, stats := write(t, recordingtest.NewLoad(20_000), perfetto.Options{Flows: 10}); stats.Flows > 20 || stats.OtherFlows < 100 {
		t.Errorf("got %+v, want at most 10 flows in a second, and the others counted", stats)
	}
	if trace, _ := write(t, shop(), perfetto.Options{Flows: -1}); len(trace.Flows) != 0 {
		t.Errorf("got %d flows, want none", len(trace.Flows))
	}
}

func TestArrowsOfTimersBeginOnATrackOfTheirOwn(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.Mount(1, 0)
	s.After(ms).Park(1, flight.ReasonSleep, 0, 0)
	s.After(ms).Unpark(1, 0)
	s.After(ms)
	trace, _ := write(t, s, perfetto.Options{Threads: -1})
	for f := range maps.Values(trace.Flows) {
		if f.From.On().Name != "goroutines and timers" || f.To.Name != "goes on" {
			t.Errorf("got an arrow from %q to %q, want one from a timer to the end of the recording", f.From.On().Name, f.To.Name)
		}
	}
	if len(trace.Flows) != 1 {
		t.Errorf("got %d arrows, want one", len(trace.Flows))
	}
}

func TestCountersFollowThreads(t *testing.T) {
	trace, _ := write(t, shop(), perfetto.Options{Every: ms})
	for _, c := range []struct {
		track  []string
		values []int64
	}{
		{[]string{"threads mounted"}, []int64{1, 2, 1, 0}},
		{[]string{"threads blocked"}, []int64{1, 0}},
		{[]string{"scopes", "requests", "checkout", "live threads"}, []int64{2, 1, 0}},
		{[]string{"scopes", "requests", "open scopes"}, []int64{1, 0}},
	} {
		tracks := trace.Find(c.track...)
		if len(tracks) != 1 || !tracks[0].IsCounter {
			t.Errorf("%v: got %d tracks, want one of a counter", c.track, len(tracks))
			continue
		}
		var got []int64
		for _, v := range tracks[0].Values {
			got = append(got, v.Value)
		}
		if !slices.Equal(got, c.values) {
			t.Errorf("%v: got %v, want %v", c.track, got, c.values)
		}
	}
}

func TestClocksTieTheTraceToWallTime(t *testing.T) {
	trace, _ := write(t, shop(), perfetto.Options{})
	s := trace.Slices("scopes", "requests")[0]
	if at := time.Unix(0, s.From+trace.Realtime).UTC(); !at.Equal(recordingtest.Began.Add(ms)) {
		t.Errorf("got %v, want %v", at, recordingtest.Began.Add(ms))
	}
	if trace.Process.PID != 4711 || trace.Process.Name != "script" {
		t.Errorf("got process %q %d, want script 4711", trace.Process.Name, trace.Process.PID)
	}
}

func TestEventsOfTheProgramKeepTheirTypes(t *testing.T) {
	s := recordingtest.New()
	s.Define(flight.UserKindInfo{Number: 3, Name: "cart.Checkout", Fields: []flight.Field{
		{Name: "items", At: flight.AtMore, Use: flight.FieldCount},
		{Name: "change", At: flight.AtMore + 1, Use: flight.FieldInt},
		{Name: "paid", At: flight.AtMore + 2, Use: flight.FieldBool},
		{Name: "rate", At: flight.AtMore + 3, Use: flight.FieldFloat},
		{Name: "who", At: flight.AtMore + 4, Use: flight.FieldText},
	}})
	more := append([]uint64{4, ^uint64(0), 1, 0x3fe0000000000000}, recordingtest.Text("Ann")...)
	s.Start(1, 0, 0)
	s.After(ms).Mount(1, 0)
	s.Emit(recording.Event{Kind: flight.EventMark, Thread: 1, Ref: 3, More: more})
	s.Emit(recording.Event{Kind: flight.EventSpanBegin, Thread: 1, Ref: 3, More: more})
	s.Emit(recording.Event{Kind: flight.EventSpanBegin, Thread: 2, Ref: 3, More: more})
	s.After(2 * ms)
	s.Emit(recording.Event{Kind: flight.EventSpanEnd, Thread: 1, Ref: 3, Arg: uint64(2 * ms), More: make([]uint64, 10)})
	notes := []string{"items", "change", "paid", "rate", "who", "unfinished"}
	trace, _ := write(t, s, perfetto.Options{})
	want(t, "span", lines(trace.Slices("threads", "#1", "program"), notes...), `cart.Checkout 1-3 items=4 change=-1 paid=true rate=0.5 who=Ann`)
	want(t, "unfinished span", lines(trace.Slices("program"), notes...), `cart.Checkout 1-3 items=4 change=-1 paid=true rate=0.5 who=Ann unfinished=true`)
	marks := trace.Find("threads", "#1")[0].Instants
	if len(marks) != 1 || marks[0].Name != "cart.Checkout" || marks[0].Notes["rate"] != 0.5 || marks[0].Notes["change"] != int64(-1) ||
		marks[0].Notes["items"] != uint64(4) || marks[0].Notes["paid"] != true {
		t.Errorf("got %+v, want one mark with typed annotations", marks)
	}
}

func TestWhatTookTimeIsASliceFromItsBegin(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.Mount(1, 2)
	s.After(10 * ms)
	s.Emit(recording.Event{Kind: flight.EventPinned, Code: flight.ReasonPinnedSection, Carrier: 2, Thread: 1, Ref: uint32(s.At("a.f a.go:1")), Arg: uint64(flight.MakeHeld(4*ms, 3))})
	s.Emit(recording.Event{Kind: flight.EventMonopolized, Code: flight.ReasonMonopoly, Carrier: 2, Thread: 1, Arg: uint64(flight.MakeHeld(9*ms, 0))})
	s.Emit(recording.Event{Kind: flight.EventScopeCancel, Thread: 1, Arg: 5})
	trace, _ := write(t, s, perfetto.Options{})
	want(t, "pinned", lines(trace.Slices("carriers", "carrier 2", "pinning"), "duration", "victims", "reason", "stack"), `
		monopolized 1-10 duration=9000000 victims=0 reason=monopoly
		pinned 6-10 duration=4000000 victims=3 reason=pin-section stack=a.f a.go:1`)
}

// Every kind of the table is drawn, or is one of those that move threads and scopes.
func TestEveryKindIsDrawn(t *testing.T) {
	moves := []flight.Kind{
		flight.EventNone, flight.EventMore, flight.EventThreadStart, flight.EventThreadEnd, flight.EventMount, flight.EventUnmount, flight.EventPark,
		flight.EventUnpark, flight.EventYield, flight.EventThreadName, flight.EventScopeOpen, flight.EventScopeFork, flight.EventScopeClose, flight.EventSpanBegin,
	}
	drawn := 0
	for kind := range flight.KindCount {
		if slices.Contains(moves, kind) {
			continue
		}
		s := recordingtest.New()
		s.Start(1, 0, 0)
		s.Mount(1, 0)
		s.After(ms).Emit(recording.Event{Kind: kind, Thread: 1, Carrier: 0, Arg: 1000, More: make([]uint64, 6)})
		trace, _ := write(t, s, perfetto.Options{})
		found := 0
		for _, k := range trace.Tracks {
			for _, s := range k.Slices {
				if s.Name == kind.String() && s.Categories[0] == string(flight.Kinds[kind].Category) {
					found++
				}
			}
			for _, e := range k.Instants {
				if e.Name == kind.String() && e.Categories[0] == string(flight.Kinds[kind].Category) {
					found++
				}
			}
		}
		if found != 1 {
			t.Errorf("%v: got %d slices and instants, want 1", kind, found)
		}
		drawn++
	}
	if drawn != int(flight.KindCount)-len(moves) {
		t.Errorf("looked at %d kinds, want %d", drawn, int(flight.KindCount)-len(moves))
	}
}

func TestLossIsMarkedAndTheStateIsTakenUpAgain(t *testing.T) {
	s := recordingtest.New()
	s.Open(1, "gone", 0, 0)
	s.After(ms).Start(1, 0, 0)
	s.Mount(1, 0)
	s.After(ms).Start(2, 0, 1)
	lost := recordingtest.New() // what happened meanwhile
	lost.After(5*ms).Start(2, 0, 0)
	lost.Mount(2, 0)
	lost.Batch()
	lost.Lose(123)
	lost.After(ms).End(2, flight.ReasonEnd)
	trace, stats := write(t, both{s, lost}, perfetto.Options{})
	if stats.Lost != 123 || len(trace.Find("events lost")) != 1 {
		t.Errorf("got %+v, want 123 lost, and a counter", stats)
	}
	if m := trace.Process.Instants; len(m) != 2 || m[1].Name != "events lost" || m[1].Notes["events"] != uint64(123) {
		t.Errorf("got %+v, want a mark of the loss", m)
	}
	want(t, "carrier 0", lines(trace.Slices("carriers", "carrier 0"), "thread", "reason"), `
		thread 1-5 thread=1
		thread 5-6 thread=2 reason=end`)
	want(t, "the scope that was closed meanwhile", lines(trace.Slices("scopes", "gone")), `gone 0-5`)
	want(t, "#2", lines(trace.Slices("threads", "#2")), `mounted 5-6`)
}

// both is a source with the events of one script before the last batch of another.
type both struct {
	*recordingtest.Script
	after *recordingtest.Script
}

func (b both) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	if err := b.Script.Read(ctx, f); err != nil {
		return err
	}
	return (&tail{b.after}).Read(ctx, f)
}

func TestWhatIsOpenAtTheStartIsDrawnFromThere(t *testing.T) {
	s := shop()
	s.Is.Incomplete = []string{"the ring of carrier 3 was overwritten"}
	var cut bytes.Buffer
	src := &tail{Script: recordingtest.New()}
	src.Open(1, "old", 0, 0)
	src.Start(1, 1, 0)
	src.Name(1, "elder")
	src.Mount(1, 4)
	src.Start(2, 1, 0)
	src.After(ms)
	src.Batch()
	src.After(ms).End(1, flight.ReasonEnd)
	if _, err := perfetto.Write(context.Background(), &cut, src, perfetto.Options{}); err != nil {
		t.Fatal(err)
	}
	trace, err := perfettotest.Read(cut.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "carrier 4", lines(trace.Slices("carriers", "carrier 4"), "thread"), `elder 1-2 thread=1`)
	want(t, "scope", lines(trace.Slices("scopes", "old")), `old 1-2`)
	want(t, "elder", lines(trace.Slices("threads", "elder #1")), `mounted 1-2`)
	want(t, "#2", lines(trace.Slices("threads", "#2")), `runnable 1-2`)
	trace, _ = write(t, s, perfetto.Options{})
	m := trace.Process.Instants
	if len(m) != 2 || m[1].Name != "incomplete" || m[1].Notes["what"] != s.Is.Incomplete[0] {
		t.Errorf("got %+v, want a mark of what is missing", m)
	}
	if m[0].Name != "recording" || m[0].Notes["settings"] != "default" || m[0].Notes["go"] != "go1.26 amd64" {
		t.Errorf("got %+v, want a mark with the recorder's settings", m[0])
	}
}

// tail is a source without the first batch of its script.
type tail struct{ *recordingtest.Script }

func (s *tail) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	first := true
	return s.Script.Read(ctx, func(b *recording.Batch) bool {
		if first {
			first = false
			return true
		}
		return f(b)
	})
}

func TestLoadsOfAllShapesMakeTracesThatRead(t *testing.T) {
	for seed := range 12 {
		l := recordingtest.NewLoad(20_000)
		l.Seed, l.Threads, l.Carriers, l.Scopes = uint64(seed), []int{3, 50, 5000}[seed%3], 1+seed, 1+seed*3
		o := perfetto.Options{Threads: []int{0, -1, 20}[seed%3], Scopes: []int{0, 2}[seed%2], Lanes: 1 + seed%3}
		trace, stats := write(t, l, o)
		mounts, instants := 0, 0
		for c := range l.Carriers {
			for _, k := range trace.Find("carriers", fmt.Sprint("carrier ", c)) {
				mounts += len(k.Slices)
				instants += len(k.Instants)
			}
		}
		if uint64(mounts) != l.Counts[flight.EventMount] {
			t.Errorf("seed %d: got %d slices of carriers, want one for each of %d mounts", seed, mounts, l.Counts[flight.EventMount])
		}
		if stats.Flows+stats.OtherFlows != l.Counts[flight.EventUnpark] || uint64(len(trace.Flows)) != stats.Flows {
			t.Errorf("seed %d: got %d flows and %d others, want %d unparks", seed, stats.Flows, stats.OtherFlows, l.Counts[flight.EventUnpark])
		}
		if stats.Lost != 0 || stats.Late != 0 {
			t.Errorf("seed %d: got %+v, want nothing lost", seed, stats)
		}
		for _, k := range trace.Tracks {
			if k.IsCounter && strings.HasPrefix(k.Name, "threads ") && k.Values[len(k.Values)-1].Value != 0 {
				t.Errorf("seed %d: %s: got %d at the end, want 0", seed, k.Name, k.Values[len(k.Values)-1].Value)
			}
		}
	}
}

func TestTwoWritingsAreTheSame(t *testing.T) {
	var a, b bytes.Buffer
	l := recordingtest.NewLoad(5000)
	l.Scopes = 40
	for _, w := range []*bytes.Buffer{&a, &b} {
		if _, err := perfetto.Write(context.Background(), w, l, perfetto.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("got %d and %d different bytes", a.Len(), b.Len())
	}
}

func TestBadOptionsAndFailuresAreErrors(t *testing.T) {
	for _, o := range []perfetto.Options{{Threads: -2}, {Scopes: -2}, {Lanes: -7}, {Flows: -2}, {Every: -1}} {
		if _, err := perfetto.Write(context.Background(), &bytes.Buffer{}, shop(), o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
	full := errors.New("the disk is full")
	if _, err := perfetto.Write(context.Background(), refuses{full}, shop(), perfetto.Options{}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if _, err := perfetto.Write(ctx, &out, shop(), perfetto.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if _, err := perfettotest.Read(out.Bytes()); err != nil {
		t.Errorf("what was written before: %v", err)
	}
}

type refuses struct{ why error }

func (r refuses) Write([]byte) (int, error) { return 0, r.why }
