//go:build unix

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// soakVariable says how long the clients of TestClientsSoak stay, and after an @ the interval, if that is not to be a second: 10m, or 100s@50ms. make nightly sets it.
const soakVariable = "VTSCOPE_SOAK"

// A soak is what a number of clients saw of an agent in a process of its own.
type soak struct {
	clients      int
	frames, lost atomic.Int64 // of clients that read
	connected    atomic.Int64 // times that a stuck client connected again after it was cut off
	bytes        atomic.Int64

	over chan struct{} // closed when clients are to leave,
	took time.Duration // and after how long that was

	mu struct {
		sync.Mutex
		memory []uint64 // of the agent's process, as the frames told, in turn, from when all clients were there
		cpu    float64  // the most
		most   int      // clients at a time
		lost   uint64   // frames, by the agent's own count
		step   int
	}
}

// hold lets clients look at an agent that follows a process with that many threads, some of them stuck: they read nothing, and connect again when they are cut off.
// They stay for as long as told; and longer if a slow machine has not seen by then what [soak.check] wants.
func hold(tb testing.TB, clients, stuck, threads int, interval, d time.Duration) *soak {
	tb.Helper()
	dir := flighttest.Dir(tb)
	observed, err := startProgram("threads park; pid", selfAs(task{What: "doze", N: threads}, "VTSCOPE_DIR="+dir))
	if err != nil {
		tb.Fatal(err)
	}
	defer observed.end()
	server, err := startProgram("serves; pid", selfAs(task{What: "serve-pages", Of: dir, Until: interval}))
	if err != nil {
		tb.Fatal(err)
	}
	defer server.end()
	address := server.line[strings.LastIndexByte(server.line, ' ')+1:]

	s := &soak{clients: clients, over: make(chan struct{})}
	began := time.Now()
	var all sync.WaitGroup
	all.Go(func() {
		defer close(s.over)
		for time.Sleep(d); ; time.Sleep(10 * time.Millisecond) {
			if s.took = time.Since(began); s.seen(clients, stuck, interval) || tb.Failed() || s.took > d+2*time.Minute {
				return
			}
		}
	})
	for i := range clients {
		all.Go(func() {
			for !s.isOver() {
				if err := s.client(address, i, i < stuck); err != nil {
					tb.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	return s
}

func (s *soak) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// seen reports whether all clients were there at a time, and those that read had a tenth of the frames that were due.
func (s *soak) seen(clients, stuck int, interval time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.most == clients && float64(s.frames.Load())/float64(clients-stuck) >= s.took.Seconds()/interval.Seconds()/10
}

// client is one of them, until the end or until it is cut off; every third takes deltas, every third some panels, and some a filter.
func (s *soak) client(address string, i int, stuck bool) error {
	d := websocket.Dialer{Subprotocols: []string{agent.Subprotocol}, NetDial: func(network, addr string) (net.Conn, error) {
		c, err := net.Dial(network, addr)
		if tcp, ok := c.(*net.TCPConn); ok && stuck {
			err = errors.Join(err, tcp.SetReadBuffer(4<<10))
		}
		return c, err
	}}
	conn, answer, err := d.Dial("ws://"+address+"/ws", nil)
	if answer != nil && answer.StatusCode == http.StatusServiceUnavailable { // the one before is not gone yet
		time.Sleep(100 * time.Millisecond)
		return nil
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	want := agent.Subscription{Type: agent.TypeSubscribe, Deltas: i%3 == 0}
	if i%3 == 1 {
		want.Panels = []string{"groups", "points"}
	}
	if i%7 == 0 {
		want.Filter = "id>" + strconv.Itoa(i%2)
	}
	if err := conn.WriteJSON(want); err != nil {
		return err
	}
	if stuck {
		s.connected.Add(1)
		// It says something now and then, or it would look dead.
		for {
			if conn.WriteJSON(want) != nil {
				return nil // it was cut off
			}
			select {
			case <-time.After(time.Second):
			case <-s.over:
				return nil
			}
		}
	}
	if _, _, err := conn.ReadMessage(); err != nil { // the configuration
		return err
	}
	var seq uint64
	for !s.isOver() {
		conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
		_, message, err := conn.ReadMessage()
		if err != nil {
			return fmt.Errorf("after %d frames: %w", seq, err)
		}
		s.bytes.Add(int64(len(message)))
		if i != 99 && i != 11 { // these two look closer
			seq++
			s.frames.Add(1)
			continue
		}
		var f agent.Frame
		if err := json.Unmarshal(message, &f); err != nil {
			return err
		}
		if seq++; f.Seq != seq || f.Type != agent.TypeFrame {
			return fmt.Errorf("frame %d after %d", f.Seq, seq-1)
		}
		s.frames.Add(1)
		s.lost.Store(int64(f.Lost))
		if f.Process != nil && f.Process.Missing == "" {
			s.note(f.Process.Cost)
		}
	}
	return nil
}

func (s *soak) note(c agent.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.most = max(s.mu.most, c.Clients); s.mu.most >= s.clients {
		s.mu.memory = append(s.mu.memory, c.Memory)
	}
	s.mu.cpu, s.mu.lost, s.mu.step = max(s.mu.cpu, c.CPU), c.LostFrames, max(s.mu.step, c.Step)
}

// peaks are the most memory of each quarter.
func (s *soak) peaks() (peaks [4]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.mu.memory {
		q := &peaks[4*i/len(s.mu.memory)]
		*q = max(*q, m)
	}
	return peaks
}

// check fails the test if the agent grew, or a client that reads was kept waiting for one that does not.
func (s *soak) check(t *testing.T, clients, stuck int, interval time.Duration) {
	t.Helper()
	peaks := s.peaks()
	each := float64(s.frames.Load()) / float64(clients-stuck)
	t.Logf("%d clients, %d of them stuck, for %v: %.0f frames and %d KB each; at most %d MB in the quarters %v, %.2f of a processor; stuck ones connected %d times; the agent counted %d lost frames",
		clients, stuck, s.took, each, s.bytes.Load()>>10/int64(clients-stuck), max(peaks[0], peaks[1], peaks[2], peaks[3])>>20, [4]uint64{peaks[0] >> 20, peaks[1] >> 20, peaks[2] >> 20, peaks[3] >> 20}, s.mu.cpu, s.connected.Load(), s.mu.lost)
	if !s.seen(clients, stuck, interval) {
		t.Errorf("at most %d clients at a time, and %.1f frames for each that reads; want all %d, and a tenth at least of the %.0f frames that are due in %v",
			s.mu.most, each, clients, s.took.Seconds()/interval.Seconds(), s.took)
	}
	if peaks[3] > peaks[1]+peaks[1]/4+16<<20 {
		t.Errorf("%d MB at most in the last quarter, %d in the second: it grows", peaks[3]>>20, peaks[1]>>20)
	}
}

// servePages serves an agent on a free port until standard input ends.
func servePages(t task) answer {
	a, err := agent.New(agent.Options{Dirs: []string{t.Of}, Interval: t.Until, MaxMemory: 200 << 20})
	must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() {
		if err := http.Serve(narrow{l}, a.Handler()); !errors.Is(err, net.ErrClosed) {
			must(err)
		}
	}()
	fmt.Printf("agent serves; pid %d at %s\n", os.Getpid(), l.Addr())
	io.Copy(io.Discard, os.Stdin)
	must(l.Close())
	must(a.Close())
	return nil
}

// narrow makes connections hold little, so that a client that does not read is felt.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(4<<10))
	}
	return c, err
}

func init() { tasks["serve-pages"] = servePages }

// The short form of [TestClientsSoak].
func TestAHundredClientsOfWhichTenAreStuck(t *testing.T) {
	const interval, d = 100 * time.Millisecond, 4 * time.Second
	s := hold(t, 100, 10, 1000, interval, d)
	s.check(t, 100, 10, interval)
}

// With [soakVariable] set, for as long as that says: 100 clients, ten of them stuck, for ten minutes without growth.
func TestClientsSoak(t *testing.T) {
	long, often, ok := strings.Cut(os.Getenv(soakVariable), "@")
	if long == "" {
		t.Skipf("%s is not set: the short form runs always", soakVariable)
	}
	d, err := time.ParseDuration(long)
	if err != nil {
		t.Fatal(err)
	}
	interval := time.Second
	if ok {
		if interval, err = time.ParseDuration(often); err != nil {
			t.Fatal(err)
		}
	}
	s := hold(t, 100, 10, 20_000, interval, d)
	s.check(t, 100, 10, interval)
	if d >= time.Minute && s.connected.Load() <= 10 {
		t.Errorf("stuck clients connected %d times: none was cut off", s.connected.Load())
	}
	if d >= time.Minute && s.mu.lost == 0 {
		t.Error("the agent counted no lost frames")
	}
}

// The short form of [BenchmarkFleet].
func TestAnAgentObservesABusyProcessBesideIdleOnes(t *testing.T) {
	// What is told is behind what is recorded, by as much at the end as at the beginning, or more.
	longer(t, time.Second, func(d time.Duration) error {
		f := followFleet(t, 50_000, 3, d)
		t.Logf("in %v: %.0f events a second told, %.0f lost, %.0f recorded; at most %.0f MB", d, f.events, f.lost, f.recorded, f.memory/1e6)
		if f.processes != 4 {
			t.Errorf("%v processes told their state, want 4", f.processes)
		}
		if f.memory > 400e6 {
			t.Errorf("%.0f MB of memory", f.memory/1e6)
		}
		if all := f.events + f.lost; f.events == 0 || all < f.recorded/2 || all > 2*f.recorded {
			return fmt.Errorf("%.0f events a second were told and %.0f lost, and %.0f recorded, in %v", f.events, f.lost, f.recorded, d)
		}
		return nil
	})
}
