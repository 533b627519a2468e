package dump

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Format names the JSON document and its version.
const Format = "vtscope/dump/v1"

// A Snapshot is the state of all threads of a process at a moment, folded.
//
// The threads counted in Groups, Known and Rest are together Threads, and so are the own counts of Scopes.
type Snapshot struct {
	Format  string  `json:"format"` // always [Format]
	Process Process `json:"process"`

	Taken time.Time     `json:"taken"`   // when the snapshot was taken
	AsOf  time.Time     `json:"as_of"`   // the moment it describes: Taken, the last sign of life of a process that is gone, or a moment of a recording
	Took  time.Duration `json:"took_ns"` // reading and folding

	// Complete reports that every thread is in here with its state and its stack. If not, Incomplete
	// says what is missing, one short sentence each.
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	// Filter is what the threads were chosen by, in its canonical form, and Filtered how many it does not match; both are absent if all were chosen.
	Filter   string `json:"filter,omitempty"`
	Filtered int    `json:"filtered,omitempty"`

	Templates bool `json:"templates,omitempty"` // names of scopes are those of [Template]

	Threads    int    `json:"threads"`     // all threads that match Filter
	ScopeCount int    `json:"scope_count"` // all open scopes, the root scope included, before folding
	States     Counts `json:"states"`      // all threads by state

	Scopes []Scope `json:"scopes"`              // the tree in pre-order: Scopes[0] is the root, siblings by falling Total
	Groups []Group `json:"groups"`              // by falling count
	Rest   Rest    `json:"rest"`                // threads that are in no group of Groups, nor in Known
	Stacks []Stack `json:"stacks"`              // distinct stacks; [Group.Stack] is an index
	Known  Rest    `json:"known_good,omitzero"` // groups that are marked good: see [Marks.Apply]

	Lost Lost `json:"lost"`

	// ChangeOver is the time between the two snapshots that [Compare] compared; 0 if it did not run,
	// and then no Change of a scope or group means anything.
	ChangeOver time.Duration `json:"change_over_ns,omitempty"`

	highest flight.ThreadID // that any thread had by then; 0: their ids do not tell which came first
	since   flight.ThreadID // see [Options.since]
}

// Path returns the names of the scopes from the root to Scopes[scope].
func (s *Snapshot) Path(scope int) []string {
	if scope < 0 || scope >= len(s.Scopes) {
		return nil
	}
	path := make([]string, s.Scopes[scope].Depth+1)
	for i := len(path) - 1; i >= 0 && scope >= 0; i-- {
		path[i] = s.Scopes[scope].Name
		scope = s.Scopes[scope].Parent
	}
	return path
}

// KeepTop keeps the n largest groups and sums the others in Rest. Stacks stay as they are.
func (s *Snapshot) KeepTop(n int) {
	if n < 0 || n >= len(s.Groups) {
		return
	}
	for _, g := range s.Groups[n:] {
		s.Rest.Groups++
		s.Rest.Threads += g.Count
	}
	s.Groups = s.Groups[:n:n]
}

// A Process is the one that a snapshot is of.
type Process struct {
	PID       int       `json:"pid"`
	UID       int       `json:"uid"`
	Program   string    `json:"program"`
	Exe       string    `json:"exe,omitempty"`
	GoVersion string    `json:"go_version,omitempty"`
	Started   time.Time `json:"started"`
	Status    Status    `json:"status"`
	Ending    string    `json:"ending,omitempty"` // how it ended if it is gone, as far as that is known: exit status, signal, panic
	LastSeen  time.Time `json:"last_seen"`        // last sign of life; Taken while the process lives
	File      string    `json:"file,omitempty"`
	// Kind is what the threads of the snapshot are, if they are none of a runtime that calls them so: "goroutine".
	Kind string `json:"kind,omitempty"`
	// Held tells how the process was held while it was looked at: "stopped", or "mounted" for its running threads, one at a time; absent if it was not.
	Held string `json:"held,omitempty"`
	// Unseen says what is not seen of a process that lives and has no thread; absent if there are threads, or it was not looked for them.
	Unseen string `json:"unseen,omitempty"`
}

