package agent

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// serve serves the agent on a free port of the loopback interface.
func serve(t *testing.T, a *Agent) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(a.Handler())
	t.Cleanup(func() { a.Close(); s.Close() })
	return s
}

type tab struct {
	*testing.T
	conn   *websocket.Conn
	config Config
	whole  Frame // all members that came so far
	seq    uint64
}

// connect opens a websocket and reads the configuration.
func connect(t *testing.T, s *httptest.Server) *tab {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{Subprotocol}}
	conn, _, err := d.Dial("ws"+strings.TrimPrefix(s.URL, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	tab := &tab{T: t, conn: conn}
	if err := json.Unmarshal(tab.read(), &tab.config); err != nil {
		t.Fatal(err)
	}
	return tab
}

func (t *tab) read() []byte {
	t.Helper()
	t.conn.SetReadDeadline(time.Now().Add(patience))
	_, data, err := t.conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (t *tab) say(message string) {
	t.Helper()
	if err := t.conn.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

func (t *tab) subscribe(process, scope, group string) {
	t.Helper()
	b, err := json.Marshal(Subscription{Type: TypeSubscribe, Process: process, Scope: scope, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	t.say(string(b))
}

// frame reads the next frame and merges it.
func (t *tab) frame() Frame {
	t.Helper()
	var f Frame
	data := t.read()
	if err := json.Unmarshal(data, &f); err != nil || f.Type != TypeFrame {
		t.Fatalf("got %s, %v; want a frame", data, err)
	}
	if f.Seq != t.seq+1 {
		t.Fatalf("frame %d after %d, want one more each", f.Seq, t.seq)
	}
	t.seq = f.Seq
	b, _ := json.Marshal(f)
	if err := json.Unmarshal(b, &t.whole); err != nil {
		t.Fatal(err)
	}
	return f
}

// framesUntil reads frames until a condition holds.
func (t *tab) framesUntil(what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		t.frame()
		if true() {
			return
		}
	}
	t.Fatalf("after %v: still not %s; last: %+v", patience, what, t.whole.Process)
}

func TestTheFirstMessageIsTheConfiguration(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	c := connect(t, serve(t, a)).config
	if c.Type != TypeConfig || c.Protocol != Protocol || c.Agent.PID != os.Getpid() || c.IntervalMS != 50 {
		t.Errorf("configuration %+v", c)
	}
	if len(c.States) != int(flight.StateCount) || c.States[flight.StatePinned].Name != "pinned" {
		t.Errorf("states %v, want flight's table", c.States)
	}
	if len(c.Reasons) != int(flight.ReasonCount) || len(c.Kinds) != int(flight.KindCount) {
		t.Errorf("%d reasons and %d kinds, want flight's tables", len(c.Reasons), len(c.Kinds))
	}
}

func TestAClientSeesCountsScopesGroupsAndAStack(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.subscribe("", "", "")
	tab.framesUntil("all of it", func() bool { return tab.whole.Stack != nil && tab.whole.Stack.Row != nil && tab.whole.Points != nil })
	w := tab.whole
	if w.Process.PID != os.Getpid() || w.Process.Counts[flight.StateParked] != 79 || w.Process.Counts[flight.StateBlocked] != 20 {
		t.Errorf("process %+v, want 79 parked and 20 blocked", w.Process)
	}
	if w.Scopes.Rows[0].Total != 100 || w.Scopes.Rows[1].Path != "root/shop" {
		t.Errorf("scopes %+v, want root with 100 threads, then root/shop", w.Scopes.Rows)
	}
	if g := w.Groups; g.Total != 100 || g.Rows[0].Count != 79 || g.Rows[0].Top != "example.com/shop.(*Store).query" {
		t.Errorf("groups %+v, want 79 threads in query first", g)
	}
	if s := w.Stack; s.Group != w.Groups.Rows[0].Key || len(s.Frames) != 2 || s.Frames[0].Line != 88 || len(s.Examples) == 0 {
		t.Errorf("stack %+v, want the two frames of the largest group", s)
	}

	tab.subscribe("", "root/shop/jobs", "")
	tab.framesUntil("the groups of jobs", func() bool { return tab.whole.Groups.Scope == "root/shop/jobs" })
	if g := tab.whole.Groups; len(g.Rows) != 1 || g.Rows[0].Count != 20 || g.Rows[0].State != "blocked" {
		t.Errorf("groups of jobs: %+v, want 20 blocked threads", g)
	}
	if s := tab.whole.Stack; s.Frames[0].Func != "example.com/shop.work" {
		t.Errorf("stack %+v, want that of jobs", s)
	}
}

func TestAFrameCarriesOnlyWhatChanged(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.subscribe("", "", "")
	tab.framesUntil("a stack", func() bool { return tab.whole.Stack != nil && tab.whole.Stack.Row != nil })
	for range 50 {
		// Waits grow, so that groups change; the tree of scopes and the list of processes do not.
		if f := tab.frame(); f.Scopes == nil && f.Processes == nil {
			return
		}
	}
	t.Error("50 frames carried the same scopes and processes again and again")
}

func TestAClientOfAProcessThatIsNotThereIsToldWhy(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	s := serve(t, a)
	tab := connect(t, s)
	tab.subscribe("", "", "")
	if f := tab.frame(); f.Process == nil || !strings.Contains(f.Process.Missing, "No program") || len(*f.Processes) != 0 {
		t.Errorf("without any process: %+v, want a reason", f.Process)
	}
	tab.subscribe("4711", "", "")
	tab.framesUntil("missing", func() bool { return strings.Contains(tab.whole.Process.Missing, "4711") })
}

func TestAClientIsToldThatItsProcessWasKilled(t *testing.T) {
	dir := flighttest.Dir(t)
	child := startChild(t, dir)
	a := start(t, Options{Dirs: []string{dir}})
	tab := connect(t, serve(t, a))
	tab.subscribe(fmt.Sprint(child.Process.Pid), "", "")
	tab.framesUntil("three threads", func() bool { return tab.whole.Process != nil && tab.whole.Process.Threads == 3 })
	child.Process.Kill()
	child.Wait()
	tab.framesUntil("gone", func() bool { return tab.whole.Process.Status == "gone" })
	if tab.whole.Process.Gone == 0 || tab.whole.Process.Threads != 3 {
		t.Errorf("process %+v, want the time of its end and its three threads", tab.whole.Process)
	}
	tab.frame() // comes all the same, so that the client knows that the connection lives
}

func TestWhatAClientSaysWrongIsAnsweredAndChangesNothing(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	s := serve(t, a)
	for _, message := range []string{
		`{`, `[]`, `7`, `{"type":"delete"}`, `{"type":"subscribe","process":7}`, `{}`,
		`{"type":"subscribe","scope":"` + strings.Repeat("x", longestName+1) + `"}`,
	} {
		tab := connect(t, s)
		tab.say(message)
		var p Problem
		for p.Type != TypeError {
			if err := json.Unmarshal(tab.read(), &p); err != nil {
				t.Fatal(err)
			}
		}
		if p.Error == "" || p.Try == "" {
			t.Errorf("%.40s: answer %+v, want what is wrong and what would be right", message, p)
		}
		tab.subscribe("", "", "")
		for {
			if data := tab.read(); strings.Contains(string(data), `"type":"frame"`) {
				break
			}
		}
	}
}

func TestAHugeMessageEndsTheConnection(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	tab := connect(t, serve(t, a))
	tab.conn.WriteMessage(websocket.TextMessage, make([]byte, 1<<20)) // may be cut off midway
	tab.conn.SetReadDeadline(time.Now().Add(patience))
	for {
		if _, _, err := tab.conn.ReadMessage(); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Fatal("the connection is still open")
			}
			return
		}
	}
}

func TestClosingTheAgentTellsItsClients(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	tab := connect(t, serve(t, a))
	a.Close()
	for {
		_, _, err := tab.conn.ReadMessage()
		if websocket.IsCloseError(err, websocket.CloseGoingAway) {
			return
		}
		if err != nil {
			t.Fatalf("the connection ended with %v, want close code 1001", err)
		}
	}
}

func TestTooManyClientsAreTurnedAway(t *testing.T) {
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}, Clients: 1})
	s := serve(t, a)
	first := connect(t, s)
	_, r, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL, "http")+"/ws", nil)
	if err == nil || r == nil || r.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("a second client: %v, want status 503", err)
	}
	first.conn.Close()
	until(t, "room again", func() bool {
		conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL, "http")+"/ws", nil)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// A valve is a listener whose first connection takes nothing while the valve is shut, as if its client did not read.
