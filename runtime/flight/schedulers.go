package flight

import (
	"sync"
	"unsafe"
)

const maxSchedulerSegments = 64

// A schedulerPool holds the records of schedulers.
type schedulerPool struct {
	mu struct {
		sync.Mutex
		free     []*schedulerRecord
		segments int
	}
}

// A SchedulerRecord is where a scheduler tells its figures. One at a time may write it. A nil one swallows everything.
type SchedulerRecord struct {
	rec *schedulerRecord
	r   *Recorder
}

// OpenScheduler returns a record for a scheduler that lives from now on. id is what [Record.Init] is given for its threads. Without room it
// returns nil: the scheduler is then not shown, and the program is warned.
func (r *Recorder) OpenScheduler(id SchedulerID, name string, t Ticks) *SchedulerRecord {
	if r == nil {
		return nil
	}
	s := r.Intern(name)
	p := &r.schedulers
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.free) == 0 && !p.growLocked(r) {
		return nil
	}
	last := len(p.mu.free) - 1
	rec := p.mu.free[last]
	p.mu.free = p.mu.free[:last]
	v := beginWrite(&rec.Ver)
	put32(&rec.State, uint32(SchedulerOpen))
	put32(&rec.ID, uint32(id))
	put32(&rec.Name, uint32(s))
	put64(&rec.Began, uint64(t))
	put64(&rec.Written, uint64(t))
	clear(rec.Figures[:])
	clear(rec.Ready[:])
	clear(rec.Slice[:])
	clear(rec.Pinned[:])
	endWrite(&rec.Ver, v)
	return &SchedulerRecord{rec, r}
}

func (p *schedulerPool) growLocked(r *Recorder) bool {
	if p.mu.segments == maxSchedulerSegments {
		return false
	}
	base, err := r.addSegment(segmentScheduler, schedulerSegmentSize, schedulerSize, schedulersPerSegment, nil)
	if err != nil {
		r.warnOnce("schedulers are not recorded any more", err)
		return false
	}
	p.mu.segments++
	for i := schedulersPerSegment - 1; i >= 0; i-- { // the first is taken first
		p.mu.free = append(p.mu.free, (*schedulerRecord)(unsafe.Add(base, i*schedulerSize)))
	}
	return true
}

// Write tells the figures and histograms as they are at t.
func (s *SchedulerRecord) Write(t Ticks, figures *[FigureCount]uint64, ready, slice, pinned *Histogram) {
	if s == nil {
		return
	}
	rec := s.rec
	v := beginWrite(&rec.Ver)
	for i, f := range figures {
		put64(&rec.Figures[i], f)
	}
	for i := range ready {
		put64(&rec.Ready[i], ready[i])
		put64(&rec.Slice[i], slice[i])
	}
	for i := range rec.Pinned {
		n := pinned[pinnedFirst+i]
		if i == 0 {
			for _, shorter := range pinned[:pinnedFirst] {
				n += shorter
			}
		}
		put64(&rec.Pinned[i], n)
	}
	put64(&rec.Written, uint64(t))
	endWrite(&rec.Ver, v)
}

// Close frees the record of a scheduler that has ended.
func (s *SchedulerRecord) Close() {
	if s == nil {
		return
	}
	v := beginWrite(&s.rec.Ver)
	put32(&s.rec.State, uint32(SchedulerFree))
	endWrite(&s.rec.Ver, v)
	p := &s.r.schedulers
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.free = append(p.mu.free, s.rec)
}
