package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func exportsFor(t *testing.T, url string) map[string]ExportRow {
	t.Helper()
	var all Exports
	if err := json.Unmarshal(get(t, url, 200), &all); err != nil {
		t.Fatal(err)
	}
	rows := map[string]ExportRow{}
	for _, x := range all.Rows {
		rows[x.Name] = x
	}
	if len(rows) != len(all.Rows) || len(rows) < 10 {
		t.Errorf("got %d ways of %d names, want at least 10, each of its own", len(all.Rows), len(rows))
	}
	return rows
}

func post(t *testing.T, url string, status int) []byte {
	t.Helper()
	r, err := http.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != status {
		t.Errorf("POST %s: status %d, %v, want %d: %.200s", url, r.StatusCode, err, status, body)
	}
	return body
}

func TestEachWayOutIsServedWhereItSays(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}, Incidents: incidents(t)})
	s := serve(t, a)
	until(t, "a snapshot", func() bool { v := a.views(); return len(v) == 1 && v[0].snapshot != nil })
	rows := exportsFor(t, s.URL+"/api/v1/processes/"+a.views()[0].row.Key+"/exports?for=100ms")
	for name, x := range rows {
		if x.Title == "" || x.About == "" || x.Costs == "" || x.Why != "" || !strings.HasPrefix(x.Command, "vtdump ") {
			t.Errorf("%s: %+v, want title, about and costs told, and nothing against it", name, x)
		}
		if (x.Role == "operate") != (x.Method == "POST" || name == "cpu") {
			t.Errorf("%s needs the role %s, and is %s", name, x.Role, x.Method)
		}
		if x.Lasts && !strings.Contains(x.Path, "100ms") && !strings.Contains(x.Path, "seconds=1") {
			t.Errorf("%s lasts: %s, want the time that was asked for in it", name, x.Path)
		}
		if name == "cpu" {
			continue // a written file has no profiler
		}
		if x.Method == "GET" {
			get(t, s.URL+"/"+x.Path, 200)
			continue
		}
		status := 200
		if name == "incident" {
			status = 201
		}
		post(t, s.URL+"/"+x.Path, status)
	}
}

func TestARecordingComesInTheFormThatIsAskedFor(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	at := s.URL + "/api/v1/processes/" + a.views()[0].row.Key + "/recording?held=true&for=50ms&as="
	if b := post(t, at+"vtr", 200); !recording.IsRecording(b[:min(len(b), 16)]) {
		t.Errorf("vtr: %.16q, want a recording", b)
	}
	if b := post(t, at+"jfr", 200); !bytes.HasPrefix(b, []byte("FLR\x00")) {
		t.Errorf("jfr: %.16q, want the magic of JDK Flight Recorder", b)
	}
	if b := post(t, at+"perfetto", 200); len(b) < 100 || b[0] != 0x0a {
		t.Errorf("perfetto: %.16q, want packets of a trace", b)
	}
	if b := post(t, at+"mp3", 400); !bytes.Contains(b, []byte("vtr, jfr, perfetto")) {
		t.Errorf("mp3: %s, want the forms there are", b)
	}
	post(t, strings.Replace(at, "50ms", "6m", 1)+"jfr", 400)
}

func TestWhatAFileHoldsOfEventsCanBeTakenInEachForm(t *testing.T) {
	vtr, bundle := recordedFiles(t)
	a := start(t, Options{NoLocal: true, Files: []string{vtr, bundle}})
	s := serve(t, a)
	for _, v := range a.views() {
		rows := exportsFor(t, s.URL+"/api/v1/processes/"+v.row.Key+"/exports")
		for _, name := range []string{"recording", "jfr", "perfetto"} {
			x := rows[name]
			if x.Method != "GET" || x.Role != "read" {
				t.Errorf("%s of a file: %+v, want it to be read", name, x)
			}
			b := get(t, s.URL+"/"+x.Path, 200)
			if name == "recording" && !recording.IsRecording(b[:min(len(b), 16)]) {
				t.Errorf("%s: %.16q, want a recording", v.row.Key, b)
			}
		}
		if _, ok := rows["incident"]; ok {
			t.Error("a bundle can be taken of a file")
		}
	}
}

func TestEstimatesGrowWithTheProcess(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}, Incidents: incidents(t)})
	until(t, "a snapshot", func() bool { v := a.views(); return len(v) == 1 && v[0].snapshot != nil })
	f := a.find(a.views()[0].row.Key)
	e := &exported{view: f.view(), threads: 1_000_000, groups: 200, during: 10 * time.Second, tape: 1e9}
	for _, c := range []struct{ name, risk string }{{"json", "low"}, {"jdk", "high"}, {"recording", "medium"}, {"perfetto", "high"}, {"cpu", "medium"}, {"incident", "high"}} {
		for i := range exportWays {
			if exportWays[i].name != c.name {
				continue
			}
			if x := a.exportOf(f, e, &exportWays[i]); x.Risk != c.risk || x.Takes < 0 {
				t.Errorf("%s of a million threads: risk %s, takes %v; want risk %s", c.name, x.Risk, time.Duration(x.Takes), c.risk)
			}
		}
	}
}

