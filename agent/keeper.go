package agent

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	// keepAll is how far back every moment is kept. Of what is older there is one each keepStep, as far back as the time line goes.
	keepAll  = time.Minute
	keepStep = 5 * time.Second
	// keepMost is how many moments of one process are kept, whatever memory there is.
	keepMost = 240

	// A moment that a page has marked is kept keepMarked longer than somebody looks at the process with it, mostMarked of them at most.
	keepMarked = time.Hour
	mostMarked = 16

	usualPast       = 32 << 20
	usualPastWithin = 8 << 20
)

// A keeper keeps views of a process: the moments that a page can go back to. Its methods may be called from any goroutine.
//
//	K1  Moments are in the order of time, each of another snapshot, the newest last. The newest is always kept.
//	K2  A kept view has no shelf, no history and nothing that only the newest needs; equal stacks of all kept views are one slice of frames.
//	K3  bytes is the sum of the moments' bytes and of the frames in stacks; the agent's sum is that of all keepers that are not cleared.
//	K4  A marked moment goes by memory alone, after all others but the newest.
type keeper struct {
	total *atomic.Int64 // of the agent

	mu struct {
		sync.Mutex
		moments []moment
		stacks  map[string]*keptStack // by fingerprint
		bytes   int64
		marked  map[int64]time.Time // until when a moment is kept for pages that have marked it, by its time
		cleared bool                // nobody can ask for it any more
	}
}

// A moment is a kept view.
type moment struct {
	at    int64 // Unix milliseconds of its snapshot
	view  *view
	bytes int64 // without frames
}

type keptStack struct {
	frames []dump.Frame
	users  int
}

// add keeps a view, if it has another snapshot than the newest that is kept, and drops what is too old or too near to others.
func (k *keeper) add(v *view, length time.Duration) {
	if v.snapshot == nil {
		return
	}
	at := v.snapshot.Taken.UnixMilli()
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.mu.moments)
	if k.mu.cleared || n > 0 && at <= k.mu.moments[n-1].at {
		return
	}
	k.mu.moments = append(k.mu.moments, k.keepLocked(v, at))
	k.mu.moments = slices.DeleteFunc(k.mu.moments, func(m moment) bool {
		gone := at-m.at > length.Milliseconds() && !k.markedLocked(m.at)
		if gone {
			k.releaseLocked(&m)
		}
		return gone
	})
	before := int64(-1) // the moment before that stays
	k.mu.moments = slices.DeleteFunc(k.mu.moments, func(m moment) bool {
		if gone := at-m.at > keepAll.Milliseconds() && before >= 0 && m.at-before < keepStep.Milliseconds() && !k.markedLocked(m.at); gone {
			k.releaseLocked(&m)
			return true
		}
		before = m.at
		return false
	})
	for len(k.mu.moments) > keepMost {
		k.dropLocked()
	}
}

// drop drops a moment, the one that is missed least: near to its neighbours, compared with its age. It reports whether there was one that may be dropped.
func (k *keeper) drop() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dropLocked()
}

func (k *keeper) dropLocked() bool {
	all := k.mu.moments
	n := len(all)
	if n < 2 {
		return false
	}
	now := all[n-1].at
	least, worth := 0, 0.0
	for i := 1; i < n-1; i++ {
		if w := float64(all[i+1].at-all[i-1].at) / float64(now-all[i].at+1000); (least == 0 || w < worth) && !k.markedLocked(all[i].at) {
			least, worth = i, w
		}
	}
	k.releaseLocked(&all[least])
	k.mu.moments = slices.Delete(all, least, least+1)
	return true
}

// mark keeps the moment that find gives for a time, for keepMarked from now on.
func (k *keeper) mark(at int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := k.indexLocked(at)
	if i < 0 {
		return
	}
	if k.mu.marked == nil {
		k.mu.marked = map[int64]time.Time{}
	}
	maps.DeleteFunc(k.mu.marked, func(_ int64, until time.Time) bool { return now.After(until) })
	at = k.mu.moments[i].at
	if _, ok := k.mu.marked[at]; ok || len(k.mu.marked) < mostMarked {
		k.mu.marked[at] = now.Add(keepMarked)
	}
}

func (k *keeper) markedLocked(at int64) bool {
	until, ok := k.mu.marked[at]
	return ok && time.Now().Before(until)
}

