package prom_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/metrics/prom"
)

// serve follows a flight file and serves its metrics.
func serve(t *testing.T, s flighttest.Spec) (*flighttest.File, *httptest.Server) {
	t.Helper()
	f := flighttest.Write(t, s)
	c, err := metrics.New(metrics.Options{Traced: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Options{Dirs: []string{f.Dir}, Interval: 50 * time.Millisecond, Observe: c.Observe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	c.From(a.Figures)
	server := httptest.NewServer(prom.Handler(c))
	t.Cleanup(server.Close)
	return f, server
}

func get(t *testing.T, url, accept string) (text, media string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		q.Header.Set("Accept", accept)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %.500s", r.StatusCode, err, body)
	}
	return string(body), r.Header.Get("Content-Type")
}

// until asks until the answer has a match.
func until(t *testing.T, url, accept, pattern string, before func()) (text, media string) {
	t.Helper()
	has := regexp.MustCompile(pattern)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if before != nil {
			before()
		}
		if text, media = get(t, url, accept); has.MatchString(text) {
			return text, media
		}
		if time.Now().After(end) {
			t.Fatalf("within a minute no answer matched %s:\n%.3000s", pattern, text)
		}
	}
}

var hostile = flighttest.Spec{
	Scopes:  []flighttest.Scope{{Name: "a\"b\\c\nd\xff"}, {Name: "requests"}},
	Threads: 20, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{Scope: i % 3, State: flight.StateParked, Reason: flight.ReasonPark}
	},
	Carrier: func(int) flighttest.Carrier { return flighttest.Carrier{Scheduler: 1} },
	Schedulers: []flighttest.Scheduler{{
		ID: 1, Name: "default", Ready: map[time.Duration]uint64{time.Microsecond: 17}, Pinned: map[time.Duration]uint64{30 * time.Millisecond: 2},
		Figures: map[flight.Figure]uint64{flight.FigurePinnedTime: 60e6},
	}, {ID: 2, Name: "default"}},
}

func TestEverySeriesHasHelpATypeAndItsProcess(t *testing.T) {
	_, server := serve(t, hostile)
	text, media := until(t, server.URL, "", `vt_thread_live\{.*\} 20`, nil)
	if !strings.HasPrefix(media, "text/plain") {
		t.Errorf("got %s", media)
	}
	help, kind, series := map[string]bool{}, map[string]bool{}, 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# HELP "):
			help[words[2]] = regexp.MustCompile(` \((seconds|bytes|[a-z]+|1)\)\.\n$`).MatchString(line)
		case strings.HasPrefix(line, "# TYPE "):
			kind[words[2]] = true
		default:
			series++
			name, _, _ := strings.Cut(line, "{")
			family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			if !help[family] && !help[name] || !kind[family] && !kind[name] {
				t.Errorf("%s: no help with a unit, or no type, before it", name)
			}
			if !regexp.MustCompile(`[{,]pid="\d+"[,}]`).MatchString(line) || !strings.Contains(line, `program="`) {
				t.Errorf("%s: no pid, or no program", line)
			}
		}
	}
	if series < 100 {
		t.Errorf("got %d series, want a hundred and more", series)
	}
	if !strings.Contains(text, `vt_scheduler_ready_delay_seconds_bucket{otel_metric_overflow="",`) && !strings.Contains(text, `le="+Inf"} 17`) {
		t.Errorf("no histogram of delays:\n%s", text)
	}
	check, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("there is no promtool to look at the text too: %v (make test installs it where apt-get can)", err)
	}
	c := exec.Command(check, "check", "metrics")
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestOpenMetricsHasExemplars(t *testing.T) {
	f, server := serve(t, hostile)
	text, media := until(t, server.URL, "application/openmetrics-text; version=1.0.0", `vt_thread_pinned_seconds_bucket\{.*\} \d+ # \{.*\} 0\.033`, func() {
		f.Rings[0].Emit(flight.Now(), flight.EventPinned, flight.ReasonPinnedSection, 0, 2, uint64(flight.MakeHeld(33*time.Millisecond, 0)))
	})
	if !strings.HasPrefix(media, "application/openmetrics-text") || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("got %s, which ends in %q", media, text[max(0, len(text)-20):])
	}
	for line := range strings.Lines(text) {
		if _, exemplar, ok := strings.Cut(line, " # "); ok {
			for _, label := range []string{`trace_id="[0-9a-f]{32}"`, `span_id="[0-9a-f]{16}"`, `vt_thread_id="2"`} {
				if !regexp.MustCompile(label).MatchString(exemplar) {
					t.Errorf("got exemplar %s, want one with %s", exemplar, label)
				}
			}
		}
	}
}

func TestNothingIsServedOfNothing(t *testing.T) {
	c, err := metrics.New(metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(prom.Handler(c))
	defer server.Close()
	if text, _ := get(t, server.URL, ""); len(bytes.TrimSpace([]byte(text))) > 0 {
		t.Errorf("got %q, want nothing", text)
	}
}
