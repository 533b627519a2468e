package flight

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	scopesPerSegment = 4096
	maxScopeSegments = 256
)

// A scopePool holds the records of open scopes. Record 0 is the root scope.
type scopePool struct {
	bases [maxScopeSegments]atomic.Pointer[byte] // of the segments, for those without the lock; stored under it
	mu    struct {
		sync.Mutex
		segments []unsafe.Pointer
		used     uint32
		free     []ScopeIndex
	}
}

func (p *scopePool) start(r *Recorder) func() error {
	return func() error {
		base, err := r.addSegment(segmentScope, scopesPerSegment*scopeSize, scopeSize, scopesPerSegment, nil)
		if err != nil {
			return err
		}
		p.mu.segments = []unsafe.Pointer{base}
		p.bases[0].Store((*byte)(base))
		p.mu.used = 1
		return nil
	}
}

// nameRoot fills the record of the root scope; strings exist by then.
func (p *scopePool) nameRoot(r *Recorder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeLocked(0, 0, r.Intern("root"), 0, 0, 0, Now())
}

// OpenScope records a scope and returns the position of its record, which [Record.Init] wants for
// its threads. parent is the position of the scope's parent, owner the thread that opened it or 0
// for a goroutine, deadline 0 if it has none. Without room it returns 0: the scope's threads then
// show in the root scope, and the loss is counted.
func (r *Recorder) OpenScope(id ScopeID, name string, parent ScopeIndex, owner ThreadID, deadline, t Ticks) ScopeIndex {
	if r == nil {
		return 0
	}
	s := r.Intern(name)
	p := &r.scopes
	p.mu.Lock()
	defer p.mu.Unlock()
	var i ScopeIndex
	if n := len(p.mu.free); n > 0 {
		i = p.mu.free[n-1]
		p.mu.free = p.mu.free[:n-1]
	} else {
		if int(p.mu.used) == len(p.mu.segments)*scopesPerSegment && !p.growLocked(r) {
			r.lose(lostScopes)
			return 0
		}
		i = ScopeIndex(p.mu.used)
		p.mu.used++
	}
	p.writeLocked(i, id, s, parent, owner, deadline, t)
	if sums := r.totals.of(i); sums != nil {
		sums.moveTo(r.totals.of(0)) // of the scope before
		atomic.StoreUint64(&sums.Scope, uint64(id))
	}
	return i
}

func (p *scopePool) growLocked(r *Recorder) bool {
	if len(p.mu.segments) == maxScopeSegments {
		return false
	}
	base, err := r.addSegment(segmentScope, scopesPerSegment*scopeSize, scopeSize, scopesPerSegment, nil)
	if err != nil {
		r.warnOnce("scopes are not recorded any more", err)
		return false
	}
	r.addTotals(len(p.mu.segments))
	p.bases[len(p.mu.segments)].Store((*byte)(base))
	p.mu.segments = append(p.mu.segments, base)
	return true
}

func (p *scopePool) writeLocked(i ScopeIndex, id ScopeID, name StringID, parent ScopeIndex, owner ThreadID, deadline, t Ticks) {
	s := p.recordLocked(i)
	v := beginWrite(&s.Ver)
	put32(&s.State, uint32(ScopeOpen))
	put64(&s.ID, uint64(id))
	put64(&s.Owner, uint64(owner))
	put64(&s.Opened, uint64(t))
	put64(&s.Deadline, uint64(deadline))
	put32(&s.Parent, uint32(parent))
	put32(&s.Name, uint32(name))
	put32(&s.Policy, 0)
	put32(&s.Limit, 0)
	put32(&s.Queued, 0)
	endWrite(&s.Ver, v)
}

// scopeClosed is no scope's id.
const scopeClosed = 1<<64 - 1

// parent returns the position of the parent of a scope that is open; 0 if it makes no sense.
func (p *scopePool) parent(i ScopeIndex) ScopeIndex {
	if i/scopesPerSegment >= maxScopeSegments {
		return 0
	}
	base := p.bases[i/scopesPerSegment].Load()
	if base == nil {
		return 0
	}
	return ScopeIndex(atomic.LoadUint32(&(*scopeRecord)(unsafe.Add(unsafe.Pointer(base), i%scopesPerSegment*scopeSize)).Parent))
}

// DescribeScope records the policy of scope i, and how many of its threads execute at a time, 0 for no limit.
func (r *Recorder) DescribeScope(i ScopeIndex, policy string, limit int) {
	if r == nil || i == 0 {
		return
	}
	s := r.Intern(policy)
	p := &r.scopes
	p.mu.Lock()
	defer p.mu.Unlock()
	if uint32(i) >= p.mu.used {
		return
	}
	rec := p.recordLocked(i)
	v := beginWrite(&rec.Ver)
	put32(&rec.Policy, uint32(s))
	put32(&rec.Limit, uint32(limit))
	endWrite(&rec.Ver, v)
}

// SetScopeQueued records how many threads of scope i have to wait for others to end before they begin.
func (r *Recorder) SetScopeQueued(i ScopeIndex, n int) {
	if r == nil || i == 0 {
		return
	}
	p := &r.scopes
	p.mu.Lock()
	defer p.mu.Unlock()
	if uint32(i) >= p.mu.used {
		return
	}
	rec := p.recordLocked(i)
	v := beginWrite(&rec.Ver)
	put32(&rec.Queued, uint32(n))
	endWrite(&rec.Ver, v)
}

func (p *scopePool) recordLocked(i ScopeIndex) *scopeRecord {
	return (*scopeRecord)(unsafe.Add(p.mu.segments[i/scopesPerSegment], i%scopesPerSegment*scopeSize))
}

// SetScopeState records what scope i is doing. The root scope never changes.
func (r *Recorder) SetScopeState(i ScopeIndex, s ScopeState) {
	if r == nil || i == 0 {
		return
	}
	p := &r.scopes
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setStateLocked(i, s)
}

func (p *scopePool) setStateLocked(i ScopeIndex, s ScopeState) bool {
	if uint32(i) >= p.mu.used {
		return false
	}
	rec := p.recordLocked(i)
	v := beginWrite(&rec.Ver)
	put32(&rec.State, uint32(s))
	endWrite(&rec.Ver, v)
	return true
}

// CloseScope frees the record of scope i, once per [Recorder.OpenScope] and after the scope's last
// thread has ended. The root scope stays.
func (r *Recorder) CloseScope(i ScopeIndex) {
	if r == nil || i == 0 {
		return
	}
	p := &r.scopes
	p.mu.Lock()
	defer p.mu.Unlock()
	if sums := r.totals.of(i); sums != nil && uint32(i) < p.mu.used {
		atomic.StoreUint64(&sums.Scope, scopeClosed)
		sums.moveTo(r.totals.of(ScopeIndex(p.recordLocked(i).Parent))) // T2
	}
	if p.setStateLocked(i, ScopeFree) {
		p.mu.free = append(p.mu.free, i)
	}
}
