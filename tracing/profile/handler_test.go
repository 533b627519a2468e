package profile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// A fake is a source that has what is in it.
type fake struct {
	dump.Source
	events *Collector
	cpu    func(context.Context, time.Duration) ([]byte, error)
}

func (f fake) Threads() dump.Source { return f.Source }
func (f fake) Events() *Collector   { return f.events }
func (f fake) CPU(ctx context.Context, d time.Duration) ([]byte, error) {
	if f.cpu == nil {
		return nil, fmt.Errorf("%w: not asked", ErrNone)
	}
	return f.cpu(ctx, d)
}

// reader opens a flight file with 100 threads.
func reader(t testing.TB, s flighttest.Spec) *flight.Reader {
	t.Helper()
	f := flighttest.Write(t, s)
	r, err := flight.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// several are processes by their keys.
type several map[string]Source

func (s several) Find(key string) (Source, func()) { return s[key], nil }
func (s several) Keys() []string {
	var all []string
	for k := range s {
		if k != "" {
			all = append(all, k)
		}
	}
	return all
}

func get(t testing.TB, url string) (*http.Response, []byte) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, b
}

// fetch writes what a URL has to a file.
func fetch(t testing.TB, url, file string) {
	t.Helper()
	res, b := get(t, url)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %s and %q", url, res.Status, b)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Scrapers take what they know of net/http/pprof: a body that is compressed by itself, without an encoding, and a name.
func TestProfilesAreServedAsGoServesThem(t *testing.T) {
	src := fake{reader(t, flighttest.Spec{Threads: 100}), collect(t, script(), CollectorOptions{}), nil}
	server := httptest.NewServer(Handler(several{"": src, "4711": src}))
	defer server.Close()
	for _, path := range []string{"", "4711/"} {
		for i := range Kinds {
			k := &Kinds[i]
			if k.Origin == OfProcess {
				continue
			}
			res, b := get(t, server.URL+Prefix+path+k.Name)
			h := res.Header
			if res.StatusCode != 200 || h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Encoding") != "" || h.Get("X-Content-Type-Options") != "nosniff" ||
				h.Get("Content-Disposition") != `attachment; filename="`+k.Name+`.pb.gz"` || !bytes.HasPrefix(b, []byte("\x1f\x8b")) {
				t.Errorf("%s: got %s, %v and %.4q", k.Name, res.Status, h, b)
				continue
			}
			p, err := pprof.ParseData(b)
			if err != nil {
				t.Errorf("%s: %v", k.Name, err)
				continue
			}
			if len(p.SampleType) != len(k.Types) || p.PeriodType == nil || p.Period != 1 || p.DefaultSampleType != k.Usual || p.TimeNanos == 0 {
				t.Errorf("%s: got %v by %v, want %v", k.Name, p.SampleType, p.PeriodType, k.Types)
			}
			inOrder(t, k.Name, p)
			if res, b := get(t, server.URL+Prefix+path+k.Name+"?debug=1"); res.StatusCode != 200 || !strings.HasPrefix(string(b), "profile "+k.Name+": ") {
				t.Errorf("%s as text: got %s and %.40q", k.Name, res.Status, b)
			}
		}
	}
	_, text := get(t, server.URL+Prefix+"pinned?debug=1")
	for _, want := range []string{"profile pinned: 1 contentions, delay 6ms, 4 victims, 1 sample\n", `reason="go-operation"`, "#\tshop.receive\tchan.go:3\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("text: got\n%s\nwant %q", text, want)
		}
	}
}

// inOrder checks what Parca refuses else: ids that do not count from 1, and labels without a value.
func inOrder(t *testing.T, name string, p *pprof.Profile) {
	t.Helper()
	for i, m := range p.Mapping {
		if m.ID != uint64(i+1) {
			t.Errorf("%s: mapping %d has id %d", name, i, m.ID)
		}
	}
	for i, f := range p.Function {
		if f.ID != uint64(i+1) || f.Name == "" {
			t.Errorf("%s: function %d has id %d and name %q", name, i, f.ID, f.Name)
		}
	}
	for i, l := range p.Location {
		if l.ID != uint64(i+1) || len(l.Line) == 0 {
			t.Errorf("%s: location %d has id %d and %d lines", name, i, l.ID, len(l.Line))
		}
	}
	for _, s := range p.Sample {
		if len(s.Location) == 0 {
			t.Errorf("%s: a sample without a stack", name)
		}
		for k, v := range s.Label {
			if len(v) != 1 || v[0] == "" {
				t.Errorf("%s: label %s is %q", name, k, v)
			}
		}
	}
}

