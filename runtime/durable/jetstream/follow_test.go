package jetstream_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

// serverDir is the variable that makes this a server with its files there, until its standard input ends.
const serverDir = "VTSCOPE_TEST_SERVER"

func serveForBenchmark(dir string) {
	s, err := jetstream.NewServer(jetstream.ServerOptions{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Close()
}

// serverElsewhere starts a server in a process of its own, so that its memory is not that of the keeper which is measured.
func serverElsewhere(b *testing.B) (url string) {
	dir, err := os.MkdirTemp("/dev/shm", "follow-")
	if err != nil {
		dir = b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), serverDir+"="+dir)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// counted are connections whose bytes that came are counted.
type counted struct{ in atomic.Int64 }

func (c *counted) Dial(network, address string) (net.Conn, error) {
	conn, err := net.Dial(network, address)
	return countedConn{conn, c}, err
}

type countedConn struct {
	net.Conn
	of *counted
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.of.in.Add(int64(n))
	return n, err
}

// BenchmarkFollow tells what it costs a keeper to follow the heads of all trees, of which others have all: an iteration is a message of one of them (taken, a step, given back, and so on).
// B/tree is memory that is in use when all are known, begin-B/tree and begin-ms what it took to know them, wire-B/op what comes by the network for a change of another.
//
//	go test -C runtime/durable/jetstream -run '^$' -bench Follow -benchtime 30000x .
func BenchmarkFollow(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint("trees=", n), func(b *testing.B) {
			url := serverElsewhere(b)
			other, err := jetstream.Open(within(b), jetstream.Options{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer other.Close()
			if err := other.FillForTest(within(b), "t", n); err != nil {
				b.Fatal(err)
			}
			wire := &counted{}
			s, err := jetstream.Open(within(b), jetstream.Options{URL: url, Room: -1, Connect: []nats.Option{nats.SetCustomDialer(wire)}})
			if err != nil {
				b.Fatal(err)
			}
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			memory := heap()
			began := time.Now()
			k, err := durable.Open(durable.KeeperOptions{Registry: durable.NewRegistry(), Store: s})
			if err != nil {
				b.Fatal(err)
			}
			defer k.Close()
			until(b, "all are known", func() bool { return s.Stats().Known == n })
			begin := time.Since(began)
			first := wire.in.Load()
			used := int64(heap() - memory)

			last, err := other.LastForTest(within(b))
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			if err := other.ChangeForTest(within(b), "t", n, 0, b.N); err != nil {
				b.Fatal(err)
			}
			changed := fmt.Sprint("t", (b.N-1)/3%n)
			until(b, "all changes are known", func() bool { return s.SeenForTest(changed) >= last+uint64(b.N) })
			b.StopTimer()
			b.ReportMetric(float64(used)/float64(n), "B/tree")
			b.ReportMetric(float64(first)/float64(n), "begin-B/tree")
			b.ReportMetric(float64(begin.Milliseconds()), "begin-ms")
			b.ReportMetric(float64(wire.in.Load()-first)/float64(b.N), "wire-B/op")
		})
	}
}
