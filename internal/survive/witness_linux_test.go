package survive

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A witness is a page of memory in which a victim writes what it does, without any part of the recorder.
type witness struct {
	bytes []byte
	pairs *[witnessPairs]diary
}

// A diary is written by one pair of threads. At and ticks are of one moment, in this order.
type diary struct {
	rounds uint64 // wake-ups so far
	at     int64  // of the newest, nanoseconds of CLOCK_REALTIME
	ticks  uint64 // on the recorder's clock
	before uint64 // ticks of the wake-up before; an event of the newest is younger
	_      [32]byte
}

const (
	witnessSize  = 4096
	witnessPairs = witnessSize / 64
)

// openWitness maps a witness's file, and makes it if it is not there.
func openWitness(path string) (*witness, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(witnessSize); err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, witnessSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &witness{b, (*[witnessPairs]diary)(unsafe.Pointer(&b[0]))}, nil
}

func (w *witness) close() error { return syscall.Munmap(w.bytes) }

// note is called by the threads of a pair, in turn.
func (d *diary) note() {
	at, ticks := time.Now().UnixNano(), flight.Now()
	atomic.StoreUint64(&d.before, atomic.LoadUint64(&d.ticks))
	atomic.StoreInt64(&d.at, at)
	atomic.StoreUint64(&d.ticks, uint64(ticks))
	atomic.AddUint64(&d.rounds, 1)
}

// rounds is how many wake-ups there were.
func (w *witness) rounds() (n uint64) {
	for i := range w.pairs {
		n += atomic.LoadUint64(&w.pairs[i].rounds)
	}
	return n
}

// last is when the newest was.
func (w *witness) last() time.Time {
	var at int64
	for i := range w.pairs {
		at = max(at, atomic.LoadInt64(&w.pairs[i].at))
	}
	return time.Unix(0, at)
}

// lastTicks is the same on the recorder's clock.
func (w *witness) lastTicks() (at flight.Ticks) {
	for i := range w.pairs {
		at = max(at, flight.Ticks(atomic.LoadUint64(&w.pairs[i].ticks)))
	}
	return at
}

// recorded is the time on the recorder's clock that the newest event has reached: each pair parks and wakes between two notes.
func (w *witness) recorded() (at flight.Ticks) {
	for i := range w.pairs {
		at = max(at, flight.Ticks(atomic.LoadUint64(&w.pairs[i].before)))
	}
	return at
}

// until waits until there were n wake-ups; false means that ended was closed before.
func (w *witness) until(n uint64, ended <-chan struct{}) bool {
	for w.rounds() < n {
		select {
		case <-ended:
			return w.rounds() >= n
		default:
			runtime.Gosched()
		}
	}
	return true
}
