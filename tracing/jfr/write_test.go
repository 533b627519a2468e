package jfr_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/jfr"
	"github.com/vtscope/vtscope/tracing/jfr/jfrtest"
)

// typeNames are the types that events of kinds become that are not named as the kind, or not all.
var typeNames = map[flight.Kind]string{
	flight.EventThreadStart: "jdk.VirtualThreadStart", flight.EventThreadEnd: "jdk.VirtualThreadEnd", flight.EventPinned: "jdk.VirtualThreadPinned",
	flight.EventSubmitFailed: "jdk.VirtualThreadSubmitFailed",
	flight.EventGC:           "jdk.GCPhasePause",
}

// typeName returns the type that events of a kind become; those of the program's own are of "cart.Checkout" in these tests.
func typeName(k flight.Kind) string {
	if name, ok := typeNames[k]; ok {
		return name
	}
	switch k {
	case flight.EventMark, flight.EventSpanEnd:
		return checkout.Name
	}
	name := ""
	for word := range strings.SplitSeq(k.String(), "-") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return "vt." + name
}

func TestEveryKindIsExportedAsOftenAsItHappened(t *testing.T) {
	s := everything()
	f, stats, _ := export(t, s, jfr.Options{})
	want := map[string]int{}
	for k := flight.EventNone + 1; k < flight.KindCount; k++ {
		if k == flight.EventMore {
			continue
		}
		if s.Counts[k] == 0 {
			t.Errorf("%s: the script has none", k)
		}
		want[typeName(k)] += int(s.Counts[k])
	}
	counts := f.Counts()
	for name, n := range want {
		if counts[name] != n {
			t.Errorf("%s: got %d events, want %d", name, counts[name], n)
		}
	}
	if stats.Kinds != s.Counts {
		t.Errorf("statistics: got %v, want %v", stats.Kinds, s.Counts)
	}
	all := 0
	for name, n := range counts {
		if name != "go.Function" {
			all += n
		}
	}
	if uint64(all) != stats.Events || stats.Threads != 4 {
		t.Errorf("statistics: got %d events of %d threads, want %d of 4", stats.Events, stats.Threads, all)
	}
	if len(stats.LeftOut) != 0 {
		t.Errorf("left out: got %q, want nothing", stats.LeftOut)
	}
}

// JF-01: 100 threads are 100 starts and 100 ends, of each thread one.
func TestEachThreadStartsAndEndsOnce(t *testing.T) {
	s := recordingtest.New()
	for id := flight.ThreadID(1); id <= 100; id++ {
		s.After(ms).Start(id, 0, 0)
		s.After(ms).Mount(id, flight.CarrierID(id%4))
		s.After(ms).End(id, flight.ReasonEnd)
	}
	f, _, _ := export(t, s, jfr.Options{})
	for _, name := range []string{"jdk.VirtualThreadStart", "jdk.VirtualThreadEnd"} {
		seen := map[int64]int{}
		for e := range f.Events(name) {
			id := e.Get("javaThreadId").(int64)
			seen[id]++
			if got := e.Get("eventThread.javaThreadId"); got != id {
				t.Errorf("%s of thread %d: got event thread %v", name, id, got)
			}
			if got, want := e.Get("eventThread.javaName"), fmt.Sprintf("virtual-%d", id); got != want {
				t.Errorf("%s: got name %v, want %v", name, got, want)
			}
			if name == "jdk.VirtualThreadStart" {
				if got := e.Get("stackTrace"); got != nil { // as docs/jfr.md says
					t.Errorf("%s: got stack %v, and nobody records one", name, got)
				}
			}
			if got := e.Get("eventThread.virtual"); got != true {
				t.Errorf("%s: got virtual %v, want true", name, got)
			}
		}
		if len(seen) != 100 || seen[1] != 1 || seen[100] != 1 {
			t.Errorf("%s: got %d threads, want 100", name, len(seen))
		}
	}
	if got := f.Counts(); got["jdk.VirtualThreadStart"] != 100 || got["jdk.VirtualThreadEnd"] != 100 {
		t.Errorf("got %d starts and %d ends, want 100 and 100", got["jdk.VirtualThreadStart"], got["jdk.VirtualThreadEnd"])
	}
}

func only(t *testing.T, f *jfrtest.File, name string) *jfrtest.Event {
	t.Helper()
	events := slices.Collect(f.Events(name))
	if len(events) != 1 {
		t.Fatalf("%s: got %d events, want 1", name, len(events))
	}
	return events[0]
}