func TestTheIndexLeadsToEveryProfile(t *testing.T) {
	src := fake{reader(t, flighttest.Spec{Threads: 3}), collect(t, script(), CollectorOptions{}), nil}
	server := httptest.NewServer(Handler(several{"": src, "4711": src, "<b>": src}))
	defer server.Close()
	link := regexp.MustCompile(`href="([^"]+)"`)
	for _, from := range []string{"", "4711/"} {
		res, page := get(t, server.URL+Prefix+from)
		if res.StatusCode != 200 || strings.Contains(string(page), "<b>") {
			t.Fatalf("index %q: got %s and\n%s", from, res.Status, page)
		}
		followed := 0
		for _, m := range link.FindAllStringSubmatch(string(page), -1) {
			if m[1] == "cpu" {
				continue
			}
			here, err := url.Parse(server.URL + Prefix + from)
			if err != nil {
				t.Fatal(err)
			}
			to, err := here.Parse(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if res, b := get(t, to.String()); res.StatusCode != 200 {
				t.Errorf("%s from %q: got %s and %.100q", m[1], from, res.Status, b)
			}
			followed++
		}
		if want := 2*(len(Kinds)-1) + 2; followed != want {
			t.Errorf("index %q: got %d links, want %d", from, followed, want)
		}
	}
	if res, _ := get(t, server.URL+strings.TrimSuffix(Prefix, "/")); res.StatusCode != 200 {
		t.Errorf("without the last slash: got %s, want the index", res.Status)
	}
}

func TestRequestsThatAreNotUnderstoodAreToldWhy(t *testing.T) {
	src := fake{reader(t, flighttest.Spec{Threads: 3}), nil, nil}
	server := httptest.NewServer(Handler(several{"": src, "old": src}))
	defer server.Close()
	for path, c := range map[string]struct {
		code int
		want string
	}{
		"nothing":             {404, "want one of threads, park"},
		"4711/park":           {404, "no process of this name"},
		"park":                {404, "nobody follows what the threads do"},
		"cpu?seconds=1":       {404, "there is no such profile"},
		"threads?seconds=x":   {400, "want a whole number"},
		"threads?seconds=-1":  {400, "want a whole number"},
		"threads?seconds=1e9": {400, "want a whole number"},
		"threads?debug=2":     {400, "debug: want 0 or 1"},
		"old/../park/x/y":     {404, ""},
	} {
		res, b := get(t, server.URL+Prefix+path)
		if res.StatusCode != c.code || !strings.Contains(string(b), c.want) {
			t.Errorf("%s: got %s and %q, want %d and %q", path, res.Status, b, c.code, c.want)
		}
	}
	res, err := http.Post(server.URL+Prefix+"threads", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %s", res.Status)
	}
	none := httptest.NewServer(Handler(several{}))
	defer none.Close()
	if res, b := get(t, none.URL+Prefix); res.StatusCode != 200 || !strings.Contains(string(b), "No process is followed") {
		t.Errorf("index of nothing: got %s and %s", res.Status, b)
	}
	if res, _ := get(t, none.URL+Prefix+"threads"); res.StatusCode != 404 {
		t.Errorf("a profile of nothing: got %s", res.Status)
	}
}

func TestAServerThatWaitsLessThanTheProfileTakesSaysSo(t *testing.T) {
	h := Handler(One(fake{reader(t, flighttest.Spec{Threads: 3}), nil, nil}))
	// It is asked without a connection: the server would cut that after this time.
	ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{WriteTimeout: 10 * time.Second})
	for _, path := range []string{"threads?seconds=10", "cpu"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, Prefix+path, nil))
		if w.Code != 400 || !strings.Contains(w.Body.String(), "WriteTimeout") {
			t.Errorf("%s: got %d and %q", path, w.Code, w.Body)
		}
	}
}

// Only so many wait at a time; who goes away makes room.
func TestTooManyWhoWaitAreRefused(t *testing.T) {
	src := fake{reader(t, flighttest.Spec{Threads: 3}), nil, func(ctx context.Context, _ time.Duration) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	h := Handler(One(src)).(*handler)
	server := httptest.NewServer(h)
	defer server.Close()
	ctx, leave := context.WithCancel(context.Background())
	done := make(chan struct{})
	for range mostWaiting {
		go func() {
			defer func() { done <- struct{}{} }()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+Prefix+"cpu", nil)
			if err != nil {
				t.Error(err)
				return
			}
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
			}
		}()
	}
	eventually(t, "all slots in use", func() bool { return len(h.slots) == mostWaiting })
	if res, _ := get(t, server.URL+Prefix+"threads"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more: got %s", res.Status)
	}
	leave()
	for range mostWaiting {
		<-done
	}
	eventually(t, "free slots", func() bool { return len(h.slots) == 0 })
	if res, _ := get(t, server.URL+Prefix+"threads"); res.StatusCode != 200 {
		t.Errorf("after they have gone: got %s", res.Status)
	}
	http.DefaultClient.CloseIdleConnections()
}
