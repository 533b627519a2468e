package vnet_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vnet"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestNoWakeUpIsLostBetweenTwoPollers(t *testing.T) {
	rounds := 30_000
	if long() {
		rounds = 1_000_000
	}
	for network := range networks(t) {
		c1, c2 := pair(t, network)
		var bounced atomic.Int64
		bounce := func(c net.Conn, first bool) func() {
			return func() {
				b := make([]byte, 1)
				for i := range rounds {
					if first || i > 0 {
						if _, err := c.Write(b); err != nil {
							t.Error(err)
							return
						}
					}
					if _, err := io.ReadFull(c, b); err != nil {
						t.Errorf("round %d: %v", i, err)
						return
					}
					bounced.Add(1)
				}
				if !first {
					c.Write(b)
				}
			}
		}
		done := make(chan struct{})
		a, b := vthread.Start(bounce(c1, true)), vthread.Start(bounce(c2, false))
		go func() { a.Join(); b.Join(); close(done) }()
		for seen, ended := int64(-1), false; !ended; {
			select {
			case <-done:
				ended = true
			case <-time.After(time.Minute):
				if now := bounced.Load(); now > seen {
					seen = now // it is on its way
					continue
				}
				c1.Close()
				c2.Close()
				<-done
				t.Fatalf("%s: the ball is lost after %d bounces", network, seen)
			}
		}
	}
}

// pollers has those of reading and writing take their descriptors, which they keep.
var pollers sync.Once

// descriptors returns how many the process has.
func descriptors(t *testing.T) int {
	t.Helper()
	pollers.Do(func() {
		for _, blocks := range []func(net.Conn){func(c net.Conn) { c.Read(make([]byte, 1)) }, func(c net.Conn) { c.Write(make([]byte, 100<<20)) }} {
			c, other, err := connect("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			th := vthread.Start(func() { blocks(c) })
			awaitWaits(t, th)
			c.Close()
			th.Join()
			other.Close()
		}
	})
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("descriptors cannot be counted: %v", err)
	}
	return len(all)
}

// settled waits until the process has no more descriptors than before.
func settled(t *testing.T, before int) {
	t.Helper()
	now := 0
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if now = descriptors(t); now <= before {
			return
		}
	}
	t.Errorf("%d descriptors are left, %d before", now, before)
}