// clear drops everything, for good.
func (k *keeper) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.addLocked(-k.mu.bytes)
	k.mu.moments, k.mu.stacks, k.mu.cleared = nil, nil, true
}

func (k *keeper) addLocked(bytes int64) {
	k.mu.bytes += bytes
	if k.total != nil {
		k.total.Add(bytes)
	}
}

// held is how many bytes are kept, and of how many moments.
func (k *keeper) held() (bytes int64, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.bytes, len(k.mu.moments)
}

// keepLocked returns the view as it is kept: K2.
func (k *keeper) keepLocked(v *view, at int64) moment {
	c := *v
	c.kept = true
	c.shelf, c.history, c.counted, c.pause = nil, timeline{}, counted{}, 0
	c.rings.heads, c.before, c.befores = nil, nil, nil
	c.told.schedulers = slices.Clone(v.told.schedulers)
	for i := range c.told.schedulers { // what is shown is the last telling, and how it differs from the first
		if s := &c.told.schedulers[i]; len(s.tellings) > 2 {
			s.tellings = []telling{s.tellings[0], *s.newest()}
		}
	}
	bytes := weigh(&c)
	c.snapshot = k.shareLocked(v.snapshot)
	bytes += weighSnapshot(c.snapshot)
	c.filtered = maps.Clone(v.filtered)
	for by, s := range c.filtered {
		c.filtered[by] = k.shareLocked(s)
		bytes += weighSnapshot(c.filtered[by])
	}
	k.addLocked(bytes)
	return moment{at, &c, bytes}
}

// shareLocked returns a copy of a snapshot whose frames are those of other kept snapshots, where they are equal.
func (k *keeper) shareLocked(s *dump.Snapshot) *dump.Snapshot {
	c := *s
	c.Stacks = slices.Clone(s.Stacks)
	if k.mu.stacks == nil {
		k.mu.stacks = map[string]*keptStack{}
	}
	for i := range c.Stacks {
		stack := &c.Stacks[i]
		known := k.mu.stacks[stack.Fingerprint]
		if known == nil {
			known = &keptStack{frames: stack.Frames}
			k.mu.stacks[stack.Fingerprint] = known
			k.addLocked(weighFrames(stack))
		}
		stack.Frames = known.frames
		known.users++
	}
	return &c
}

// releaseLocked takes a moment out of the sum.
func (k *keeper) releaseLocked(m *moment) {
	delete(k.mu.marked, m.at)
	k.addLocked(-m.bytes)
	release := func(s *dump.Snapshot) {
		for i := range s.Stacks {
			stack := &s.Stacks[i]
			known := k.mu.stacks[stack.Fingerprint]
			if known.users--; known.users == 0 {
				delete(k.mu.stacks, stack.Fingerprint)
				k.addLocked(-weighFrames(stack))
			}
		}
	}
	release(m.view.snapshot)
	for _, s := range m.view.filtered {
		release(s)
	}
}

// The weights are what is allocated for a moment alone, within some ten percent. Names of functions, files and scopes belong to the reader.

func weigh(v *view) int64 {
	n := int64(unsafe.Sizeof(*v)) + 64
	n += int64(len(v.rings.carriers)) * int64(unsafe.Sizeof(carrier{}))
	for i := range v.rings.carriers {
		n += int64(len(v.rings.carriers[i].past))
	}
	for i := range v.told.schedulers {
		s := &v.told.schedulers[i]
		n += int64(unsafe.Sizeof(*s)) + int64(len(s.tellings))*int64(unsafe.Sizeof(telling{}))
	}
	if v.found != nil {
		for i := range v.found.Findings {
			x := &v.found.Findings[i]
			n += int64(unsafe.Sizeof(*x)) + int64(len(x.Key)+len(x.What)) + int64(len(x.Examples))*int64(unsafe.Sizeof(dump.Party{}))
			for _, e := range x.Evidence {
				n += int64(len(e)) + 16
			}
		}
	}
	if s := v.seen; s != nil && s.pins != nil {
		n += int64(len(s.pins.Rows))*int64(unsafe.Sizeof(PinSiteRow{})) + int64(len(s.delays.Rows))*int64(unsafe.Sizeof(DelayRow{})) + int64(len(s.warnings.Rows))*int64(unsafe.Sizeof(Warning{}))
		n += int64(len(s.pollers.Rows)) * int64(unsafe.Sizeof(PollerRow{})+8*flight.PollerBatches)
		n += int64(len(s.parked))*int64(unsafe.Sizeof(dump.Reasons{})) + int64(len(s.holders))*64
	}
	return n
}

