//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package poll_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Two of each kind, so that threads are woken by different ones.
func TestMain(m *testing.M) {
	if err := poll.Configure(poll.Options{ReadPollers: 2, WritePollers: 2}); err != nil {
		panic(err)
	}
	leaktest.Main(m)
}

var (
	errInterrupted = errors.New("the test's: interrupted")
	errClosed      = errors.New("the test's: closed")
)

// An end is one of a pair of sockets, or of a pipe.
type end struct {
	f     *os.File
	at    poll.Descriptor
	tries atomic.Int64
}

func (e *end) Try(fd int, dir poll.Direction, b []byte) (int, error) {
	e.tries.Add(1)
	if dir == poll.Writing {
		return unix.Write(fd, b)
	}
	return unix.Read(fd, b)
}

func (e *end) Spec() flight.BlockerSpec { return flight.BlockerSpec{Name: e.f.Name()} }
func (e *end) Name() string             { return e.f.Name() }
func (e *end) Close() error             { return e.at.Close(e.f.Close) }

func (e *end) read(b []byte) (int, error) {
	return e.at.Do(sched.Current(), poll.Reading, flight.ReasonRead, b, nil)
}

func (e *end) write(b []byte) (int, error) {
	return e.at.Do(sched.Current(), poll.Writing, flight.ReasonWrite, b, nil)
}

// deadline sets one as owners do: package os knows it first.
func (e *end) deadline(t testing.TB, dir poll.Direction, to time.Time) {
	t.Helper()
	set := e.f.SetReadDeadline
	if dir == poll.Writing {
		set = e.f.SetWriteDeadline
	}
	if err := set(to); err != nil {
		t.Error(err)
	}
	e.at.SetDeadline(dir, to)
}

func pair(t testing.TB) (a, b *end) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	return newEnd(t, fds[0]), newEnd(t, fds[1])
}

func newEnd(t testing.TB, fd int) *end {
	t.Helper()
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	e := &end{f: os.NewFile(uintptr(fd), "end")}
	raw, err := e.f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	e.at.Init(raw, e, poll.Kind{Interrupted: errInterrupted, Closed: errClosed})
	t.Cleanup(func() { e.Close() })
	return e
}

