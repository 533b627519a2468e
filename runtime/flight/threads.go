package flight

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A threadPool hands out thread records: those given back first, then those never used.
//
// growing is held while a segment is reserved, and taken before mu. A thread that finds no record waits
// for a reservation that is under way, which may be the last.
type threadPool struct {
	growing sync.Mutex
	mu      struct {
		sync.Mutex
		free  []*Record
		fresh []freshRecords // segments with records never used
		made  int            // records in all segments
	}
}

type freshRecords struct {
	base unsafe.Pointer
	left int
}

func (p *threadPool) start(r *Recorder) func() error {
	return func() error { p.mu.Lock(); defer p.mu.Unlock(); return p.growLocked(r) }
}

func (p *threadPool) growLocked(r *Recorder) error {
	if p.mu.made >= r.options.MaxThreads {
		return errThreadLimit
	}
	base, err := r.addSegment(segmentThread, threadSegmentSize, recordSize, threadsPerSegment, nil)
	if err != nil {
		return err
	}
	n := min(threadsPerSegment, r.options.MaxThreads-p.mu.made)
	p.mu.fresh = append(p.mu.fresh, freshRecords{base, n})
	p.mu.made += n
	return nil
}

// takeRecords fills to with free records and returns how many there were.
func (r *Recorder) takeRecords(to []*Record) int {
	p := &r.threads
	p.mu.Lock()
	n := p.takeLocked(to)
	var err error
	if n == 0 {
		p.mu.Unlock()
		p.growing.Lock()
		p.mu.Lock()
		if n = p.takeLocked(to); n == 0 {
			if err = p.growLocked(r); err == nil {
				n = p.takeLocked(to)
			}
		}
		p.growing.Unlock()
	}
	low := p.lowLocked() && p.mu.made < r.options.MaxThreads && err == nil
	p.mu.Unlock()
	if err != nil {
		r.warnOnce("threads are not recorded any more", err)
	}
	if low {
		r.poke()
	}
	return n
}

func (p *threadPool) takeLocked(to []*Record) int {
	n := copy(to, p.mu.free[max(0, len(p.mu.free)-len(to)):])
	p.mu.free = p.mu.free[:len(p.mu.free)-n]
	for n < len(to) && len(p.mu.fresh) > 0 {
		f := &p.mu.fresh[0]
		to[n] = (*Record)(f.base)
		n++
		f.base = unsafe.Add(f.base, recordSize)
		if f.left--; f.left == 0 {
			p.mu.fresh = p.mu.fresh[1:]
		}
	}
	return n
}

// lowLocked reports whether a segment should be reserved ahead of need.
func (p *threadPool) lowLocked() bool {
	return len(p.mu.free) == 0 && (len(p.mu.fresh) == 0 || len(p.mu.fresh) == 1 && p.mu.fresh[0].left < threadsPerSegment/2)
}

// makeRoom is called by the background goroutine. It reserves a segment without mu, so that threads take
// records meanwhile.
func (p *threadPool) makeRoom(r *Recorder) {
	p.growing.Lock()
	defer p.growing.Unlock()
	p.mu.Lock()
	low := p.lowLocked() && p.mu.made < r.options.MaxThreads
	n := min(threadsPerSegment, r.options.MaxThreads-p.mu.made)
	p.mu.Unlock()
	if !low {
		return
	}

	base, err := r.addSegment(segmentThread, threadSegmentSize, recordSize, threadsPerSegment, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		return
	}
	p.mu.made += n
	p.mu.fresh = append(p.mu.fresh, freshRecords{base, n})
}

func (r *Recorder) giveRecords(recs []*Record) {
	p := &r.threads
	p.mu.Lock()
	p.mu.free = append(p.mu.free, recs...)
	p.mu.Unlock()
}

// A recordStripe is a cache of records for those who own none.
type recordStripe struct {
	lock  atomic.Uint32
	cache RecordCache
	_     [60]byte
}