type valve struct {
	net.Listener
	first sync.Once
	shut  sync.Mutex    // whoever has it has shut the valve
	held  chan struct{} // of one: a write waits until it is open again
}

type valved struct {
	net.Conn
	*valve
}

func (v *valve) Accept() (net.Conn, error) {
	c, err := v.Listener.Accept()
	if err == nil {
		v.first.Do(func() { c = valved{c, v} })
	}
	return c, err
}

func (c valved) Write(b []byte) (int, error) {
	if !c.shut.TryLock() {
		select {
		case c.held <- struct{}{}:
		default:
		}
		c.shut.Lock()
	}
	defer c.shut.Unlock()
	return c.Conn.Write(b)
}

func TestAStuckClientLosesFramesAndNobodyElseDoes(t *testing.T) {
	file := flighttest.Write(t, small())
	before := writeTimeout
	t.Cleanup(func() { writeTimeout = before }) // when the agent is closed
	writeTimeout = 10 * patience                // on a busy machine the stuck client is stuck for long
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := httptest.NewUnstartedServer(a.Handler())
	v := &valve{Listener: s.Listener, held: make(chan struct{}, 1)}
	s.Listener = v
	s.Start()
	t.Cleanup(func() { a.Close(); s.Close() })

	stuck := connect(t, s)
	stuck.subscribe("", "", "")
	stuck.framesUntil("groups", func() bool { return stuck.whole.Groups != nil && stuck.whole.Groups.Total == 100 })
	other := connect(t, s)
	other.subscribe("", "", "")
	other.framesUntil("groups", func() bool { return other.whole.Groups != nil && other.whole.Groups.Total == 100 })

	v.shut.Lock()
	open := sync.OnceFunc(v.shut.Unlock)
	defer open()
	select {
	case <-v.held:
	case <-time.After(patience):
		t.Fatalf("the stuck client is sent nothing within %v", patience)
	}
	// The frame that is held up is of this view or an older one. What the other one is sent it gets all the same.
	stopped := shown(t, a).version
	const missed = 20
	other.framesUntil("many views later", func() bool { return shown(t, a).version > stopped+missed })
	other.frame()
	open()
	lost := stuck.whole.Lost
	stuck.framesUntil("told of lost frames", func() bool { return stuck.whole.Lost >= lost+missed })
}

