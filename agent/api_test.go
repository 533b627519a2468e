package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// api serves the small process, and returns where it is.
func api(t *testing.T, spec flighttest.Spec) (of string) {
	t.Helper()
	file := flighttest.Write(t, spec)
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	shown(t, a)
	return fmt.Sprintf("%s/api/v1/processes/%d", s.URL, os.Getpid())
}

func TestADumpComesInEveryFormatOfVtdump(t *testing.T) {
	of := api(t, small())
	for _, f := range formats {
		r, err := http.Get(of + "/dump?format=" + f.name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != 200 || len(body) == 0 || r.Header.Get("Content-Type") != f.media {
			t.Errorf("%s: %v, status %d, %s, %d bytes", f.name, err, r.StatusCode, r.Header.Get("Content-Type"), len(body))
		}
		if kept := r.Header.Get("Content-Disposition") != ""; kept != (f.file != "") {
			t.Errorf("%s: Content-Disposition %q", f.name, r.Header.Get("Content-Disposition"))
		}
	}
	if len(formats) < 8 {
		t.Errorf("%d formats were looked at, want all of vtdump", len(formats))
	}
}

func TestADumpIsFilteredAndGroupedAsTheQuerySays(t *testing.T) {
	of := api(t, small())
	s, err := dump.ParseJSON(get(t, of+"/dump?filter="+url.QueryEscape("state=blocked"), 200))
	if err != nil || s.Threads != 20 || s.Filtered != 80 {
		t.Errorf("state=blocked: %v, %d threads; want 20 of 100", err, s.Threads)
	}
	if s, err = dump.ParseJSON(get(t, of+"/dump?scope=requests&top=1", 200)); err != nil || s.Threads != 79 || len(s.Groups) != 1 {
		t.Errorf("scope=requests: %v, %d threads; want 79", err, s.Threads)
	}
	var table dump.Table
	if err := json.Unmarshal(get(t, of+"/dump?by=state", 200), &table); err != nil || table.Format != dump.TableFormat {
		t.Errorf("by=state: %v, format %q", err, table.Format)
	}
	if text := get(t, of+"/dump?format=text&width=60&ascii=true", 200); !bytes.Contains(text, []byte("100 threads")) || !isASCII(text) {
		t.Errorf("text: %s", text)
	}
	var g dump.GroupReport
	if err := json.Unmarshal(get(t, of+"/groups/1", 200), &g); err != nil || g.Count != 79 {
		t.Errorf("the largest group: %v, %d threads; want 79", err, g.Count)
	}
	if err := json.Unmarshal(get(t, of+"/groups/"+g.Key[:6], 200), &g); err != nil || g.Count != 79 {
		t.Errorf("the group %s: %v, %d threads; want 79", g.Key, err, g.Count)
	}
	key := g.Key
	if err := json.Unmarshal(get(t, of+"/groups/"+key+"?filter="+url.QueryEscape("wait>10h"), 200), &g); err != nil || g.Count != 0 || g.Key != key || g.Oldest == nil {
		t.Errorf("of the group %s those that wait long: %v, %+v; want none", key, err, g)
	}
	get(t, of+"/groups/"+key[:6]+"?filter="+url.QueryEscape("wait>10h"), 404)
	var th dump.ThreadReport
	if err := json.Unmarshal(get(t, of+"/threads/1", 200), &th); err != nil || th.Name != "main" {
		t.Errorf("thread 1: %v, %q; want main", err, th.Name)
	}
}

func TestWhatAThreadDidIsToldAsLongAsItIsKnown(t *testing.T) {
	spec := small()
	for i := range 5 {
		spec.Trace = append(spec.Trace, flighttest.Event{Age: time.Duration(9-i) * time.Second, Kind: []flight.Kind{flight.EventMount, flight.EventPark}[i%2], Thread: 7, Stack: i % 2})
	}
	spec.Trace = append(spec.Trace, flighttest.Event{Kind: flight.EventThreadEnd, Thread: 4711})
	of := api(t, spec)
	for path, want := range map[string]int{"/threads/7/events": 6, "/threads/7/events?top=2": 2, "/threads/7/events?top=0": 6, "/threads/4711/events": 1, "/threads/9999/events": 0} {
		var e dump.ThreadEvents
		if err := json.Unmarshal(get(t, of+path, 200), &e); err != nil || e.Format != dump.ThreadEventsFormat || len(e.Events) != want {
			t.Errorf("%s: %v, %d events; want %d", path, err, len(e.Events), want)
		}
		if there := e.ID == 7; there != (e.State != "") || there != (e.Thread != nil) {
			t.Errorf("%s: state %q, want one only of a thread that is there", path, e.State)
		}
	}
	if text := get(t, of+"/threads/7/events?format=text", 200); !bytes.Contains(text, []byte("events of thread #7 \"GET /6\"\n")) || !bytes.Contains(text, []byte("shop.(*Store).query store.go:88")) {
		t.Errorf("as text: %s", text)
	}
	get(t, of+"/threads/x/events", 400)
	get(t, of+"/threads/7/events?at=1s", 409) // of a moment of a process only groups are kept
}

func TestWaitsAreThoseOfTheThreadsThatAreMeant(t *testing.T) {
	lock := flight.BlockLock(0xc000010000)
	spec := small()
	spec.Blockers = []flighttest.Blocker{{Blocker: lock, Name: "till", Holders: []flighttest.Holder{{Party: flight.PartyThread(1), Age: time.Minute}}}}
	each := spec.Thread
	spec.Thread = func(i int) flighttest.Thread {
		th := each(i)
		if i >= 80 || i == 40 { // of jobs, and one of requests
			th.State, th.Reason, th.Blocker = flight.StateBlocked, flight.ReasonLock, lock
		}
		return th
	}
	of := api(t, spec)
	type told struct { // [dump.Waits] cannot be read back
		Threads, Waiting int
		Filter, Group    string
		Groups           []dump.WaitGroup
	}
	waits := func(query string) (w told) {
		if err := json.Unmarshal(get(t, of+"/waits"+query, 200), &w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	if all := waits(""); all.Waiting != 21 || all.Threads != 100 || all.Filter != "" {
		t.Errorf("of all: got %d of %d threads", all.Waiting, all.Threads)
	}
	if some := waits("?scope=requests"); some.Waiting != 1 || some.Threads != 79 || len(some.Groups) != 1 || len(some.Groups[0].Holders) != 1 || some.Groups[0].Holders[0].Name != "main" {
		t.Errorf("of a scope: got %+v", some)
	}
	if some := waits("?filter=" + url.QueryEscape("wait<59s")); some.Waiting != 20 {
		t.Errorf("of a filter: got %d, want those of jobs", some.Waiting)
	}
	s, err := dump.ParseJSON(get(t, of+"/dump", 200))
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		want := g.Count
		if g.State != flight.StateBlocked {
			want = 0
		}
		for _, word := range []string{g.Key, g.Key[:8], strconv.Itoa(i + 1)} {
			if some := waits("?group=" + word); some.Threads != g.Count || some.Waiting != want || some.Group != g.Key {
				t.Errorf("of the group %s: got %d of %d threads, want %d of %d", word, some.Waiting, some.Threads, want, g.Count)
			}
		}
	}
	get(t, of+"/waits?group=beefbeef", 404)
	get(t, of+"/waits?filter=colour%3Dred", 400)
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c > 126 {
			return false
		}
	}
	return true
}

func TestAQueryThatMeansNothingIsRefusedWithTheNextStep(t *testing.T) {
	of := api(t, small())
	for path, want := range map[string]struct {
		status int
		try    string
	}{
		"/dump?fliter=x":                     {400, "filter"},
		"/dump?filter=state%3D":              {400, ""},
		"/dump?filter=stat%3Dparked":         {400, "state"},
		"/dump?format=xml":                   {400, "jdk-text"},
		"/dump?format=json&format=text":      {400, "format"},
		"/dump?top=-1":                       {400, "top"},
		"/dump?width=4":                      {400, "width"},
		"/dump?growth=2h":                    {400, "growth"},
		"/dump?by=colour":                    {400, "by"},
		"/dump?by=state&format=pprof":        {400, "json"},
		"/dump?at=1h":                        {400, "vtserve run.vtr"},
		"/dump?at=noon":                      {400, "at=-30s"},
		"/dump?at=-1h":                       {404, "vtserve run.vtr"},
		"/dump?at=-0s&format=jdk":            {409, "vtserve run.vtr"},
		"/dump?at=-0s&by=state":              {409, "vtserve run.vtr"},
		"/dump?at=-0s&filter=state%3Dparked": {409, "vtserve run.vtr"},
		"/threads/1?at=-0s":                  {409, "groups/1?at="},
		"/dump?format=jdk&top=1":             {400, "without"},
		"/dump?%zz":                          {400, "escape"},
		"/dump?filter=" + strings.Repeat("x", longestValue+1): {400, "shorter"},
		"/groups/99":                  {404, "key"},
		"/threads/0":                  {400, "threads/"},
		"/threads/9999":               {404, "filter"},
		"/waits?by=state":             {400, "format"},
		"/findings?check=nothing%3D1": {400, "check"},
		"/nothing":                    {404, "openapi.json"},
		"/recording":                  {409, "POST"},
	} {
		r, err := http.Get(of + path)
		if err != nil {
			t.Fatal(err)
		}
		var p Problem
		err = json.NewDecoder(r.Body).Decode(&p)
		r.Body.Close()
		if err != nil || r.StatusCode != want.status || p.Error == "" || p.Try == "" || !strings.Contains(p.Try, want.try) {
			t.Errorf("%.60s: %v, status %d, %+v; want %d and to try %q", path, err, r.StatusCode, p, want.status, want.try)
		}
	}
}

func TestSettingsAreReadAndChanged(t *testing.T) {
	of := api(t, small())
	var d dump.RecorderSettings
	if err := json.Unmarshal(get(t, of+"/settings", 200), &d); err != nil || d.Format != dump.SettingsFormat || len(d.Kinds) < 10 {
		t.Fatalf("settings: %v, %+v", err, d)
	}
	for body, status := range map[string]int{"park.stak=off": 400, strings.Repeat("#", 1+64<<10): 413} { // all of it fits into the connection, whoever reads it
		r, err := http.Post(of+"/settings", "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != status {
			t.Errorf("%.20s: status %d, want %d", body, r.StatusCode, status)
		}
	}
}

func TestARecordingIsTheAnswer(t *testing.T) {
	of := api(t, small())
	r, err := http.Post(of+"/recording?for=100ms&held=true", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("status %d, %v: %s", r.StatusCode, err, body)
	}
	path := filepath.Join(t.TempDir(), "run.vtr")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := f.At(t.Context(), f.Info().To.Sub(f.Info().From))
	if err != nil || len(m.State().Threads) != 100 {
		t.Errorf("the recording: %v; want 100 threads at its end", err)
	}
}

func TestAProcessTellsWhereThereIsMore(t *testing.T) {
	of := api(t, small())
	var p ProcessPage
	if err := json.Unmarshal(get(t, of, 200), &p); err != nil {
		t.Fatal(err)
	}
	followed := 0
	for _, l := range p.Links {
		if l.Method != "GET" || strings.Contains(l.Path, "{") || strings.HasSuffix(l.Path, "/findings") || strings.HasSuffix(l.Path, "/diff") || strings.HasSuffix(l.Path, "/durable") { // one takes 2 s, one must be told from when, and this process has no durable threads
			continue
		}
		followed++
		get(t, strings.TrimSuffix(of, fmt.Sprintf("api/v1/processes/%d", os.Getpid()))+l.Path, 200)
	}
	if followed < 4 {
		t.Errorf("%d links, want at least 4: %+v", followed, p.Links)
	}
}
