package memory

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A liar is a memory of which some words are others at each look.
type liar struct {
	space
	r    *rand.Rand
	rate int // one of so many
}

func (l *liar) ReadMemory(to []byte, address uint64) int {
	n := l.space.ReadMemory(to, address)
	l.lie(to[:n], address)
	return n
}

func (l *liar) readMany(spans []span) {
	l.space.readMany(spans)
	for i := range spans {
		l.lie(spans[i].to[:spans[i].n], spans[i].address)
	}
}

func (l *liar) lie(b []byte, address uint64) {
	le := binary.LittleEndian
	words := len(b) / 8
	for n := words/l.rate + btoi(words > 0 && l.r.IntN(l.rate) < words%l.rate); n > 0; n-- {
		word := b[8*l.r.IntN(words):]
		switch l.r.IntN(6) {
		case 0:
			le.PutUint64(word, 0)
		case 1:
			le.PutUint64(word, l.r.Uint64())
		case 2:
			le.PutUint64(word, ^uint64(0)-l.r.Uint64N(64))
		case 3:
			le.PutUint64(word, le.Uint64(word)+8*l.r.Uint64N(64))
		case 4:
			le.PutUint64(word, address+8*l.r.Uint64N(512)) // it leads back
		case 5:
			le.PutUint64(word, l.r.Uint64N(1<<32))
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAMemoryThatLiesIsAnErrorOrADump(t *testing.T) {
	p := startPlain(t, childtest.Build(t, "./fixtures/plain"), "-each", "10")
	m, err := openProcess(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	seed := uint64(time.Now().UnixNano())
	dumps, failures := 0, 0
	for i := range 300 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		l := &liar{m, r, 1 << 40}
		if i%3 == 0 { // it lies from the beginning
			l.rate = 1 << (3 + i%10)
		}
		src, err := newGoroutines(l, GoroutineOptions{Scopes: goroutines.ScopeBys[i%len(goroutines.ScopeBys)]})
		if err != nil {
			failures++
			continue
		}
		src.alive, src.clock = func() bool { return true }, monotonic
		src.pause = func(time.Duration) {}
		src.status = func() flight.Status { return flight.StatusRunning }
		l.rate = 1 << (3 + i%12)
		for range 3 {
			_, err := dump.Take(t.Context(), src, dump.Options{})
			if err == nil {
				_, err = dump.TakeWaits(t.Context(), src)
			}
			if err != nil && !errors.Is(err, flight.ErrIncomplete) {
				t.Fatalf("seed %d, %d: %v", seed, i, err)
			}
			dumps++
		}
	}
	if dumps == 0 || failures == 0 {
		t.Errorf("%d dumps and %d failures: what is tested?", dumps, failures)
	}
}

// All that is read of a goroutine is in what is copied of it, whatever release a process claims.
func TestLayoutsLieWithinWhatIsCopied(t *testing.T) {
	for minor, l := range layouts {
		for _, at := range []int{l.gStackHi + 8, l.gM + 8, l.gBP + 8, l.gSyscallPC + 8, l.gSyscBP + 8, l.gStatus + 4, l.gSeq + 1} {
			if at > l.gSize {
				t.Errorf("go1.%d: %d bytes are copied, and %d read", minor, l.gSize, at)
			}
		}
		for _, at := range []int{l.gSize, l.gID + 8, l.gSince + 8, l.gReason + 1, l.gParent + 8, l.gMadeAt + 8, l.gStart + 8, l.gLabels + 8, l.gLockedM + 8, l.gWaiting + 8, l.gTracking + 1, l.gStamp + 8} {
			if at > l.gWhole {
				t.Errorf("go1.%d: %d bytes are copied, and %d read", minor, l.gWhole, at)
			}
		}
		for _, at := range []int{l.sudogElem + 8, l.sudogLink + 8, l.sudogC + 8, l.sudogSelect + 1, l.pollFD + 8, l.pollG + 16} {
			if at > maxSudog {
				t.Errorf("go1.%d: %d bytes of a sudog are copied, and %d read", minor, maxSudog, at)
			}
		}
	}
}
