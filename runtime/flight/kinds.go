package flight

import "time"

// A Kind names a sort of event. The table [Kinds] is the only list of them: encoder, reader,
// text form, page legend and docs derive from it.
type Kind uint8

// The kinds of events. Values are part of the flight format: append, never renumber.
const (
	EventNone Kind = iota
	EventThreadStart
	EventThreadEnd
	EventMount
	EventUnmount
	EventPark
	EventUnpark
	EventYield
	EventPinned
	EventScopeOpen
	EventScopeFork
	EventScopeJoin
	EventScopeClose
	EventCarrierStart
	EventCarrierStop
	EventSubmitFailed
	EventMonopolized
	EventStarved
	EventDeadlock
	EventMore
	EventThreadName
	EventQueued
	EventSlice
	EventSteal
	EventCompensated
	EventScopeCancel
	EventScopeDeadline
	EventLockWait
	EventLockHold
	EventTimerLate
	EventLocalSet
	EventMark
	EventSpanBegin
	EventSpanEnd
	EventSettings
	EventIO
	EventPoll
	EventExhausted
	EventDurableHibernate
	EventDurableResume
	EventDurableReplay
	EventDurablePark
	EventDurableLease
	EventDurableCheckpoint
	EventDurableDivergence
	EventDurableStep
	EventGC
	EventDurableLeave

	KindCount
)

// A KindInfo is a row of the table of kinds.
type KindInfo struct {
	Name     string // lower-case words joined by "-"
	Category Category
	About    string  // one sentence, no full stop
	Fields   []Field // beside time, carrier and thread, which every event has
	More     int     // slots that follow the event's own; those of a user's kind have as many as that says
	Default  Setting // in the settings "default"
	Profile  Setting // in the settings "profile"
	Cost     Cost
	// Span tells that the event is told at the end of what took the time of its field of use [FieldDuration]; it began that much before.
	Span bool
}

// A Category is what kinds of events belong to.
type Category string

// The categories.
const (
	CategoryThreads   Category = "Threads"
	CategoryScheduler Category = "Scheduler"
	CategoryPinning   Category = "Pinning"
	CategoryScopes    Category = "Scopes"
	CategoryLocks     Category = "Locks"
	CategoryTimers    Category = "Timers"
	CategoryIO        Category = "I/O"
	CategoryDurable   Category = "Durable"
	CategoryMemory    Category = "Memory"
	CategoryProgram   Category = "Program" // of the user's own
	CategoryRecorder  Category = "Recorder"
)

// A Cost is how often a kind's events happen, which is what they cost.
type Cost uint8

// The classes of cost.
const (
	CostRare   Cost = iota // some in a second
	CostThread             // some for each thread
	CostSwitch             // one or more for each switch of threads
	CostUser               // as often as the program says

	costCount
)

var costNames = [costCount]string{"rare", "per thread", "per switch", "as the program says"}

// String returns, for example, "per switch".
func (c Cost) String() string {
	if c < costCount {
		return costNames[c]
	}
	return "unknown"
}

const ms = time.Millisecond

var (
	on  = Setting{On: true}
	off = Setting{}
)

func over(d time.Duration) Setting { return Setting{On: true, Threshold: d} }

// limited records at most n events in a second of each carrier: of kinds of which there may be one for each request.
func limited(n uint32, s Setting) Setting { s.PerSecond = n; return s }

func stacked(s Setting) Setting { s.Stack, s.Depth = true, maxStackDepth; return s }

// Fields that several kinds have.
var (
	fieldReason   = Field{"reason", AtCode, FieldReason}
	fieldStack    = Field{"stack", AtRef, FieldStack}
	fieldBlocker  = Field{"blocker", AtArg, FieldBlocker}
	fieldBy       = Field{"by", AtArg, FieldThread}
	fieldScope    = Field{"scope", AtArg, FieldScope}
	fieldHeld     = Field{"duration", AtArgLow, FieldDuration}
	fieldVictims  = Field{"victims", AtArgHigh, FieldCount}
	fieldDuration = Field{"duration", AtArg, FieldDuration}
	fieldUserKind = Field{"event", AtRef, FieldUserKind}

	// Of durable threads: the event's own thread is the one that executes it, or the hibernated one.
	fieldBody  = Field{"body", AtRef, FieldString}
	fieldSteps = Field{"steps", AtArg, FieldCount}
	fieldOf    = Field{"id", AtMore, FieldText}
)