// noun is what a thread of the snapshot is called.
func (p *Process) noun() string { return cmp.Or(p.Kind, "thread") }

// Threads returns a count of threads as it is printed, by what they are called.
func (p *Process) Threads(n int) string { return Count(n, p.noun()) }

// A Status tells whether a process lives, by a word of [flight.Status].
type Status string

// The statuses.
const (
	StatusRunning Status = "running"
	StatusStopped Status = "stopped" // by a signal such as SIGSTOP, or by a debugger
	StatusEnded   Status = "ended"   // closed its flight file
	StatusGone    Status = "gone"    // did not close its flight file: see Ending
	StatusUnknown Status = "unknown"
	// StatusRecorded is what the process of a [Moment] has: it did this then, and may be gone.
	StatusRecorded Status = "recorded"
	// StatusDump is what the process of a dump has that something else has written, such as Go or a JDK.
	StatusDump Status = "dump"
)

// Gone reports that the process does not exist any more.
func (s Status) Gone() bool { return s == StatusEnded || s == StatusGone || s == "killed" } // as documents said for gone

// Counts counts threads by state. As JSON it is an object of the states that are not zero, by name.
type Counts [flight.StateCount]int

// Total returns the sum of all counts.
func (c *Counts) Total() int {
	n := 0
	for _, v := range c {
		n += v
	}
	return n
}

// Add adds each count of d to that of c.
func (c *Counts) Add(d *Counts) {
	for i, v := range d {
		c[i] += v
	}
}