// has compares fields of an event with what they should be: int64, string, bool, float64 or nil.
func has(t *testing.T, e *jfrtest.Event, want map[string]any) {
	t.Helper()
	for path, v := range want {
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		if got := e.Get(path); !reflect.DeepEqual(got, v) {
			t.Errorf("%s: %s: got %#v, want %#v", e.Class.Name, path, got, v)
		}
	}
}

// JF-02: a pinned wait is one event with its thread, carrier, reason, duration, victims and place.
func TestPinnedWaitsNameWhatTheyWaitedFor(t *testing.T) {
	f, _, _ := export(t, everything(), jfr.Options{})
	e := only(t, f, "jdk.VirtualThreadPinned")
	has(t, e, map[string]any{
		"eventThread.javaName": "GET /cart", "blockingOperation": "sync.(*Mutex).Lock", "pinnedReason": "blocked in a channel, mutex or call that the runtime cannot see",
		"carrierThread.javaName": "carrier-0", "carrierThread.virtual": false, "victims": 4,
	})
	if e.Duration() != int64(30*ms) {
		t.Errorf("got a duration of %d, want 30 ms", e.Duration())
	}
	if got := e.Stack(); len(got) != 3 || got[2] != "github.com/acme/shop/cart.(*Service).Checkout" {
		t.Errorf("got stack %q", got)
	}
	for i, loader := range []string{"bootstrap", "bootstrap", "app"} {
		if got := e.Get(fmt.Sprintf("stackTrace.frames.%d.method.type.classLoader.name", i)); got != loader {
			t.Errorf("frame %d: got class loader %v, want %s", i, got, loader)
		}
	}
}

// JF-03: each refusal of a scheduler is one event.
func TestEachRefusalIsAnEvent(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	for range 2 {
		s.After(ms).Emit(recording.Event{Kind: flight.EventSubmitFailed, Carrier: flight.NoCarrier, Thread: 1})
	}
	f, _, _ := export(t, s, jfr.Options{})
	n := 0
	for e := range f.Events("jdk.VirtualThreadSubmitFailed") {
		n++
		has(t, e, map[string]any{"javaThreadId": 1, "exceptionMessage": "its scheduler refused it"})
	}
	if n != 2 {
		t.Errorf("got %d events, want 2", n)
	}
}

// JF-06: a stack that was cut is marked, and no other.
func TestStacksThatWereCutAreMarked(t *testing.T) {
	src := &deep{Script: recordingtest.New()}
	src.Start(1, 0, 0)
	src.After(ms).Mount(1, 0)
	src.After(ms).Park(1, flight.ReasonPark, 0, 1000)
	src.After(ms).Unpark(1, 0)
	src.After(ms).Mount(1, 0)
	src.After(ms).Park(1, flight.ReasonPark, 0, src.At("main.main main.go:1"))
	f, _, _ := export(t, src, jfr.Options{})
	parks := slices.Collect(f.Events("vt.Park"))
	if len(parks) != 2 {
		t.Fatalf("got %d parks, want 2", len(parks))
	}
	if got := parks[0]; got.Get("stackTrace.truncated") != true || len(got.Stack()) != 64 {
		t.Errorf("got %d frames, cut: %v; want 64, cut", len(got.Stack()), got.Get("stackTrace.truncated"))
	}
	if got := parks[1]; got.Get("stackTrace.truncated") != false || len(got.Stack()) != 1 {
		t.Errorf("got %d frames, cut: %v; want 1, whole", len(got.Stack()), got.Get("stackTrace.truncated"))
	}
}

// deep is a script that has a stack which was cut, of the id 1000.
type deep struct{ *recordingtest.Script }

func (d *deep) Stack(id flight.StackID) flight.Stack {
	if id != 1000 {
		return d.Script.Stack(id)
	}
	s := flight.Stack{ID: id, Truncated: true}
	for i := range 64 {
		s.Frames = append(s.Frames, flight.Frame{Func: "main.down", File: "main.go", Line: 9 + i, Inlined: i == 0})
	}
	return s
}

