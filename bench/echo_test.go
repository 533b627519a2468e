//go:build unix

package bench

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vnet"
)

// echoed is how many bytes a request of [BenchmarkEcho] and its answer have.
const echoed = 64

// BenchmarkEcho sends 64 bytes over each of some connections and waits until they come back, again and again, all at a time, for two seconds. Who asks and who answers are
// a process each, since one may not have descriptors for both ends of 10,000 connections; each connection has a thread at both ends, or a goroutine. It reports the time for a request
// of all (so many are answered in a second), the CPU time of who asks, and the median and the 99th percentile of the time that each took.
func BenchmarkEcho(b *testing.B) {
	for _, conns := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) {
			needDescriptors(b, conns)
			eachImpl(b, "echo", func(b *testing.B, name string) {
				var sum [5]float64
				for range b.N {
					for i, v := range ask(b, task{What: name, Crowd: conns, Until: 2 * time.Second}) {
						sum[i] += float64(v)
					}
				}
				b.ReportMetric(sum[1]/sum[0], "ns/op")
				b.ReportMetric(1e9*sum[0]/sum[1], "requests/s")
				b.ReportMetric(sum[2]/sum[0], "cpu-ns/op")
				b.ReportMetric(sum[3]/float64(b.N), "p50-ns")
				b.ReportMetric(sum[4]/float64(b.N), "p99-ns")
			})
		})
	}
}

// BenchmarkIdleConnections reports how much of a processor a process uses that has connections, each with a thread or a goroutine that waits in a read, and none.
func BenchmarkIdleConnections(b *testing.B) {
	const watched = 2 * time.Second
	for _, conns := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) {
			needDescriptors(b, conns)
			eachImpl(b, "idle-echo", func(b *testing.B, name string) {
				sum := 0.0
				for range b.N {
					sum += float64(ask(b, task{What: name, Crowd: conns, Until: watched})[0])
				}
				b.ReportMetric(100*sum/float64(b.N)/float64(watched), "%CPU")
				b.ReportMetric(0, "ns/op") // nothing is done
			})
		})
	}
}

// needDescriptors skips the benchmark if a process may not have so many connections. (Go has raised the limit as far as it may.)
func needDescriptors(b *testing.B, conns int) {
	b.Helper()
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		b.Fatal(err)
	}
	if need := conns + 100; l.Cur < uint64(need) {
		b.Skipf("%d connections need %d descriptors, and a process may have %d: see ulimit -n", conns, need, l.Cur)
	}
}

// An echoer is who asks and answers.
type echoer struct {
	listen func(network, address string) (net.Listener, error)
	dial   func(network, address string) (net.Conn, error)
	start  func(f func())
}

var (
	echoThreads    = echoer{vnet.Listen, vnet.Dial, startThread}
	echoGoroutines = echoer{net.Listen, net.Dial, startGoroutine}
)

func init() {
	for name, e := range map[string]echoer{"threads": echoThreads, "goroutines": echoGoroutines} {
		server := "serve-echo-" + name
		tasks[server] = e.serve
		tasks["echo-"+name] = func(t task) answer { return e.ask(t, server) }
		tasks["idle-echo-"+name] = func(t task) answer { return e.idle(t, server) }
	}
}

