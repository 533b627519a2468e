package vfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vfile"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func fifo(t testing.TB) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestBothSidesOfAFIFO(t *testing.T) {
	want := pattern(1 << 20)
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		name := fifo(t)
		reader := vthread.Start(func() {
			if got, err := vfile.ReadFile(name); !bytes.Equal(got, want) || err != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
		awaitParked(t, reader)
		onThread(func() {
			f, err := vfile.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			if n, err := f.Write(want); n != len(want) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			f.Close()
		})
		if err := reader.Join(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnInterruptEndsTheOpeningOfAFIFO(t *testing.T) {
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY} {
			name := fifo(t)
			var err error
			th := vthread.Start(func() {
				_, err = vfile.OpenFile(name, flag, 0)
				if !vthread.Interrupted() {
					t.Error("the interrupt status is clear, want it set")
				}
			})
			// One that the kernel has begun, and not only one that waits to be given to it.
			awaitParked(t, th)
			for range 100 {
				runtime.Gosched()
			}
			if err := th.Interrupt(); err != nil {
				t.Fatal(err)
			}
			if err := th.Join(); err != nil || !errors.Is(err, nil) {
				t.Fatal(err)
			}
			var path *os.PathError
			if !errors.Is(err, sched.ErrInterrupted) || !errors.As(err, &path) || path.Path != name {
				t.Errorf("got %v, want %v", err, sched.ErrInterrupted)
			}
		}
	})
}

// Whether it is a FIFO must be found out first, by a helper. A thread that is interrupted before there was one
// must not open what may wait without end.
func TestAnInterruptEndsAnOpeningThatWaitsForAHelper(t *testing.T) {
	vfile.Use(t, vfile.Options{Way: vfile.Helpers, Helpers: 1})
	free := vfile.Occupy()
	name := fifo(t)
	var err error
	th := vthread.Start(func() { _, err = vfile.Open(name) })
	awaitParked(t, th)
	if err := th.Interrupt(); err != nil {
		t.Fatal(err)
	}
	free()
	if err := th.Join(); err != nil {
		t.Fatal(err)
	}
	var path *os.PathError
	if !errors.Is(err, sched.ErrInterrupted) || !errors.As(err, &path) || path.Op != "open" || path.Path != name {
		t.Errorf("got %v, want %v", err, sched.ErrInterrupted)
	}
}

func TestAnEarlierInterruptEndsTheOpeningOfAFIFOAndOfNothingElse(t *testing.T) {
	file := write(t, pattern(10))
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		name := fifo(t)
		onThread(func() {
			_ = vthread.Current().Interrupt()
			if _, err := vfile.Open(name); !errors.Is(err, sched.ErrInterrupted) {
				t.Errorf("got %v, want %v", err, sched.ErrInterrupted)
			}
			if b, err := vfile.ReadFile(file); len(b) != 10 || err != nil {
				t.Errorf("a file: got %d bytes, %v", len(b), err)
			}
			if !vthread.Interrupted() {
				t.Error("the interrupt status is clear, want it set")
			}
		})
	})
}

