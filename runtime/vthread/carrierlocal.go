package vthread

import (
	"iter"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
)

// CarrierID returns the carrier that the calling thread is mounted on now. It may be another whenever the thread has waited or
// yielded. It is [flight.NoCarrier] on plain goroutines, on threads with a goroutine of their own, and with schedulers that lend goroutines
// ([sched.Task.Run]).
func CarrierID() flight.CarrierID { return sched.CarrierOf(sched.Current()) }

// A CarrierLocal is a variable of which each carrier has a stripe of its own, so that processors do not fight over one place in
// memory: for counters, statistics and caches. Its zero value is ready; a stripe begins as T's zero. It must not be copied. Its
// methods may be called from anywhere, and do not block.
//
// It is no [Local]: a thread that waits or yields may find itself on another carrier, and the stripe that it got before is then
// another thread's too. Callers that have no carrier share a few stripes among them. So T must stand concurrent use: a CarrierLocal
// makes that rare, and thereby cheap.
type CarrierLocal[T any] struct {
	carriers stripes[T] // by place
	others   stripes[T] // of those who have no carrier
}

// Get returns the stripe of the carrier that the caller is mounted on ([CarrierID]), and makes it at its first use. It never moves, and
// outlives the carrier: a later one takes it over.
func (l *CarrierLocal[T]) Get() *T {
	if place := sched.PlaceOf(sched.Current()); place >= 0 {
		return l.carriers.at(place)
	}
	return l.others.at(elsewhere())
}

// All returns the stripes that were made, in no order. Those that are made meanwhile may be missing.
func (l *CarrierLocal[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, s := range []*stripes[T]{&l.carriers, &l.others} {
			if all := s.all.Load(); all != nil {
				for _, v := range *all {
					if v != nil && !yield(v) {
						return
					}
				}
			}
		}
	}
}

type stripes[T any] struct {
	all    atomic.Pointer[[]*T] // replaced, never changed
	adding sync.Mutex
}

func (s *stripes[T]) at(i int) *T {
	if all := s.all.Load(); all != nil && i < len(*all) && (*all)[i] != nil {
		return (*all)[i]
	}
	return s.add(i)
}

func (s *stripes[T]) add(i int) *T {
	s.adding.Lock()
	defer s.adding.Unlock()
	var all []*T
	if p := s.all.Load(); p != nil {
		all = slices.Clone(*p)
	}
	if n := i + 1 - len(all); n > 0 {
		all = append(all, make([]*T, n)...)
	}
	if all[i] == nil {
		padded := new(struct {
			_     [cacheLine]byte
			value T
			_     [cacheLine]byte
		})
		all[i] = &padded.value
		s.all.Store(&all)
	}
	return all[i]
}

// cacheLine keeps stripes apart; some processors load lines in pairs.
const cacheLine = 128

// elsewhereBits gives those without a carrier some stripes more than there are processors.
var elsewhereBits = min(bits.Len(uint(4*runtime.GOMAXPROCS(0)-1)), 8)

// elsewhere is the stripe of the calling goroutine: always the same.
func elsewhere() int {
	return int(uint64(coro.Goroutine()) * 0x9e3779b97f4a7c15 >> (64 - elsewhereBits))
}
