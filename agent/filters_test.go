package agent

import (
	"compress/flate"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestAFilterChoosesTheThreadsOfScopesGroupsAndStack(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe","filter":" state=blocked   or state=mounted "}`)
	tab.framesUntil("the filtered groups", func() bool { return tab.whole.Groups != nil && tab.whole.Groups.Filter != "" })
	w := tab.whole
	if g := w.Groups; g.Filter != "state=blocked or state=mounted" || g.Total != 21 || g.Left != 79 || len(g.Rows) != 2 || g.Rows[0].State != "blocked" {
		t.Errorf("groups %+v, want 20 blocked threads and a mounted one, 79 left out", g)
	}
	if w.Scopes.Rows[0].Total != 21 || w.Stack.Row == nil || w.Stack.Row.State != "blocked" {
		t.Errorf("scopes %+v, stack %+v, want those of 21 threads", w.Scopes.Rows, w.Stack.Row)
	}
	if w.Process.Threads != 100 {
		t.Errorf("the header counts %d threads, want all 100", w.Process.Threads)
	}
	tab.say(`{"type":"subscribe","filter":"name=nobody"}`)
	tab.framesUntil("told that nothing matches", func() bool { return strings.Contains(tab.whole.Groups.Missing, "that the filter matches") })
	tab.say(`{"type":"subscribe"}`)
	tab.framesUntil("all threads", func() bool { return tab.whole.Groups.Total == 100 && tab.whole.Groups.Filter == "" })
	if used := shown(t, a).from.filters.used(); len(used) != 0 {
		t.Errorf("%v is still looked for", used)
	}
}

func TestAWrongFilterIsPointedAtAndChangesNothing(t *testing.T) {
	file := flighttest.Write(t, small())
	tab := connect(t, serve(t, start(t, Options{Dirs: []string{file.Dir}})))
	tab.say(`{"type":"subscribe","filter":"state=blocked"}`)
	tab.framesUntil("blocked threads", func() bool { return tab.whole.Groups != nil && tab.whole.Groups.Total == 20 })
	wrong := `name="größe" state=parkd`
	b, err := json.Marshal(Subscription{Type: TypeSubscribe, Filter: wrong})
	if err != nil {
		t.Fatal(err)
	}
	tab.say(string(b))
	var p Problem
	for p.Type != TypeError {
		if err := json.Unmarshal(tab.read(), &p); err != nil {
			t.Fatal(err)
		}
	}
	if p.Filter != wrong || p.At != 19 || p.Length != 5 || !strings.Contains(p.Error, "character 20") || !strings.Contains(p.Try, "parked") {
		t.Errorf("answer %+v, want the filter, that 5 characters after 19 are wrong, and what would be right", p)
	}
	tab.seq++ // of the frames between; the next one says what is subscribed to
	for {
		var f Frame
		if err := json.Unmarshal(tab.read(), &f); err != nil {
			t.Fatal(err)
		}
		if f.Groups != nil {
			if f.Groups.Filter != "state=blocked" {
				t.Errorf("groups of %q, want those of the subscription before", f.Groups.Filter)
			}
			return
		}
	}
}

func TestClientsWithOneFilterShareItAndAFifthOneWaits(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	var tabs []*tab
	filtered := func(text string) *tab {
		t.Helper()
		tab := connect(t, s)
		tab.say(`{"type":"subscribe","filter":"` + text + `"}`)
		tabs = append(tabs, tab)
		return tab
	}
	for i := range maxFilters {
		for range 2 {
			tab := filtered(fmt.Sprint("id<", 10+i))
			tab.framesUntil("what it matches", func() bool { return tab.whole.Groups != nil && tab.whole.Groups.Total == 9+i })
		}
	}
	if used := shown(t, a).from.filters.used(); len(used) != maxFilters {
		t.Errorf("%d filters are looked for, want %d: two clients share each", len(used), maxFilters)
	}
	fifth := filtered("id<50")
	fifth.framesUntil("told to wait", func() bool { return fifth.whole.Groups != nil && fifth.whole.Groups.Missing == tooManyFilters })
	if len(fifth.whole.Groups.Rows) != 0 || len(fifth.whole.Scopes.Rows) != 0 {
		t.Errorf("without its filter it is shown %+v, %+v; want nothing", fifth.whole.Groups.Rows, fifth.whole.Scopes.Rows)
	}
	tabs[0].conn.Close()
	tabs[1].conn.Close()
	fifth.framesUntil("what it matches", func() bool { return fifth.whole.Groups.Total == 49 && fifth.whole.Groups.Missing == "" })
}

func TestAFilterAppliesToWhatAKilledProcessLeft(t *testing.T) {
	dir := flighttest.Dir(t)
	child := startChild(t, dir)
	a := start(t, Options{Dirs: []string{dir}})
	s := serve(t, a)
	tab := connect(t, s)
	tab.subscribe("", "", "")
	tab.framesUntil("three threads", func() bool { return tab.whole.Process != nil && tab.whole.Process.Threads == 3 })
	child.Process.Kill()
	child.Wait()
	tab.framesUntil("gone", func() bool { return tab.whole.Process.Status == "gone" })
	tab.say(`{"type":"subscribe","filter":"id>1"}`)
	tab.framesUntil("two threads", func() bool { return tab.whole.Groups.Total == 2 && tab.whole.Groups.Left == 1 })
	if err := os.Remove(a.views()[0].from.path); err != nil {
		t.Fatal(err)
	}
	tab.say(`{"type":"subscribe","filter":"id>2"}`)
	tab.framesUntil("told that the file is gone", func() bool { return strings.Contains(tab.whole.Groups.Missing, "what it left") })
}

func TestAClientGetsThePanelsThatItNames(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	if fmt.Sprint(tab.config.Panels) != fmt.Sprint(panelNames()) {
		t.Errorf("panels %q, want all that there are", tab.config.Panels)
	}
	tab.say(`{"type":"subscribe","panels":["groups"],"scope":"root/shop"}`)
	// Until it is heard, a client gets what there is without one.
	tab.framesUntil("what it asked for", func() bool { return tab.whole.Groups != nil && tab.whole.Groups.Scope == "root/shop" })
	for range 20 {
		f := tab.frame()
		if f.Scopes != nil || f.Stack != nil || f.Carriers != nil || f.Points != nil || f.Events != nil {
			t.Fatalf("got %+v, want groups and the process only", f)
		}
	}
	if tab.whole.Groups == nil || tab.whole.Process == nil || tab.whole.Processes == nil {
		t.Errorf("groups %v, process %v, processes %v: want all three", tab.whole.Groups, tab.whole.Process, tab.whole.Processes)
	}
	if n := shown(t, a).from.surveyed.Load(); n != 0 {
		t.Errorf("%d clients look at surveys, want none", n)
	}
	had := tab.whole.Points != nil // it was heard late: what there was without a subscription had points
	before := len(shown(t, a).history.points)
	until(t, "some points", func() bool { return len(shown(t, a).history.points) > before+5 })
	tab.whole.Points = nil
	tab.say(`{"type":"subscribe","panels":["points","delays"]}`)
	tab.framesUntil("all points that it lacks at once", func() bool { return tab.whole.Points != nil })
	if p := tab.whole.Points; p.Reset == had || len(p.Time) <= 5 {
		t.Errorf("%d points at once, from the beginning: %v; want some and %v", len(p.Time), p.Reset, !had)
	}
	until(t, "one that looks at surveys", func() bool { return shown(t, a).from.surveyed.Load() == 1 })
	tab.say(`{"type":"subscribe","panels":["secrets"]}`)
	var p Problem
	for p.Type != TypeError {
		if err := json.Unmarshal(tab.read(), &p); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(p.Error, "secrets") || !strings.Contains(p.Error, "groups") {
		t.Errorf("answer %+v, want the unknown name and the known ones", p)
	}
}

// A client that applies deltas has what one has that gets everything whole.
func TestAClientWithDeltasHasWhatTheOthersHave(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe","deltas":true}`)
	has := map[string]any{}
	deltas := 0
	for last := time.Now().Add(patience); deltas < 20 && time.Now().Before(last); {
		var f map[string]json.RawMessage
		if err := json.Unmarshal(tab.read(), &f); err != nil {
			t.Fatal(err)
		}
		var changes map[string]json.RawMessage
		if f["deltas"] != nil {
			if err := json.Unmarshal(f["deltas"], &changes); err != nil {
				t.Fatal(err)
			}
		}
		for name, delta := range changes {
			if f[name] != nil {
				t.Fatalf("%s comes whole and as a delta", name)
			}
			if len(delta) == 2 {
				t.Errorf("%s: the delta is empty", name)
			}
			had, err := json.Marshal(has[name])
			if err != nil || has[name] == nil {
				t.Fatalf("a delta of %s, which never came whole", name)
			}
			has[name] = applied(t, had, delta)
			deltas++
		}
		for name, whole := range f {
			var v any
			if err := json.Unmarshal(whole, &v); err != nil {
				t.Fatal(err)
			}
			if changes[name] == nil {
				has[name] = v
			}
		}
	}
	if deltas < 20 {
		t.Fatalf("%d deltas in %v", deltas, patience)
	}
	all, err := json.Marshal(has)
	if err != nil {
		t.Fatal(err)
	}
	var f Frame
	if err := json.Unmarshal(all, &f); err != nil {
		t.Fatal(err)
	}
	v := shown(t, a)
	if f.Groups.Total != 100 || len(f.Groups.Rows) != len(v.groups("", "").Rows) || len(f.Scopes.Rows) != len(v.tree(&Subscription{}).Rows) || len(*f.Processes) != 1 {
		t.Errorf("the client has %+v and %+v, want what the agent has", f.Groups, f.Scopes)
	}
}

func TestMessagesAreCompressedForOtherMachinesOnly(t *testing.T) {
	for from, want := range map[string]bool{
		"127.0.0.1:1": false, "[::1]:1": false, "[::ffff:127.0.0.1]:1": false, "@": false, "": false, "192.0.2.1:1": true, "[2001:db8::1]:1": true,
	} {
		if got := !fromHere(&http.Request{RemoteAddr: from}); got != want {
			t.Errorf("compression for a client at %q: %t, want %t", from, got, want)
		}
	}
}

// A small compressed message can be a huge one.
func TestACompressedBombEndsTheConnection(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	far := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "192.0.2.1:1"
		a.serveWebsocket(w, r, nil)
	})
	s := httptest.NewServer(far)
	t.Cleanup(func() { a.Close(); s.Close() })
	d := websocket.Dialer{Subprotocols: []string{Subprotocol}, EnableCompression: true}
	conn, answer, err := d.Dial("ws"+strings.TrimPrefix(s.URL, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !strings.Contains(answer.Header.Get("Sec-Websocket-Extensions"), "permessage-deflate") {
		t.Fatalf("extensions %q, want compression", answer.Header.Get("Sec-Websocket-Extensions"))
	}
	conn.SetCompressionLevel(flate.BestCompression)
	conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"subscribe","scope":"`+strings.Repeat("a", 8<<20)+`"}`)) // may be cut off midway
	conn.SetReadDeadline(time.Now().Add(patience))
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Fatal("the connection is still open")
			}
			return
		}
	}
}

func FuzzFilterOfAClient(f *testing.F) {
	f.Add(`state=parkd`)
	f.Add(`name="größe`)
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := filter.Parse(text)
		if err == nil {
			return
		}
		p := wrongFilter(err)
		if n := len([]rune(p.Filter)); p.At < 0 || p.Length < 0 || p.At+p.Length > n || p.Error == "" || p.Try == "" {
			t.Errorf("%q: %+v points beyond its %d characters, or says too little", text, p, n)
		}
	})
}

// A scope whose threads all are filtered out is not told to be gone.
func TestAScopeWithoutMatchesIsFilteredAndNotGone(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	v := shown(t, a)
	paths := v.tree(&Subscription{}).Rows
	path := paths[len(paths)-1].Path
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe","scope":"` + path + `","filter":"name=nobody"}`)
	tab.framesUntil("told that nothing matches", func() bool {
		g := tab.whole.Groups
		return g != nil && strings.Contains(g.Missing, "that the filter matches") && g.Left > 0 && g.Filter != ""
	})
	tab.say(`{"type":"subscribe","scope":"root/nowhere","filter":"name=nobody"}`)
	tab.framesUntil("told that there is no such scope", func() bool { return strings.Contains(tab.whole.Groups.Missing, "no scope") })
}
