package roster

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

var _ dump.Moment = (*Roster)(nil)

// What a roster holds at most, so that a hostile dump cannot fill the memory.
const (
	maxStacks   = 1 << 17
	maxFrames   = 1 << 22 // of all stacks
	maxScopes   = 1 << 20
	maxBlockers = 1 << 20
	maxText     = 256 << 20 // bytes of all names
)

// A Roster is threads as they were at a moment. Its ticks are nanoseconds of the wall clock.
type Roster struct {
	process flight.Process
	at      time.Time
	kind    string
	status  dump.Status

	pack pack
	near atomic.Pointer[nearBlock] // the block in which a name or a creator was asked for last

	scopes   []flight.ScopeRow
	byName   map[scopeName]flight.ScopeIndex
	stacks   []flight.Stack // stack id-1
	bySum    map[uint64]flight.StackID
	seed     maphash.Seed
	frames   int
	texts    map[string]string
	text     int
	blockers []flight.BlockerRow
	blocker  map[flight.Blocker]int

	incomplete []string
	lost       flight.Lost
}

type scopeName struct {
	parent flight.ScopeIndex
	name   string
}

// A nearBlock is a block that was read with its names.
type nearBlock struct {
	at      int
	threads []Thread
}

// A Thread is a thread to add.
type Thread struct {
	ID      flight.ThreadID
	Name    string
	Scope   flight.ScopeIndex
	Stack   flight.StackID // of mounted ones what they execute
	State   flight.State
	Reason  flight.Reason
	Wait    time.Duration // how long it has been in State; [UnknownWait]: not known
	Creator flight.ThreadID
	Flags   flight.RecordFlags
	More
}

// UnknownWait is the Wait of a thread of which a dump does not say how long it has been in its state.
const UnknownWait time.Duration = -1

// More is what few dumps know of a thread.
type More struct {
	Blocker   flight.Blocker
	Limited   bool
	Waker     flight.ThreadID
	Mounts    uint32
	Pins      uint32
	Carrier   flight.CarrierID // of those that are not mounted and not pinned it may be anything
	Scheduler flight.SchedulerID
}

// New returns a roster with the root scope and no thread.
func New(p flight.Process, at time.Time) *Roster {
	return &Roster{
		process: p, at: at, seed: maphash.MakeSeed(),
		scopes:  []flight.ScopeRow{{Name: "root", State: flight.ScopeOpen}},
		byName:  map[scopeName]flight.ScopeIndex{},
		bySum:   map[uint64]flight.StackID{},
		texts:   map[string]string{},
		blocker: map[flight.Blocker]int{},
	}
}

// Describe replaces what is said of the process, and the moment.
func (r *Roster) Describe(p flight.Process, at time.Time) { r.process, r.at = p, at }

// SetKind sets what the threads are called, such as "goroutine".
func (r *Roster) SetKind(kind string) { r.kind = kind }

// Kind returns what the threads are called; "": threads.
func (r *Roster) Kind() string { return r.kind }

// Miss notes that something is missing, in one short sentence.
func (r *Roster) Miss(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.incomplete, s) {
		r.incomplete = append(r.incomplete, s)
	}
}

// Scope returns the scope of a name in another, and makes it if there is none.
func (r *Roster) Scope(parent flight.ScopeIndex, name string) flight.ScopeIndex {
	at, ok := r.byName[scopeName{parent, name}]
	if !ok {
		at = r.AddScope(flight.ScopeRow{Parent: parent, Name: name})
		r.byName[scopeName{parent, r.scopes[at].Name}] = at
	}
	return at
}

// AddScope makes a scope and returns its position, which it has instead of s.Index. Without room it is the parent's.
func (r *Roster) AddScope(s flight.ScopeRow) flight.ScopeIndex {
	if len(r.scopes) >= maxScopes {
		r.lost.Scopes++
		return s.Parent
	}
	s.Index, s.State, s.Name = flight.ScopeIndex(len(r.scopes)), flight.ScopeOpen, r.Text(s.Name)
	r.scopes = append(r.scopes, s)
	return s.Index
}