func TestFIFOsThatWaitDoNotStopOthers(t *testing.T) {
	file := write(t, pattern(1<<16))
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		const fifos = 8
		var all []*vthread.Thread
		for range fifos {
			name := fifo(t)
			th := vthread.Start(func() { vfile.Open(name) })
			awaitParked(t, th)
			all = append(all, th)
		}
		onThread(func() {
			if b, err := vfile.ReadFile(file); len(b) != 1<<16 || err != nil {
				t.Errorf("got %d bytes, %v", len(b), err)
			}
		})
		for _, th := range all {
			if err := th.Interrupt(); err != nil {
				t.Error(err)
			}
			if err := th.Join(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestReadsOfWhatIsNotInMemory reads around the page cache: the kernel completes such reads later, and not while it is entered.
func TestReadsOfWhatIsNotInMemory(t *testing.T) {
	want := pattern(4 << 20)
	name := write(t, want)
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		f, err := vfile.OpenFile(name, os.O_RDONLY|unix.O_DIRECT, 0)
		if err != nil {
			t.Skipf("the file system reads through memory only: %v", err)
		}
		defer f.Close()
		const threads = 500
		done := vsync.NewLatch(threads)
		for i := range threads {
			vthread.Start(func() {
				defer done.Done()
				b := aligned(4096)
				off := int64(i) * 4096
				if n, err := f.ReadAt(b, off); n != len(b) || err != nil || !bytes.Equal(b, want[off:off+4096]) {
					t.Errorf("got %d, %v", n, err)
				}
			})
		}
		done.Wait()
	})
}

// TestTheEndOfAnOSThreadDoesNotEndItsOperations: the kernel cancels what an OS thread has submitted when that ends, and a helper makes it then. If the kernel comes
// too early, before its worker waits, it does not: then the OS thread's end waits for the operation (io_wq_put_and_exit).
func TestTheEndOfAnOSThreadDoesNotEndItsOperations(t *testing.T) {
	vfile.Use(t, vfile.Options{Way: vfile.Ring})
	name := fifo(t)
	var th *vthread.Thread
	var line []byte
	vfile.SubmitOnAThreadThatEnds(t, func() {
		th = vthread.Start(func() {
			f, err := vfile.Open(name) // it waits for the other side
			if err != nil {
				t.Errorf("got %v", err)
				return
			}
			defer f.Close()
			if line, err = io.ReadAll(f); err != nil {
				t.Error(err)
			}
		})
	})
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ring, helpers := vfile.Executed(); ring == 1 && helpers == 1 {
			t.Log("a helper makes it")
			break
		}
	}
	w, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("arrived"); err != nil {
		t.Error(err)
	}
	w.Close()
	if err := th.Join(); err != nil || string(line) != "arrived" {
		t.Errorf("got %q, %v", line, err)
	}
}

func aligned(n int) []byte {
	b := make([]byte, n+4096)
	for i := range b {
		if addressOf(b[i:])%4096 == 0 {
			return b[i : i+n]
		}
	}
	return nil
}

func TestADumpTellsWhatAFileIsWaitedFor(t *testing.T) {
	reader, err := flight.Default().Reader()
	if err != nil {
		t.Skipf("the recorder is off: %v", err)
	}
	row := func(t *testing.T, th *vthread.Thread) (found flight.ThreadRow) {
		if _, err := reader.Threads(t.Context(), func(rows []flight.ThreadRow) {
			for _, row := range rows {
				if row.ID == th.ID() {
					found = row
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	pollers := func(t *testing.T) map[flight.PollerKind]flight.PollerRow {
		rows, err := reader.Pollers()
		if err != nil {
			t.Fatal(err)
		}
		numbers := map[uint16]bool{}
		last := map[flight.PollerKind]flight.PollerRow{}
		for _, row := range rows {
			if numbers[row.Number] {
				t.Errorf("two pollers have number %d", row.Number)
			}
			numbers[row.Number] = true
			if row.Number > last[row.Kind].Number {
				last[row.Kind] = row
			}
		}
		return last
	}
	eachWay(t, func(t *testing.T, o vfile.Options) {
		name := fifo(t)
		th := vthread.Start(func() {
			f, err := vfile.Open(name)
			if err == nil {
				f.Read(make([]byte, 1))
				f.Close()
			}
		})
		awaitParked(t, th)
		if got := row(t, th).Reason; got != flight.ReasonFile {
			t.Errorf("while it opens: reason %v, want %v", got, flight.ReasonFile)
		}
		kind := flight.PollerHelpers
		if o.Way == vfile.Ring {
			kind = flight.PollerRing
		}
		t.Cleanup(func() { // who still opens it goes on, also when the test has failed
			if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
				f.Close()
			}
		})
		watched := func() uint64 {
			rows := pollers(t)
			if kind == flight.PollerRing { // a helper makes what the kernel cancels with the OS thread that has submitted it
				return rows[kind].Watched + rows[flight.PollerHelpers].Watched
			}
			return rows[kind].Watched
		}
		for deadline := time.Now().Add(time.Minute); watched() != 1; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("got %+v, want one operation under way", pollers(t))
			}
		}
		w, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); row(t, th).Reason != flight.ReasonRead; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("while it reads: reason %v, want %v", row(t, th).Reason, flight.ReasonRead)
			}
		}
		blockers, err := reader.Blockers()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, b := range blockers {
			found = found || b.Blocker == row(t, th).Blocker && b.Name == name && b.Pollers[0] != 0
		}
		if !found {
			t.Errorf("got no blocker %v with the name %s: %+v", row(t, th).Blocker, name, blockers)
		}
		w.Close()
		if err := th.Join(); err != nil {
			t.Error(err)
		}
		before := pollers(t)[kind].Ready
		file := write(t, pattern(4096))
		onThread(func() {
			f, err := vfile.OpenFile(file, os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if _, err := f.Write(make([]byte, 10)); err != nil {
				t.Error(err)
			}
			blockers, err := reader.Blockers()
			if err != nil {
				t.Error(err)
			}
			found := false
			for _, b := range blockers {
				found = found || b.Name == file && b.Pollers[0] == pollers(t)[kind].Number
			}
			if !found {
				t.Errorf("got no blocker with the name %s", file)
			}
		})
		if after := pollers(t)[kind].Ready; after == before {
			t.Errorf("the poller has completed %d operations, before a write and after it", after)
		}
		blockers, err = reader.Blockers()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blockers {
			if b.Name == file {
				t.Errorf("got a blocker of %s after it was closed", file)
			}
		}
	})
}

