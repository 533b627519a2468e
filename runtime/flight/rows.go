package flight

import (
	"errors"
	"time"
)

// Errors that callers branch on, with [errors.Is].
var (
	ErrNoProcess  = errors.New("no such process")
	ErrNotVtscope = errors.New("not a vtscope process")
	ErrPermission = errors.New("permission denied")
	ErrFormat     = errors.New("not a readable flight file")
	// ErrIncomplete marks a result that is good as far as it goes, of a file that is cut or damaged.
	ErrIncomplete = errors.New("incomplete")
)

// A Status tells whether a recorded process lives.
type Status uint8

// The statuses of a process.
const (
	StatusUnknown Status = iota
	StatusRunning
	StatusStopped // by SIGSTOP or a debugger
	StatusEnded   // it closed its recorder
	// StatusGone: it is gone and did not close its recorder: killed, crashed, or returned from
	// main without [Close]. [Process.Ending] is what is known of that.
	StatusGone
)

var statusNames = [...]string{"unknown", "running", "stopped", "ended", "gone"}

// String returns the status's name.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// Live reports whether the process still exists.
func (s Status) Live() bool { return s == StatusRunning || s == StatusStopped }

// A Process is a recorded process.
type Process struct {
	PID       int
	UID       int
	Program   string // base name
	Exe       string // path
	GoVersion string
	Start     time.Time // of the recorder
	Status    Status
	Path      string    // of the flight file
	Ending    Ending    // how it ended, if it is gone
	LastSeen  time.Time // newest sign of life; of a live process the present
	Threads   int       // threads started and not ended, from the counts of events: not of one instant. One whose panic ends the program has not ended
}

// A Lost tells what the recorder could not record.
type Lost struct {
	Threads uint64 // threads without a record
	Events  uint64 // events of non-carriers dropped because all their rings were busy
	Strings uint64 // strings that found no room
	Stacks  uint64 // stacks that found no room
	Symbols uint64 // program counters that found no room
	Scopes  uint64 // scopes without a record; their threads are shown in the parent
	Names   uint64 // thread names that found no room
	Rings   uint64 // rings that found no room, with all their events

	Blockers uint64 // blockers that found no room: who waits for them is shown, not what they are
	Waits    uint64 // waits of goroutines that found no room
	Labels   uint64 // threads whose labels found no room
	Durables uint64 // durable threads that found no room: their threads are shown, not that they are durable
}

// Any reports whether anything was lost.
func (l Lost) Any() bool { return l != Lost{} }

// A Header is what a flight file says about its process.
type Header struct {
	Version   int
	PID       int
	UID       int
	StartTime uint64 // clock ticks after boot, as in field 22 of /proc/PID/stat
	BootID    [16]byte
	Start     time.Time // of the recorder
	Ended     bool      // the recorder was closed
	Program   string
	Exe       string
	GoVersion string
	GoArch    string
	Clock     ClockKind
	Heartbeat time.Time
	Segments  int
}

// A ThreadRow is what the flight file says about one thread.
type ThreadRow struct {
	ID      ThreadID
	Since   Ticks // when it entered State
	Blocker Blocker
	Waker   ThreadID // who last unparked it, 0 no thread
	Stack   StackID
	Scope   ScopeIndex
	Mounts  uint32
	Pins    uint32
	Name    NameRef
	Flags   RecordFlags
	Index   uint32 // position of its record
	State   State
	Reason  Reason
	Carrier CarrierID // it is or was last mounted on
	Limited bool      // it waits for Blocker with a time limit
	Torn    bool      // the process died or was stopped while it wrote this: State is new, all else may be of the state before

	Scheduler SchedulerID // 0: not known

	// After is set where Since is 0: the thread has entered State later than at After. 0: that is not known either.
	After Ticks

	// Seen is when somebody else last found the thread in Stack, in a row that was made of a [Hold]: it may have moved since. 0: Stack holds.
	Seen Ticks
}

// OnGoroutine reports whether the thread is mounted where nobody watches it: on a goroutine of its
// own, one that a scheduler has lent it, or a relief's. Then it executes, or waits in an operation of
// Go's own, which the flight file does not tell.
func (r *ThreadRow) OnGoroutine() bool {
	return r.State == StateMounted && r.Carrier == NoCarrier
}

// A ThreadDetail is the part of a thread's record that does not change.
type ThreadDetail struct {
	ID      ThreadID
	Created Ticks
	Creator ThreadID
	G       uint64 // address of the runtime.g of the goroutine it runs on, 0 unknown
	Entry   uint64 // program counter of its body
	// Up to when it was mounted last; see [Spent].
	Run, Ready, CPU time.Duration
}

// A ScopeRow is what the flight file says about one scope.
type ScopeRow struct {
	Index    ScopeIndex
	Parent   ScopeIndex
	ID       ScopeID
	Owner    ThreadID // 0: a goroutine
	Opened   Ticks
	Deadline Ticks // 0 none
	Name     string
	Policy   string // "" that of scopes that choose none, or not known
	Limit    uint32 // of threads that execute at a time; 0 none
	Queued   uint32 // threads that have to wait for others to end before they begin; their state is new
	State    ScopeState
}

// A Frame is one call of a stack.
type Frame struct {
	Func     string
	File     string
	Line     int
	PC       uint64
	Inlined  bool // inlined into the next frame
	Internal bool // of Go's runtime or of ours
}

// A Stack is an interned stack. Its slices are shared: callers must not change them.
type Stack struct {
	ID           StackID
	PCs          []uint64 // physical return addresses, innermost first
	Frames       []Frame  // innermost first, inlined calls included
	Truncated    bool     // outer frames are missing
	Unsymbolised int      // frames shown as 0x…, because the process has not yet named them
}

// A RingRow describes a ring.
type RingRow struct {
	Index     int
	Carrier   CarrierID
	State     CarrierState
	Owner     RingOwner
	Scheduler SchedulerID // the carrier's; 0: not known
	Size      uint64
	Head      uint64              // events ever written
	Counts    [kindSlots]uint64   // events that happened by kind; exact also of those that were overwritten, or that the settings leave out
	Parks     [reasonSlots]uint64 // of them the parks by reason; files of version 1 have none
	Hold      Hold
}

// A Hold tells that a mounted thread blocks in an operation of Go's own, or with the reason monopoly that it computes for long, as somebody saw who looked
// from time to time.
type Hold struct {
	Thread ThreadID // 0: none does
	Reason Reason   // see [Reason.Guessed] for the stack
	Since  Ticks    // when it was first seen so; of one that computes, when it was mounted
	Stack  StackID
	Seen   Ticks // when the thread was last found there, no earlier than Since
}

// An Event is one entry of a ring.
type Event struct {
	Time    Ticks
	Kind    Kind
	Code    Reason
	Carrier CarrierID
	Stack   StackID
	Thread  ThreadID
	Arg     uint64
}