func TestWaitsLastFromTheParkToTheUnpark(t *testing.T) {
	f, stats, _ := export(t, everything(), jfr.Options{})
	enter := only(t, f, "jdk.JavaMonitorEnter")
	has(t, enter, map[string]any{"eventThread.javaName": "GET /cart", "monitorClass.name": "mutex", "previousOwner.javaName": "virtual-2", "address": 0xc000010000})
	sleep := only(t, f, "jdk.ThreadSleep")
	has(t, sleep, map[string]any{"eventThread.javaName": "virtual-2", "time": int64(10 * ms)})
	wait := only(t, f, "jdk.JavaMonitorWait")
	has(t, wait, map[string]any{"monitorClass.name": "condition", "notifier.javaName": "GET /cart", "timedOut": false, "address": 0xc000020000})
	park := only(t, f, "jdk.ThreadPark")
	has(t, park, map[string]any{"parkedClass.name": "thread", "reason": "join", "unparkedBy.javaName": "GET /cart", "address": 0})
	for e, want := range map[*jfrtest.Event]time.Duration{enter: 20 * ms, sleep: 10 * ms, wait: 10 * ms, park: 10 * ms} {
		if e.Duration() != int64(want) {
			t.Errorf("%s: got %d, want %v", e.Class.Name, e.Duration(), want)
		}
	}
	if stats.Waits != 4 {
		t.Errorf("statistics: got %d waits, want 4", stats.Waits)
	}
	f, stats, _ = export(t, everything(), jfr.Options{WaitsFrom: 15 * ms})
	if counts := f.Counts(); counts["jdk.ThreadPark"]+counts["jdk.JavaMonitorWait"]+counts["jdk.ThreadSleep"] != 0 || counts["jdk.JavaMonitorEnter"] != 1 || stats.Waits != 1 {
		t.Errorf("from 15 ms on: got %v and %d waits, want the JavaMonitorEnter alone", counts, stats.Waits)
	}
	if want := []string{"3 waits that were shorter than asked for"}; !slices.Equal(stats.LeftOut, want) {
		t.Errorf("left out: got %q, want %q", stats.LeftOut, want)
	}
}

func TestSitesOfLocksBeginWithTheProgramsOwnCode(t *testing.T) {
	src := &glued{Script: recordingtest.New()}
	src.Start(1, 0, 0)
	src.After(ms).Mount(1, 0)
	src.After(ms).Park(1, flight.ReasonLock, flight.BlockAt(flight.BlockedByMutex, 1), 1000)
	src.After(ms).Unpark(1, 0)
	f, _, _ := export(t, src, jfr.Options{})
	if got := only(t, f, "vt.Park").Stack(); len(got) != 4 {
		t.Errorf("park: got stack %q, want all 4 frames", got)
	}
	if got := only(t, f, "jdk.JavaMonitorEnter").Stack(); !slices.Equal(got, []string{"main.take", "main.main"}) {
		t.Errorf("lock: got stack %q, want main.take and main.main", got)
	}
	park := only(t, f, "vt.Park")
	for i, hidden := range []bool{true, true, false, false} {
		if got := park.Get(fmt.Sprintf("stackTrace.frames.%d.method.hidden", i)); got != hidden {
			t.Errorf("frame %d: got hidden %v, want %v", i, got, hidden)
		}
	}
}

// glued is a script that has a stack with frames of ours, of the id 1000.
type glued struct{ *recordingtest.Script }

func (g *glued) Stack(id flight.StackID) flight.Stack {
	if id != 1000 {
		return g.Script.Stack(id)
	}
	const ours = "github.com/vtscope/vtscope/runtime/"
	return flight.Stack{ID: id, Frames: []flight.Frame{
		{Func: ours + "sched.(*Waiter).Wait", Internal: true}, {Func: ours + "vsync.(*Mutex).Lock", Internal: true}, {Func: "main.take"}, {Func: "main.main"},
	}}
}

func TestMountsTellTheTimeInTheQueueAndUnmountsTheTimeOnTheCarrier(t *testing.T) {
	f, _, _ := export(t, everything(), jfr.Options{})
	var queued, ran []int64
	for e := range f.Events("vt.Mount") {
		queued = append(queued, e.Get("queueTime").(int64)/int64(ms))
	}
	for e := range f.Events("vt.Unmount") {
		ran = append(ran, e.Get("runTime").(int64)/int64(ms))
	}
	if want := []int64{2, 2, 3, 1, 1, 1}; !slices.Equal(queued, want) {
		t.Errorf("queue times: got %v ms, want %v", queued, want)
	}
	if want := []int64{8, 29, 1, 1, 1, 71}; !slices.Equal(ran, want) {
		t.Errorf("run times: got %v ms, want %v", ran, want)
	}
}