// Kinds describes every kind of event, indexed by [Kind].
var Kinds = [KindCount]KindInfo{
	EventNone: {Name: "none", About: "an empty slot"},
	EventThreadStart: {Name: "thread-start", Category: CategoryThreads, About: "a thread was handed to its scheduler for the first time",
		Fields: []Field{{"flags", AtCode, FieldFlags}, {"record", AtRef, FieldScopeIndex}, fieldBy}, Default: on, Profile: on, Cost: CostThread},
	EventThreadEnd: {Name: "thread-end", Category: CategoryThreads, About: "a thread's body returned, panicked or called Goexit",
		Fields: []Field{fieldReason, {"mounts", AtRef, FieldCount}, {"run", AtArg, FieldDuration}}, Default: on, Profile: on, Cost: CostThread},
	EventMount: {Name: "mount", Category: CategoryThreads, About: "a thread began to execute on a carrier", Default: on, Profile: on, Cost: CostSwitch},
	EventUnmount: {Name: "unmount", Category: CategoryThreads, About: "a thread left its carrier",
		Fields: []Field{fieldReason}, Default: on, Profile: on, Cost: CostSwitch},
	EventPark: {Name: "park", Category: CategoryThreads, About: "a thread gave up its carrier until it is unparked",
		Fields: []Field{fieldReason, fieldBlocker, fieldStack}, Default: stacked(on), Profile: stacked(on), Cost: CostSwitch},
	EventUnpark: {Name: "unpark", Category: CategoryThreads, About: "a parked thread was made runnable",
		Fields: []Field{fieldBy}, Default: on, Profile: on, Cost: CostSwitch},
	EventYield: {Name: "yield", Category: CategoryThreads, About: "a thread offered its carrier to others", Default: on, Profile: on, Cost: CostSwitch},
	EventPinned: {Name: "pinned", Category: CategoryPinning, About: "a thread blocked while it held its carrier",
		Fields: []Field{fieldReason, fieldHeld, fieldVictims, fieldStack}, Default: stacked(on), Profile: stacked(on), Span: true},
	EventScopeOpen: {Name: "scope-open", Category: CategoryScopes, About: "a scope was opened",
		Fields: []Field{fieldScope, {"name", AtRef, FieldString}, {"parent", AtMore, FieldScope}, {"deadline", AtMore + 1, FieldTicks}, {"record", AtMore + 2, FieldScopeIndex}},
		More:   1, Default: on, Profile: on, Cost: CostThread},
	EventScopeFork: {Name: "scope-fork", Category: CategoryScopes, About: "a thread was forked in a scope",
		Fields: []Field{fieldScope}, Default: on, Profile: on, Cost: CostThread},
	EventScopeJoin: {Name: "scope-join", Category: CategoryScopes, About: "the owner waited for a scope's threads",
		Fields: []Field{fieldScope}, Default: on, Profile: on, Cost: CostThread},
	EventScopeClose: {Name: "scope-close", Category: CategoryScopes, About: "a scope was closed",
		Fields: []Field{fieldScope}, Default: on, Profile: on, Cost: CostThread},
	EventCarrierStart: {Name: "carrier-start", Category: CategoryScheduler, About: "a carrier joined its scheduler",
		Fields: []Field{{"scheduler", AtRef, FieldScheduler}}, Default: on, Profile: on},
	EventCarrierStop: {Name: "carrier-stop", Category: CategoryScheduler, About: "a carrier left its scheduler",
		Fields: []Field{{"scheduler", AtRef, FieldScheduler}}, Default: on, Profile: on},
	EventSubmitFailed: {Name: "submit-failed", Category: CategoryScheduler, About: "a scheduler refused a thread that was started or unparked",
		Fields: []Field{fieldBy}, Default: on, Profile: on},
	EventMonopolized: {Name: "monopolized", Category: CategoryPinning, About: "a thread computed for long without a scheduling point",
		Fields: []Field{fieldReason, fieldHeld, fieldVictims, fieldStack}, Default: stacked(on), Profile: stacked(on), Span: true},
	EventStarved: {Name: "starved", Category: CategoryPinning, About: "queued threads found no free carrier for long: one event for each place where threads hold theirs, with one of them",
		Fields: []Field{fieldReason, fieldHeld, fieldVictims, fieldStack}, Default: stacked(on), Profile: stacked(on), Span: true},
	EventDeadlock: {Name: "deadlock", Category: CategoryLocks, About: "a thread waits in a circle of threads that wait for each other: one event for each, in the debug build",
		Fields: []Field{fieldReason, fieldBlocker, fieldStack}, Default: stacked(on), Profile: stacked(on)},
	EventMore: {Name: "more", Category: CategoryRecorder, About: "what the event before it had no room for"},
	EventThreadName: {Name: "thread-name", Category: CategoryThreads, About: "a thread was given a name",
		Fields: []Field{{"name", AtMore, FieldText}}, More: 2, Default: on, Profile: on, Cost: CostThread},
	EventQueued: {Name: "queued", Category: CategoryScheduler, About: "a thread was mounted that had waited for a carrier",
		Fields: []Field{fieldDuration}, Default: over(20 * ms), Profile: over(1 * ms), Cost: CostSwitch, Span: true},
	EventSlice: {Name: "slice", Category: CategoryScheduler, About: "a thread left its carrier that had executed for long",
		Fields: []Field{fieldReason, fieldDuration}, Default: over(20 * ms), Profile: over(1 * ms), Cost: CostSwitch, Span: true},
	EventSteal: {Name: "steal", Category: CategoryScheduler, About: "a carrier took threads from another one's queue",
		Fields: []Field{{"threads", AtArg, FieldCount}}, Default: off, Profile: on, Cost: CostSwitch},
	EventCompensated: {Name: "compensated", Category: CategoryScheduler, About: "a carrier was added because others are held",
		Fields: []Field{{"held", AtArg, FieldCount}}, Default: on, Profile: on},
	EventScopeCancel: {Name: "scope-cancel", Category: CategoryScopes, About: "a scope was cancelled",
		Fields: []Field{fieldScope}, Default: on, Profile: on, Cost: CostThread},
	EventScopeDeadline: {Name: "scope-deadline", Category: CategoryScopes, About: "the deadline of a scope passed before its threads had ended",
		Fields: []Field{fieldScope}, Default: on, Profile: on, Cost: CostThread},
	EventLockWait: {Name: "lock-wait", Category: CategoryLocks, About: "a thread that had waited for a lock or for permits was woken",
		Fields: []Field{fieldReason, fieldBlocker, fieldStack, {"duration", AtMore, FieldDuration}, {"by", AtMore + 1, FieldThread}},
		More:   1, Default: stacked(over(20 * ms)), Profile: stacked(over(1 * ms)), Cost: CostSwitch, Span: true},
	EventLockHold: {Name: "lock-hold", Category: CategoryLocks, About: "a lock was released that others waited for; it was held at least so long while they did",
		Fields: []Field{fieldBlocker, fieldStack, {"duration", AtMore, FieldDuration}, {"waiters", AtMore + 1, FieldCount}},
		More:   1, Default: stacked(over(20 * ms)), Profile: stacked(over(1 * ms)), Cost: CostSwitch, Span: true},
	EventTimerLate: {Name: "timer-late", Category: CategoryTimers, About: "a thread's time was over, and its timer ended the wait later than that",
		Fields: []Field{{"late", AtArg, FieldDuration}}, Default: over(20 * ms), Profile: over(1 * ms), Cost: CostSwitch, Span: true},
	EventLocalSet: {Name: "local-set", Category: CategoryThreads, About: "a thread gave a thread-local variable a value",
		Fields: []Field{{"name", AtRef, FieldString}}, Default: off, Profile: off, Cost: CostUser},
	EventMark: {Name: "mark", Category: CategoryProgram, About: "an event of the program's own happened",
		Fields: []Field{fieldUserKind, {"stack", AtArg, FieldStack}}, Default: on, Profile: on, Cost: CostUser},
	EventSpanBegin: {Name: "span-begin", Category: CategoryProgram, About: "a span of the program's own began",
		Fields: []Field{fieldUserKind, {"stack", AtArg, FieldStack}}, Default: on, Profile: on, Cost: CostUser},
	EventSpanEnd: {Name: "span-end", Category: CategoryProgram, About: "a span of the program's own ended",
		Fields: []Field{fieldUserKind, fieldDuration}, Default: on, Profile: on, Cost: CostUser, Span: true},
	EventSettings: {Name: "settings", Category: CategoryRecorder, About: "the settings of the recorder were changed",
		Fields: []Field{{"settings", AtRef, FieldString}}, Default: on, Profile: on},
	EventIO: {Name: "io", Category: CategoryIO, About: "an operation of a thread on a socket or a file took long, with all its waits",
		Fields: []Field{fieldReason, fieldBlocker, fieldStack, {"duration", AtMore, FieldDuration}, {"bytes", AtMore + 1, FieldBytes}, {"with", AtMore + 2, FieldText}},
		More:   3, Default: limited(500, stacked(over(20*ms))), Profile: limited(5_000, stacked(over(1*ms))), Cost: CostSwitch, Span: true},
	EventPoll: {Name: "poll", Category: CategoryIO, About: "a poller found descriptors ready",
		Fields: []Field{{"poller", AtRef, FieldInt}, {"ready", AtArg, FieldCount}}, Default: off, Profile: on, Cost: CostSwitch},
	EventExhausted: {Name: "exhausted", Category: CategoryIO, About: "a connection waits to be accepted, since no descriptors are left",
		Fields: []Field{fieldBlocker}, Default: on, Profile: on},
	EventDurableHibernate: {Name: "durable-hibernate", Category: CategoryDurable, About: "a durable thread gave up its stack and is a journal that waits; the event's thread is what it is then",
		Fields: []Field{fieldReason, fieldBlocker, fieldStack, fieldOf, {"body", AtMore + TextWords, FieldString}, {"steps", AtMore + TextWords + 1, FieldCount}, {"until", AtMore + TextWords + 2, FieldTicks}},
		More:   3, Default: stacked(on), Profile: stacked(on), Cost: CostThread},
	EventDurableResume: {Name: "durable-resume", Category: CategoryDurable, About: "a durable thread begins to go on, from its hibernation or from bytes",
		Fields: []Field{fieldBody, fieldSteps, fieldOf, {"bytes", AtMore + TextWords, FieldBytes}, {"hibernated", AtMore + TextWords + 1, FieldDuration}, {"as", AtMore + TextWords + 2, FieldThread}},
		More:   3, Default: on, Profile: on, Cost: CostThread},
	EventDurableReplay: {Name: "durable-replay", Category: CategoryDurable, About: "a durable thread was given what its journal holds, and stands where it stood",
		Fields: []Field{fieldBody, fieldDuration, fieldOf, {"steps", AtMore + TextWords, FieldCount}},
		More:   3, Default: limited(500, on), Profile: limited(5_000, on), Cost: CostThread, Span: true},
	EventDurablePark: {Name: "durable-park", Category: CategoryDurable, About: "a durable thread was parked to bytes, and goes on from them elsewhere",
		Fields: []Field{fieldBody, fieldSteps, fieldOf, {"bytes", AtMore + TextWords, FieldBytes}},
		More:   3, Default: on, Profile: on, Cost: CostThread},
	EventDurableLeave: {Name: "durable-leave", Category: CategoryDurable, About: "a durable thread that hibernated here does so no more: its keeper was closed, or has given it to others, or it goes with its parent's bytes",
		Fields: []Field{fieldBody, fieldSteps, fieldOf},
		More:   2, Default: on, Profile: on, Cost: CostThread},
	EventDurableLease: {Name: "durable-lease", Category: CategoryDurable, About: "a durable thread went over to another process of its store",
		Fields: []Field{fieldBody, fieldOf, {"from", AtMore + TextWords, FieldText}, {"to", AtMore + 2*TextWords, FieldText}},
		More:   6, Default: limited(500, on), Profile: limited(5_000, on), Cost: CostThread},
	EventDurableCheckpoint: {Name: "durable-checkpoint", Category: CategoryDurable, About: "a durable thread saved a state that stands for the steps before",
		Fields: []Field{fieldBody, fieldSteps, fieldOf, {"bytes", AtMore + TextWords, FieldBytes}, {"forgotten", AtMore + TextWords + 1, FieldCount}},
		More:   3, Default: limited(100, on), Profile: limited(1_000, on), Cost: CostThread},
	EventDurableDivergence: {Name: "durable-divergence", Category: CategoryDurable, About: "a durable thread did something else than what its journal holds, and ended",
		Fields: []Field{fieldBody, {"at", AtArg, FieldCount}, fieldOf, {"want", AtMore + TextWords, FieldText}, {"got", AtMore + 2*TextWords, FieldText}},
		More:   6, Default: limited(100, on), Profile: limited(1_000, on)},
	EventDurableStep: {Name: "durable-step", Category: CategoryDurable, About: "a durable thread recorded a step",
		Fields: []Field{fieldBody, fieldSteps, fieldOf, {"step", AtMore + TextWords, FieldText}},
		More:   4, Default: off, Profile: off, Cost: CostUser},
	EventGC: {Name: "gc", Category: CategoryMemory, About: "a cycle of Go's garbage collector ended, some milliseconds before; all goroutines were stopped so long for it, in sum",
		Fields: []Field{{"cycle", AtRef, FieldCount}, fieldDuration, {"heap", AtMore, FieldBytes}}, More: 1, Default: on, Profile: on, Span: true},
}

