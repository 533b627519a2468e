//go:build amd64 || arm64

package flight

import (
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"
)

// cutMapping maps a file of four pages and empties the file.
func cutMapping(t *testing.T, guarded bool) []byte {
	t.Helper()
	f, err := os.CreateTemp(tmpfsDir(t), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := 4 * os.Getpagesize()
	if err := f.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if guarded {
		guard(b)
	}
	t.Cleanup(func() {
		unguard(b)
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	copy(b, "the first page")
	if err := f.Truncate(int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	return b
}

// faults reports whether a write to an address is a fault for Go.
func faults(p *byte) (yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e, ok := recover().(error); ok {
			var at interface{ Addr() uintptr }
			yes = errors.As(e, &at) && at.Addr() == uintptr(unsafe.Pointer(p))
		}
	}()
	*p = 1
	return false
}

func TestGuardedMemoryOutlivesItsFile(t *testing.T) {
	b := cutMapping(t, true)
	page := os.Getpagesize()
	before := atomic.LoadUint64(&guardHits)
	for _, at := range []int{3*page + 7, page, 2 * page} { // the second replaces the first's page too
		if faults(&b[at]) {
			t.Errorf("byte %d: a fault", at)
		}
		if b[at] != 1 {
			t.Errorf("byte %d: got %d, want 1", at, b[at])
		}
	}
	if got := atomic.LoadUint64(&guardHits) - before; got != 2 {
		t.Errorf("memory was replaced %d times, want 2", got)
	}
	if got := string(b[:14]); got != "the first page" {
		t.Errorf("got %q in the page that was not cut off", got)
	}
}

func TestFaultsElsewhereStayFaults(t *testing.T) {
	guarded := cutMapping(t, true) // the handler is there
	b := cutMapping(t, false)
	before := atomic.LoadUint64(&guardHits)
	if !faults(&b[len(b)-1]) {
		t.Error("beyond the end of a file that is not the recorder's: no fault")
	}
	unguard(guarded)
	if !faults(&guarded[len(guarded)-1]) {
		t.Error("memory that is guarded no more: no fault")
	}
	if got := atomic.LoadUint64(&guardHits) - before; got != 0 {
		t.Errorf("memory was replaced %d times, want never", got)
	}
}

func TestGuardKeepsManyRanges(t *testing.T) {
	const n = 100
	all := make([][]byte, n)
	for i := range all {
		all[i] = cutMapping(t, true)
	}
	for i := range all {
		if i%3 == 0 {
			unguard(all[i])
		}
	}
	for i := range all {
		if i%3 == 0 && i%2 == 0 {
			guard(all[i]) // in a place that has become free
		}
	}
	for i, b := range all {
		if got, want := faults(&b[len(b)-1]), i%3 == 0 && i%2 != 0; got != want {
			t.Errorf("range %d: got a fault %v, want %v", i, got, want)
		}
	}
}

func TestRecorderOfACutFileSaysSoAndStaysUsable(t *testing.T) {
	for name, cut := range map[string]func(string) error{
		"emptied":           func(path string) error { return os.Truncate(path, 0) },
		"emptied and grown": func(path string) error { return errors.Join(os.Truncate(path, 0), os.Truncate(path, 64<<20)) },
		"cut":               func(path string) error { return os.Truncate(path, headerSize+4096) },
	} {
		t.Run(name, func(t *testing.T) {
			r, warned := newIn(t, tmpfsDir(t))
			if r.Path() == "" {
				t.Fatal(warned())
			}
			recordGolden(r)
			if os.Geteuid() != 0 {
				if err := cut(r.Path()); !errors.Is(err, os.ErrPermission) {
					t.Errorf("got %v, want permission denied", err)
				}
				if err := os.Chmod(r.Path(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := cut(r.Path()); err != nil {
				t.Fatal(err)
			}
			size := fileSize(t, r.Path())
			records := make([]*Record, 2*threadsPerSegment) // more than there was room for
			for i := range records {
				records[i] = r.GetRecord()
				records[i].Init(StateNew, ThreadID(1000+i), 0, 0, 0, 0, 1)
				if records[i] == nil || records[i].State() != StateNew {
					t.Fatalf("record %d: got %+v", i, records[i])
				}
			}
			if got := fileSize(t, r.Path()); got != size {
				t.Errorf("the file has grown from %d to %d bytes", size, got)
			}
			// Of "cut" the header is left: what readers say of the rest, hostile_test.go checks.
			if _, err := Open(r.Path()); name != "cut" && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "has truncated the file")) {
				t.Errorf("got %v, want that another program has truncated the file", err)
			}
			if err := r.Close(); err != nil { // its last look at the file, unless it has had one
				t.Fatal(err)
			}
			if !strings.Contains(warned(), lossByCut.subject) {
				t.Errorf("got warnings %q, want one that the file was cut", warned())
			}
			if registry.Header == uint64(uintptr(unsafe.Pointer(r.header))) {
				t.Error("readers of memory still find the recorder")
			}
		})
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestPackageSignalLeavesTheGuard(t *testing.T) {
	b := cutMapping(t, true)
	c := make(chan os.Signal, 1)
	signal.Notify(c) // all that can be had
	signal.Notify(c, syscall.SIGBUS)
	signal.Stop(c)
	signal.Ignore(syscall.SIGBUS)
	signal.Reset(syscall.SIGBUS)
	if faults(&b[len(b)-1]) {
		t.Error("a fault: os/signal has changed the handler of SIGBUS")
	}
}
