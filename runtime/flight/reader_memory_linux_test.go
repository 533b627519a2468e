package flight

import (
	"context"
	"errors"
	"os"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// ownMemory is the memory of this process.
type ownMemory struct{ file *os.File }

func openOwnMemory(t testing.TB) ownMemory {
	t.Helper()
	f, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skipf("the memory of this process cannot be read: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return ownMemory{f}
}

func (m ownMemory) ReadMemory(p []byte, address uint64) int {
	n, _ := m.file.ReadAt(p, int64(address)) // what is missing was not read
	return n
}

func (ownMemory) Alive() (alive, known bool) { return true, true }

// registryOf is what the registry would say if r were the first recorder of the process.
func registryOf(r *Recorder) Registry {
	return Registry{Header: uint64(uintptr(unsafe.Pointer(r.header))), Segments: int(atomic.LoadUint32(&r.header.Segments))}
}

// inMemory opens a recorder by its address.
func inMemory(t testing.TB, r *Recorder) *Reader {
	t.Helper()
	rd, err := OpenMemory("this process", openOwnMemory(t), registryOf(r), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return rd
}

func TestAReaderOfMemorySeesWhatAReaderOfTheRecorderDoes(t *testing.T) {
	for _, mode := range []Mode{ModeShared, ModePrivate} {
		o := Options{Mode: mode}
		if mode == ModeShared {
			o.Dir = tmpfsDir(t)
		}
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		recordGolden(r)
		want, err := r.Reader()
		if err != nil {
			t.Fatal(err)
		}
		got := inMemory(t, r)
		for what, f := range map[string]func(*Reader) (any, error){
			"scopes":     func(rd *Reader) (any, error) { return rd.Scopes() },
			"schedulers": func(rd *Reader) (any, error) { return rd.Schedulers() },
			"pin sites":  func(rd *Reader) (any, error) { return rd.PinSites() },
			"stack":      func(rd *Reader) (any, error) { return rd.Stack(tableHeaderSize / unitSize) },
			"rings":      func(rd *Reader) (any, error) { return rd.Rings() },
		} {
			g, gErr := f(got)
			w, wErr := f(want)
			if gErr != nil || wErr != nil || !reflect.DeepEqual(g, w) {
				t.Errorf("%s: got %+v (%v), want %+v (%v)", what, g, gErr, w, wErr)
			}
		}
		all := func(rd *Reader) (rows []ThreadRow) {
			if _, err := rd.Threads(context.Background(), func(b []ThreadRow) { rows = append(rows, b...) }); err != nil {
				t.Fatal(err)
			}
			return rows
		}
		if g, w := all(got), all(want); len(w) == 0 || !reflect.DeepEqual(g, w) {
			t.Errorf("got %d threads: %+v, want %d: %+v", len(g), g, len(w), w)
		}
		for range 3 * threadsPerSegment { // segments that come later
			r.GetRecord().Init(StateNew, 1, 0, 0, 0, 0, 1)
		}
		if g, w := len(all(got)), len(all(want)); g != w || g < 3*threadsPerSegment {
			t.Errorf("after it has grown: got %d threads, want %d", g, w)
		}
	}
}

func TestTheRegistryIsFoundInACopyOfData(t *testing.T) {
	r := newTest(t) // the first recorder is in the registry
	_ = r
	address := uint64(uintptr(unsafe.Pointer(&registry)))
	m := openOwnMemory(t)
	data := make([]byte, 4096)
	from := address&^7 - 64
	if n := m.ReadMemory(data, from); n < 256 {
		t.Fatalf("read %d bytes around it", n)
	}
	if i := RegistryIn(data); i < 0 || from+uint64(i) != address {
		t.Fatalf("got position %d, want that of %#x", i, address)
	}
	g, err := ReadRegistry(m, address)
	if err != nil {
		t.Fatal(err)
	}
	if rd, err := OpenMemory("this process", m, g, os.Getpid()); err != nil || !rd.Wrote(g) {
		t.Errorf("got error %v and a header of another process, want its own", err)
	}
	if _, err := ReadRegistry(m, from); !errors.Is(err, ErrFormat) {
		t.Errorf("beside it: got error %v, want ErrFormat", err)
	}
	if _, err := ReadRegistry(m, 16); !errors.Is(err, ErrFormat) {
		t.Errorf("where nothing is: got error %v, want ErrFormat", err)
	}
}

func TestALookCountsOnlyIfTheThreadHeldStill(t *testing.T) {
	const threads = 300
	r := newTest(t)
	var (
		outside [threads]atomic.Uint64 // what a look sees: only set while the thread's record says mounted
		stop    atomic.Bool
		writers sync.WaitGroup
	)
	recs := make([]*Record, threads)
	for i := range recs {
		recs[i] = r.GetRecord()
		recs[i].Init(StateRunnable, ThreadID(i+1), 0, 0, 0, 0, 1)
		recs[i].Goroutine(uintptr(i + 1))
		recs[i].Mounted(1, 0)
		recs[i].Parked(0, StateParked, ReasonPark, 0, 0)
	}
	for w := range 2 {
		writers.Go(func() {
			for n := uint64(1); !stop.Load(); n++ {
				i := int(n) % 16 * 2 // some change all the time
				rec := recs[i+w]
				rec.Runnable(Ticks(n), 0)
				rec.Mounted(Ticks(n), 0)
				outside[i+w].Store(n)
				rec.Parked(Ticks(n), StateParked, ReasonPark, 0, 0)
				if n%1024 == 0 {
					runtime.Gosched() // no call above lets Go preempt when asyncpreemptoff=1
				}
			}
		})
	}
	rd := inMemory(t, r)
	seen, unseen := 0, 0
	for range 15 {
		found := 0
		torn, err := rd.LookAtThreads(context.Background(), func(looks []Look) {
			for i := range looks {
				if looks[i].Row.State == StateParked {
					looks[i].Stack, looks[i].Seen = StackID(outside[looks[i].G-1].Load()), true
				}
			}
		}, func(looks []Look) {
			for i := range looks {
				k := &looks[i]
				found++
				if !k.Seen {
					unseen++
					continue
				}
				seen++
				if uint32(k.Row.Since) != uint32(k.Stack) || k.G != uint64(k.Row.ID) {
					t.Fatalf("thread %d parked at %d on goroutine %d: saw %d", k.Row.ID, k.Row.Since, k.G, k.Stack)
				}
			}
		})
		if err != nil || found+torn != threads {
			t.Fatalf("got %d threads, %d torn, error %v; want %d", found, torn, err, threads)
		}
	}
	stop.Store(true)
	writers.Wait()
	if seen < 15*(threads-32) {
		t.Errorf("got %d threads that held still, want all that did: %d", seen, 200*(threads-32))
	}
	t.Logf("%d seen, %d moved each time", seen, unseen)
}
