package otel

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var process = flight.Process{PID: 4711, Program: "script", Exe: "/srv/script", GoVersion: "go1.26", Start: recordingtest.Began, Status: flight.StatusEnded}

const (
	ms     = time.Millisecond
	second = time.Second
)

// told is the spans of a script, by name.
func told(t *testing.T, s *recordingtest.Script, o Options, more ...string) (map[string]*tracepb.Span, *Exporter) {
	t.Helper()
	c := startCollector(t, "127.0.0.1:0")
	o.Env = c.env(t, more...)
	x := newExporter(t, o)
	observers := x.Observe(process, s)
	if err := recording.Observe(context.Background(), s, observers...); err != nil {
		t.Fatal(err)
	}
	observers[0].(*Spans).Close()
	closes(t, x, 2*time.Minute)
	if st := x.Stats().Traces; st.Sent != uint64(len(c.spans())) || st.Waiting != 0 || st.Failed != 0 || st.Built != st.Sent {
		t.Errorf("got %+v, and %d spans", st, len(c.spans()))
	}
	byName := map[string]*tracepb.Span{}
	for _, sp := range c.spans() {
		if byName[sp.Name] != nil {
			t.Errorf("two spans %q", sp.Name)
		}
		byName[sp.Name] = sp
	}
	return byName, x
}

// shop is a scope "request" with a scope "query" within, in which a thread waits for one of the outer.
func shop() *recordingtest.Script {
	s := recordingtest.New()
	s.Open(1, "request", 0, 0)
	s.After(ms).Start(10, 1, 0)
	s.Name(10, "handler")
	s.Mount(10, 0)
	s.After(ms).Open(2, "query", 1, 10)
	s.Start(20, 2, 10)
	s.Mount(20, 1)
	at := s.At("sync.wait sema.go:1", "shop.query store.go:88", "shop.serve main.go:7")
	s.Park(20, flight.ReasonLock, flight.BlockLock(99), at)
	s.After(50 * ms).Emit(recording.Event{Kind: flight.EventPinned, Code: flight.ReasonPinnedGo, Carrier: 0, Ref: uint32(at), Thread: 10, Arg: uint64(flight.MakeHeld(30*ms, 3))})
	s.Unpark(20, 10)
	s.After(ms).Mount(20, 1)
	s.After(ms).End(20, flight.ReasonEnd)
	s.Close(2)
	s.After(ms).End(10, flight.ReasonPanic)
	s.After(ms).Close(1)
	return s
}