// full fills what e can write.
func full(t testing.TB, e *end) (n int) {
	t.Helper()
	raw, err := e.f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	if err := raw.Control(func(fd uintptr) {
		for m := 0; err == nil; n += m {
			m, err = unix.Write(int(fd), b)
			m = max(m, 0)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err != unix.EAGAIN {
		t.Fatal(err)
	}
	return n
}

func awaitParked(t testing.TB, threads ...*vthread.Thread) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		waiting := 0
		for _, th := range threads {
			switch th.State() {
			case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting:
				waiting++
			}
		}
		switch {
		case waiting == len(threads):
			return
		case time.Now().After(deadline):
			t.Fatalf("%d of %d threads wait", waiting, len(threads))
		}
	}
}

func join(t testing.TB, threads ...*vthread.Thread) {
	t.Helper()
	for _, th := range threads {
		if err := th.Join(); err != nil {
			t.Error(err)
		}
	}
}

// ends are what ends a wait without data, and the error that it ends with.
var ends = []struct {
	name string
	end  func(t testing.TB, e *end, dir poll.Direction, th *vthread.Thread)
	want error
}{
	{"close", func(_ testing.TB, e *end, _ poll.Direction, _ *vthread.Thread) { e.Close() }, errClosed},
	{"interrupt", func(_ testing.TB, _ *end, _ poll.Direction, th *vthread.Thread) { th.Interrupt() }, errInterrupted},
	{"deadline", func(t testing.TB, e *end, dir poll.Direction, _ *vthread.Thread) { e.deadline(t, dir, time.Now()) }, os.ErrDeadlineExceeded},
	{"later deadline", func(t testing.TB, e *end, dir poll.Direction, _ *vthread.Thread) {
		e.deadline(t, dir, time.Now().Add(time.Hour))
		e.deadline(t, dir, time.Now().Add(time.Millisecond))
	}, os.ErrDeadlineExceeded},
}

func TestWhatEndsAWait(t *testing.T) {
	for _, c := range ends {
		for _, dir := range []poll.Direction{poll.Reading, poll.Writing} {
			t.Run(c.name+map[poll.Direction]string{poll.Reading: "/read", poll.Writing: "/write"}[dir], func(t *testing.T) {
				e, _ := pair(t)
				call := e.read
				if dir == poll.Writing {
					call = e.write
					full(t, e)
				}
				var err error
				interrupted := false
				th := vthread.Start(func() {
					_, err = call(make([]byte, 1))
					interrupted = vthread.Interrupted()
				})
				awaitParked(t, th)
				c.end(t, e, dir, th)
				join(t, th)
				if err != c.want {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if want := c.name == "interrupt"; interrupted != want || e.at.Closed() != (want || c.name == "close") {
					t.Errorf("the interrupt status is %v and the descriptor closed %v", interrupted, e.at.Closed())
				}
			})
		}
	}
}

func TestAnEarlierDeadlineEndsTheFirstTryAndAnEndOfItLetsTheNextOne(t *testing.T) {
	e, other := pair(t)
	if _, err := other.f.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	e.deadline(t, poll.Reading, time.Now().Add(-time.Second))
	join(t, vthread.Start(func() {
		if n, err := e.read(make([]byte, 1)); n != 0 || err != os.ErrDeadlineExceeded {
			t.Errorf("after the deadline: got %d, %v", n, err)
		}
		if n, err := e.write([]byte("y")); n != 1 || err != nil {
			t.Errorf("the other direction: got %d, %v", n, err)
		}
	}))
	e.deadline(t, poll.Reading, time.Time{})
	if d := e.at.Deadline(poll.Reading); d != 0 {
		t.Errorf("the deadline is %v, want none", d)
	}
	join(t, vthread.Start(func() {
		if n, err := e.read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("without one: got %d, %v", n, err)
		}
	}))
}

// TestOneOfASideWaits is D1: who comes second is behind the lock, and gets the second byte.
func TestOneOfASideWaits(t *testing.T) {
	e, other := pair(t)
	got := make([]byte, 2)
	var threads []*vthread.Thread
	for i := range got {
		threads = append(threads, vthread.Start(func() {
			if n, err := e.read(got[i : i+1]); n != 1 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		}))
		awaitParked(t, threads...)
	}
	if tries := e.tries.Load(); tries != 1 {
		t.Errorf("%d tries, want that of the first", tries)
	}
	for _, b := range []string{"1", "2"} {
		if _, err := other.f.WriteString(b); err != nil {
			t.Fatal(err)
		}
	}
	join(t, threads...)
	if string(got) != "12" {
		t.Errorf("got %q, want %q", got, "12")
	}
}

func TestAWriteGoesOnWithAReader(t *testing.T) {
	e, other := pair(t)
	before := full(t, e)
	th := vthread.Start(func() {
		if n, err := e.write([]byte("end")); n != 3 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
	awaitParked(t, th)
	all := make([]byte, before+3)
	join(t, vthread.Start(func() {
		for n := 0; n < len(all); {
			m, err := other.read(all[n:])
			if n += m; err != nil {
				t.Errorf("after %d of %d: %v", n, len(all), err)
				return
			}
		}
	}), th)
	if !bytes.HasSuffix(all, []byte("end")) {
		t.Errorf("got %q at the end", all[before:])
	}
}

// A mark that came with the registration, or before the thread waited, costs a try more.
func TestAWaitWithoutAChangeTriesOnce(t *testing.T) {
	e, other := pair(t)
	const rounds = 100
	for i := range rounds {
		th := vthread.Start(func() {
			if n, err := e.read(make([]byte, 1)); n != 1 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		})
		awaitParked(t, th)
		if i == rounds/2 {
			time.Sleep(20 * time.Millisecond) // if it spun, it would be seen
		}
		if _, err := other.f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		join(t, th)
	}
	if tries := e.tries.Load(); tries < 2*rounds || tries > 4*rounds {
		t.Errorf("%d tries for %d waits, want two each", tries, rounds)
	}
}

// TestNumbersAreUsedAgain is D4: what a poller says of a descriptor that was closed is not taken for one of its successor, and that is watched, too.
func TestNumbersAreUsedAgain(t *testing.T) {
	for i := range 500 {
		a, b := pair(t)
		th := vthread.Start(func() {
			if n, err := a.read(make([]byte, 1)); n != 1 || err != nil {
				t.Errorf("round %d: got %d, %v", i, n, err)
			}
		})
		if i%2 == 0 {
			awaitParked(t, th)
		}
		join(t, vthread.Start(func() {
			if _, err := b.write([]byte("x")); err != nil {
				t.Errorf("round %d: %v", i, err)
			}
		}), th)
		if i%3 == 0 { // it is ready when it is closed
			b.f.Write([]byte("y"))
		}
		a.Close()
		b.Close()
	}
}

// TestNothingIsLostBetweenTwoPollers is D3 and Y2: the threads at the two ends are woken by two pollers.
func TestNothingIsLostBetweenTwoPollers(t *testing.T) {
	a, b := pair(t)
	ball := func(e *end, first bool) func(round int) error {
		b := make([]byte, 1)
		return func(round int) error {
			if first {
				b[0] = byte(round)
				if _, err := e.write(b); err != nil {
					return err
				}
			}
			if _, err := e.read(b); err != nil || b[0] != byte(round) {
				return fmt.Errorf("got %d, %w", b[0], err)
			}
			if !first {
				_, err := e.write(b)
				return err
			}
			return nil
		}
	}
	play(t, []*end{a, b}, ball(a, true), ball(b, false))
}

func rounds() int {
	if os.Getenv("VTSCOPE_NIGHTLY") != "" {
		return 1_000_000
	}
	return 30_000
}

// play calls each of the functions once a round, on a thread each, and closes the ends when it takes too long.
func play(t *testing.T, ends []*end, each ...func(round int) error) {
	t.Helper()
	var threads []*vthread.Thread
	for who, f := range each {
		threads = append(threads, vthread.Start(func() {
			for round := range rounds() {
				if err := f(round); err != nil {
					t.Errorf("%d, round %d: %v", who, round, err)
					for _, e := range ends {
						e.Close()
					}
					return
				}
			}
		}))
	}
	done := make(chan struct{})
	go func() { join(t, threads...); close(done) }()
	select {
	case <-done:
	case <-time.After(5*time.Minute + time.Duration(rounds())*100*time.Microsecond):
		t.Error("the ball is lost")
		for _, e := range ends {
			e.Close()
		}
		<-done
	}
}
