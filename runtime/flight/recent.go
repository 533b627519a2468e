package flight

import (
	"sync"
	"time"
	"unsafe"
)

const (
	maxRecentSegments = 4

	// recentStep is how long a [RecentStep] lasts, and recentSteps how many of them a place keeps: more than a minute.
	recentStep  = 10 * time.Second
	recentSteps = 7

	// CountedHold is from how long on holds of locks are counted by place.
	CountedHold = 20 * time.Millisecond
)

// A RecentKind is what was held at a place.
type RecentKind uint8

// The kinds of places. Values are part of the flight format: append, never renumber.
const (
	_          RecentKind = iota
	RecentPin             // a thread held its carrier while it blocked
	RecentLock            // a lock was held while others waited for it, until it was released there

	recentKindCount
)

// A recentTable keeps what happened lately at each place: in steps, the oldest of which is written over. The place that was used least recently makes room for
// another.
type recentTable struct {
	mu struct {
		sync.Mutex
		known    map[recentSite]*recentRecord
		free     []*recentRecord
		full     bool
		segments int
	}
}

type recentSite struct {
	kind  RecentKind
	why   Reason
	stack StackID
}

// A recentHold is what is counted: who held something for how long, and how many waited.
type recentHold struct {
	recentSite
	name    StringID
	blocker Blocker
	thread  ThreadID
	held    time.Duration
	waiting uint64
}

// CountHold counts that thread, 0 if it is none, releases the lock b, with a name or without one, at a stack. It held the lock for that long while so many waited.
// It may be called from anywhere, and takes a lock.
func (r *Recorder) CountHold(b Blocker, name string, stack StackID, thread ThreadID, held time.Duration, waiting int, t Ticks) {
	if r == nil {
		return
	}
	h := recentHold{recentSite{RecentLock, ReasonLock, stack}, 0, b, thread, held, uint64(waiting)}
	if name != "" {
		h.name = r.Intern(name)
	}
	r.recent.count(r, &h, t)
}

func (p *recentTable) count(r *Recorder, h *recentHold, t Ticks) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := p.recordLocked(r, h.recentSite)
	if rec == nil {
		return // there is no segment at all: warned of
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Last, uint64(t))
	s := &rec.Steps[rec.Step%recentSteps]
	if s.Count == 0 || t.Sub(Ticks(s.Began)) >= recentStep {
		put32(&rec.Step, (rec.Step+1)%recentSteps)
		s = &rec.Steps[rec.Step]
		put64(&s.Began, uint64(t))
		put32(&s.Count, 0)
		put64(&s.Waiting, 0)
		put64(&s.Total, 0)
		put64(&s.Longest, 0)
	}
	put32(&s.Count, s.Count+1)
	put64(&s.Waiting, s.Waiting+h.waiting)
	put64(&s.Total, s.Total+uint64(h.held))
	if uint64(h.held) >= s.Longest {
		put64(&s.Longest, uint64(h.held))
		put32(&s.Crowd, uint32(min(h.waiting, 1<<32-1)))
		put32(&s.Name, uint32(h.name))
		put64(&s.Blocker, uint64(h.blocker))
		put64(&s.Thread, uint64(h.thread))
	}
	endWrite(&rec.Ver, v)
}

func (p *recentTable) recordLocked(r *Recorder, site recentSite) *recentRecord {
	if rec := p.mu.known[site]; rec != nil {
		return rec
	}
	if p.mu.known == nil {
		p.mu.known = make(map[recentSite]*recentRecord)
	}
	rec := p.takeLocked(r)
	if rec == nil {
		return nil
	}
	p.mu.known[site] = rec
	v := beginWrite(&rec.Ver)
	put32(&rec.What, uint32(site.kind)|uint32(site.why)<<8)
	put32(&rec.Stack, uint32(site.stack))
	put32(&rec.Step, 0)
	for i := range rec.Steps {
		put32(&rec.Steps[i].Count, 0)
	}
	endWrite(&rec.Ver, v)
	return rec
}

// takeLocked returns a record that is free, or that of the place that was used least recently; nil if there is none.
func (p *recentTable) takeLocked(r *Recorder) *recentRecord {
	if len(p.mu.free) == 0 && !p.growLocked(r) {
		var oldest recentSite
		var rec *recentRecord
		for site, of := range p.mu.known {
			if rec == nil || Ticks(of.Last).Before(Ticks(rec.Last)) {
				oldest, rec = site, of
			}
		}
		delete(p.mu.known, oldest)
		return rec
	}
	last := len(p.mu.free) - 1
	rec := p.mu.free[last]
	p.mu.free = p.mu.free[:last]
	return rec
}

func (p *recentTable) growLocked(r *Recorder) bool {
	if p.mu.full || p.mu.segments == maxRecentSegments {
		return false
	}
	base, err := r.addSegment(segmentRecent, recentSegmentSize, recentSize, recentPerSegment, nil)
	if err != nil {
		p.mu.full = true
		r.warnOnce("of some places it is not known what happened there lately", err)
		return false
	}
	p.mu.segments++
	for i := recentPerSegment - 1; i >= 0; i-- { // the first is taken first
		p.mu.free = append(p.mu.free, (*recentRecord)(unsafe.Add(base, i*recentSize)))
	}
	return true
}
