//go:build unix

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkAgent follows a process that emits at least a million events a second, with one page open. It reports
// what the agent and its side of the page cost, in processors, and how many events there really were.
func BenchmarkAgent(b *testing.B) {
	b.Run("events=1000000", func(b *testing.B) {
		const watched = 3 * time.Second
		var used, rate float64
		for range b.N {
			churn, err := startProgram("threads yield; pid", selfAs(task{What: "churn", N: 1}))
			if err != nil {
				b.Fatal(err)
			}
			page := open(b, churn.pid)
			page.nextFrame() // the first one is more work than the others
			events, cpuBefore, began := eventsOf(b, churn.pid), cpu(), time.Now()
			for time.Since(began) < watched {
				page.nextFrame()
			}
			took := time.Since(began)
			used += (cpu() - cpuBefore).Seconds() / took.Seconds()
			rate += float64(eventsOf(b, churn.pid)-events) / took.Seconds()
			page.close()
			if err := churn.end(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(used/float64(b.N), "processors")
		b.ReportMetric(rate/float64(b.N), "events/s")
		b.ReportMetric(0, "ns/op") // chosen above
	})
}

// BenchmarkFirstScreen asks a running agent for all that the page needs before it shows a process with a million
// threads: the page's files, and frames until scopes, groups and a stack have come. What the browser does with
// it is not measured here.
func BenchmarkFirstScreen(b *testing.B) {
	b.Run("threads=1000000", func(b *testing.B) {
		storm, err := millionThreads()
		if err != nil {
			b.Fatal(err)
		}
		follower := open(b, storm.pid)
		defer follower.close()
		for !follower.complete() {
			follower.nextFrame()
		}
		var bytes int
		b.ResetTimer()
		for range b.N {
			p := &page{tb: b, server: follower.server}
			p.load()
			p.connect()
			for !p.complete() {
				p.nextFrame()
			}
			p.socket.Close()
			bytes = p.bytes
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/op")
		b.ReportMetric(float64(bytes), "page-B")
	})
}

// A page is an agent that follows one process, with a client that is no browser.
type page struct {
	tb     testing.TB
	agent  *agent.Agent
	server *httptest.Server
	socket *websocket.Conn
	seen   map[string]json.RawMessage // members of frames that have come
	bytes  int                        // received
}

// open starts an agent that follows the process, and connects to it.
func open(tb testing.TB, pid int) *page {
	tb.Helper()
	a, err := agent.New(agent.Options{PIDs: []int{pid}})
	if err != nil {
		tb.Fatal(err)
	}
	p := &page{tb: tb, agent: a, server: httptest.NewServer(a.Handler())}
	p.connect()
	return p
}

func (p *page) close() {
	p.socket.Close()
	p.server.Close()
	if err := p.agent.Close(); err != nil {
		p.tb.Error(err)
	}
}

var asset = regexp.MustCompile(`(?:src|href)="([^":]+)"`)

// load gets the page and the files that it names.
func (p *page) load() {
	for _, m := range asset.FindAllStringSubmatch(string(p.get("/")), -1) {
		p.get("/" + strings.TrimPrefix(m[1], "/"))
	}
}

func (p *page) get(path string) []byte {
	answer, err := http.Get(p.server.URL + path)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.tb.Fatalf("GET %s: %d %v", path, answer.StatusCode, err)
	}
	p.bytes += len(body)
	return body
}

func (p *page) connect() {
	dialer := websocket.Dialer{Subprotocols: []string{agent.Subprotocol}}
	socket, _, err := dialer.Dial("ws"+strings.TrimPrefix(p.server.URL, "http")+"/ws", nil)
	if err != nil {
		p.tb.Fatal(err)
	}
	p.socket = socket
	if err := socket.WriteJSON(agent.Subscription{Type: agent.TypeSubscribe}); err != nil {
		p.tb.Fatal(err)
	}
}

// nextFrame waits for a frame and remembers what it brings.
func (p *page) nextFrame() {
	for {
		p.socket.SetReadDeadline(time.Now().Add(2 * time.Minute))
		_, message, err := p.socket.ReadMessage()
		if err != nil {
			p.tb.Fatal(err)
		}
		p.bytes += len(message)
		if err := json.Unmarshal(message, &p.seen); err != nil {
			p.tb.Fatal(err)
		}
		if string(p.seen["type"]) == strconv.Quote(agent.TypeFrame) {
			return
		}
	}
}

// complete reports whether everything has come that the first screen shows.
func (p *page) complete() bool {
	for _, member := range []string{"process", "scopes", "groups", "stack", "carriers"} {
		if p.seen[member] == nil {
			return false
		}
	}
	return true
}

// eventsOf is how many events a process has recorded.
func eventsOf(tb testing.TB, pid int) (n uint64) {
	tb.Helper()
	r, err := flight.OpenPID(pid)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	rings, err := r.Rings()
	if err != nil {
		tb.Fatal(err)
	}
	for _, ring := range rings {
		n += ring.Head
	}
	return n
}

// churn yields until standard input ends, on one carrier: the other processor is for who looks.
func churn(task) answer {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	withCarriers(1, func(s sched.Scheduler) {
		var all []*vthread.Thread
		for range yielders {
			all = append(all, vthread.Builder{Scheduler: s}.Start(func() {
				for ctx.Err() == nil {
					vthread.Yield()
				}
			}))
		}
		fmt.Printf("churn: %d threads yield; pid %d\n", yielders, os.Getpid())
		for _, t := range all {
			t.Join()
		}
	})
	return nil
}

func TestAPageOfAStormIsComplete(t *testing.T) {
	if _, err := os.Stat(filepath.Join("..", "webui", "dist")); err != nil {
		t.Fatal(err)
	}
	s, err := startStorm(1000)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, s.pid)
	p.load()
	for !p.complete() {
		p.nextFrame()
	}
	p.close()
	if err := s.end(); err != nil {
		t.Error(err)
	}
}