func TestWhatIsNotKnownIsNotZero(t *testing.T) {
	s := recordingtest.New()
	s.Mount(5, 0) // it was never seen before
	s.After(ms).Emit(recording.Event{Kind: flight.EventUnmount, Code: flight.ReasonYield, Carrier: 1, Thread: 6})
	s.Yield(5)
	s.Emit(recording.Event{Kind: flight.EventUnmount, Code: flight.ReasonYield, Carrier: 0, Thread: 5}) // its mount was lost
	f, _, _ := export(t, s, jfr.Options{})
	const unknown = -1 << 63
	has(t, only(t, f, "vt.Mount"), map[string]any{"queueTime": unknown, "eventThread.javaThreadId": 5})
	unmounts := slices.Collect(f.Events("vt.Unmount"))
	for i, want := range []map[string]any{
		{"runTime": unknown, "eventThread.javaThreadId": 6}, {"runTime": int64(ms), "eventThread.javaThreadId": 5}, {"runTime": unknown, "eventThread.javaThreadId": 5},
	} {
		has(t, unmounts[i], want)
	}
}

func TestWaitsThatBeganBeforeTheRecordingAreLeftOut(t *testing.T) {
	s := &before{Script: recordingtest.New(), state: &recording.State{Threads: []recording.Thread{
		{ID: 7, Name: "early", State: flight.StateBlocked, Reason: flight.ReasonLock, Since: -time.Second, Created: -time.Second, Carrier: flight.NoCarrier},
		{ID: 8, State: flight.StateRunnable, Since: -3 * ms, Created: -time.Second, Carrier: flight.NoCarrier},
	}}}
	s.After(ms).Unpark(7, 0)
	s.After(ms).Mount(8, 0)
	f, stats, _ := export(t, s, jfr.Options{})
	if n := f.Counts()["jdk.JavaMonitorEnter"]; n != 0 {
		t.Errorf("got %d waits, want none", n)
	}
	has(t, only(t, f, "vt.Unpark"), map[string]any{"eventThread.javaName": "early"})
	has(t, only(t, f, "vt.Mount"), map[string]any{"queueTime": int64(5 * ms)})
	if want := []string{"1 wait that began before the recording: the unpark is there"}; !slices.Equal(stats.LeftOut, want) {
		t.Errorf("left out: got %q, want %q", stats.LeftOut, want)
	}
}

// before is a script that begins with some state.
type before struct {
	*recordingtest.Script
	state *recording.State
}

func (s *before) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	return s.Script.Read(ctx, func(b *recording.Batch) bool {
		b.State = s.state
		return f(b)
	})
}

func TestWhatLastedLongerThanThereIsTimeBeforeIsCutAtTheBeginning(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.After(ms).Emit(recording.Event{Kind: flight.EventPinned, Thread: 1, Arg: uint64(flight.MakeHeld(20*time.Minute, 0))})
	s.Emit(recording.Event{Kind: flight.EventPinned, Thread: 1, Arg: uint64(flight.MakeHeld(9*time.Minute, 0))})
	f, _, _ := export(t, s, jfr.Options{})
	var got []time.Duration
	for e := range f.Events("jdk.VirtualThreadPinned") {
		got = append(got, time.Duration(e.Start()), time.Duration(e.Duration()))
	}
	if want := []time.Duration{0, epoch + ms, epoch + ms - 9*time.Minute, 9 * time.Minute}; !slices.Equal(got, want) {
		t.Errorf("got starts and durations %v, want %v", got, want)
	}
}

