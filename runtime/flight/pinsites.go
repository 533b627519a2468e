package flight

import (
	"sync"
	"time"
	"unsafe"
)

const maxPinSiteSegments = 4

// A pinSiteTable counts pins by place and reason. The first record of the first segment takes those that find no room.
type pinSiteTable struct {
	mu struct {
		sync.Mutex
		known  map[pinSite]*pinSiteRecord
		base   unsafe.Pointer // of the last segment
		used   int            // of its records
		blocks int            // segments
		full   bool
	}
}

type pinSite struct {
	stack StackID
	why   Reason
}

// CountPin counts a pin that is over: a thread blocked at stack for that long and held its carrier, while so many others waited. It may be called from
// anywhere, and takes a lock.
func (r *Recorder) CountPin(stack StackID, why Reason, held time.Duration, victims uint64, t Ticks) {
	if r == nil {
		return
	}
	r.recent.count(r, &recentHold{recentSite: recentSite{RecentPin, why, stack}, held: held, waiting: victims}, t)
	p := &r.pinSites
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := p.recordLocked(r, pinSite{stack, why})
	if rec == nil {
		return // there is no segment at all: warned of
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Count, rec.Count+1)
	put64(&rec.Total, rec.Total+uint64(held))
	put64(&rec.Longest, max(rec.Longest, uint64(held)))
	put64(&rec.Victims, rec.Victims+victims)
	put64(&rec.Last, uint64(t))
	endWrite(&rec.Ver, v)
}

func (p *pinSiteTable) recordLocked(r *Recorder, site pinSite) *pinSiteRecord {
	if rec := p.mu.known[site]; rec != nil {
		return rec
	}
	if p.mu.known == nil {
		p.mu.known = make(map[pinSite]*pinSiteRecord)
	}
	if (p.mu.blocks == 0 || p.mu.used == pinSitesPerSegment) && !p.growLocked(r) {
		return p.mu.known[pinSite{}]
	}
	rec := p.nextLocked()
	put32(&rec.Reason, uint32(site.why))
	put32(&rec.Stack, uint32(site.stack))
	p.mu.known[site] = rec
	return rec
}

func (p *pinSiteTable) nextLocked() *pinSiteRecord {
	rec := (*pinSiteRecord)(unsafe.Add(p.mu.base, p.mu.used*pinSiteSize))
	p.mu.used++
	return rec
}

func (p *pinSiteTable) growLocked(r *Recorder) bool {
	if p.mu.full || p.mu.blocks == maxPinSiteSegments {
		return false
	}
	base, err := r.addSegment(segmentPinSite, pinSiteSegmentSize, pinSiteSize, pinSitesPerSegment, nil)
	if err != nil {
		p.mu.full = true
		r.warnOnce("places where threads are pinned are not all told apart any more", err)
		return false
	}
	p.mu.base, p.mu.used = base, 0
	p.mu.blocks++
	if p.mu.blocks == 1 {
		p.mu.known[pinSite{}] = p.nextLocked()
	}
	return true
}