// SetScope replaces what [Roster.AddScope] was told of the scope at s.Index.
func (r *Roster) SetScope(s flight.ScopeRow) {
	s.State, s.Name = flight.ScopeOpen, r.Text(s.Name)
	r.scopes[s.Index] = s
}

// Text returns s, the same memory for the same text: for strings that come again and again.
func (r *Roster) Text(s string) string {
	if known, ok := r.texts[s]; ok {
		return known
	}
	if r.text += len(s); r.text > maxText {
		r.lost.Strings++
		return ""
	}
	s = string([]byte(s)) // what s is a part of must not stay
	r.texts[s] = s
	return s
}

// Intern returns the id of a stack; 0 without room. The texts of frames are kept as [Roster.Text] has them.
func (r *Roster) Intern(frames []flight.Frame, truncated bool) flight.StackID {
	if len(frames) == 0 {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	for i := range frames {
		f := &frames[i]
		h.WriteString(f.Func)
		h.WriteByte(0)
		h.WriteString(f.File)
		var line [8]byte
		for j := range line {
			line[j] = byte(f.Line >> (8 * j))
		}
		h.Write(line[:])
	}
	if truncated {
		h.WriteByte(1)
	}
	return r.InternSum(h.Sum64(), func() ([]flight.Frame, bool) { return frames, truncated })
}

// InternSum is [Roster.Intern] of a stack that is known by a hash; frames are asked for when it is a new one.
func (r *Roster) InternSum(hash uint64, frames func() ([]flight.Frame, bool)) flight.StackID {
	if id, ok := r.bySum[hash]; ok {
		return id
	}
	all, truncated := frames()
	if len(r.stacks) >= maxStacks || r.frames+len(all) > maxFrames {
		r.lost.Stacks++
		return 0
	}
	r.frames += len(all)
	s := flight.Stack{ID: flight.StackID(len(r.stacks) + 1), Frames: slices.Clone(all), Truncated: truncated}
	for i := range s.Frames {
		f := &s.Frames[i]
		f.Func, f.File = r.Text(f.Func), r.Text(f.File)
		if f.Func == "" {
			f.Func = "0x" + strconv.FormatUint(f.PC, 16)
			s.Unsymbolised++
		}
	}
	r.stacks = append(r.stacks, s)
	r.bySum[hash] = s.ID
	return s.ID
}

// Blocker describes what somebody waits for. What is known of it already is replaced.
func (r *Roster) Blocker(b flight.BlockerRow) {
	if at, ok := r.blocker[b.Blocker]; ok {
		r.blockers[at] = b
		return
	}
	if len(r.blockers) >= maxBlockers {
		r.lost.Blockers++
		return
	}
	b.Name = r.Text(b.Name)
	r.blocker[b.Blocker] = len(r.blockers)
	r.blockers = append(r.blockers, b)
}

// FindBlocker returns what is known of something that somebody waits for.
func (r *Roster) FindBlocker(b flight.Blocker) (flight.BlockerRow, bool) {
	at, ok := r.blocker[b]
	if !ok {
		return flight.BlockerRow{}, false
	}
	return r.blockers[at], true
}

// Add adds a thread.
func (r *Roster) Add(t Thread) {
	if t.Name != "" {
		if r.text += len(t.Name); r.text > maxText {
			r.lost.Names++
			t.Name = ""
		}
	}
	t.Flags &= 0xff // the low bits of them
	if t.State == flight.StateMounted && t.Stack != 0 {
		t.Flags |= dump.StackHolds
	}
	r.pack.add(&t)
}

// Len returns the number of threads.
func (r *Roster) Len() int { return r.pack.count }

// Process describes the process.
func (r *Roster) Process() flight.Process {
	p := r.process
	p.LastSeen, p.Threads = r.at, r.pack.count
	return p
}

// SetStatus sets the status of the process.
func (r *Roster) SetStatus(s dump.Status) { r.status = s }

// Status returns the status of the process: [dump.StatusDump] if no other was set.
func (r *Roster) Status() dump.Status { return cmp.Or(r.status, dump.StatusDump) }

// Close does nothing: a roster holds nothing open.
func (r *Roster) Close() error { return nil }

// At returns the moment.
func (r *Roster) At() time.Time { return r.at }

// Incomplete says what is missing.
func (r *Roster) Incomplete() []string { return slices.Clone(r.incomplete) }

// Now returns the moment.
func (r *Roster) Now() flight.Ticks { return flight.Ticks(r.at.UnixNano()) }

// Time returns the time of ticks.
func (r *Roster) Time(t flight.Ticks) time.Time { return time.Unix(0, int64(t)) }

// Between returns the time between ticks.
func (r *Roster) Between(from, to flight.Ticks) time.Duration { return time.Duration(to - from) }

// Scopes returns the scopes. They belong to the caller.
func (r *Roster) Scopes() ([]flight.ScopeRow, error) { return slices.Clone(r.scopes), nil }

// Threads calls visit with the rows of all threads, a block at a time; rows is reused after visit returns.
func (r *Roster) Threads(ctx context.Context, visit func(rows []flight.ThreadRow)) (torn int, err error) {
	const most = 1024 // rows of a visit
	rows := make([]flight.ThreadRow, 0, most+blockThreads)
	var block []Thread
	now := r.Now()
	for at := 0; at < r.pack.count; at += blockThreads {
		block = r.pack.block(at/blockThreads, block, false)
		for i := range block {
			rows = append(rows, block[i].row(uint32(at+i), now))
		}
		if len(rows) >= most || at+blockThreads >= r.pack.count {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			visit(rows)
			rows = rows[:0]
		}
	}
	return 0, nil
}

// row returns what flight files have of a thread. Its name goes by its index.
func (t *Thread) row(index uint32, now flight.Ticks) flight.ThreadRow {
	row := flight.ThreadRow{
		ID: t.ID, Since: now - flight.Ticks(t.Wait), Stack: t.Stack, Scope: t.Scope, Flags: t.Flags,
		Index: index, State: t.State, Reason: t.Reason, Carrier: flight.NoCarrier,
	}
	if t.Wait == UnknownWait {
		row.Since = 0
	}
	if t.Name != "" {
		row.Name = flight.NameRef(index + 1)
	}
	if t.More != (More{}) {
		row.Blocker, row.Limited, row.Waker, row.Mounts, row.Pins, row.Carrier, row.Scheduler =
			t.Blocker, t.Limited, t.Waker, t.Mounts, t.Pins, t.Carrier, t.Scheduler
	}
	return row
}

// thread returns the thread of an index, with its name.
func (r *Roster) thread(index int) *Thread {
	if index < 0 || index >= r.pack.count {
		return nil
	}
	at := index / blockThreads
	n := r.near.Load()
	if n == nil || n.at != at {
		n = &nearBlock{at, r.pack.block(at, make([]Thread, 0, blockThreads), true)}
		r.near.Store(n) // whoever looked at another block has it still
	}
	return &n.threads[index%blockThreads]
}

// ThreadName returns the name of the thread of a row.
func (r *Roster) ThreadName(row flight.ThreadRow) string {
	if t := r.thread(int(row.Name) - 1); t != nil {
		return t.Name
	}
	return ""
}

// ThreadDetail returns who created a thread; index is that of its row.
func (r *Roster) ThreadDetail(index uint32) (flight.ThreadDetail, error) {
	t := r.thread(int(index))
	if t == nil {
		return flight.ThreadDetail{}, fmt.Errorf("no thread %d", index)
	}
	return flight.ThreadDetail{ID: t.ID, Creator: t.Creator}, nil
}

// Stack returns a stack of a thread.
func (r *Roster) Stack(id flight.StackID) (flight.Stack, error) {
	if id == 0 || int(id) > len(r.stacks) {
		return flight.Stack{}, fmt.Errorf("no stack %d", id)
	}
	return r.stacks[id-1], nil
}

// Rings returns none.
func (r *Roster) Rings() ([]flight.RingRow, error) { return nil, nil }

// Blockers returns what is known of what threads wait for.
func (r *Roster) Blockers() ([]flight.BlockerRow, error) { return slices.Clone(r.blockers), nil }

// Lost counts what found no room.
func (r *Roster) Lost() flight.Lost { return r.lost }
