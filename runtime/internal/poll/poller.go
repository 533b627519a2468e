package poll

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Options say how descriptors are waited for. The zero value is usable.
type Options struct {
	ReadPollers  int // 0: 1; at most 64
	WritePollers int // 0: 1; at most 64
}

const maxPollers = 64

// Configure sets the options of the process. It must be called before a thread waits for a descriptor for the first time: later it returns an error, as it does for bad
// options. It does not block.
func Configure(o Options) error {
	for _, n := range []int{o.ReadPollers, o.WritePollers} {
		if n < 0 || n > maxPollers {
			return fmt.Errorf("%d pollers: not between 1 and %d", n, maxPollers)
		}
	}
	pollers.mu.Lock()
	defer pollers.mu.Unlock()
	if pollers.mu.begun {
		return errors.New("the pollers have begun already")
	}
	pollers.mu.options = o
	return nil
}

// pollers are those of the process. Like the runtime's own they end with it.
var pollers struct {
	mu struct {
		sync.Mutex
		options Options
		begun   bool
	}
	begun atomic.Bool // after all below was written
	of    [2][]*poller
	next  [2]atomic.Uint32
}

// pollerFor returns the poller for the next socket's direction.
func pollerFor(dir Direction) (*poller, error) {
	if !pollers.begun.Load() {
		if err := beginPollers(); err != nil {
			return nil, err
		}
	}
	all := pollers.of[dir]
	return all[int(pollers.next[dir].Add(1))%len(all)], nil
}

func beginPollers() error {
	pollers.mu.Lock()
	defer pollers.mu.Unlock()
	if pollers.mu.begun {
		return nil
	}
	var of [2][]*poller
	for dir, n := range []int{max(pollers.mu.options.ReadPollers, 1), max(pollers.mu.options.WritePollers, 1)} {
		for range n {
			p := &poller{number: Number(), dir: Direction(dir)}
			err := p.queue.open()
			if err != nil { // the next one who waits tries again
				for _, p := range slices.Concat(of[0], of[1]) {
					p.queue.close()
				}
				return fmt.Errorf("poller: %w", err)
			}
			of[dir] = append(of[dir], p)
		}
	}
	for _, p := range slices.Concat(of[0], of[1]) {
		p.mu.record = flight.Default().OpenPoller(flight.PollerRead+flight.PollerKind(p.dir), uint16(p.number))
		Start(p.run)
	}
	pollers.of, pollers.mu.begun = of, true
	pollers.begun.Store(true)
	sched.Poll(pollAll)
	return nil
}

// pollAll lets a carrier that has nothing to do look what has become ready.
func pollAll() (found bool) {
	for _, of := range pollers.of {
		for _, p := range of {
			if p.active.Load() > 0 && p.queue.look(p.marked) {
				found = true
			}
		}
	}
	return found
}

// A poller watches descriptors in one direction, and marks those that are ready. Its goroutine waits in Go's own poller, for its queue: so none of its OS threads
// is blocked.
type poller struct {
	number int
	dir    Direction
	queue  queue

	mu struct {
		sync.Mutex
		slots []slot
		free  []uint32

		figures flight.PollerFigures
		last    flight.Ticks
		record  *flight.PollerRecord
	}

	active atomic.Int64 // slots that are taken
}

// A slot is a place of the table of what a poller watches. A token names it, with its generation: an event may come when the descriptor is another's.
type slot struct {
	ready      *Readiness // nil: free
	generation uint32
}

// batch is how many events are collected at once.
const batch = 128

func (p *poller) run() {
	for {
		// It returns only for an error: of a queue that is ours alone it is full or damaged, and may not be for long.
		_ = p.queue.serve(p.marked)
		p.mu.Lock()
		p.mu.figures.Failed++
		p.tellLocked()
		p.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// marked marks what became ready at once.
func (p *poller) marked(tokens []uint64) {
	n := len(tokens)
	p.told(n)
	var ready [batch]*Readiness
	p.mu.Lock()
	for i, t := range tokens {
		if at := uint32(t); int(at) < len(p.mu.slots) && p.mu.slots[at].generation == uint32(t>>32) {
			ready[i] = p.mu.slots[at].ready
		}
	}
	f := &p.mu.figures
	f.Wakeups++
	f.Ready += uint64(n)
	f.Batches[min(bits.Len(uint(n))-1, flight.PollerBatches-1)]++
	p.mu.last = flight.Now()
	p.tellLocked()
	p.mu.Unlock()
	for _, r := range ready[:n] {
		if r != nil {
			r.Mark()
		}
	}
}

// told records that descriptors were found ready.
func (p *poller) told(n int) { sched.EmitMore(flight.EventPoll, uint32(p.number), 0, uint64(n)) }

func (p *poller) tellLocked() {
	p.mu.figures.Watched = uint64(p.active.Load())
	p.mu.record.Write(&p.mu.figures, p.mu.last)
}

func (p *poller) add(fd int, r *Readiness) (token uint64, err error) {
	p.mu.Lock()
	var at uint32
	if n := len(p.mu.free); n > 0 {
		at = p.mu.free[n-1]
		p.mu.free = p.mu.free[:n-1]
	} else {
		at = uint32(len(p.mu.slots))
		p.mu.slots = append(p.mu.slots, slot{})
	}
	p.mu.slots[at].ready = r
	p.active.Add(1)
	p.tellLocked()
	token = uint64(p.mu.slots[at].generation)<<32 | uint64(at)
	p.mu.Unlock()
	if err := p.queue.add(fd, p.dir, token); err != nil {
		p.release(token)
		return 0, err
	}
	return token, nil
}

// remove stops watching fd, which must be open.
func (p *poller) remove(fd int, token uint64) {
	_ = p.queue.remove(fd, p.dir)
	p.release(token)
}

func (p *poller) release(token uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := uint32(token)
	p.mu.slots[at].ready = nil
	p.active.Add(-1)
	p.tellLocked()
	p.mu.slots[at].generation++
	p.mu.free = append(p.mu.free, at)
}