// MarshalJSON writes {"parked":3,…}.
func (c Counts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, n := range c {
		if n == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", flight.State(i).String(), n)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Counts) UnmarshalJSON(b []byte) error {
	var m map[string]int
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = Counts{}
	for name, n := range m {
		s, err := parseState(name)
		if err != nil {
			return err
		}
		c[s] = n
	}
	return nil
}

// A Scope is a scope of the tree, or all sibling scopes of one name folded in one.
type Scope struct {
	Key    string `json:"key"`    // the same for the same path in every snapshot
	Parent int    `json:"parent"` // index in [Snapshot.Scopes], always lower than its own; -1 for the root
	Depth  int    `json:"depth"`  // 0 for the root
	Name   string `json:"name"`
	Count  int    `json:"count"` // number of scopes folded here; 1 if none was

	Own    int    `json:"own"`    // threads of these scopes
	Total  int    `json:"total"`  // Own and those of all scopes below
	States Counts `json:"states"` // of Own
	Pins   uint64 `json:"pins"`   // how often the threads of Own, which all live, were pinned so far

	Used *Used `json:"used,omitempty"` // by the threads of these scopes that have ended; absent if there are none

	Deadline *time.Time `json:"deadline,omitempty"` // the first of those of the scopes, if any has one
	Queued   int        `json:"queued,omitempty"`   // threads of Own that have to wait for others to end before they begin: see Limit

	// ID, Owner, OwnerName, Policy and Limit are set if one scope is folded here; Owner is 0 if a goroutine owns it.
	ID        flight.ScopeID  `json:"id,omitempty"`
	Owner     flight.ThreadID `json:"owner,omitempty"`
	OwnerName string          `json:"owner_name,omitempty"`
	Policy    string          `json:"policy,omitempty"` // empty for scopes that choose none
	Limit     int             `json:"limit,omitempty"`  // of threads that execute at a time; 0: none

	Known int `json:"known_good,omitempty"` // threads of Own in groups that are marked good

	Change int `json:"change,omitempty"` // of Total, since the other snapshot: see [Snapshot.ChangeOver]
}

// A Group is the threads of one [Scope] that have the same stack, state and reason.
type Group struct {
	Key    string        // the same for the same scope path, stack, state and reason in every snapshot
	Scope  int           // index in [Snapshot.Scopes]
	Stack  int           // index in [Snapshot.Stacks]; -1 if no stack is known, as of threads that execute
	State  flight.State  //
	Reason flight.Reason //
	Count  int           // threads

	Wait Wait // how long they have been in this state

	// Seen is how long ago somebody last saw all of them in Stack, which they cannot record themselves: they may have moved since. 0: Stack is of the moment.
	Seen time.Duration

	// Blocker is what all of them wait for, such as "scope #12" or `semaphore "db"`; empty if they wait for different
	// things or it is not known.
	Blocker string

	Examples []Example // the longest waiting, longest first; at most five

	// LockHolders are the first threads, by id, that hold locks for which somebody waits; at most five of Holding. Locks for which nobody waits are not known.
	LockHolders []LockHolder
	Holding     int // threads that hold such locks

	Change int // of Count, since the other snapshot: see [Snapshot.ChangeOver]

	Mark Mark   // what somebody thinks of it: see [Marks.Apply]
	Note string // of the mark

	arrivals *arrivals // nil: threads do not come all the time
	old      int       // of Count, with ids up to [Snapshot.since]
	stays    bool      // what they wait for may keep them for ever
}

type groupJSON struct {
	Key      string    `json:"key"`
	Scope    int       `json:"scope"`
	Stack    int       `json:"stack"`
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Count    int       `json:"count"`
	Wait     Wait      `json:"wait"`
	Seen     int64     `json:"seen_ns,omitempty"`
	Blocker  string    `json:"blocker,omitempty"`
	Examples []Example `json:"examples"`

	LockHolders []LockHolder `json:"lock_holders,omitempty"`
	Holding     int          `json:"holding,omitempty"`

	Change int    `json:"change,omitempty"`
	Mark   Mark   `json:"mark,omitempty"`
	Note   string `json:"note,omitempty"`
}

// MarshalJSON writes the group with its state and reason by name.
func (g Group) MarshalJSON() ([]byte, error) {
	return json.Marshal(groupJSON{
		g.Key, g.Scope, g.Stack, g.State.String(), g.Reason.String(), g.Count, g.Wait, int64(g.Seen), g.Blocker, g.Examples, g.LockHolders, g.Holding, g.Change, g.Mark, g.Note,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Group) UnmarshalJSON(b []byte) error {
	var j groupJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	state, err := parseState(j.State)
	if err != nil {
		return err
	}
	reason, err := parseReason(j.Reason)
	if err != nil {
		return err
	}
	*g = Group{j.Key, j.Scope, j.Stack, state, reason, j.Count, j.Wait, time.Duration(j.Seen), j.Blocker, j.Examples, j.LockHolders, j.Holding, j.Change, j.Mark, j.Note, nil, 0, false}
	return nil
}

func parseState(name string) (flight.State, error) {
	for s := range flight.StateCount {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown state %q", name)
}

func parseReason(name string) (flight.Reason, error) {
	for r := range flight.ReasonCount {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, fmt.Errorf("unknown reason %q", name)
}

// A Wait summarises how long the threads of a group have been in their state. Min and Max are exact;
// Median is exact for up to 256 threads, and beyond that at most 5 % off.
type Wait struct {
	Min    time.Duration `json:"min_ns"`
	Median time.Duration `json:"median_ns"`
	Max    time.Duration `json:"max_ns"`

	// Unknown is of how many threads nobody recorded since when: dumps of goroutines rarely say. The others are of the rest, and 0 if that is none.
	Unknown int `json:"unknown,omitempty"`

	// Within is set if all of Unknown are known to be shorter than it: a thread that waits in an operation of Go's own does so since it
	// was mounted at the earliest.
	Within time.Duration `json:"within_ns,omitempty"`
}

// unknown is what stands for a figure that nobody recorded.
const unknown = "?"

// Text writes "1m..5m", "5m", "1m..5m or ?" if some of count waits are unknown, or "?" if all are; "<5m" in place of "?" if they are within that.
func (w *Wait) Text(count int, span func(time.Duration) string) string {
	unknown := unknown
	if w.Within > 0 {
		unknown = "<" + span(w.Within)
	}
	if w.Unknown > 0 && w.Unknown >= count {
		return unknown
	}
	s := span(w.Max)
	if low := span(w.Min); low != s {
		s = low + ".." + s
	}
	if w.Unknown > 0 {
		s += " or " + unknown
	}
	return s
}

// upTo writes " for up to 5m", with " or ?" if some of count waits are unknown; nothing if all are, or " for less than 5m" if they are within that.
func (w *Wait) upTo(count int, span func(time.Duration) string) string {
	switch {
	case w.Unknown == 0:
		return " for up to " + span(w.Max)
	case w.Unknown < count && w.Within > 0:
		return " for up to " + span(max(w.Max, w.Within))
	case w.Unknown < count:
		return " for up to " + span(w.Max) + " or " + unknown
	case w.Within > 0:
		return " for less than " + span(w.Within)
	}
	return ""
}

// An Example is one thread of a group. Names are given for the thousand largest groups only.
type Example struct {
	ID   flight.ThreadID `json:"id"`
	Name string          `json:"name,omitempty"`
	Wait time.Duration   `json:"wait_ns"`
	// Unknown: nobody recorded since when; Wait is 0.
	Unknown bool `json:"unknown,omitempty"`

	// Within is set if it is at least known that the wait is shorter than that.
	Within time.Duration `json:"within_ns,omitempty"`
	// Durable and Steps are of a durable thread: its id, and the length of its journal.
	Durable string `json:"durable,omitempty"`
	Steps   uint64 `json:"steps,omitempty"`
}

// A Rest sums the threads that are in no group of a snapshot: those beyond [Options.MaxGroups], and
// those that [Snapshot.KeepTop] took away.
type Rest struct {
	Groups  int `json:"groups"` // at least so many groups
	Threads int `json:"threads"`
}

// A Stack is a call stack, innermost frame first.
type Stack struct {
	Fingerprint string  `json:"fingerprint"` // the same for the same frames in every snapshot
	Frames      []Frame `json:"frames"`
	Truncated   bool    `json:"truncated,omitempty"` // frames beyond the outermost one here are not recorded
}

// A Frame is a call in a stack.
type Frame struct {
	Func     string `json:"func"` // with its import path; "0x…" if the symbol is not known
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Inlined  bool   `json:"inlined,omitempty"`
	Internal bool   `json:"internal,omitempty"` // of vtscope's runtime, Go's runtime or package iter: hidden by default
}

// Lost counts what the flight file could not hold since the process started, or what could not be read from it.
type Lost struct {
	HalfWritten  int    `json:"half_written_records"`          // thread records that were being written when the process died or was stopped: their threads are shown
	Torn         int    `json:"torn_records"`                  // thread records that kept changing while they were read, or make no sense
	Unplaced     int    `json:"unplaced_threads"`              // threads whose scope is not in the scope table; they count to the root
	Unsymbolised int    `json:"unsymbolised_stacks"`           // stacks of this snapshot with addresses instead of names
	Unrecorded   uint64 `json:"unrecorded_threads"`            // threads started while the thread table was full
	Scopes       uint64 `json:"unrecorded_scopes"`             // scopes that did not fit; their threads count to the parent
	Stacks       uint64 `json:"unrecorded_stacks"`             // stacks that did not fit
	Symbols      uint64 `json:"unrecorded_symbols"`            // addresses whose names did not fit
	Strings      uint64 `json:"unrecorded_strings"`            // strings that did not fit
	Names        uint64 `json:"unrecorded_names"`              // names of threads that did not fit
	Events       uint64 `json:"dropped_events"`                // events; they change no count of a snapshot
	Rings        uint64 `json:"unrecorded_rings"`              // rings that did not fit, with all their events
	Durables     uint64 `json:"unrecorded_durables,omitempty"` // durable threads that did not fit: they are told as threads
}
