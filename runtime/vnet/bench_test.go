package vnet_test

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vnet"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A side is who serves and who asks.
type side struct {
	name   string
	listen func(network, address string) (net.Listener, error)
	dial   func(network, address string) (net.Conn, error)
	start  func(f func())
}

var sides = []side{
	{"goroutines", net.Listen, net.Dial, func(f func()) { go f() }},
	{"threads", vnet.Listen, vnet.Dial, func(f func()) { vthread.Start(f) }},
}

// BenchmarkEcho sends 64 bytes over each of some connections and waits for them, again and again, all at a time; server and client are in one process.
func BenchmarkEcho(b *testing.B) {
	for _, conns := range []int{100, 1000, 10_000} {
		for _, s := range sides {
			b.Run(fmt.Sprintf("conns=%d/by=%s", conns, s.name), func(b *testing.B) { echo(b, s, conns) })
		}
	}
}

func echo(b *testing.B, s side, conns int) {
	l, err := s.listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	s.start(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.start(func() {
				defer c.Close()
				buf := make([]byte, 64)
				for {
					if _, err := io.ReadFull(c, buf); err != nil {
						return
					}
					if _, err := c.Write(buf); err != nil {
						return
					}
				}
			})
		}
	})
	all := make([]net.Conn, conns)
	for i := range all {
		if all[i], err = s.dial("tcp", l.Addr().String()); err != nil {
			b.Fatal(err)
		}
		defer all[i].Close()
	}
	var mu sync.Mutex
	var times []time.Duration
	done := vsync.NewLatch(conns)
	each := max(b.N/conns, 1)
	b.ResetTimer()
	for _, c := range all {
		s.start(func() {
			defer done.Done()
			buf := make([]byte, 64)
			own := make([]time.Duration, 0, each)
			for range each {
				began := time.Now()
				if _, err := c.Write(buf); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Error(err)
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			times = append(times, own...)
			mu.Unlock()
		})
	}
	done.Wait()
	b.StopTimer()
	slices.SortFunc(times, cmp.Compare[time.Duration])
	b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(0, "ns/op")
}
