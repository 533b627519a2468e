package agent

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

const operateToken = "0123456789abcdef0123456789abcdef"

// far is an agent that demands a token, on an address that stays the same when it is started again.
type far struct {
	*testing.T
	dir, at string
	agent   *Agent
	server  *httptest.Server
}

func (f *far) start() {
	f.Helper()
	policy, err := access.New(access.Options{Tokens: []access.Token{{Role: access.Operate, Secret: operateToken}}})
	if err != nil {
		f.Fatal(err)
	}
	if f.agent, err = New(Options{Dirs: []string{f.dir}, Interval: interval, Access: policy}); err != nil {
		f.Fatal(err)
	}
	if f.at == "" {
		f.at = "127.0.0.1:0"
	}
	var l net.Listener
	until(f.T, "listening where it was", func() bool { // another program's connection may have the port for a while
		l, err = net.Listen("tcp", f.at)
		return err == nil
	})
	f.at = l.Addr().String()
	f.server = httptest.NewUnstartedServer(f.agent.Handler())
	f.server.Listener.Close()
	f.server.Listener = l
	f.server.Start()
}

func (f *far) stop() {
	f.agent.Close()
	f.server.CloseClientConnections()
	f.server.Close()
}

func remoteOf(t *testing.T, at, token string) Remote {
	t.Helper()
	c, err := access.NewClient(access.ClientOptions{Address: at, Token: access.Secret(token)})
	if err != nil {
		t.Fatal(err)
	}
	return Remote{Name: at, Client: c}
}

func TestProcessesOfARemoteAgentAreShownAndToldOfWhenItIsGone(t *testing.T) {
	file := flighttest.Write(t, small())
	f := &far{T: t, dir: file.Dir}
	f.start()
	t.Cleanup(func() { f.stop() })
	a := start(t, Options{NoLocal: true, Remotes: []Remote{remoteOf(t, f.at, operateToken)}})
	s := serve(t, a)
	var row ProcessRow
	list := func() []ProcessRow {
		var all ProcessList
		if err := json.Unmarshal(get(t, s.URL+"/api/v1/processes", 200), &all); err != nil {
			t.Fatal(err)
		}
		return all.Processes
	}
	until(t, "a process of the remote", func() bool {
		all := list()
		if len(all) == 1 && all[0].Threads == 100 {
			row = all[0]
		}
		return row.Host != ""
	})
	key, ok := strings.CutPrefix(row.Key, f.at+"/")
	if row.Host != f.at || !ok || row.Status != "running" {
		t.Errorf("row %+v, want one of %s", row, f.at)
	}
	there := s.URL + "/remote/" + f.at + "/"
	get(t, there, 200)
	get(t, there+"page.js", 200)
	get(t, there+"api/v1/processes/nothing/dump", 404)
	get(t, s.URL+"/remote/other:1/api/v1/processes", 404)
	if d, err := dump.ParseJSON(get(t, there+"api/v1/processes/"+key+"/dump?filter=state%3Dblocked", 200)); err != nil || d.Threads != 20 {
		t.Errorf("dump of the remote's process: %v; want 20 threads", err)
	}
	get(t, there+"pprof/threads", 200)
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(there, "http")+"ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	page := &tab{T: t, conn: conn}
	if err := json.Unmarshal(page.read(), &page.config); err != nil || page.config.Protocol != Protocol {
		t.Fatalf("the first message of the remote: %v, %+v", err, page.config)
	}
	page.framesUntil("with 100 threads", func() bool { return page.whole.Process != nil && page.whole.Process.Threads == 100 })
	conn.Close()

	f.stop()
	until(t, "unreachable", func() bool {
		all := list()
		return len(all) == 1 && all[0].Status == statusUnreachable && all[0].Heard > 0 && all[0].Threads == 100
	})
	if gone := get(t, there+"api/v1/processes", 502); !strings.Contains(string(gone), "it has answered last") {
		t.Errorf("a remote that is gone: %s; want since when", gone)
	}
	f.start()
	until(t, "reachable again", func() bool { all := list(); return len(all) == 1 && all[0].Status == "running" })
	http.DefaultClient.CloseIdleConnections()
}

func TestARemoteThatLetsNobodyInIsTold(t *testing.T) {
	f := &far{T: t, dir: flighttest.Dir(t)}
	f.start()
	t.Cleanup(func() { f.stop() })
	a := start(t, Options{NoLocal: true, Remotes: []Remote{remoteOf(t, f.at, strings.Repeat("x", 32))}})
	until(t, "unreachable", func() bool {
		all := a.allRows()
		return len(all) == 1 && all[0].Status == statusUnreachable && all[0].Heard == 0 && all[0].Host == f.at
	})
}

func TestNamesOfRemotesArePathsAndDiffer(t *testing.T) {
	c := remoteOf(t, "127.0.0.1:1", "").Client
	for _, remotes := range [][]Remote{{{"", c}}, {{"a/b", c}}, {{"..", c}}, {{"a", nil}}, {{"a", c}, {"a", c}}, {{"é", c}}} {
		if _, err := New(Options{NoLocal: true, Remotes: remotes}); err == nil || !strings.Contains(err.Error(), "remote") {
			t.Errorf("%+v: error %v, want one about the remote", remotes, err)
		}
	}
}