// descriptors are those that are open.
func descriptors(t testing.TB) (all []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			all = append(all, to)
		}
	}
	return all
}

func TestNoDescriptorsAreLeftOpen(t *testing.T) {
	work := func(t *testing.T, o vfile.Options) {
		vfile.Use(t, o)
		name := write(t, pattern(1<<16))
		for range 20 {
			named := fifo(t) // each its own: what releases one that is given up may release the next
			r, w := pipe(t)
			th := vthread.Start(func() { r.Read(make([]byte, 1)) })
			opening := vthread.Start(func() { vfile.Open(named) })
			awaitParked(t, th)
			awaitParked(t, opening)
			if err := errors.Join(th.Interrupt(), opening.Interrupt(), th.Join(), opening.Join(), w.Close()); err != nil {
				t.Error(err)
			}
			onThread(func() {
				if _, err := vfile.ReadFile(name); err != nil {
					t.Error(err)
				}
			})
		}
	}
	t.Run("first", func(t *testing.T) { work(t, vfile.Options{}) }) // the pollers open theirs
	before := descriptors(t)
	for name, o := range ways {
		t.Run(name, func(t *testing.T) { work(t, o) })
	}
	var after []string
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if after = descriptors(t); len(after) <= len(before) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors are open, were %d:\n%s", len(after), len(before), strings.Join(after, "\n"))
		}
	}
}

func TestATerminalParks(t *testing.T) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no terminal can be made: %v", err)
	}
	keys := os.NewFile(uintptr(fd), "ptmx")
	defer keys.Close()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	for _, inherited := range []bool{false, true} {
		tty, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Skipf("the terminal cannot be opened: %v", err)
		}
		f := vfile.Wrap(os.NewFile(uintptr(tty), "tty"))
		if !inherited {
			f.Close()
			onThread(func() {
				if f, err = vfile.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
					t.Error(err)
				}
			})
		}
		var line string
		th := vthread.Start(func() {
			b := make([]byte, 100)
			n, err := f.Read(b)
			if err != nil {
				t.Error(err)
			}
			line = string(b[:n])
			if _, err := io.WriteString(f, "seen"); err != nil {
				t.Error(err)
			}
		})
		awaitParked(t, th)
		if _, err := keys.WriteString("typed\n"); err != nil {
			t.Fatal(err)
		}
		if err := th.Join(); err != nil || line != "typed\n" {
			t.Errorf("got %q, %v", line, err)
		}
		flags, err := unix.FcntlInt(uintptr(tty), unix.F_GETFL, 0)
		if inherited && (err != nil || flags&unix.O_NONBLOCK != 0) {
			t.Errorf("a terminal that was inherited has the flags %#x, %v: it does not block", flags, err)
		}
		f.Close()
	}
}