// String returns the kind's name.
func (k Kind) String() string {
	if k < KindCount {
		return Kinds[k].Name
	}
	return "unknown"
}

// A State is what a thread is doing, as seen from outside.
type State uint8

// The states. Values are part of the flight format: append, never renumber.
const (
	StateFree State = iota // the record belongs to no thread
	StateNew
	StateRunnable
	StateMounted
	StateParked
	StateTimedParked
	StateBlocked
	StateWaiting
	StatePinned
	StateHibernated
	StateDone

	StateCount
)

// A StateInfo is a row of the table of states.
type StateInfo struct {
	Name  string
	About string
	Next  []State // the legal moves
}

// States describes every state, indexed by [State].
var States = [StateCount]StateInfo{
	StateFree:        {"free", "no thread", []State{StateNew, StateRunnable}},
	StateNew:         {"new", "not started yet", []State{StateRunnable, StateFree}},
	StateRunnable:    {"runnable", "waits for a carrier", []State{StateMounted, StateNew, StateParked, StateTimedParked, StateBlocked, StateWaiting}}, // all but the first: refused
	StateMounted:     {"mounted", "executes on a carrier", []State{StateRunnable, StateParked, StateTimedParked, StateBlocked, StateWaiting, StatePinned, StateHibernated, StateDone}},
	StateParked:      {"parked", "waits to be unparked", []State{StateRunnable}},
	StateTimedParked: {"timed-parked", "waits to be unparked or for a time", []State{StateRunnable}},
	StateBlocked:     {"blocked", "waits for a lock", []State{StateRunnable}},
	StateWaiting:     {"waiting", "waits for a condition", []State{StateRunnable}},
	StatePinned:      {"pinned", "blocks and holds its carrier", []State{StateMounted}},
	StateHibernated:  {"hibernated", "is stored as bytes", []State{StateRunnable}},
	StateDone:        {"done", "has ended", []State{StateFree}},
}