// serve answers whoever connects, until the standard input ends.
func (e echoer) serve(task) answer {
	l, err := e.listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	e.start(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.start(func() {
				defer c.Close()
				buf := make([]byte, echoed)
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
	fmt.Printf("serving %s; pid %d\n", l.Addr(), os.Getpid())
	io.Copy(io.Discard, os.Stdin)
	if err := flight.Close(); err != nil {
		panic(err)
	}
	os.Exit(0) // the connections end with it
	return nil
}

// connect starts a server in a process of its own and makes connections to it. No more than a few are made at a time: a listener's queue may be short.
func (e echoer) connect(conns int, server string) (*program, []net.Conn) {
	p, err := startProgram("serving", selfAs(task{What: server}))
	if err != nil {
		panic(err)
	}
	address := addressInLine.FindStringSubmatch(p.line)[1]
	all := make([]net.Conn, conns)
	var next atomic.Int64
	var dialled sync.WaitGroup
	for range 32 {
		dialled.Add(1)
		e.start(func() {
			defer dialled.Done()
			for i := int(next.Add(1)) - 1; i < conns; i = int(next.Add(1)) - 1 {
				c, err := e.dial("tcp", address)
				if err != nil {
					panic(err)
				}
				all[i] = c
			}
		})
	}
	dialled.Wait()
	return p, all
}

// ask sends requests until each connection has been answered and for a quarter of the time to warm up, and then for the time, or longer if none was answered in it. It returns how many were answered, in which time,
// the CPU time of the process, and of the time of each the median and the 99th percentile.
func (e echoer) ask(t task, server string) answer {
	p, all := e.connect(t.Crowd, server)
	const (
		warming = iota
		measuring
		ending
	)
	var phase atomic.Int32
	var answered atomic.Bool // while it is measured
	took := make([][]int64, t.Crowd)
	var warm, ended sync.WaitGroup
	warm.Add(t.Crowd)
	ended.Add(t.Crowd)
	for i, c := range all {
		e.start(func() {
			defer ended.Done()
			request, reply := make([]byte, echoed), make([]byte, echoed)
			for n := 0; ; n++ {
				request[n%echoed]++
				began := time.Now()
				if _, err := c.Write(request); err != nil {
					panic(err)
				}
				if _, err := io.ReadFull(c, reply); err != nil {
					panic(err)
				}
				d := time.Since(began)
				if n == 0 {
					warm.Done()
				}
				switch phase.Load() {
				case measuring:
					if took[i] == nil {
						answered.Store(true)
					}
					took[i] = append(took[i], int64(d))
				case ending:
					return
				}
				if reply[n%echoed] != request[n%echoed] {
					panic(fmt.Sprintf("sent %v, got %v", request, reply))
				}
			}
		})
	}
	warm.Wait() // else stacks that grow would be measured
	time.Sleep(t.Until / 4)
	began := time.Now()
	phase.Store(measuring)
	used := cpuOf(func() {
		for time.Sleep(t.Until); !answered.Load() && time.Since(began) < time.Minute; time.Sleep(t.Until) {
		}
	})
	phase.Store(ending)
	d := time.Since(began)
	ended.Wait()
	closeAll(p, all)
	each := slices.Concat(took...)
	if len(each) == 0 {
		panic(fmt.Sprintf("no request of %d connections was answered in %v", t.Crowd, d))
	}
	slices.Sort(each)
	return answer{int64(len(each)), int64(d), int64(used), each[len(each)/2], each[len(each)*99/100]}
}

// idle returns the CPU time that the process uses while each of its connections waits in a read.
func (e echoer) idle(t task, server string) answer {
	p, all := e.connect(t.Crowd, server)
	var asked, ended sync.WaitGroup
	for _, c := range all {
		asked.Add(1)
		ended.Add(1)
		e.start(func() {
			defer ended.Done()
			buf := make([]byte, echoed)
			if _, err := c.Write(buf); err != nil {
				panic(err)
			}
			if _, err := io.ReadFull(c, buf); err != nil {
				panic(err)
			}
			asked.Done()
			if _, err := c.Read(buf); err == nil {
				panic("an answer that nobody asked for")
			}
		})
	}
	asked.Wait()
	used := idle(t, func(int) {})
	closeAll(p, all)
	ended.Wait()
	return used
}

// closeAll closes the connections at once, so that none waits a minute in the system, and ends the server.
func closeAll(p *program, all []net.Conn) {
	for _, c := range all {
		if err := c.(interface{ SetLinger(int) error }).SetLinger(0); err != nil {
			panic(err)
		}
		c.Close()
	}
	if err := p.end(); err != nil {
		panic(err)
	}
}