func TestAScopeIsASpanAndItsThreadsAreItsChildren(t *testing.T) {
	spans, x := told(t, shop(), Options{})
	if len(spans) != 4 {
		t.Fatalf("got %d spans %v, want 4", len(spans), slices.Sorted(maps.Keys(spans)))
	}
	request, query, handler, thread := spans["request"], spans["query"], spans["handler"], spans["shop.serve"]
	if request == nil || query == nil || handler == nil || thread == nil {
		t.Fatalf("got %v", slices.Sorted(maps.Keys(spans)))
	}
	seed := traceid.Of(process)
	for _, c := range []struct {
		span, parent *tracepb.Span
		id           traceid.Span
		from, until  time.Duration
	}{
		{request, nil, seed.Scope(1), 0, 56 * ms}, {query, request, seed.Scope(2), 2 * ms, 54 * ms},
		{handler, request, seed.Thread(10), ms, 55 * ms}, {thread, query, seed.Thread(20), 2 * ms, 54 * ms},
	} {
		if string(c.span.SpanId) != string(c.id[:]) {
			t.Errorf("%s: got id %x, want %x", c.span.Name, c.span.SpanId, c.id)
		}
		if string(c.span.TraceId) != string(request.TraceId) || c.parent == nil && len(c.span.ParentSpanId) > 0 || c.parent != nil && string(c.span.ParentSpanId) != string(c.parent.SpanId) {
			t.Errorf("%s: trace %x, parent %x", c.span.Name, c.span.TraceId, c.span.ParentSpanId)
		}
		from, until := recordingtest.Began.Add(c.from), recordingtest.Began.Add(c.until)
		if c.span.StartTimeUnixNano != uint64(from.UnixNano()) || c.span.EndTimeUnixNano != uint64(until.UnixNano()) {
			t.Errorf("%s: from %v until %v, want %v and %v", c.span.Name, time.Unix(0, int64(c.span.StartTimeUnixNano)).UTC(), time.Unix(0, int64(c.span.EndTimeUnixNano)).UTC(), from, until)
		}
	}
	if thread.Status != nil || handler.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || request.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || query.Status != nil {
		t.Errorf("got states %v, %v, %v, %v, want an error of the one that has panicked and of its scope", thread.Status, handler.Status, request.Status, query.Status)
	}
	want := map[string]any{
		"vt.kind": "thread", "vt.kept": "sampled", "thread.id": int64(20), "code.function.name": "shop.serve", "code.file.path": "main.go", "code.line.number": int64(7),
		"vt.scope.id": int64(2), "vt.scope.name": "query", "vt.thread.end": "end", "vt.thread.creator": int64(10), "vt.thread.mounts": int64(2), "vt.thread.parks": int64(1),
		"vt.thread.pins": int64(0), "vt.thread.running": 0.001, "vt.thread.ready": 0.001, "vt.thread.waiting": 0.05, "vt.thread.pinned": 0.0,
	}
	if got := values(thread.Attributes); !maps.Equal(got, want) {
		t.Errorf("thread: got %v, want %v", got, want)
	}
	want = map[string]any{
		"vt.kind": "scope", "vt.kept": "sampled,pinned,failed,inner", "vt.scope.id": int64(1), "vt.scope.name": "request", "vt.scope.threads": int64(1),
		"vt.scope.threads.failed": int64(1), "vt.scope.threads.pinned": int64(1), "vt.scope.threads.untold": int64(0),
	}
	if got := values(request.Attributes); !maps.Equal(got, want) {
		t.Errorf("request: got %v, want %v", got, want)
	}
	if len(thread.Events) != 1 || len(thread.Links) != 1 || string(thread.Links[0].SpanId) != string(handler.SpanId) || string(thread.Links[0].TraceId) != string(handler.TraceId) {
		t.Fatalf("got %v, want one park and one link to who woke it", thread)
	}
	want = map[string]any{
		"vt.kind": "park", "vt.reason": "lock", "vt.duration": 0.05, "vt.blocker": flight.BlockLock(99).String(), "vt.waker": int64(10), "code.function.name": "sync.wait",
		"code.file.path": "sema.go", "code.line.number": int64(1), "code.stacktrace": "sync.wait(...)\n\tsema.go:1\nshop.query(...)\n\tstore.go:88\nshop.serve(...)\n\tmain.go:7\n",
	}
	if got := values(thread.Events[0].Attributes); thread.Events[0].Name != "park" || !maps.Equal(got, want) {
		t.Errorf("park: got %v, want %v", got, want)
	}
	if len(handler.Events) != 1 || handler.Events[0].Name != "pinned" || values(handler.Events[0].Attributes)["vt.victims"] != int64(3) || values(handler.Events[0].Attributes)["vt.duration"] != 0.03 {
		t.Errorf("handler: got %v, want one pin", handler.Events)
	}
	if st := x.Stats(); st.Threads != 2 || st.ThreadsKept != 2 || st.Scopes != 2 || st.ScopesKept != 2 {
		t.Errorf("got %+v", st)
	}
}

func TestPartsMayBeSpans(t *testing.T) {
	spans, _ := told(t, shop(), Options{Parts: true})
	park, pin := spans["park lock"], spans["pinned go-operation"]
	if park == nil || pin == nil || len(spans) != 6 {
		t.Fatalf("got %v", slices.Sorted(maps.Keys(spans)))
	}
	if string(park.ParentSpanId) != string(spans["shop.serve"].SpanId) || len(park.Links) != 1 || string(pin.ParentSpanId) != string(spans["handler"].SpanId) {
		t.Errorf("got %v and %v", park, pin)
	}
	if got := values(park.Attributes); got["thread.id"] != int64(20) || park.EndTimeUnixNano-park.StartTimeUnixNano != uint64(50*ms) {
		t.Errorf("park: got %v", got)
	}
	if len(spans["shop.serve"].Events) != 0 {
		t.Errorf("got events too")
	}
}