// String returns the state's name.
func (s State) String() string {
	if s < StateCount {
		return States[s].Name
	}
	return "unknown"
}

// A Reason tells why a thread left its carrier, waits, holds its carrier, or ended.
type Reason uint8

// The reasons. Values are part of the flight format: append, never renumber.
const (
	ReasonNone Reason = iota
	ReasonPark
	ReasonSleep
	ReasonYield
	ReasonLock
	ReasonCondition
	ReasonJoin
	ReasonScopeJoin
	ReasonEnd
	ReasonPanic
	ReasonGoexit
	ReasonPinnedOSThread
	ReasonPinnedSection
	ReasonPinnedGo
	ReasonIO
	ReasonRejected
	ReasonMonopoly
	ReasonRead
	ReasonWrite
	ReasonAccept
	ReasonConnect
	ReasonDial
	ReasonLookup
	ReasonFile
	ReasonSignal

	ReasonCount
)

// A ReasonInfo is a row of the table of reasons.
type ReasonInfo struct {
	Name  string
	About string
}

// Reasons describes every reason, indexed by [Reason].
var Reasons = [ReasonCount]ReasonInfo{
	ReasonNone:           {"", "no reason given"},
	ReasonPark:           {"park", "parked by its own call"},
	ReasonSleep:          {"sleep", "sleeps"},
	ReasonYield:          {"yield", "offered its carrier to others"},
	ReasonLock:           {"lock", "waits for a lock"},
	ReasonCondition:      {"condition", "waits for a condition"},
	ReasonJoin:           {"join", "waits for a thread to end"},
	ReasonScopeJoin:      {"scope-join", "waits for the threads of its scope"},
	ReasonEnd:            {"end", "its body returned"},
	ReasonPanic:          {"panic", "its body panicked"},
	ReasonGoexit:         {"goexit", "its body called runtime.Goexit"},
	ReasonPinnedOSThread: {"os-thread", "locked to an OS thread"},
	ReasonPinnedSection:  {"pin-section", "inside an explicit pin section"},
	ReasonPinnedGo:       {"go-operation", "blocked in a channel, mutex or call that the runtime cannot see"},
	ReasonIO:             {"io", "waits for a call that is made elsewhere"},
	ReasonRejected:       {"rejected", "its scheduler refused it"},
	ReasonMonopoly:       {"monopoly", "computes for long without a scheduling point; its stack is a guess: inner frames may be of calls that have returned"},
	ReasonRead:           {"read", "waits until a socket or pipe has something to read"},
	ReasonWrite:          {"write", "waits until a socket or pipe takes more"},
	ReasonAccept:         {"accept", "waits for a connection to its listener"},
	ReasonConnect:        {"connect", "waits for the answer to a connection that it makes"},
	ReasonDial:           {"dial", "waits for one of several connections that are tried"},
	ReasonLookup:         {"lookup", "waits for the addresses of a name"},
	ReasonFile:           {"file", "waits for an operation on a file"},
	ReasonSignal:         {"signal", "waits for a signal to the durable thread that it is"},
}

// Guessed reports whether a stack that is recorded with the reason is what could be seen of a thread that executed meanwhile: the outer frames are right, an
// inner one may be of a call that has returned.
func (r Reason) Guessed() bool { return r == ReasonMonopoly }

// Outside reports whether who waits for the reason waits for what is outside of the process, so that how long says nothing about the program.
func (r Reason) Outside() bool {
	switch r {
	case ReasonIO, ReasonRead, ReasonWrite, ReasonAccept, ReasonConnect, ReasonDial, ReasonLookup, ReasonFile, ReasonSignal:
		return true
	}
	return false
}

// String returns the reason's name.
func (r Reason) String() string {
	if r < ReasonCount {
		return Reasons[r].Name
	}
	return "unknown"
}