func TestKeptBundlesAreListedTakenAndShown(t *testing.T) {
	file := flighttest.Write(t, small())
	store := incidents(t)
	a := start(t, Options{Dirs: []string{file.Dir}, Incidents: store})
	s := serve(t, a)
	key := a.views()[0].row.Key
	var taken BundleRow
	if err := json.Unmarshal(post(t, s.URL+"/api/v1/processes/"+key+"/incident", 201), &taken); err != nil {
		t.Fatal(err)
	}
	list := func() (l IncidentList) {
		if err := json.Unmarshal(get(t, s.URL+"/api/v1/incidents", 200), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := list()
	if len(l.Rows) != 1 || l.Rows[0].ID != taken.ID || l.Rows[0].Key != "" || len(l.Rows[0].Causes) != 1 || l.Rows[0].Causes[0] != "asked for over HTTP" {
		t.Fatalf("got %+v, want the bundle %s, which was asked for and is not shown", l, taken.ID)
	}
	if b := get(t, s.URL+"/api/v1/incidents/"+taken.ID, 200); !bytes.HasPrefix(b, []byte("PK\x03\x04")) || int64(len(b)) != l.Rows[0].Size {
		t.Errorf("the bundle: %d bytes %.8q, want a zip file of %d", len(b), b, l.Rows[0].Size)
	}
	var shown ProcessRow
	for range 2 { // the second time it is the same one
		if err := json.Unmarshal(post(t, s.URL+"/api/v1/incidents/"+taken.ID+"/open", 200), &shown); err != nil || shown.Status != statusRecorded {
			t.Fatalf("open: %v, %+v; want a process of status %s", err, shown, statusRecorded)
		}
	}
	get(t, s.URL+"/api/v1/processes/"+shown.Key+"/dump", 200)
	if l = list(); l.Rows[0].Key != shown.Key || l.Opened != 1 {
		t.Errorf("got %+v, want it shown as %s", l, shown.Key)
	}
	secret, planted := filepath.Join(t.TempDir(), "secret"), "2036-11-20T20-15-03Z-shop-4711-a1b2c3"
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Link(secret, filepath.Join(store.Dir(), planted+incident.Ending))); err != nil {
		t.Fatal(err)
	}
	get(t, s.URL+"/api/v1/incidents/"+planted, 404) // another name of a file is no bundle
	get(t, s.URL+"/api/v1/incidents/none", 404)
	get(t, s.URL+"/api/v1/incidents/..%2f"+taken.ID, 404)
	post(t, s.URL+"/api/v1/incidents/none/open", 404)
}

func TestBundlesAreNotToldWhereTextsAreHidden(t *testing.T) {
	rules, err := access.ParseRules("name=~/x/")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := access.New(access.Options{Redact: rules})
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}, Incidents: incidents(t), Access: policy})
	get(t, serve(t, a).URL+"/api/v1/incidents", 403)
}

func TestAPageKnowsWhoAsksAndWhatAFilterCanAsk(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}, Incidents: incidents(t)})
	tab := connect(t, serve(t, a))
	if c := tab.config.Caller; c.Name != "local" || c.Role != "operate" {
		t.Errorf("got %+v, want this user, who may do all", c)
	}
	if !tab.config.Incidents {
		t.Error("a page does not know that bundles are kept")
	}
	for _, f := range tab.config.Filter {
		switch f.Name {
		case "state":
			if len(f.Values) < 8 || f.Operators[0] != "=" {
				t.Errorf("got %+v, want all states", f)
			}
		case "wait":
			if f.Operators[0] != ">" || f.Example != "30s" {
				t.Errorf("got %+v, want a duration", f)
			}
		}
	}
	if len(tab.config.Filter) < 10 {
		t.Errorf("got %d fields, want those of docs/filter.md", len(tab.config.Filter))
	}
}

func TestAWrongChangeOfSettingsIsToldWithItsLine(t *testing.T) {
	of := api(t, small())
	r, err := http.Post(of+"/settings", "text/plain", strings.NewReader("park=off\n# a comment\nparkk.stack=off\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var p Problem
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || r.StatusCode != 400 || !strings.Contains(p.Error, "line 3: ") {
		t.Errorf("status %d, %+v, %v; want 400 and line 3", r.StatusCode, p, err)
	}
}

func TestAPageWithATokenToReadKnowsThatItMayOnlyLook(t *testing.T) {
	token := strings.Repeat("r", 24)
	policy, err := access.New(access.Options{Tokens: []access.Token{{Role: access.Read, Name: "night-shift", Secret: access.Secret(token)}}})
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}, Access: policy})
	conn, _, err := (&websocket.Dialer{Subprotocols: []string{Subprotocol}}).Dial("ws"+strings.TrimPrefix(serve(t, a).URL, "http")+"/ws", http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var c Config
	if err := json.Unmarshal((&tab{T: t, conn: conn}).read(), &c); err != nil || c.Caller != (CallerTerm{"night-shift", "read"}) {
		t.Errorf("got %+v, %v; want the token's name, and the role read", c.Caller, err)
	}
}
