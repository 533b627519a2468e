package otel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// scopes is a script of so many scopes, one after the other.
func scopes(n int) *recordingtest.Script {
	s := recordingtest.New()
	for i := range flight.ScopeID(n) {
		s.After(time.Second).Open(i+1, "scope", 0, 0)
		s.After(ms).Close(i + 1)
	}
	return s
}

func observe(t testing.TB, x *Exporter, src recording.Source) {
	t.Helper()
	if err := recording.Observe(context.Background(), src, x.Observe(process, src)...); err != nil {
		t.Fatal(err)
	}
}

// adds up in any case, once nothing is on the way.
func consistent(t testing.TB, s SignalStats) {
	t.Helper()
	if s.Built != s.Sent+s.Refused+s.Failed+s.Waiting {
		t.Errorf("it does not add up: %+v", s)
	}
}

func TestACollectorThatIsDownCostsNoTimeAndNoMemory(t *testing.T) {
	x := newExporter(t, Options{Env: envOf(t, "127.0.0.1:1")}) // nobody listens: a port that was free may be another's at once
	observe(t, x, scopes(3000))
	until(t, "an error", func() bool { return x.Stats().Traces.LastError != "" })
	// The second collection takes what pools have kept of the tests before.
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const rounds = 20
	for range rounds {
		observe(t, x, scopes(3000))
	}
	grown := heap() - before
	st := x.Stats().Traces
	// Five batches of 512 are all there is; each may be more than full by one scope's spans.
	if st.Built > 6*512 || st.Built+st.Dropped != (rounds+1)*3000 || st.Sent != 0 || st.LastError == "" {
		t.Errorf("got %+v", st)
	}
	consistent(t, st)
	if grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	closes(t, x, 50*time.Millisecond)
	if st := x.Stats().Traces; st.Waiting != 0 || st.Failed != st.Built {
		t.Errorf("after the close: got %+v, want all failed", st)
	}
}

func TestWhenTheCollectorIsBackSoIsTheExporter(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) {
			var got atomic.Int64
			addr := ""
			start := func() (stop func()) {
				at := "127.0.0.1:0"
				if addr != "" {
					at = addr
				}
				var l net.Listener
				until(t, "listening where it was", func() (ok bool) { // a connection may have the port for a while, one of the exporter's own among them
					var err error
					l, err = net.Listen("tcp", at)
					return err == nil
				})
				addr = l.Addr().String()
				if protocol == "grpc" {
					c := startCollectorAt(t, l)
					return func() { c.server.Stop(); got.Add(int64(len(c.spans()))) }
				}
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					var m coltracepb.ExportTraceServiceRequest
					if err := proto.Unmarshal(body, &m); err != nil || r.URL.Path != "/v1/traces" {
						t.Errorf("%s: %v", r.URL, err)
					}
					for _, rs := range m.ResourceSpans {
						got.Add(int64(len(rs.ScopeSpans[0].Spans)))
					}
				}))
				s.Listener.Close()
				s.Listener = l
				s.Start()
				return s.Close
			}
			stop := start()
			x := newExporter(t, Options{Env: envOf(t, addr, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol)})
			observe(t, x, scopes(10))
			until(t, "10 sent", func() bool { return x.Stats().Traces.Sent == 10 })
			stop()
			observe(t, x, scopes(20))
			until(t, "an error", func() bool { return x.Stats().Traces.LastError != "" })
			stop = start()
			until(t, "30 sent", func() bool { return x.Stats().Traces.Sent == 30 })
			closes(t, x, 2*time.Minute)
			stop()
			if n := got.Load(); n != 30 {
				t.Errorf("the collector has %d spans, want 30: nothing is lost that there was room for", n)
			}
		})
	}
}

func TestWhatACollectorRefusesIsCounted(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	set := func(refused int, err error) {
		var all atomic.Int64 // what was refused so far: who is slow gets the spans in several exports
		f := func(spans int) (int64, error) {
			n := min(int64(spans), int64(refused)-all.Load())
			all.Add(n)
			return n, err
		}
		c.answer.Store(&f)
	}
	var warned atomic.Int64
	x := newExporter(t, Options{Env: c.env(t), Warn: func(string) { warned.Add(1) }})
	set(0, status.Error(codes.InvalidArgument, "no"))
	observe(t, x, scopes(10))
	until(t, "10 refused", func() bool { return x.Stats().Traces.Refused == 10 })
	set(4, nil)
	observe(t, x, scopes(10))
	until(t, "6 sent", func() bool { s := x.Stats().Traces; return s.Refused == 14 && s.Sent == 6 })
	set(0, status.Error(codes.Unavailable, "soon"))
	observe(t, x, scopes(5))
	until(t, "an error", func() bool { return strings.Contains(x.Stats().Traces.LastError, "soon") })
	set(0, nil)
	until(t, "11 sent", func() bool { return x.Stats().Traces.Sent == 11 })
	closes(t, x, 2*time.Minute)
	consistent(t, x.Stats().Traces)
	if warned.Load() < 2 {
		t.Errorf("warned %d times, want of each thing", warned.Load())
	}
}