func weighSnapshot(s *dump.Snapshot) int64 {
	n := int64(unsafe.Sizeof(*s))
	n += int64(len(s.Scopes)) * int64(unsafe.Sizeof(dump.Scope{}))
	for i := range s.Scopes {
		n += int64(len(s.Scopes[i].Key))
		if s.Scopes[i].Used != nil {
			n += int64(unsafe.Sizeof(dump.Used{}))
		}
	}
	n += int64(len(s.Groups)) * int64(unsafe.Sizeof(dump.Group{}))
	for i := range s.Groups {
		g := &s.Groups[i]
		n += int64(len(g.Key)+len(g.Blocker)) + int64(len(g.Examples))*int64(unsafe.Sizeof(dump.Example{}))
		for j := range g.Examples {
			n += int64(len(g.Examples[j].Name))
		}
	}
	n += int64(len(s.Stacks)) * int64(unsafe.Sizeof(dump.Stack{}))
	for i := range s.Stacks {
		n += int64(len(s.Stacks[i].Fingerprint))
	}
	return n
}

func weighFrames(s *dump.Stack) int64 {
	const entry = 64 // of the map
	return entry + int64(len(s.Fingerprint)) + int64(len(s.Frames))*int64(unsafe.Sizeof(dump.Frame{}))
}

// pastBudget is how many bytes the moments of all processes may take.
func (a *Agent) pastBudget() int64 {
	return int64(a.options.MaxPast) / int64(a.meter.thrift.rule().past)
}

// economize drops moments of the processes that have most, until there is not more than may be.
func (a *Agent) economize() {
	budget := a.pastBudget()
	if a.meter.past.Load() <= budget {
		return
	}
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.mu.followers))
	a.mu.Unlock()
	for a.meter.past.Load() > budget {
		var heaviest *follower
		most := int64(0)
		for _, f := range all {
			if bytes, n := f.keeper.held(); n > 1 && bytes > most {
				heaviest, most = f, bytes
			}
		}
		if heaviest == nil || !heaviest.keeper.drop() {
			return
		}
	}
}

// find returns the newest view that is not after a moment; nil if none is kept.
func (k *keeper) find(at int64) *view {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.indexLocked(at); i >= 0 {
		return k.mu.moments[i].view
	}
	return nil
}

// compared returns the snapshot of a kept view that s, of the view at another moment, was compared with; nil if none is kept. of takes it from the view.
func (k *keeper) compared(s *dump.Snapshot, of func(*view) *dump.Snapshot) *dump.Snapshot {
	if s == nil || s.ChangeOver == 0 {
		return nil
	}
	then := s.Taken.Add(-s.ChangeOver)
	if v := k.find(then.UnixMilli()); v != nil {
		if was := of(v); was != nil && was.Taken.Equal(then) {
			return was
		}
	}
	return nil
}

// indexLocked is the position of the newest moment that is not after a time, -1 if there is none.
func (k *keeper) indexLocked(at int64) int {
	i, exact := slices.BinarySearchFunc(k.mu.moments, at, func(m moment, at int64) int { return int(min(max(m.at-at, -1), 1)) })
	if exact {
		return i
	}
	return i - 1
}

// steps is how many moments before and after the one that is shown a page is told, so that keys can step without asking.
const stepsTold = 10

// around tells which moments there are, and those next to a time, the nearest first; 0 is now.
func (k *keeper) around(at int64) Moment {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.mu.moments
	m := Moment{Kept: len(all), Back: []int64{}, Forth: []int64{}}
	if len(all) == 0 {
		return m
	}
	m.Oldest, m.Newest = all[0].at, all[len(all)-1].at
	from, exact := len(all), false
	if at != 0 {
		from, exact = slices.BinarySearchFunc(all, at, func(m moment, at int64) int { return int(min(max(m.at-at, -1), 1)) })
	}
	for i := from - 1; i >= 0 && len(m.Back) < stepsTold; i-- {
		m.Back = append(m.Back, all[i].at)
	}
	if exact {
		from++
	}
	for i := from; i < len(all) && len(m.Forth) < stepsTold; i++ {
		m.Forth = append(m.Forth, all[i].at)
	}
	return m
}
