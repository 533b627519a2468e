package flight

import (
	"sync/atomic"
	"unsafe"
)

// Spent is what threads have used: each moment of a thread's life counts for one of the three times.
type Spent struct {
	Threads uint64 // that have ended
	Mounts  uint64
	Pins    uint64
	Run     Ticks // mounted, and not pinned
	Ready   Ticks // runnable
	Park    Ticks // the rest: parked, pinned, not started
	CPU     Ticks // of Run the time on a processor, of those for which it was measured: see [Settings]
}

// words are those of a totalsRecord, after the scope.
func (s *Spent) words() [totalsWords]uint64 {
	return [totalsWords]uint64{s.Threads, s.Mounts, uint64(s.Run), uint64(s.Ready), uint64(s.Park), uint64(s.CPU), s.Pins}
}

const totalsWords = 7

// spent returns what the thread of rec has used when it ends at t.
func (rec *Record) spent(t Ticks) Spent {
	c := rec.cold()
	s := Spent{Threads: 1, Mounts: uint64(rec.mounts), Pins: uint64(rec.pins), Run: Ticks(c.Run), Ready: Ticks(c.Ready), CPU: Ticks(c.CPU)}
	if life := t - Ticks(c.Created); life > s.Run+s.Ready {
		s.Park = life - s.Run - s.Ready
	}
	return s
}

// totals are the sums of the scopes' threads. Their records lie as those of the scopes do.
//
//	T1  A carrier adds up what threads of one scope used, and adds that to the scope's record when it meets another scope, has met flushAt threads, or
//	    goes idle. Then the scope may be closed, and its record another scope's: that is known by the id, and the parent gets it, or else the root.
//	T2  Who closes a scope moves its sums to its parent.
type totals struct {
	segments [maxScopeSegments]atomic.Pointer[byte]
}

const flushAt = 16

func (t *totals) of(i ScopeIndex) *totalsRecord {
	if s := i / scopesPerSegment; s < maxScopeSegments {
		if base := t.segments[s].Load(); base != nil {
			return (*totalsRecord)(unsafe.Add(unsafe.Pointer(base), i%scopesPerSegment*totalsSize))
		}
	}
	return nil
}

func (r *Recorder) addTotals(segment int) {
	base, err := r.addSegment(segmentTotals, totalsSegmentSize, totalsSize, scopesPerSegment, nil)
	if err != nil {
		r.warnOnce("what threads used is not added up for all scopes", err)
		return
	}
	r.totals.segments[segment].Store((*byte)(base))
}

// A pending sum is of threads of one scope that ended on one carrier (T1).
type pending struct {
	scope, parent ScopeIndex
	id, parentID  uint64
	spent         Spent // but Park, which is the rest of life
	life          Ticks
}

// note adds what the thread of rec, which ends at t, has used; run is how long it was mounted.
func (p *pending) note(r *Recorder, rec *Record, t, run Ticks) {
	s := &p.spent
	if s.Threads == 0 || p.scope != ScopeIndex(rec.scope) {
		p.begin(r, ScopeIndex(rec.scope))
	}
	c := rec.cold()
	s.Threads++
	s.Mounts += uint64(rec.mounts)
	s.Pins += uint64(rec.pins)
	s.Run += run
	s.Ready += Ticks(c.Ready)
	s.CPU += Ticks(c.CPU)
	p.life += t - Ticks(c.Created)
	if s.Threads == flushAt {
		p.flush(r)
	}
}

// begin makes p, of whatever scope before, one of scope i.
func (p *pending) begin(r *Recorder, i ScopeIndex) {
	p.flush(r)
	*p = pending{scope: i}
	if rec := r.totals.of(i); rec != nil {
		p.id = atomic.LoadUint64(&rec.Scope)
	}
	if i != 0 {
		p.parent = r.scopes.parent(i)
		if rec := r.totals.of(p.parent); rec != nil {
			p.parentID = atomic.LoadUint64(&rec.Scope)
		}
	}
}

func (p *pending) flush(r *Recorder) {
	if p.spent.Threads == 0 {
		return
	}
	if used := p.spent.Run + p.spent.Ready; p.life > used {
		p.spent.Park = p.life - used
	}
	to := r.totals.of(p.scope)
	if to == nil || atomic.LoadUint64(&to.Scope) != p.id {
		if to = r.totals.of(p.parent); to == nil || atomic.LoadUint64(&to.Scope) != p.parentID {
			to = r.totals.of(0)
		}
	}
	if to != nil {
		to.add(p.spent.words())
	}
	p.spent, p.life = Spent{}, 0
}

func (rec *totalsRecord) add(words [totalsWords]uint64) {
	sums := rec.sums()
	for i, w := range words {
		if w != 0 {
			atomic.AddUint64(&sums[i], w)
		}
	}
}

func (rec *totalsRecord) sums() *[totalsWords]uint64 {
	return (*[totalsWords]uint64)(unsafe.Pointer(&rec.Ended))
}

// moveTo gives the sums to another record.
func (rec *totalsRecord) moveTo(to *totalsRecord) {
	if atomic.LoadUint64(&rec.Ended) == 0 {
		return // as a rule; what somebody adds now stays, and is moved when the record is used again
	}
	var words [totalsWords]uint64
	for i, sums := 0, rec.sums(); i < totalsWords; i++ {
		words[i] = atomic.SwapUint64(&sums[i], 0)
	}
	if to != nil {
		to.add(words)
	}
}

// AddSpent adds what a thread of scope i used to the scope's sums, for those who own no ring.
func (r *Recorder) AddSpent(i ScopeIndex, s Spent) {
	if r == nil {
		return
	}
	if rec := r.totals.of(i); rec != nil {
		rec.add(s.words())
	}
}
