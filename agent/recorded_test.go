package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// recordedFiles are a recording and a bundle of the small process.
func recordedFiles(t *testing.T) (vtr, bundle string) {
	t.Helper()
	file := flighttest.Write(t, small())
	r, err := flight.Open(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := t.TempDir()
	vtr = filepath.Join(dir, "run é.vtr")
	store, err := recording.Create(vtr, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recording.Record(t.Context(), r, store, recording.Options{For: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	bundles, err := incident.OpenStore(incident.Options{Dir: filepath.Join(dir, "bundles"), Take: incident.TakeOptions{Without: []string{"cpu", "heap", "goroutine"}}})
	if err != nil {
		t.Fatal(err)
	}
	if bundle, err = bundles.Take(t.Context(), r, incident.Cause{What: "a test"}); err != nil {
		t.Fatal(err)
	}
	return vtr, bundle
}

func TestRecordingsAndBundlesAreShownAsProcesses(t *testing.T) {
	vtr, bundle := recordedFiles(t)
	a := start(t, Options{NoLocal: true, Files: []string{vtr, bundle}})
	s := serve(t, a)
	var list ProcessList
	if err := json.Unmarshal(get(t, s.URL+"/api/v1/processes", 200), &list); err != nil || len(list.Processes) != 2 {
		t.Fatalf("processes: %v, %+v; want two", err, list.Processes)
	}
	keys := map[string]bool{}
	for _, p := range list.Processes {
		keys[p.Key] = true
		if p.Status != statusRecorded || p.Threads != 100 || p.PID != os.Getpid() || p.Gone == 0 {
			t.Errorf("process %+v, want one that was recorded, with 100 threads", p)
		}
		if d, err := dump.ParseJSON(get(t, s.URL+"/api/v1/processes/"+p.Key+"/dump", 200)); err != nil || d.Threads != 100 {
			t.Errorf("dump of %s: %v", p.Key, err)
		}
		if d, err := dump.ParseJSON(get(t, s.URL+"/api/v1/processes/"+p.Key+"/dump?filter=state%3Dblocked", 200)); err != nil || d.Threads != 20 {
			t.Errorf("filtered dump of %s: %v, %+v; want 20 threads", p.Key, err, d)
		}
	}
	if !keys["run_.vtr"] && !keys["run__.vtr"] {
		t.Errorf("the keys are %v, want one that is named as the recording is, without what no path has", keys)
	}
	for _, p := range list.Processes {
		of := s.URL + "/api/v1/processes/" + p.Key
		if p.Key == filepath.Base(bundle) {
			get(t, of+"/waits", 200)
			get(t, of+"/waits?scope=requests", 409)
			get(t, of+"/findings?format=text", 200)
			if text := get(t, of+"/settings?format=text", 200); !bytes.Contains(text, []byte(`settings "default"`)) || !bytes.Contains(text, []byte("\npark ")) {
				t.Errorf("settings of a bundle:\n%s\nwant those that it has of each kind", text)
			}
			var d dump.RecorderSettings
			if err := json.Unmarshal(get(t, of+"/settings", 200), &d); err != nil || len(d.Kinds) < 10 || d.Status != dump.StatusRecorded {
				t.Errorf("settings of a bundle: %v, %+v; want those that it has of each kind", err, d)
			}
			var found dump.Findings
			if err := json.Unmarshal(get(t, of+"/findings", 200), &found); err != nil {
				t.Fatalf("findings of the bundle: %v", err)
			}
			page := connect(t, s)
			page.subscribe(p.Key, "", "")
			page.framesUntil("the findings that it has", func() bool {
				f := page.whole.Findings
				return f != nil && f.Missing == "" && len(f.Rows) == len(found.Findings) && f.Over == int64(found.Over)
			})
			continue
		}
		get(t, of+"/dump?at=10ms", 200)
		get(t, of+"/threads/1?at=-10ms", 200)
		get(t, of+"/threads/1/events?at=-10ms", 200)
		get(t, of+"/dump?at=1h", 400)
		get(t, of+"/dump?at=noon", 400)
		get(t, of+"/settings?at=noon", 400)
		var d dump.RecorderSettings
		if err := json.Unmarshal(get(t, of+"/settings?at=10ms", 200), &d); err != nil || d.Name != "default" || len(d.Kinds) != 0 || len(d.Incomplete) != 1 || d.AsOf.IsZero() {
			t.Errorf("settings of a recording: %v, %+v; want their name, and that no more is known", err, d)
		}
		if text := get(t, of+"/settings?format=text", 200); !bytes.Contains(text, []byte("incomplete: the recording has the name")) || bytes.Contains(text, []byte("KIND")) {
			t.Errorf("settings of a recording:\n%s\nwant no table of kinds, and why", text)
		}
		get(t, of+"/waits", 409)
		r, err := http.Post(of+"/settings", "text/plain", strings.NewReader("park=off"))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != 409 {
			t.Errorf("settings of a recording changed: status %d, want 409", r.StatusCode)
		}
		// A page looks at a moment by its name.
		page := connect(t, s)
		page.subscribe(p.Key+"@10ms", "", "")
		page.framesUntil("at the moment", func() bool {
			return page.whole.Process != nil && page.whole.Process.Key == p.Key+"@10ms" && page.whole.Process.Threads == 100
		})
	}
	a.discover()
	a.forget()
	if n := len(a.views()); n != 2 {
		t.Errorf("%d processes after a while, want both files still", n)
	}
}

func TestAFileThatIsNoRecordingIsAnError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.vtr")
	if err := os.WriteFile(name, []byte("what is this"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{name, filepath.Join(t.TempDir(), "gone.vtr"), t.TempDir()} {
		if _, err := New(Options{NoLocal: true, Files: []string{path}}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that names it", path, err)
		}
	}
}