func TestEventsOfTheProgramHaveTheirNamesTypesAndUnits(t *testing.T) {
	f, _, _ := export(t, everything(), jfr.Options{})
	events := slices.Collect(f.Events("cart.Checkout"))
	if len(events) != 2 {
		t.Fatalf("got %d events, want a mark and a span", len(events))
	}
	for i, e := range events {
		has(t, e, map[string]any{
			"items": 3, "total_weight": 4096, "delta": -5, "rate": 0.75, "paid": true, "duration_": int64(7 * ms), "customer": "Ada",
			"eventThread.javaName": "GET /cart", "carrier.javaName": "carrier-0",
		})
		if want := []time.Duration{0, 6 * ms}[i]; e.Duration() != int64(want) {
			t.Errorf("event %d: got a duration of %d, want %v", i, e.Duration(), want)
		}
	}
	if got := events[0].Stack(); len(got) != 3 {
		t.Errorf("mark: got stack %q, want its 3 frames", got)
	}
	has(t, only(t, f, "vt.SpanBegin"), map[string]any{"event": "cart.Checkout"})
	for name, want := range map[string]struct{ class, label, note, unit string }{
		"items":        {"long", "items", "", ""},
		"total_weight": {"long", "total weight", "jdk.jfr.DataAmount", "BYTES"},
		"rate":         {"double", "rate", "", ""},
		"paid":         {"boolean", "paid", "", ""},
		"duration_":    {"long", "duration", "jdk.jfr.Timespan", "NANOSECONDS"},
		"customer":     {"java.lang.String", "customer", "", ""},
	} {
		i := slices.IndexFunc(events[0].Class.Fields, func(f jfrtest.Field) bool { return f.Name == name })
		if i < 0 {
			t.Errorf("no field %s", name)
			continue
		}
		field := events[0].Class.Fields[i]
		if field.Class.Name != want.class || !slices.Equal(field.Notes["jdk.jfr.Label"], []string{want.label}) {
			t.Errorf("%s: got a %s %v, want a %s %q", name, field.Class.Name, field.Notes["jdk.jfr.Label"], want.class, want.label)
		}
		if want.note != "" && !slices.Equal(field.Notes[want.note], []string{want.unit}) {
			t.Errorf("%s: got notes %v, want %s %s", name, field.Notes, want.note, want.unit)
		}
	}
}

func TestKindsOfTheProgramWithoutUsableNamesAreExportedAllTheSame(t *testing.T) {
	s := recordingtest.New()
	for i, name := range []string{"", "jdk.ThreadPark", "a b/c-d", "9lives", "vt.Mount", "ümlaut.日本", "x.", "\xff"} {
		s.Define(flight.UserKindInfo{Number: uint32(i + 1), Name: name, Fields: []flight.Field{
			{Name: "startTime", At: flight.AtMore, Use: flight.FieldInt}, {Name: "", At: flight.AtMore + 1, Use: flight.FieldInt}, {Name: "startTime", At: flight.AtMore + 2, Use: flight.FieldInt},
		}})
		s.After(ms).Emit(recording.Event{Kind: flight.EventMark, Carrier: flight.NoCarrier, Ref: uint32(i + 1), More: []uint64{1, 2, 3}})
	}
	s.After(ms).Emit(recording.Event{Kind: flight.EventMark, Carrier: flight.NoCarrier, Ref: 99})
	s.After(ms).Emit(recording.Event{Kind: flight.EventSpanEnd, Carrier: flight.NoCarrier, Ref: 99, Arg: uint64(ms)})
	f, _, _ := export(t, s, jfr.Options{})
	counts := f.Counts()
	for _, name := range []string{"_", "jdk.ThreadPark_", "a_b.c_d", "_lives", "vt.Mount_", "ümlaut.日本", "x_", "_", "vt.Mark", "vt.SpanEnd"} {
		if counts[name] < 1 {
			t.Errorf("%s: got no event", name)
		}
	}
	has(t, only(t, f, "a_b.c_d"), map[string]any{"startTime_": 1, "_": 2, "startTime__": 3})
	has(t, only(t, f, "vt.Mark"), map[string]any{"event": "#99"})
}

func TestKindsOfTheProgramMayComeInAnyChunk(t *testing.T) {
	f, _, _ := export(t, late(), jfr.Options{ChunkSize: 4 << 10})
	if first, last := f.Chunks[0], f.Chunks[len(f.Chunks)-1]; first.MetadataID == last.MetadataID || len(first.Classes) != len(last.Classes)-1 {
		t.Errorf("got metadata %d of %d classes, then %d of %d: want another id and one class more", first.MetadataID, len(first.Classes), last.MetadataID, len(last.Classes))
	}
	if n := f.Counts()["cart.Checkout"]; n != 300 {
		t.Errorf("got %d events, want 300", n)
	}
}