func TestLimitsDropAndCount(t *testing.T) {
	spans, _ := told(t, shop(), Options{}, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3", "OTEL_SPAN_EVENT_COUNT_LIMIT", "0", "OTEL_SPAN_LINK_COUNT_LIMIT", "0", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "4")
	sp := spans["shop"] // of shop.serve
	if sp == nil {
		t.Fatalf("got %v", slices.Sorted(maps.Keys(spans)))
	}
	if len(sp.Attributes) != 3 || sp.DroppedAttributesCount == 0 || len(sp.Events) != 0 || sp.DroppedEventsCount != 1 || len(sp.Links) != 0 || sp.DroppedLinksCount != 1 {
		t.Errorf("got %v", sp)
	}
}

// mark lets a script tell which span of the program's own a scope was opened in.
func mark(s *recordingtest.Script, id flight.ScopeID, trace, span byte, sampled bool) {
	s.Define(flight.UserKindInfo{Number: 7, Name: traceid.EventName})
	flags := uint64(0)
	if sampled {
		flags = 1
	}
	s.Emit(recording.Event{Kind: flight.EventMark, Ref: 7, Carrier: flight.NoCarrier, More: []uint64{uint64(id), uint64(trace), uint64(trace), uint64(span), flags, 0}})
}

func TestAScopeJoinsTheTraceOfItsContext(t *testing.T) {
	s := recordingtest.New()
	s.Open(1, "a", 0, 0)
	mark(s, 1, 5, 6, true)
	s.After(ms).Open(2, "b", 1, 0) // opened with the context of a
	mark(s, 2, 5, 6, true)
	s.After(ms).Open(3, "c", 2, 0) // in a span that the program has begun within
	mark(s, 3, 5, 8, true)
	s.After(ms).Open(4, "d", 3, 0) // with another context, that has none
	s.Open(5, "e", 0, 0)
	mark(s, 5, 9, 9, false) // the program does not keep it
	s.Open(6, "f", 5, 0)
	for id := flight.ScopeID(6); id > 0; id-- {
		s.After(2 * second).Close(id)
	}
	spans, x := told(t, s, Options{})
	seed := traceid.Of(process)
	span := func(id byte) traceid.Span { return traceid.Span{7: id} }
	for name, want := range map[string]traceid.Span{"a": span(6), "b": seed.Scope(1), "c": span(8), "d": seed.Scope(3)} {
		sp := spans[name]
		if sp == nil || binary.BigEndian.Uint64(sp.TraceId) != 5 || string(sp.ParentSpanId) != string(want[:]) {
			t.Errorf("%s: got %v, want parent %x in trace 5", name, sp, want)
		}
	}
	if len(spans) != 4 || x.Stats().NotSampled != 2 {
		t.Errorf("got %v, not sampled %d, want 2", slices.Sorted(maps.Keys(spans)), x.Stats().NotSampled)
	}
	if spans, _ = told(t, s, Options{}, "OTEL_TRACES_SAMPLER", "always_on"); len(spans) != 6 {
		t.Errorf("always_on: got %v", slices.Sorted(maps.Keys(spans)))
	}
}

func TestWhatIsOpenedInALongLivedScopeBeginsATrace(t *testing.T) {
	s := recordingtest.New()
	s.Open(1, "server", 0, 0)
	s.After(2*time.Minute).Open(2, "request", 1, 0)
	s.Start(7, 1, 0)
	s.Name(7, "late")
	s.Mount(7, 0)
	s.After(ms).End(7, flight.ReasonEnd)
	s.Close(2)
	s.After(ms).Close(1)
	spans, _ := told(t, s, Options{})
	server, request, late := spans["server"], spans["request"], spans["late"]
	if server == nil || request == nil || late == nil {
		t.Fatalf("got %v", slices.Sorted(maps.Keys(spans)))
	}
	if string(server.TraceId) == string(request.TraceId) || len(request.ParentSpanId) > 0 || len(request.Links) != 1 || string(request.Links[0].SpanId) != string(server.SpanId) {
		t.Errorf("got request %v, want a trace of its own with a link to server", request)
	}
	if string(late.TraceId) == string(server.TraceId) || len(late.ParentSpanId) > 0 {
		t.Errorf("got late %v, want a trace of its own", late)
	}
}

func TestTheTailKeepsWhatWasSlowPinnedOrFailed(t *testing.T) {
	s := recordingtest.New()
	id := flight.ThreadID(100)
	run := func(scope flight.ScopeID, name string, lasts, pinned time.Duration, end flight.Reason) {
		s.Open(scope, name, 50, 0)
		id++
		s.Start(id, scope, 0)
		s.Name(id, "thread of "+name)
		s.Mount(id, 0)
		s.After(lasts)
		if pinned > 0 {
			s.Emit(recording.Event{Kind: flight.EventPinned, Code: flight.ReasonPinnedGo, Thread: id, Arg: uint64(flight.MakeHeld(pinned, 0))})
		}
		s.End(id, end)
		s.Close(scope)
	}
	s.Open(50, "all", 0, 0)
	run(1, "quick", ms, 0, flight.ReasonEnd)
	run(2, "slow", 2*second, 0, flight.ReasonEnd)
	run(3, "pinned", 30*ms, 25*ms, flight.ReasonEnd)
	run(4, "pinned shortly", 30*ms, 15*ms, flight.ReasonEnd)
	run(5, "failed", ms, 0, flight.ReasonPanic)
	run(6, "off slow", 2*second, 0, flight.ReasonPanic)
	s.Close(50)
	rules, err := ParseRules("off*: off; *: keep=0")
	if err != nil {
		t.Fatal(err)
	}
	spans, x := told(t, s, Options{Rules: rules})
	got := slices.DeleteFunc(slices.Sorted(maps.Keys(spans)), func(name string) bool { return strings.HasPrefix(name, "thread of ") })
	if want := []string{"all", "failed", "pinned", "slow"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, want := range map[string]string{"slow": "slow", "pinned": "pinned", "failed": "failed", "all": "slow,inner"} {
		if got := values(spans[name].Attributes)["vt.kept"]; got != want {
			t.Errorf("%s: kept for %v, want %s", name, got, want)
		}
	}
	if st := x.Stats(); st.Scopes != 7 || st.ScopesKept != 4 || st.Threads != 6 || st.ThreadsKept != 3 {
		t.Errorf("got %+v", st)
	}
}

func TestTheRatioKeepsWholeTracesAndTheRateLimitsThem(t *testing.T) {
	const traces = 2000
	s := recordingtest.New()
	for i := range flight.ScopeID(traces) {
		s.Open(2*i+1, fmt.Sprint("outer", i), 0, 0)
		s.Open(2*i+2, fmt.Sprint("inner", i), 2*i+1, 0)
		s.After(ms).Close(2*i + 2)
		s.Close(2*i + 1)
	}
	spans, _ := told(t, s, Options{Rules: []Rule{{Scope: "*", Keep: 0.25, Most: 1}}}, "OTEL_BSP_MAX_QUEUE_SIZE", "8192")
	for i := range traces {
		if (spans[fmt.Sprint("outer", i)] == nil) != (spans[fmt.Sprint("inner", i)] == nil) {
			t.Errorf("trace %d: half of it was kept", i)
		}
	}
	if n := len(spans) / 2; n < traces/4-150 || n > traces/4+150 {
		t.Errorf("got %d of %d traces, want about a quarter", n, traces)
	}
	spans, x := told(t, s, Options{Rules: []Rule{{Scope: "*", Keep: 1, Rate: 10}}}, "OTEL_BSP_MAX_QUEUE_SIZE", "8192")
	if n := len(spans) / 2; n != 10+19 && n != 10+20 || x.Stats().Limited != uint64(traces-n) {
		t.Errorf("got %d traces, %d limited, in 2 s at a rate of 10 in a second", n, x.Stats().Limited)
	}
}

func TestMoreThreadsThanAScopeMayHaveAreCountedAndTheBadOnesAreKept(t *testing.T) {
	s := recordingtest.New()
	s.Open(1, "many", 0, 0)
	for i := range flight.ThreadID(500) {
		s.Start(i+1, 1, 0)
		s.Mount(i+1, 0)
		end := flight.ReasonEnd
		if i%100 == 99 {
			end = flight.ReasonPanic
		}
		s.Name(i+1, fmt.Sprint(end, i))
		s.End(i+1, end)
	}
	s.Close(1)
	spans, x := told(t, s, Options{})
	failed := 0
	for name := range spans {
		if strings.HasPrefix(name, "panic") {
			failed++
		}
	}
	got := values(spans["many"].Attributes)
	if len(spans) != 101 || failed != 5 || got["vt.scope.threads"] != int64(500) || got["vt.scope.threads.untold"] != int64(400) || x.Stats().Untold != 400 {
		t.Errorf("got %d spans, %d failed, %v, %d untold", len(spans), failed, got, x.Stats().Untold)
	}
}

// Receivers take 4 MB at least, and a scope may have more than that.
func TestAScopeThatIsLargeGoesInSeveralExports(t *testing.T) {
	s := recordingtest.New()
	frames := make([]string, 40)
	for i := range frames {
		frames[i] = fmt.Sprintf("a.very/long/path/to/a/package/of/somebody.(*Type).function%d /and/a/file/with/a/long/name/too.go:%d", i, i)
	}
	at := s.At(frames...)
	s.Open(1, "large", 0, 0)
	const threads, parks = 100, 32
	for i := range flight.ThreadID(threads) {
		s.Start(i+1, 1, 0)
		s.Name(i+1, fmt.Sprint("thread", i))
		s.Mount(i+1, 0)
		for range parks {
			s.Park(i+1, flight.ReasonLock, flight.BlockLock(1), at)
			s.After(20*ms).Unpark(i+1, 0)
			s.Mount(i+1, 0)
		}
		s.End(i+1, flight.ReasonEnd)
	}
	s.Close(1)
	for _, parts := range []bool{false, true} {
		c := startCollector(t, "127.0.0.1:0") // it takes 4 MB
		x := newExporter(t, Options{Env: c.env(t, "OTEL_BSP_MAX_QUEUE_SIZE", "65536"), Parts: parts})
		observe(t, x, s)
		closes(t, x, 2*time.Minute)
		size := 0
		for _, sp := range c.spans() {
			size += proto.Size(sp)
		}
		want := 1 + threads
		if parts {
			want += threads * parks
		}
		st := x.Stats()
		if len(c.spans()) != want || uint64(want) != st.Traces.Sent || st.Traces.Refused+st.Traces.Failed+st.Traces.Dropped != 0 {
			t.Errorf("parts %v: got %+v and %d spans, want %d", parts, st.Traces, len(c.spans()), want)
		}
		if !parts && size < 5<<20 {
			t.Errorf("got %d bytes: that is not large", size)
		}
	}
}

func TestAfterALossWhatLivesOnIsToldAndWhatIsGoneIsCounted(t *testing.T) {
	s := recordingtest.New()
	s.Open(1, "lives on", 0, 0)
	s.Open(2, "gone", 0, 0)
	s.Start(1, 1, 0)
	s.Name(1, "thread")
	s.Mount(1, 0)
	s.Park(1, flight.ReasonLock, flight.BlockLock(1), 0)
	s.After(30*ms).Unpark(1, 0)
	s.Mount(1, 0)
	s.Close(2)
	gone := s.Now()
	s.Batch()
	s.Lose(5)
	s.After(ms).End(1, flight.ReasonEnd)
	s.Close(1)
	// The observer does not see that "gone" was closed.
	c := startCollector(t, "127.0.0.1:0")
	x := newExporter(t, Options{Env: c.env(t)})
	o := x.Observe(process, s)[0].(*Spans)
	tr := recording.NewTracker(s)
	if err := s.Read(context.Background(), func(b *recording.Batch) bool {
		if b.Lost > 0 {
			o.Lost(b.Lost)
		}
		tr.Reset(b.State)
		o.Reset(tr)
		for i := range b.Events {
			if e := &b.Events[i]; e.Kind != flight.EventScopeClose || e.Time > gone {
				o.Event(e, tr.Apply(e), tr)
			}
		}
		o.Flush(tr)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	closes(t, x, 2*time.Minute)
	st := x.Stats()
	if st.Unseen != 1 || st.Lost != 5 || len(c.spans()) != 2 {
		t.Fatalf("got %+v and %d spans", st, len(c.spans()))
	}
	for _, sp := range c.spans() {
		if got := values(sp.Attributes); sp.Name == "thread" && (got["vt.thread.incomplete"] != true || len(sp.Events) != 1) {
			t.Errorf("got %v, want what was known before, and that it is incomplete", sp)
		}
	}
}

func TestWhatAProcessThatIsGoneLeavesIsUnfinished(t *testing.T) {
	s := recordingtest.New()
	s.Open(1, "outer", 0, 0)
	s.Open(2, "inner", 1, 0)
	s.After(ms).Start(1, 2, 0)
	p := process
	process.Path = t.TempDir() + "/gone"
	defer func() { process = p }()
	spans, _ := told(t, s, Options{})
	if len(spans) != 2 || values(spans["inner"].Attributes)["vt.unfinished"] != true || spans["outer"].Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("got %v", spans)
	}
}

func TestEachAttributeIsSentAndIsAsTheTableSays(t *testing.T) {
	s := shop()
	s.Open(3, "limited", 0, 0)
	s.Close(3)
	s.Batch() // what follows is known by a state
	s.After(ms).Open(4, "owned", 0, 0)
	s.Start(40, 4, 0)
	s.Name(40, "owner")
	s.Mount(40, 0)
	s.Emit(recording.Event{
		Kind: flight.EventScopeOpen, Thread: 40, Arg: 5, Ref: uint32(s.Intern("inner")), More: []uint64{4, uint64(s.Now() + ms), 5},
	})
	s.Park(40, flight.ReasonSleep, 0, 0)
	s.After(30 * ms).Emit(recording.Event{Kind: flight.EventScopeDeadline, Arg: 5})
	s.Emit(recording.Event{Kind: flight.EventScopeCancel, Arg: 5})
	s.Unpark(40, 0)
	s.Batch()
	s.Mount(40, 0)
	s.Close(5)
	s.End(40, flight.ReasonGoexit)
	s.Close(4)
	s.Open(6, "unfinished", 0, 0)
	was := process
	process.Path = t.TempDir() + "/gone"
	defer func() { process = was }()

	seen := map[string]bool{}
	for _, parts := range []bool{false, true} {
		spans, _ := told(t, s, Options{Parts: parts})
		for _, sp := range spans {
			v := values(sp.Attributes)
			kind := v["vt.kind"].(string)
			if kind != "scope" && kind != "thread" {
				kind = "wait"
			}
			checkAttributes(t, seen, kind, v)
			for _, e := range sp.Events {
				checkAttributes(t, seen, "wait", values(e.Attributes))
			}
			for _, l := range sp.Links {
				checkAttributes(t, seen, "wait", values(l.Attributes))
			}
		}
	}
	// What only a state tells.
	state := recordingtest.New()
	state.Batch()
	c := startCollector(t, "127.0.0.1:0")
	x := newExporter(t, Options{Env: c.env(t)})
	o := x.Observe(process, state)[0].(*Spans)
	tr := recording.NewTracker(state)
	tr.Reset(&recording.State{Scopes: []recording.Scope{{ID: 1, Name: "described", Policy: "structured.Any[int]", Limit: 4, Deadline: ms}}})
	o.Reset(tr)
	e := recording.Event{Kind: flight.EventScopeClose, Arg: 1, Time: ms}
	o.Event(&e, tr.Apply(&e), tr)
	closes(t, x, 2*time.Minute)
	for _, sp := range c.spans() {
		checkAttributes(t, seen, "scope", values(sp.Attributes))
	}
	for _, a := range Attributes {
		if !seen[a.Key] && a.Of != "log" { // the log records are looked at in TestFindingsAndTriggersAreLogRecords
			t.Errorf("%s was not sent", a.Key)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	for _, mode := range []string{"kept", "left-out"} {
		b.Run("spans="+mode, func(b *testing.B) {
			c := startCollector(b, "127.0.0.1:0")
			o := Options{Env: c.env(b)}
			if mode == "left-out" {
				o.Rules = []Rule{{Scope: "*"}}
			}
			x := newExporter(b, o)
			load := &recordingtest.Load{Events: 15 * b.N, Scopes: 64}
			spans := x.Observe(process, load)[0]
			threads := uint64(0)
			b.ReportAllocs()
			b.ResetTimer()
			// The load is made anew at the side: what that takes is no part of it.
			b.StopTimer()
			tr := recording.NewTracker(load)
			if err := load.Read(context.Background(), func(batch *recording.Batch) bool {
				b.StartTimer()
				defer b.StopTimer()
				if batch.State != nil {
					tr.Reset(batch.State)
					spans.Reset(tr)
				}
				for i := range batch.Events {
					e := &batch.Events[i]
					spans.Event(e, tr.Apply(e), tr)
				}
				spans.Flush(tr)
				return true
			}); err != nil {
				b.Fatal(err)
			}
			threads = x.Stats().Threads
			b.ReportMetric(float64(threads)/b.Elapsed().Seconds(), "threads/s")
		})
	}
}