func TestAFloodOfWakeUps(t *testing.T) {
	n := 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if room := (int(min(limit.Cur, 1<<20)) - 200) / 2; room < n {
		t.Logf("%d connections, for want of descriptors", room)
		n = room
	}
	before := descriptors(t)
	var ours, theirs []net.Conn
	for range n {
		a, b, err := socketPair()
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs = append(ours, a), append(theirs, b)
	}
	done := vsync.NewLatch(n)
	var right atomic.Int64
	threads := make([]*vthread.Thread, n)
	for i, c := range ours {
		threads[i] = vthread.Start(func() {
			defer done.Done()
			b := make([]byte, 1)
			if _, err := io.ReadFull(c, b); err == nil && b[0] == byte(i) {
				right.Add(1)
			}
			c.Close()
		})
	}
	awaitParked(t, threads...)
	for i, c := range theirs {
		if _, err := c.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
	if right.Load() != int64(n) {
		t.Errorf("%d of %d were woken with what was theirs", right.Load(), n)
	}
	for _, c := range theirs {
		c.Close()
	}
	settled(t, before)
}

// socketPair returns two ends, the first for threads.
func socketPair() (ours, theirs net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	var all [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		all[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	ours, err = vnet.Wrap(all[0])
	return ours, all[1], err
}

func TestADialIsInterruptedAtAnyPoint(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	before := descriptors(t)
	connected, interrupted := 0, 0
	for i := range 2000 {
		address := l.Addr().String()
		if i%2 == 1 {
			address = "localhost:" + port
		}
		var started sync.WaitGroup
		started.Add(1)
		var c net.Conn
		var err error
		still := false
		th := vthread.Start(func() {
			started.Done()
			c, err = vnet.Dial("tcp", address)
			still = vthread.Interrupted()
		})
		started.Wait()
		for range rand.IntN(20_000) {
		}
		th.Interrupt()
		th.Join()
		switch {
		case err == nil:
			connected++
			c.Close()
		case errors.Is(err, sched.ErrInterrupted):
			interrupted++
			if !still {
				t.Fatal("the interrupt status was cleared")
			}
		default:
			t.Fatalf("got %v", err)
		}
	}
	t.Logf("%d connected, %d interrupted", connected, interrupted)
	if interrupted == 0 {
		t.Error("none was interrupted")
	}
	settled(t, before)
}

func TestADialEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	d := vnet.Dialer{Dialer: net.Dialer{Resolver: resolver}}
	th := vthread.Start(func() {
		_, err := d.DialContext(ctx, "tcp", "nobody.test:80")
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "dial" {
			t.Errorf("got %v", err)
		}
	})
	awaitParked(t, th)
	if why := reason(t, th); why != flight.ReasonLookup {
		t.Errorf("it waits for %v", why)
	}
	cancel()
	th.Join()
}

// reason returns why a thread waits, by the flight file.
func reason(t *testing.T, th *vthread.Thread) (why flight.Reason) {
	t.Helper()
	r, err := flight.Default().Reader()
	if err != nil {
		t.Skipf("the recorder is off: %v", err)
	}
	if _, err := r.Threads(t.Context(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if row.ID == th.ID() {
				why = row.Reason
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return why
}

func TestThreadsTellWhatTheyWaitFor(t *testing.T) {
	l, err := vnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepting := vthread.Start(func() { l.Accept() })
	c1, _ := pair(t, "tcp")
	reading := vthread.Start(func() { c1.Read(make([]byte, 1)) })
	writing := vthread.Start(func() { c1.Write(make([]byte, 100<<20)) })
	awaitParked(t, accepting, reading, writing)
	for th, want := range map[*vthread.Thread]flight.Reason{accepting: flight.ReasonAccept, reading: flight.ReasonRead, writing: flight.ReasonWrite} {
		why := reason(t, th)
		for deadline := time.Now().Add(time.Minute); why == flight.ReasonNone && time.Now().Before(deadline); why = reason(t, th) {
			// The system may find room for some more of what is written.
		}
		if why != want {
			t.Errorf("%v: it waits for %v, want %v", th, why, want)
		}
	}
	l.Close()
	c1.Close()
	for _, th := range []*vthread.Thread{accepting, reading, writing} {
		th.Join()
	}
}

func TestAcceptWithoutDescriptorsIsEnded(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(l *vnet.Listener, th *vthread.Thread)
		want error
	}{
		{"close", func(l *vnet.Listener, _ *vthread.Thread) { l.Close() }, net.ErrClosed},
		{"deadline", func(l *vnet.Listener, _ *vthread.Thread) { l.SetDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		{"interrupt", func(_ *vnet.Listener, th *vthread.Thread) { th.Interrupt() }, sched.ErrInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			listening, err := vnet.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l := listening.(*vnet.Listener)
			defer l.Close()
			// The pollers have their descriptors already.
			l.SetDeadline(time.Now().Add(time.Millisecond))
			onThread(func() { l.Accept() })
			l.SetDeadline(time.Time{})
			to, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			give := exhaust(t)
			defer give()
			th := vthread.Start(func() { _, err = l.Accept() })
			for deadline := time.Now().Add(time.Minute); th.State() != flight.StateTimedParked; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%v does not wait", th)
				}
			}
			c.end(l, th)
			th.Join()
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// exhaust takes all descriptors that the process can have, until give.
func exhaust(t *testing.T) (give func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull) // the first that is free
	if err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = uint64(f.Fd())
	f.Close()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
}
