package flight

import (
	"math"
	"sync/atomic"
	"time"
)

// A gate is what the settings of a recorder come to for those who record. Words are stored by [Recorder.SetSettings] under its lock; who records reads them one by one: a
// change is seen soon, and not by all at once.
type gate struct {
	all   atomic.Uint64 // bit k: every event of kind k is recorded
	some  atomic.Uint64 // bit k: of kind k, those that [Ring.chosen] chooses
	depth atomic.Int32  // of the stacks of parks, 0: none
	cpu   atomic.Bool

	over   [KindCount]atomic.Uint64 // ticks from which on a kind's events count; [never] if it is off
	every  [KindCount]atomic.Uint32
	second [KindCount]atomic.Uint32 // see [Setting.PerSecond]
	depths [KindCount]atomic.Int32

	_ [64]byte
}

const never = math.MaxUint64

func (g *gate) set(s *Settings) {
	var all, some uint64
	for k := range s.Kinds {
		set := &s.Kinds[k]
		over := uint64(never)
		if set.On {
			over = uint64(durationToTicks(set.Threshold))
			if set.Every > 1 || set.PerSecond > 0 {
				some |= 1 << k
			} else {
				all |= 1 << k
			}
		}
		g.every[k].Store(max(set.Every, 1))
		g.second[k].Store(set.PerSecond)
		g.over[k].Store(over)
		g.depths[k].Store(int32(set.depth()))
	}
	all |= 1 << EventMore
	g.depth.Store(int32(s.Kinds[EventPark].depth()))
	g.cpu.Store(s.CPUTime)
	g.some.Store(some)
	g.all.Store(all)
}

// depth returns how many frames of stacks are recorded.
func (s *Setting) depth() int {
	switch {
	case !s.Stack:
		return 0
	case s.Depth == 0:
		return maxStackDepth
	}
	return s.Depth
}

// Over reports whether an event of kind k is recorded that took d. It costs a load.
func (r *Recorder) Over(k Kind, d Ticks) bool { return r != nil && uint64(d) >= r.gate.over[k].Load() }

// On reports whether events of kind k are recorded. It costs a load.
func (r *Recorder) On(k Kind) bool { return r != nil && r.gate.over[k].Load() != never }

// MeasuresCPU reports whether the settings ask for the time that threads spend on a processor.
func (r *Recorder) MeasuresCPU() bool { return r != nil && r.gate.cpu.Load() }

// A limiter counts the events of a kind in a second.
type limiter struct {
	from Ticks
	n    uint32
}

// chosen reports whether the event of kind k that was just counted is recorded, unless all are.
func (g *Ring) chosen(t Ticks, k Kind, count uint64) bool {
	gate := &g.rec.gate
	if gate.some.Load()>>k&1 == 0 || count%uint64(gate.every[k].Load()) != 0 {
		return false
	}
	most := gate.second[k].Load()
	if most == 0 {
		return true
	}
	l := &g.limits[k]
	if t-l.from >= Ticks(durationToTicks(time.Second)) || t < l.from {
		l.from, l.n = t, 0
	}
	l.n++
	return l.n <= most
}

// Full reports whether there were as many events of kind k in this second as the settings allow. Then it has counted one more, which the caller need not make.
// Only the ring's owner may call it; g may be nil.
func (g *Ring) Full(t Ticks, k Kind) bool {
	if g == nil {
		return false
	}
	most, l := g.rec.gate.second[k].Load(), &g.limits[k]
	if most == 0 || l.n < most || t < l.from || t-l.from >= Ticks(durationToTicks(time.Second)) {
		return false
	}
	n := &g.hdr.Counts[k]
	put64(n, *n+1)
	return true
}

// SetSettings changes what is recorded from now on, and tells it to the readers of the file.
func (r *Recorder) SetSettings(s Settings) {
	if r == nil {
		return
	}
	name := r.Intern(s.Name)
	now := Now()
	r.settingsLock.Lock()
	r.settings = s
	r.gate.set(&s)
	h := &r.header.Settings
	v := beginWrite(&h.Ver)
	put32(&h.Name, uint32(name))
	put64(&h.Changed, uint64(now))
	flags := uint32(0)
	if s.CPUTime {
		flags = settingsCPUTime
	}
	put32(&h.Flags, flags)
	for k := range s.Kinds {
		s.Kinds[k].write(&h.Kinds[k])
	}
	endWrite(&h.Ver, v)
	r.settingsLock.Unlock()
	userSettingsChanged(r)
	r.Emit(now, EventSettings, 0, StackID(name), 0, 0)
}

// Settings returns what is recorded. Those of a recorder that is turned off are the zero value.
func (r *Recorder) Settings() Settings {
	if r == nil {
		return Settings{}
	}
	r.settingsLock.Lock()
	defer r.settingsLock.Unlock()
	return r.settings
}

func (s *Setting) write(to *settingRow) {
	word := min(uint64(max(s.Threshold, 0)), maxHeld) | uint64(s.Depth)<<settingDepthShift
	if s.On {
		word |= settingOn
	}
	if s.Stack {
		word |= settingStack
	}
	put64(&to.Word, word)
	put32(&to.Every, s.Every)
	put32(&to.PerSecond, s.PerSecond)
}

func (row *settingRow) setting() Setting {
	return Setting{
		On: row.Word&settingOn != 0, Stack: row.Word&settingStack != 0,
		Threshold: time.Duration(row.Word & maxHeld), Depth: int(row.Word >> settingDepthShift & 0x7f),
		Every: row.Every, PerSecond: row.PerSecond,
	}
}
