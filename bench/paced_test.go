//go:build unix

package bench

import (
	"bufio"
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
	pacedClients = 64              // each with a connection
	pacedFor     = 6 * time.Second // of which a third is to warm up
	pacedShare   = 0.8             // of what the server answers at most
	httpIdle     = 5_000
)

// pacedRounds and idleRounds are for these benchmarks what requestRounds is for [BenchmarkRequest].
var pacedRounds, idleRounds = 0, 0

// BenchmarkPaced reports, for each way to serve, the 99th percentile of the latency of requests that come at a
// steady pace, as many in a second as four fifths of those that a server of net/http answers at most. A request
// that is sent late, since there is no answer yet to the one before it on its connection, has waited since its time had come.
// The server and the load have a processor each.
func BenchmarkPaced(b *testing.B) {
	b.Run("load=80", func(b *testing.B) {
		p99 := map[string]float64{}
		for range b.N {
			pacedRounds++
			most := askServer(b, "goroutine", "default", task{What: "saturate", Until: pacedFor}, "GOMAXPROCS=1")[0]
			pace := int(float64(most) * pacedShare)
			for i := range requestKinds {
				kind := requestKinds[(pacedRounds+i)%len(requestKinds)]
				p99[kind] += float64(askServer(b, kind, "default", task{What: "paced", N: pace, Until: pacedFor}, "GOMAXPROCS=1")[0])
			}
		}
		for _, kind := range requestKinds {
			b.ReportMetric(p99[kind]/float64(b.N), kind+"-p99-ns")
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
	r *bufio.Reader
}

func newRequester(address string) (*requester, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &requester{c, bufio.NewReaderSize(c, 512)}, nil
}

var tea = []byte("GET /plain/tea HTTP/1.1\r\nHost: shop\r\n\r\n")

// get asks for a price.
func (c *requester) get() error {
	if _, err := c.Write(tea); err != nil {
		return err
	}
	a, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %v", a.Status, err)
	}
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

// saturate asks for t.Until as fast as it is answered, and returns how many requests a second that are, after a third to warm up.
func saturate(t task) answer {
	var counted atomic.Int64
	began := time.Now()
	warm, end := began.Add(t.Until/3), began.Add(t.Until)
	requesters(pacedClients, t.Address, func(_ int, c *requester) error {
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
	return answer{int64(float64(counted.Load()) / end.Sub(warm).Seconds())}
}

// paced sends t.N requests a second for t.Until, and returns the 99th percentile of the time from when each was
// due to its answer, after a third to warm up.
func paced(t task) answer {
	var next atomic.Int64
	total := int64(float64(t.N) * t.Until.Seconds())
	latencies := make([]time.Duration, total)
	began := time.Now()
	requesters(pacedClients, t.Address, func(_ int, c *requester) error {
		for {
			k := next.Add(1) - 1
			if k >= total {
				return nil
			}
			due := began.Add(time.Duration(k) * time.Second / time.Duration(t.N))
			time.Sleep(time.Until(due))
			if err := c.get(); err != nil {
				return err
			}
			latencies[k] = time.Since(due)
		}
	})
	latencies = latencies[total/3:]
	slices.Sort(latencies)
	return answer{int64(latencies[len(latencies)*99/100])}
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
	for _, kind := range requestKinds {
		if p99 := askServer(t, kind, "default", task{What: "paced", N: 200, Until: time.Second})[0]; p99 <= 0 {
			t.Errorf("%s: got a percentile of %d ns", kind, p99)
		}
	}
	if used := askServer(t, "adopted", "default", task{What: "keep", N: 50})[0]; used <= 0 {
		t.Errorf("got %d bytes for connections that are kept", used)
	}
}