func TestNamesThatComeLateCountFromThenOn(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	for i := range 400 {
		s.After(ms).Mount(1, 0)
		if i == 200 {
			s.Name(1, "late")
		}
		s.After(ms).Yield(1)
	}
	f, stats, _ := export(t, s, jfr.Options{ChunkSize: 4 << 10})
	if stats.Chunks < 4 || stats.Threads != 1 {
		t.Fatalf("got %d chunks and %d threads, want 4 chunks or more and 1 thread", stats.Chunks, stats.Threads)
	}
	var names []string
	for e := range f.Events("") {
		if name, ok := e.Get("eventThread.javaName").(string); ok && e.Get("eventThread.virtual") == true && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !slices.Equal(names, []string{"virtual-1", "late"}) {
		t.Errorf("got names %q, want virtual-1, then late", names)
	}
}

func TestNamesMayComeBeforeTheirThreads(t *testing.T) {
	s := recordingtest.New()
	s.Unpark(1, 0)
	s.Name(2, "early")
	s.After(ms).Start(2, 0, 0)
	f, _, _ := export(t, s, jfr.Options{})
	has(t, only(t, f, "vt.ThreadName"), map[string]any{"eventThread.javaName": "early", "eventThread.javaThreadId": 2, "name": "early"})
	has(t, only(t, f, "jdk.VirtualThreadStart"), map[string]any{"eventThread.javaName": "early"})
}

func TestNamesStayBlankOnRequest(t *testing.T) {
	f, _, _ := export(t, everything(), jfr.Options{BlankNames: true})
	got := map[string]bool{}
	for e := range f.Events("jdk.VirtualThreadStart") {
		got[e.Get("eventThread.javaName").(string)] = true
	}
	if len(got) != 2 || !got[""] || !got["GET /cart"] {
		t.Errorf("got names %v, want blank ones and GET /cart", got)
	}
}

func TestThreadsOnGoroutinesAreNotVirtual(t *testing.T) {
	s := recordingtest.New()
	s.Start(2, 0, 0)
	s.After(ms).Emit(recording.Event{Kind: flight.EventThreadStart, Code: flight.Reason(flight.RecordOnGoroutine), Carrier: flight.NoCarrier, Thread: 1, Arg: 2})
	s.After(ms).Emit(recording.Event{Kind: flight.EventThreadEnd, Code: flight.ReasonEnd, Carrier: flight.NoCarrier, Thread: 1})
	f, _, _ := export(t, s, jfr.Options{})
	has(t, only(t, f, "jdk.ThreadStart"), map[string]any{
		"thread.javaThreadId": 1, "thread.virtual": false, "parentThread.javaThreadId": 2, "placement": "goroutine", "eventThread.javaThreadId": 1,
	})
	has(t, only(t, f, "jdk.ThreadEnd"), map[string]any{"thread.javaThreadId": 1})
	has(t, only(t, f, "jdk.VirtualThreadStart"), map[string]any{"javaThreadId": 2})
}

func TestLossAndWhatIsMissingStandInTheFile(t *testing.T) {
	s := recordingtest.New()
	s.Is.Incomplete = []string{"the first 3 s"}
	s.Start(1, 0, 0)
	s.Batch()
	s.Lose(17)
	s.After(ms).Mount(1, 0)
	s.After(ms).Emit(recording.Event{Kind: flight.KindCount + 5})
	f, stats, _ := export(t, s, jfr.Options{})
	has(t, only(t, f, "vt.EventsLost"), map[string]any{"count": 17})
	has(t, only(t, f, "vt.Incomplete"), map[string]any{"what": "the first 3 s"})
	want := []string{"the first 3 s", "17 events that the recording has lost", "1 event of a kind that this version does not know"}
	if stats.Lost != 17 || !slices.Equal(stats.LeftOut, want) {
		t.Errorf("got %d lost, left out %q; want 17 and %q", stats.Lost, stats.LeftOut, want)
	}
}

func TestAnEmptySourceIsAFile(t *testing.T) {
	f, stats, _ := export(t, recordingtest.New(), jfr.Options{})
	if len(f.Chunks) != 1 || stats.Read != 0 {
		t.Errorf("got %d chunks of %d events, want 1 of 0", len(f.Chunks), stats.Read)
	}
	has(t, only(t, f, "jdk.JVMInformation"), map[string]any{"pid": 4711, "jvmVersion": "go1.26", "javaArguments": "/srv/script"})
}

func TestErrorsAreReturned(t *testing.T) {
	full := errors.New("no room")
	if _, err := jfr.Write(t.Context(), failing{full}, everything(), jfr.Options{}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := jfr.Write(ctx, failing{full}, everything(), jfr.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	for _, size := range []int{1, 4<<10 - 1, 128<<20 + 1, -1} {
		if _, err := jfr.Write(t.Context(), failing{full}, everything(), jfr.Options{ChunkSize: size}); err == nil || errors.Is(err, full) {
			t.Errorf("chunks of %d bytes: got %v, want it refused", size, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
