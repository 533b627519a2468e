package agent

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// A witness is an observer that tells what it was told.
type witness struct {
	mu                   sync.Mutex
	resets, live, closed int
}

func (w *witness) Reset(t *recording.Tracker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resets++
	w.live = len(t.State().Threads)
}
func (w *witness) Event(*recording.Event, recording.Change, *recording.Tracker) {}
func (w *witness) Lost(uint64)                                                  {}
func (w *witness) Flush(*recording.Tracker)                                     {}
func (w *witness) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed++
	return nil
}

func (w *witness) told() (resets, live, closed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resets, w.live, w.closed
}

func TestObserversOfAProcessAreToldOfItUntilTheAgentCloses(t *testing.T) {
	file := flighttest.Write(t, small())
	w := &witness{}
	asked := 0
	a := start(t, Options{Dirs: []string{file.Dir}, Observe: func(p flight.Process, src recording.Source) []recording.Observer {
		if asked++; src.Info().PID != p.PID {
			t.Errorf("the source is of pid %d, and the process of %d", src.Info().PID, p.PID)
		}
		return []recording.Observer{w}
	}})
	until(t, "an observer with a state", func() bool { n, _, _ := w.told(); return n > 0 })
	if _, live, _ := w.told(); live != 100 {
		t.Errorf("the observer was told of %d threads, want 100", live)
	}
	until(t, "a header that counts the observers", func() bool {
		return shown(t, a).header(Cost{}, interval).Observed.Observers == 1
	})
	a.Close()
	if _, _, closed := w.told(); closed != 1 || asked != 1 {
		t.Errorf("closed %d times, asked for %d times; want 1 and 1", closed, asked)
	}
}

func TestNobodyObservesAProcessThatIsGone(t *testing.T) {
	spec := small()
	spec.Ended = true
	file := flighttest.Write(t, spec)
	a := start(t, Options{Dirs: []string{file.Dir}, Observe: func(flight.Process, recording.Source) []recording.Observer {
		t.Error("asked for observers of a process that has ended")
		return nil
	}})
	shown(t, a)
}

func TestWhatIsMountedStandsBehindTheGuard(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello " + r.URL.Path)) })
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}, Mount: map[string]http.Handler{"/metrics": hello, "/debug/x/": hello}})
	s := serve(t, a)
	for path, status := range map[string]int{"/metrics": 200, "/metrics/x": 404, "/debug/x/y": 200, "/debug/x/": 200} {
		get(t, s.URL+path, status)
	}
	r, err := http.NewRequest("GET", s.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Errorf("a foreign host gets status %d, want 403", resp.StatusCode)
	}
}

func TestMountsThatHideTheAgentAreRefused(t *testing.T) {
	for _, pattern := range []string{"", "/", "metrics", "/ws", "/api/", "/api/v1/processes", "/a//b", "GET /x", "/{x}", "host/x"} {
		_, err := New(Options{Dirs: []string{flighttest.Dir(t)}, Mount: map[string]http.Handler{pattern: http.NotFoundHandler()}})
		if err == nil || !strings.Contains(err.Error(), "mount") {
			t.Errorf("mount %q: error %v, want one about the mount", pattern, err)
		}
	}
	if _, err := New(Options{Mount: map[string]http.Handler{"/x": nil}}); err == nil {
		t.Error("a mount without a handler: no error")
	}
}
