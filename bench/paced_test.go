//go:build unix

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	pacedClients = 64 // each with a connection
	pacedRounds  = 24
	pacedFor     = 600 * time.Millisecond // to find out what a server answers at most, and again to pace it
	pacedShare   = 0.8                    // of what the server answers at most
	httpIdle     = 5_000
)

// idleRounds is for [BenchmarkIdleHTTP] what requestRounds is for [BenchmarkRequest].
var idleRounds = 0

// BenchmarkPaced reports, for each way to serve, the 99th percentile of the latency of requests
// that come at a steady pace: four fifths of those that the server answered at most right before.
// A request that is sent late, since the one before it on its connection is not answered yet, has
// waited since its time had come. The servers and their load have a processor each. The servers
// take turns, and the median of the rounds counts: what else the machine does comes in bursts.
func BenchmarkPaced(b *testing.B) {
	b.Run("load=80", func(b *testing.B) {
		p99, most := map[string]float64{}, map[string]float64{}
		for range b.N {
			a := askServers(b, requestKinds, "default", task{What: "paced", N: pacedRounds, Until: pacedFor}, "GOMAXPROCS=1")
			for i, kind := range requestKinds {
				p99[kind] += float64(a[2*i])
				most[kind] += float64(a[2*i+1])
			}
		}
		for _, kind := range requestKinds {
			b.ReportMetric(p99[kind]/float64(b.N), kind+"-p99-ns")
			b.ReportMetric(most[kind]/float64(b.N), kind+"-requests/s")
		}
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkIdleHTTP reports the memory that a server has for each connection which is kept alive after a
// request, for each way to serve.
func BenchmarkIdleHTTP(b *testing.B) {
	b.Run("conns="+strconv.Itoa(httpIdle), func(b *testing.B) {
		each := map[string]float64{}
		for range b.N {
			idleRounds++
			for i := range requestKinds {
				kind := requestKinds[(idleRounds+i)%len(requestKinds)]
				each[kind] += float64(askServer(b, kind, "default", task{What: "keep", N: httpIdle})[0]) / httpIdle
			}
		}
		for _, kind := range requestKinds {
			b.ReportMetric(each[kind]/float64(b.N), kind+"-B/conn")
		}
		b.ReportMetric(0, "ns/op")
	})
}

// A requester asks a server over a connection of its own, with as little work as can be.
type requester struct {
	net.Conn
	answer []byte // as long as each answer after the first
}

func newRequester(address string) (*requester, error) {
	c, err := net.Dial("tcp", address)
	return &requester{Conn: c}, err
}

var (
	tea = []byte("GET /plain/tea HTTP/1.1\r\nHost: shop\r\n\r\n")
	ok  = []byte("HTTP/1.1 200 OK\r\n")
)

// get asks for a price.
func (c *requester) get() error {
	if _, err := c.Write(tea); err != nil {
		return err
	}
	if c.answer == nil {
		return c.first()
	}
	if _, err := io.ReadFull(c.Conn, c.answer); err != nil {
		return err
	}
	if !bytes.HasPrefix(c.answer, ok) || c.answer[len(c.answer)-1] != '\n' {
		return fmt.Errorf("the answer is %q", c.answer)
	}
	return nil
}

// first reads the first answer, and learns how long they are.
func (c *requester) first() error {
	var all bytes.Buffer
	a, err := http.ReadResponse(bufio.NewReader(io.TeeReader(c.Conn, &all)), nil)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %v", a.Status, err)
	}
	c.answer = make([]byte, all.Len())
	return nil
}

// requesters has each of n requesters do f, all together.
func requesters(n int, address string, f func(i int, c *requester) error) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			c, err := newRequester(address)
			if err == nil {
				defer c.Close()
				err = f(i, c)
			}
			if err != nil {
				panic(err)
			}
		})
	}
	all.Wait()
}

// paced paces each server of t, t.N times in turn, and returns for each the median of the 99th percentiles and that
// of the requests that it answered in a second at most.
func paced(t task) answer {
	p99, most := make([][]int64, len(t.Addresses)), make([][]int64, len(t.Addresses))
	for round := range t.N {
		for i := range t.Addresses {
			i = (round + i) % len(t.Addresses)
			n := atMost(t.Addresses[i], t.Until)
			most[i] = append(most[i], n)
			p99[i] = append(p99[i], int64(atPace(t.Addresses[i], int(float64(n)*pacedShare), t.Until)))
		}
	}
	var a answer
	for i := range t.Addresses {
		slices.Sort(p99[i])
		slices.Sort(most[i])
		a = append(a, p99[i][t.N/2], most[i][t.N/2])
	}
	return a
}

// atMost asks for a time as fast as it is answered, and returns how many requests a second that are, after a third to warm up.
func atMost(address string, while time.Duration) int64 {
	var counted atomic.Int64
	began := time.Now()
	warm, end := began.Add(while/3), began.Add(while)
	requesters(pacedClients, address, func(_ int, c *requester) error {
		for {
			if err := c.get(); err != nil {
				return err
			}
			switch at := time.Now(); {
			case at.After(end):
				return nil
			case at.After(warm):
				counted.Add(1)
			}
		}
	})
	return int64(float64(counted.Load()) / end.Sub(warm).Seconds())
}

// atPace sends so many requests a second for a time, and returns the 99th percentile of the time from when each was
// due to its answer, after a third to warm up.
func atPace(address string, pace int, while time.Duration) time.Duration {
	var next atomic.Int64
	total := int64(float64(pace) * while.Seconds())
	latencies := make([]time.Duration, total)
	began := time.Now()
	requesters(pacedClients, address, func(_ int, c *requester) error {
		for {
			k := next.Add(1) - 1
			if k >= total {
				return nil
			}
			due := began.Add(time.Duration(k) * time.Second / time.Duration(pace))
			time.Sleep(time.Until(due))
			if err := c.get(); err != nil {
				return err
			}
			latencies[k] = time.Since(due)
		}
	})
	latencies = latencies[total/3:]
	slices.Sort(latencies)
	return latencies[len(latencies)*99/100]
}

// keep leaves n connections open after a request over each, and returns how much more memory the server has.
func keep(t task) answer {
	used := func() int64 {
		a, err := http.Get("http://" + t.Address + "/memory")
		if err != nil {
			panic(err)
		}
		defer a.Body.Close()
		var n int64
		if _, err := fmt.Fscan(a.Body, &n); err != nil {
			panic(err)
		}
		return n
	}
	requesters(pacedClients, t.Address, func(_ int, c *requester) error { // what the first requests make is not theirs
		for range 20 {
			if err := c.get(); err != nil {
				return err
			}
		}
		return nil
	})
	before := used()
	connections := make([]*requester, t.N)
	for i := range connections {
		c, err := newRequester(t.Address)
		if err == nil {
			err = c.get()
		}
		if err != nil {
			panic(err)
		}
		connections[i] = c
	}
	after := used()
	runtime.KeepAlive(connections)
	return answer{after - before}
}

func TestPacedLoadsAreAnswered(t *testing.T) {
	a := askServers(t, requestKinds, "default", task{What: "paced", N: 1, Until: 300 * time.Millisecond})
	for i, kind := range requestKinds {
		if p99, most := a[2*i], a[2*i+1]; p99 <= 0 || most <= 0 {
			t.Errorf("%s: got a percentile of %d ns, and at most %d requests a second", kind, p99, most)
		}
	}
	if used := askServer(t, "adopted", "default", task{What: "keep", N: 50})[0]; used <= 0 {
		t.Errorf("got %d bytes for connections that are kept", used)
	}
}
