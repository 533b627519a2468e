package flight

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

	KindCount
)

// A KindInfo is a row of the table of kinds.
type KindInfo struct {
	Name  string   // one lower-case word or two joined by "-"
	About string   // one sentence, no full stop
	Code  FieldUse // meaning of [Event.Code]
	Arg   FieldUse // meaning of [Event.Arg]
	Stack bool     // whether [Event.Stack] can be set
}

// Kinds describes every kind of event, indexed by [Kind].
var Kinds = [KindCount]KindInfo{
	EventNone:         {Name: "none", About: "an empty slot"},
	EventThreadStart:  {Name: "thread-start", About: "a thread was handed to its scheduler for the first time", Arg: FieldThread},
	EventThreadEnd:    {Name: "thread-end", About: "a thread's body returned, panicked or called Goexit", Code: FieldReason},
	EventMount:        {Name: "mount", About: "a thread began to execute on a carrier"},
	EventUnmount:      {Name: "unmount", About: "a thread left its carrier", Code: FieldReason},
	EventPark:         {Name: "park", About: "a thread gave up its carrier until it is unparked", Code: FieldReason, Arg: FieldBlocker, Stack: true},
	EventUnpark:       {Name: "unpark", About: "a parked thread was made runnable", Arg: FieldThread},
	EventYield:        {Name: "yield", About: "a thread offered its carrier to others"},
	EventPinned:       {Name: "pinned", About: "a thread blocked while it held its carrier", Code: FieldReason, Arg: FieldHeld, Stack: true},
	EventScopeOpen:    {Name: "scope-open", About: "a scope was opened", Arg: FieldScope},
	EventScopeFork:    {Name: "scope-fork", About: "a thread was forked in a scope", Arg: FieldScope},
	EventScopeJoin:    {Name: "scope-join", About: "the owner waited for a scope's threads", Arg: FieldScope},
	EventScopeClose:   {Name: "scope-close", About: "a scope was closed", Arg: FieldScope},
	EventCarrierStart: {Name: "carrier-start", About: "a carrier joined its scheduler"},
	EventCarrierStop:  {Name: "carrier-stop", About: "a carrier left its scheduler"},
	EventSubmitFailed: {Name: "submit-failed", About: "a scheduler refused a thread that was started or unparked", Arg: FieldThread},
	EventMonopolized:  {Name: "monopolized", About: "a thread computed for long without a scheduling point", Code: FieldReason, Arg: FieldHeld, Stack: true},
	EventStarved:      {Name: "starved", About: "queued threads found no free carrier for long: one event for each place where threads hold theirs, with one of them", Code: FieldReason, Arg: FieldHeld, Stack: true},
	EventDeadlock:     {Name: "deadlock", About: "a thread waits in a circle of threads that wait for each other: one event for each, in the debug build", Code: FieldReason, Arg: FieldBlocker, Stack: true},
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
	ReasonIO:             {"io", "waits for a socket, file or pipe"},
	ReasonRejected:       {"rejected", "its scheduler refused it"},
	ReasonMonopoly:       {"monopoly", "computes for long without a scheduling point; its stack is a guess: inner frames may be of calls that have returned"},
}

// Guessed reports whether a stack that is recorded with the reason is what could be seen of a thread that executed meanwhile: the outer frames are right, an
// inner one may be of a call that has returned.
func (r Reason) Guessed() bool { return r == ReasonMonopoly }

// String returns the reason's name.
func (r Reason) String() string {
	if r < ReasonCount {
		return Reasons[r].Name
	}
	return "unknown"
}