// seen tells that a frame has come.
func (t *tab) seen(seq uint64) {
	t.Helper()
	t.say(fmt.Sprintf(`{"type":"seen","seq":%d}`, seq))
}

func TestWhatAClientHasSeenIsNotForgottenForWhatItSaysTooLate(t *testing.T) {
	c := &client{came: make(chan uint64, 1)}
	for _, seq := range []uint64{7, 6} { // the writer sleeps
		put(c.came, seq, greatest)
	}
	if seq := <-c.came; seq != 7 {
		t.Errorf("the writer hears of frame %d, want 7", seq)
	}
}

// Whatever would buffer more between agent and client.
func TestAClientThatTellsWhatItHasSeenHasTwoFramesOnTheirWay(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	slow, other := connect(t, s), connect(t, s)
	began := time.Now().UnixMilli()
	slow.seen(0)
	slow.subscribe("", "", "")
	for slow.whole.Process == nil || slow.whole.Time < began { // what was sent before is on its way beside the two
		slow.seen(slow.frame().Seq)
	}
	slow.seen(slow.seq - 1) // out of date: it changes nothing
	last := slow.seq
	// Until it was heard some frames may have been sent, and what the other one reads may have waited for it: more than one round may be needed.
	for deadline := time.Now().Add(patience); slow.whole.Lost < 10; {
		slow.frame()
		if slow.seq < last+mostUnseen {
			continue
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d frames are lost, want most of the 20 that the other one gets in each round", slow.whole.Lost)
		}
		last = slow.seq
		other.subscribe("", "", "")
		for range 20 {
			other.frame() // meanwhile the slow one is sent nothing
		}
		slow.seen(slow.seq)
	}
	slow.seen(slow.seq)
	for range 20 { // who tells each goes on
		slow.seen(slow.frame().Seq)
	}
	slow.seen(1 << 60) // which was never sent
	slow.frame()
}

func FuzzClientMessage(f *testing.F) {
	f.Add(1, []byte(`{"type":"subscribe","process":"4711","scope":"root/a","group":"g"}`))
	f.Add(2, []byte{0})
	f.Add(1, []byte(`{"type":"subscribe","scope":"\ud800"}`))
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		s, problem := parse(kind, data)
		if problem == nil && (s.Type != TypeSubscribe || len(s.Process)+len(s.Scope)+len(s.Group) > 3*longestName) {
			t.Errorf("accepted %+v", s)
		}
		if problem != nil {
			if _, err := json.Marshal(problem); err != nil {
				t.Error(err)
			}
			return
		}
		// Whatever a client may ask for, a view has an answer.
		v := &view{snapshot: nil}
		v.stack(s.Group, v.groups(s.Scope, s.Group))
	})
}