// A server that is no collector: it answers nonsense, redirects, or never.
func TestAWrongCollectorHarmsNobody(t *testing.T) {
	stuck := make(chan struct{})
	for name, handler := range map[string]http.HandlerFunc{
		"nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		},
		"redirection": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"never": func(_ http.ResponseWriter, r *http.Request) { <-stuck },
		"gone":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(handler)
			x := newExporter(t, Options{Env: envOf(t, s.Listener.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "OTEL_BSP_EXPORT_TIMEOUT", "300", "OTEL_EXPORTER_OTLP_TIMEOUT", "100")})
			observe(t, x, scopes(700))
			until(t, "given up", func() bool { st := x.Stats().Traces; return st.Refused+st.Failed == st.Built })
			st := x.Stats().Traces
			if st.Sent != 0 || st.Built == 0 || st.LastError == "" {
				t.Errorf("got %+v", st)
			}
			if name == "never" {
				close(stuck)
			}
			closes(t, x, time.Second)
			s.Close()
		})
	}
}

// The words are those of the official clients: when a new version has others, the patterns in send.go are to follow.
func TestTheWordsOfClients(t *testing.T) {
	if n, ok := partialOf(errors.New("OTLP partial success: not these (4 spans rejected)")); n != 4 || !ok {
		t.Errorf("got %d, %v", n, ok)
	}
	if _, ok := partialOf(errors.New("rpc error")); ok {
		t.Error("got a partial success of another error")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer s.Close()
	env := envOf(t, s.Listener.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	client, _, release, err := newTraceClient(t.Context(), &env.Traces)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	defer client.Stop(context.Background())
	if err := client.UploadTraces(t.Context(), nil); err == nil || !mayPass(err) {
		t.Errorf("got %v, want an error that may pass", err)
	}
}

func TestFindingsAndTriggersAreLogRecords(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	x := newExporter(t, Options{Env: c.env(t)})
	l := x.Log(process)
	at := recordingtest.Began
	hog := dump.Finding{Key: "k1", Check: "hogs", Severity: dump.SeverityWarning, What: "a thread computes", Count: 1, Value: 5, Threshold: 2, Unit: "ns", Scope: []string{"a", "b"}, Page: "p",
		Evidence: []string{"e"}, Place: &dump.Place{Frame: dump.Frame{Func: "f", File: "f.go", Line: 3}}}
	lock := dump.Finding{Key: "k2", Check: "deadlock", Severity: dump.SeverityError, What: "a deadlock", Count: 2}
	l.Findings(&dump.Findings{AsOf: at, Findings: []dump.Finding{hog, lock}})
	l.Findings(&dump.Findings{AsOf: at, Findings: []dump.Finding{hog, lock}})
	l.Findings(&dump.Findings{AsOf: at, Findings: []dump.Finding{lock}, Unjudged: []dump.Unjudged{{Check: "hogs"}}})
	l.Findings(&dump.Findings{AsOf: at, Findings: []dump.Finding{lock}})
	rule, err := trigger.Parse("park > 5s in requests")
	if err != nil {
		t.Fatal(err)
	}
	l.Fired([]trigger.Firing{{Rule: rule, At: at, What: "3 threads are parked", Evidence: []string{"x", "y"}}}, "/bundle")
	closes(t, x, 2*time.Minute)
	c.mu.Lock()
	var got []string
	seen := map[string]bool{}
	for _, r := range c.mu.logs {
		checkAttributes(t, seen, "log", values(r.Attributes))
		got = append(got, fmt.Sprintf("%s %s %s", r.EventName, r.SeverityText, r.Body.GetStringValue()))
		if a := values(r.Attributes); r.EventName == EventTrigger && (a["vt.trigger.rule"] != rule.String() || a["vt.trigger.bundle"] != "/bundle" || a["vt.evidence"] != "x\ny") {
			t.Errorf("trigger: got %v", a)
		} else if r.Body.GetStringValue() == hog.What && (a["vt.finding.check"] != "hogs" || a["vt.finding.value"] != int64(5) || a["vt.scope.name"] != "a/b") {
			t.Errorf("finding: got %v", a)
		}
	}
	c.mu.Unlock()
	for _, a := range Attributes {
		if strings.Contains(a.Of, "log") && !seen[a.Key] {
			t.Errorf("%s was not sent", a.Key)
		}
	}
	want := []string{
		"vt.finding WARN a thread computes", "vt.finding ERROR a deadlock", "vt.finding.ended INFO no more: a thread computes", "vt.trigger WARN 3 threads are parked",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if st := x.Stats().Logs; st.Sent != 4 || st.Built != 4 {
		t.Errorf("got %+v", st)
	}
}

func TestWithoutASignalNothingIsBuilt(t *testing.T) {
	x := newExporter(t, Options{Env: envOf(t, "127.0.0.1:1", "OTEL_SDK_DISABLED", "true")})
	if o := x.Observe(process, scopes(1)); o != nil {
		t.Errorf("got observers %v", o)
	}
	x.Log(process).Findings(&dump.Findings{Findings: []dump.Finding{{Key: "k"}}})
	if s := x.Stats(); s.Traces.To != "off" || s.Logs.Built != 0 {
		t.Errorf("got %+v", s)
	}
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"to":"off"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
