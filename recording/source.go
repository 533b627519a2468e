package recording

import (
	"context"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Source is a stretch of a process's life: a recording, or a script of a test. What leaves vtscope in a format of somebody else's is made of one.
type Source interface {
	// Info tells what is known before anything is read.
	Info() Info
	// Read calls f with one batch after the other, the oldest first, until f returns false or ctx ends. Batches overlap in time by as little as
	// the rings of carriers do: events within one are in order of time. The batch and what it holds are valid during the call only.
	Read(ctx context.Context, f func(*Batch) bool) error
	// Stack, String and UserKind return what an event refers to, once a batch with that event was read. An id means the same in the whole source. What is not
	// known is an empty stack, an empty string and nil.
	Stack(flight.StackID) flight.Stack
	String(flight.StringID) string
	UserKind(number uint32) *flight.UserKindInfo
}

// Info describes a [Source].
type Info struct {
	PID       int
	Program   string
	Exe       string
	GoVersion string
	GoArch    string
	Started   time.Time // of the process's recorder
	From, To  time.Time // the stretch; To is zero if it is not known before it was read
	Settings  string    // the name of the recorder's settings at From
	// Incomplete says what is missing, one short sentence each: empty if nothing is.
	Incomplete []string
}

// A Batch is a part of a [Source].
type Batch struct {
	// State is what the threads and scopes did at the time of the first event, or nil: the first batch has one, later ones have one now and then, so that a
	// reader may begin there.
	State  *State
	Events []Event
	// Labels are those that threads of State and Events have from the program, in the order of the threads, as far as other ones were read since the batch before; with a State also
	// those of its threads. A row without any is of a thread that has none any more. They are read now and then, and so may come after events of the thread. A [Live] has none.
	Labels   []flight.LabelRow
	LabelsAt time.Duration // when they were read
	// Holds are of threads of State and Events that blocked in Go and held their carriers, as they were seen now and then since the batch before; with a State also those that go on. A [Live] has none.
	Holds []Hold
	Lost  uint64 // events that are missing before or among these
}

// An Event is a [flight.Event] with all it came with.
type Event struct {
	Time    time.Duration // since Info.From
	Kind    flight.Kind
	Code    flight.Reason
	Carrier flight.CarrierID
	Ref     uint32 // a stack, a string or what else the table says of the kind
	Thread  flight.ThreadID
	Arg     uint64
	// More holds the words of the slots after it. Of a field of use [flight.FieldTicks] the word is nanoseconds since Info.From, as an int64.
	More []uint64
}

// A State is what all threads and open scopes of a process did at a moment.
type State struct {
	At        time.Duration // since Info.From
	Threads   []Thread      // in no order
	Scopes    []Scope       // the root scope first; a parent before its children
	Carriers  []Carrier
	Scheduler []Scheduler

	held *Tracker // instead of all but At, of a [Live] that [Observe] reads: the next tracker that is reset to it has what this one had
}

// A Thread is what is known of a live thread.
type Thread struct {
	ID      flight.ThreadID
	Name    string
	Scope   flight.ScopeID
	Creator flight.ThreadID // 0: none, or not known
	Created time.Duration   // since Info.From: negative if before
	Since   time.Duration   // in State since, as Created
	Blocker flight.Blocker
	Waker   flight.ThreadID
	// Slot is a small number that no other live thread of the [Tracker] has: an index for tables of who follows threads.
	Slot int

	// The small ones are together: there may be a million threads.
	State   flight.State
	Reason  flight.Reason
	Carrier flight.CarrierID // it is or was last mounted on
	Stack   flight.StackID
	Mounts  uint32
	Pins    uint32
	Flags   flight.RecordFlags
	Limited bool // it waits for Blocker with a time limit
	// Incomplete tells that the thread is known by its events alone, and not all of them: its name, scope and creator may be missing.
	Incomplete bool
	Scheduler  flight.SchedulerID
}

// A Scope is what is known of an open scope.
type Scope struct {
	ID       flight.ScopeID // 0: the root
	Parent   flight.ScopeID
	Owner    flight.ThreadID // 0: a goroutine
	Name     string
	Policy   string
	Opened   time.Duration // since Info.From: negative if before
	Deadline time.Duration // 0: none
	Limit    uint32
	Queued   uint32
	State    flight.ScopeState
	Record   flight.ScopeIndex // the position that events of use [flight.FieldScopeIndex] know it by; the root has 0
}

// A Carrier is what is known of a carrier.
type Carrier struct {
	ID        flight.CarrierID
	Scheduler flight.SchedulerID
}

// A Scheduler is what is known of a scheduler.
type Scheduler struct {
	ID   flight.SchedulerID
	Name string
}
