package agent

import "encoding/json"

// The messages of the websocket protocol, specified in docs/protocol.md. The page's types in
// webui/src/protocol.ts are made from these structs by a test, so the two cannot differ.
//
// Times are Unix milliseconds, durations nanoseconds, unless a name says otherwise. Thread ids are
// decimal strings: JavaScript's numbers lose the last bits of a large one.

// Protocol is the version of the websocket protocol. A client that meets another one must not guess.
const Protocol = 1

// Subprotocol is the name offered and chosen in the websocket's handshake.
const Subprotocol = "vtscope.1"

// The types of messages, the value of each message's member "type".
const (
	TypeConfig    = "config"    // server: first message, once
	TypeFrame     = "frame"     // server: what changed since the frame before
	TypeError     = "error"     // server: a message of the client could not be used
	TypeSubscribe = "subscribe" // client: what to send from now on
	TypeSeen      = "seen"      // client: a frame has come
)

// A Config is the first message of a connection: what a client must know to read the rest.
type Config struct {
	Type       string       `json:"type"`
	Protocol   int          `json:"protocol"`
	Agent      About        `json:"agent"`
	States     []Term       `json:"states"`  // indexed by state; the order of every array of counts by state
	Reasons    []Term       `json:"reasons"` // indexed by reason
	Kinds      []KindTerm   `json:"kinds"`   // indexed by kind of event
	Figures    []FigureTerm `json:"figures"` // indexed by figure; the order of every array of figures
	Buckets    []int64      `json:"buckets"` // where each bucket of a histogram ends; the last has no end
	IntervalMS int          `json:"intervalMs"`
	Points     int          `json:"points"` // most points of the time line
	Limits     Limits       `json:"limits"`
	Orders     []Term       `json:"orders"` // of scopes, that a subscription can name; the first is the usual one
	Panels     []string     `json:"panels"` // the members of frames that a subscription can name
	Filter     []FilterTerm `json:"filter"` // what a filter can ask
	Checks     []CheckTerm  `json:"checks"` // what findings are by
	Caller     CallerTerm   `json:"caller"`
	Incidents  bool         `json:"incidents"` // bundles are kept
	Programs   bool         `json:"programs"`  // Go programs that are not followed can be listed, and chosen
	TraceURL   string       `json:"traceUrl"`  // of a trace, with {trace} and maybe {span} for the ids; "": not told
	Marks      bool         `json:"marks"`     // marks of groups are kept
}

// A FilterTerm is a row of the table of fields of the filter language.
type FilterTerm struct {
	Name      string   `json:"name"`
	About     string   `json:"about"`
	Operators []string `json:"operators"` // the usual ones first
	Values    []string `json:"values"`    // all that it can be; none: any text, duration or number
	Example   string   `json:"example"`   // a value; "" if that depends on the program
}

// A CheckTerm is a row of dump's table of checks.
type CheckTerm struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Remedy string `json:"remedy"` // what to do about it, in full sentences
}

// A CallerTerm is who the client is, as far as the agent knows.
type CallerTerm struct {
	Name string `json:"name"`
	Role string `json:"role"` // read, or operate, which may do all
}

// An About describes the agent.
type About struct {
	PID     int   `json:"pid"`
	Started int64 `json:"started"`
}

// A Term is a row of one of flight's tables.
type Term struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// A KindTerm is a row of flight's table of kinds of events.
type KindTerm struct {
	Name     string      `json:"name"`
	About    string      `json:"about"`
	Category string      `json:"category"`
	Cost     string      `json:"cost"` // how often such events happen
	Fields   []FieldTerm `json:"fields"`
}

// A FieldTerm is a field of a kind of events.
type FieldTerm struct {
	Name string `json:"name"`
	Use  string `json:"use"`  // what the value means
	Type string `json:"type"` // u8, u16, u32, u64, i64, f64, bool or text
	Unit string `json:"unit"` // "" if it has none
}

// A FigureTerm is a row of flight's table of figures.
type FigureTerm struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Total bool   `json:"total"` // it only grows; else it is how it is now
	Unit  string `json:"unit"`  // count or duration
}

// Limits are the most rows that a frame carries; what lies beyond is summed.
type Limits struct {
	Scopes     int `json:"scopes"` // that come unasked, and children of the chosen scope
	Opened     int `json:"opened"` // with the children of those that a client opens
	Groups     int `json:"groups"`
	Calls      int `json:"calls"`
	Carriers   int `json:"carriers"`
	Schedulers int `json:"schedulers"`
	PinSites   int `json:"pinSites"`
	Pollers    int `json:"pollers"`
	Delays     int `json:"delays"`
	SlowIO     int `json:"slowIO"`
	Warnings   int `json:"warnings"`
	Findings   int `json:"findings"`
	Events     int `json:"events"` // kinds of the program's own

	Filters int `json:"filters"` // different ones at a time, for each process
}

// A Subscription says what a client wants to see. Each replaces the one before.
type Subscription struct {
	Type    string `json:"type"`
	Process string `json:"process"` // a process's key or pid; "" lets the agent choose
	Scope   string `json:"scope"`   // a scope's key or path; "" is the whole process
	Group   string `json:"group"`   // a group's key; "" is the largest

	Order      string      `json:"order,omitempty"`      // of scopes with one parent, of [Config.Orders]; "" is the first
	Open       []OpenScope `json:"open,omitempty"`       // scopes of which more children are to come
	GroupOrder string      `json:"groupOrder,omitempty"` // "": by count; "change", or "wait": the longest
	Func       string      `json:"func,omitempty"`       // the calls below it are [Frame.Flame], and those above it [Frame.Callers]; "": all
	Runtime    bool        `json:"runtime,omitempty"`    // Flame and Callers have the frames of runtimes too

	Filter string   `json:"filter,omitempty"` // of threads, in the language of dump/filter; scopes, groups and the stack are of those that it matches
	Panels []string `json:"panels,omitempty"` // the members that frames are to have, of [Config.Panels]; nil is all but flame and callers
	Deltas bool     `json:"deltas,omitempty"` // the client understands [Frame.Deltas]

	At    int64   `json:"at,omitempty"`    // the moment that all members but points and processes are of: the newest that is kept and not after it; 0: now
	Marks []int64 `json:"marks,omitempty"` // moments that are to be kept longer than others, for diffs; at most eight
}

// An OpenScope is a scope of which a client wants to see children, however small they are.
type OpenScope struct {
	Scope string `json:"scope"` // key or path
	Rows  int    `json:"rows"`  // the first so many children
}

// A Seen tells that a frame has come to the client. From the first one on, never more than two frames are on their way to it, whatever would buffer more
// between agent and client: the socket, a proxy, ssh.
type Seen struct {
	Type string `json:"type"`
	Seq  uint64 `json:"seq"` // of the newest frame that has come
}

// A Problem answers a message that could not be used. The subscription stays as it was.
type Problem struct {
	Type  string `json:"type"`
	Error string `json:"error"`
	Try   string `json:"try"`

	Filter string `json:"filter,omitempty"` // the filter, if that is what is wrong
	At     int    `json:"at,omitempty"`     // characters of it before what is wrong
	Length int    `json:"length,omitempty"` // characters that are wrong; 0: something is missing there
}

// A Frame carries what changed. A member that is absent is as it was in the frame before.
type Frame struct {
	Type string `json:"type"`
	Seq  uint64 `json:"seq"` // 1 for the first frame of the connection, then one more each
	Time int64  `json:"time"`
	// Lost counts the frames that were due since the connection began and were not sent,
	// because the client was slow.
	Lost uint64 `json:"lost"`

	Processes *[]ProcessRow `json:"processes,omitempty"`
	Process   *Process      `json:"process,omitempty"`
	Moment    *Moment       `json:"moment,omitempty"`
	Scopes    *Scopes       `json:"scopes,omitempty"`
	Groups    *Groups       `json:"groups,omitempty"`
	Stack     *Stack        `json:"stack,omitempty"`
	Flame     *Calls        `json:"flame,omitempty"`
	Callers   *Calls        `json:"callers,omitempty"`
	Carriers  *Carriers     `json:"carriers,omitempty"`
	// Figures of schedulers, and what was seen of their threads.
	Schedulers *Schedulers `json:"schedulers,omitempty"`
	PinSites   *PinSites   `json:"pinSites,omitempty"`
	Pollers    *Pollers    `json:"pollers,omitempty"`
	Delays     *Delays     `json:"delays,omitempty"`
	SlowIO     *SlowIO     `json:"slowIO,omitempty"`
	Warnings   *Warnings   `json:"warnings,omitempty"`
	Findings   *Findings   `json:"findings,omitempty"`
	Events     *Events     `json:"events,omitempty"`
	Points     *Points     `json:"points,omitempty"`

	// Deltas has, by name, how members differ from what the client has: docs/protocol.md. Only for clients that asked.
	Deltas map[string]json.RawMessage `json:"deltas,omitempty"`
}

// Events are the kinds of events of a process: how many there were, and what of them is recorded.
type Events struct {
	Known    bool         `json:"known"`    // the process tells its settings
	Settings string       `json:"settings"` // their name
	Changed  int64        `json:"changed"`  // since when they are so; 0: not known
	Rows     []EventRow   `json:"rows"`
	Program  []ProgramRow `json:"program"` // kinds of the program's own
	Rest     int          `json:"rest"`    // more of them
}

// An EventRow is a kind of events.
type EventRow struct {
	Kind    int     `json:"kind"`    // index into [Config.Kinds]
	Count   uint64  `json:"count"`   // that happened, whatever is recorded of them; of a kind with a threshold those above it while it is on
	Rate    float64 `json:"rate"`    // per second
	On      bool    `json:"on"`      // they are recorded
	Setting string  `json:"setting"` // in words; "" if it is not known
}

// A ProgramRow is a kind of events of the program's own.
type ProgramRow struct {
	Name    string `json:"name"`
	On      bool   `json:"on"`
	Setting string `json:"setting"`
}

// A ProcessRow is one process of the picker.
type ProcessRow struct {
	Key     string `json:"key"`  // "<pid>-<start time>"
	Kind    string `json:"kind"` // goroutine, if it is seen without a recorder; else ""
	PID     int    `json:"pid"`
	Program string `json:"program"`
	Address string `json:"address"` // of package net/http/pprof, where it is asked; "": it is not
	Status  string `json:"status"`  // running, stopped, ended, gone, unknown, recorded or unreachable
	Ending  string `json:"ending"`  // of one that is gone: how it ended; "": that is not known
	Started int64  `json:"started"` // 0: not known
	Gone    int64  `json:"gone"`    // when it ended, as near as is known; 0 while it lives
	Threads int    `json:"threads"`
	Host    string `json:"host"`  // name of the remote agent that follows it; "": this one
	Heard   int64  `json:"heard"` // of an unreachable one: when its agent was heard last, 0 never
}

// A Process is the header: one process as a whole.
type Process struct {
	ProcessRow
	Missing string `json:"missing"` // why there is nothing to show, then the rest is zero; else ""
	Problem string `json:"problem"` // the last error in reading the process; "" if none

	Exe        string   `json:"exe"`
	GoVersion  string   `json:"goVersion"`
	Counts     []int    `json:"counts"` // threads by state
	ScopeCount int      `json:"scopeCount"`
	Durable    int      `json:"durable"` // durable threads that it has, hibernated or not
	Rates      Rates    `json:"rates"`
	Carrying   Carrying `json:"carrying"`
	Delay      Delay    `json:"delay"`
	Drops      Drops    `json:"drops"`
	Snapshot   Taken    `json:"snapshot"`
	Cost       Cost     `json:"cost"`

	Observed Observed `json:"observed"`
}

// Carrying counts the carriers of all schedulers.
type Carrying struct {
	Total int `json:"total"` // 0: none are known
	Busy  int `json:"busy"`  // that run or hold a thread
	Held  int `json:"held"`  // of Busy: those whose thread blocks
}

// A Delay summarises how long threads of all schedulers were runnable until they were mounted, lately. It is sampled.
type Delay struct {
	Over int64 `json:"over"` // the time that it is over; 0: not known yet
	Times
}

// Rates are per second, over the last interval.
type Rates struct {
	Starts   float64 `json:"starts"`
	Ends     float64 `json:"ends"`
	Switches float64 `json:"switches"` // mounts
	Events   float64 `json:"events"`   // everything recorded
}

// Drops count what the recorder could not keep, since the process started.
type Drops struct {
	Events  uint64 `json:"events"`  // not recorded
	Threads uint64 `json:"threads"` // started while the table of threads was full
	Stacks  uint64 `json:"stacks"`
	Strings uint64 `json:"strings"`
	Torn    uint64 `json:"torn"` // records of the last snapshot that kept changing while they were read
}

// An Observed counts what those who export a process were told of it, since they began.
type Observed struct {
	Observers int    `json:"observers"` // 0: nobody exports, and the rest is 0
	Events    uint64 `json:"events"`
	Lost      uint64 `json:"lost"` // events that happened too fast for them
}

// A Taken describes the snapshot that a frame was made from.
type Taken struct {
	Time       int64    `json:"time"` // 0: none yet
	Took       int64    `json:"took"`
	ChangeOver int64    `json:"changeOver"` // the time that every Change of scopes and groups is over; 0: too early to tell
	Every      int64    `json:"every"`      // the pause between the starts of two snapshots
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete"` // why not
	Note       string   `json:"note"`       // why snapshots come more rarely than once an interval, or how much of the first one is read; else ""
}

// A Cost is what the agent itself uses, with the process that it is in.
type Cost struct {
	CPU    float64 `json:"cpu"`    // of one processor, over the last interval; -1: not known on this system
	Memory uint64  `json:"memory"` // bytes that Go obtained from the system and holds
	Bytes  float64 `json:"bytes"`  // sent to all clients, per second
	Past   uint64  `json:"past"`   // bytes of Memory, about, that the moments take which are kept

	MaxCPU    float64 `json:"maxCpu"`    // above it the agent saves cost; 0: no limit
	MaxMemory uint64  `json:"maxMemory"` // as well
	Step      int     `json:"step"`      // how far it saves; 0: not at all
	Note      string  `json:"note"`      // what it does without, and why; "" if nothing
	Unread    bool    `json:"unread"`    // one of that: pin sites, pollers, delays and warnings are not read

	Clients    int    `json:"clients"`    // websockets
	LostFrames uint64 `json:"lostFrames"` // that slow clients did not get, since the agent began
	LostEvents uint64 `json:"lostEvents"` // that exporters were not told, of all processes
}

// Carriers are the carriers with what each runs, busy ones first.
type Carriers struct {
	Rows  []CarrierRow `json:"rows"`
	Total int          `json:"total"`
	Busy  int          `json:"busy"` // of Total: those that run or hold a thread
	Rest  int          `json:"rest"` // beyond the limit
}

// A CarrierRow is one carrier.
type CarrierRow struct {
	ID       int     `json:"id"`
	State    string  `json:"state"`
	Thread   string  `json:"thread"` // "" if it runs none
	Name     string  `json:"name"`
	Doing    string  `json:"doing"`  // state of that thread
	Since    int64   `json:"since"`  // how long
	Reason   string  `json:"reason"` // why the thread is pinned, or "monopoly": it computes for long; else ""
	Where    string  `json:"where"`  // of a thread with a reason
	Switches float64 `json:"switches"`
	Events   uint64  `json:"events"`

	Scheduler string `json:"scheduler"` // name; "" if it is not known
	Past      string `json:"past"`      // what it did at the newest looks, oldest first, a letter each: i idle, s idle but it switched threads since the look before, r running, c computing for long, p held
}

// Schedulers are the schedulers that live, by id, those with most threads if there are too many.
type Schedulers struct {
	Missing string         `json:"missing"` // why there are none; else ""
	Rows    []SchedulerRow `json:"rows"`
	Rest    int            `json:"rest"` // beyond the limit
}

// A SchedulerRow is what one scheduler tells about itself.
type SchedulerRow struct {
	ID      int       `json:"id"`
	Name    string    `json:"name"`
	Told    int64     `json:"told"`    // when it told the figures; one that sleeps tells nothing new
	Figures []float64 `json:"figures"` // by figure
	Rates   []float64 `json:"rates"`   // by figure, per second, between the last two tellings; 0 for what is no total, and while it sleeps
	Parked  []int     `json:"parked"`  // threads by the reason for which they wait, as the newest snapshot saw them; empty: not known yet
	Ready   Spread    `json:"ready"`   // from runnable to mounted; sampled
	Slice   Spread    `json:"slice"`   // from mounted to off the carrier; sampled
}

// A Spread tells how durations were spread, lately and since the scheduler began.
type Spread struct {
	Over   int64     `json:"over"` // the time that Recent is over
	Recent Histogram `json:"recent"`
	Total  Histogram `json:"total"`
}

// A Times summarises durations; all are 0 if there are none. Of a histogram, a quantile is the end of its bucket.
type Times struct {
	Count   uint64 `json:"count"`
	P50     int64  `json:"p50"`
	P90     int64  `json:"p90"`
	P99     int64  `json:"p99"`
	Longest int64  `json:"longest"`
}

// A Histogram is a number of durations by bucket.
type Histogram struct {
	Times
	First int      `json:"first"` // bucket of the first of Bars
	Bars  []uint64 `json:"bars"`  // empty ones at both ends left out
}

// A Place is where in the program's own code something happened.
type Place struct {
	Func    string `json:"func"` // "" if it is not known
	File    string `json:"file"`
	Line    int    `json:"line"`
	Calls   string `json:"calls"`   // the function of the standard library that it called there
	Guessed bool   `json:"guessed"` // an inner call that has returned may stand for it
}

// PinSites are the places where threads blocked and held their carriers, since the process began, longest in sum first.
type PinSites struct {
	Known bool         `json:"known"` // they were read
	Rows  []PinSiteRow `json:"rows"`
	Rest  PinRest      `json:"rest"`
}

// A PinSiteRow is one place, for one reason.
type PinSiteRow struct {
	Place
	Reason  string `json:"reason"`
	Count   uint64 `json:"count"`
	Total   int64  `json:"total"`
	Longest int64  `json:"longest"`
	Victims uint64 `json:"victims"` // threads that waited for a carrier meanwhile
	Last    int64  `json:"last"`    // when the last one ended, in whole seconds
}

// A PinRest sums the places beyond the limit.
type PinRest struct {
	Rows  int    `json:"rows"`
	Count uint64 `json:"count"`
	Total int64  `json:"total"`
}

// Pollers make threads go on that wait for sockets or files.
type Pollers struct {
	Known bool        `json:"known"` // they were read
	Over  int64       `json:"over"`  // the time that rates are over; 0: there are none yet
	Rows  []PollerRow `json:"rows"`  // by number
	Rest  int         `json:"rest"`  // beyond the limit
}

// A PollerRow is what one poller tells of itself.
type PollerRow struct {
	Number  int      `json:"number"`
	Kind    string   `json:"kind"` // read, write, ring or helpers
	About   string   `json:"about"`
	Unit    string   `json:"unit"`    // of what it watches: sockets or operations
	Watched uint64   `json:"watched"` // registered sockets, or operations under way
	Wakeups uint64   `json:"wakeups"` // how often it found something, since the process began
	Ready   uint64   `json:"ready"`   // what it found
	Failed  uint64   `json:"failed"`  // waits that the system refused
	Last    int64    `json:"last"`    // when it found something, in whole seconds; 0: never
	Batches []uint64 `json:"batches"` // wake-ups that found 1, 2 to 3, 4 to 7 … at once; the last has no end

	WakeupRate float64 `json:"wakeupRate"` // per second, over Over
	ReadyRate  float64 `json:"readyRate"`
}

// Delays tell how long the threads of each scope waited for a carrier and how long they kept it, from the events that the rings hold.
type Delays struct {
	Window  int64      `json:"window"`  // how far the events reach back; a longer delay is not among them. 0: there are none
	Rows    []DelayRow `json:"rows"`    // worst first
	Rest    int        `json:"rest"`    // scopes beyond the limit
	Dropped uint64     `json:"dropped"` // events that were not recorded since the process began
}

// A DelayRow is one scope, or several siblings of one name.
type DelayRow struct {
	Scope    string `json:"scope"`    // path; "": threads that have ended, whose scope is not known any more
	Ready    Times  `json:"ready"`    // from runnable to mounted
	Slice    Times  `json:"slice"`    // from mounted to off the carrier
	Runnable int    `json:"runnable"` // threads that wait for a carrier now
	Waited   int64  `json:"waited"`   // for how long, the longest of them
}

// Warnings are the newest events about threads that held their carriers.
type Warnings struct {
	Rows        []Warning `json:"rows"`        // newest first
	Rest        int       `json:"rest"`        // events that the rings hold beyond the limit
	Overwritten uint64    `json:"overwritten"` // events that the rings do not hold any more
}

// A Warning is the newest event of one kind, reason and place about a thread that held its carrier.
type Warning struct {
	Place
	Kind    string `json:"kind"` // pinned, monopolized or starved
	Reason  string `json:"reason"`
	Time    int64  `json:"time"`  // in whole seconds
	Count   int    `json:"count"` // how many of these the rings still hold
	Thread  string `json:"thread"`
	Name    string `json:"name"` // of the thread, if it lives
	Held    int64  `json:"held"`
	Victims uint64 `json:"victims"`
}

// SlowIO are the newest operations of threads on sockets and files that took longer than the settings say.
type SlowIO struct {
	Rows []SlowIORow `json:"rows"` // newest first
	Rest int         `json:"rest"` // beyond the limit, of the newest hundred that the rings hold
}

// A SlowIORow is one operation, with all its waits.
type SlowIORow struct {
	Place
	Reason  string `json:"reason"`  // read, write, accept, connect, dial, lookup or file
	Blocker string `json:"blocker"` // "socket #12", "file #7", or ""
	With    string `json:"with"`    // the other side's address, or a path
	Bytes   uint64 `json:"bytes"`
	Took    int64  `json:"took"`
	Time    int64  `json:"time"` // of its end, in whole seconds
	Thread  string `json:"thread"`
	Name    string `json:"name"` // of the thread, if it lives
}

// Findings are what the checks of package dump find in the process.
type Findings struct {
	Missing  string        `json:"missing"` // why there are none; "" if they were judged
	Over     int64         `json:"over"`    // the time over which looks are compared; 0: there was one
	Rows     []FindingRow  `json:"rows"`    // the worst first
	Rest     int           `json:"rest"`    // beyond the limits
	Unjudged []UnjudgedRow `json:"unjudged"`
}

// A FindingRow is something that a check has found.
type FindingRow struct {
	Key       string      `json:"key"` // the same from frame to frame
	Check     string      `json:"check"`
	Severity  string      `json:"severity"` // info, warning or error
	What      string      `json:"what"`     // a sentence without a full stop
	Count     int         `json:"count"`    // threads, or scopes, as What says
	Value     int64       `json:"value"`    // that was measured
	Threshold int64       `json:"threshold"`
	Unit      string      `json:"unit"`     // of both
	Measured  string      `json:"measured"` // Value in words
	From      string      `json:"from"`     // Threshold in words
	Since     int64       `json:"since"`    // when it began, or was seen first, in whole seconds
	Scope     string      `json:"scope"`    // path; "": it is of no scope
	ScopeKey  string      `json:"scopeKey"`
	Group     string      `json:"group"` // key of the group that shows it best; "": there is none
	At        Place       `json:"at"`
	Threads   []ThreadRow `json:"threads"`  // some of them; how long they wait is not told
	Evidence  []string    `json:"evidence"` // further sentences
	Page      string      `json:"page"`     // path of its page in the repository
}

// An UnjudgedRow is a check that was not made, or not of all.
type UnjudgedRow struct {
	Check  string `json:"check"`
	Why    string `json:"why"`
	Partly bool   `json:"partly"` // it was made, of what can be judged
}

// Points are new points of the time line, by column.
type Points struct {
	Reset    bool      `json:"reset"` // forget the points had so far
	Time     []int64   `json:"time"`
	Counts   [][]int   `json:"counts"` // one array for each state
	Starts   []float64 `json:"starts"`
	Ends     []float64 `json:"ends"`
	Switches []float64 `json:"switches"`
	Drops    []float64 `json:"drops"`

	// Events since the point before.
	Pinned      []uint64 `json:"pinned"`
	Monopolized []uint64 `json:"monopolized"`
	Starved     []uint64 `json:"starved"`
	GC          []uint64 `json:"gc"`      // garbage collections of Go's
	Stopped     []int64  `json:"stopped"` // how long those stopped all goroutines in sum, as far as their events tell

	Ready [][]uint32 `json:"ready"` // of each point how long threads were runnable until they were mounted: the first bucket of [Config.Buckets], and how many are in it and in those after it; empty: none was told
	Flags []Flag     `json:"flags"` // what happened at some of them
}

// A Flag is something that happened at a moment of the time line.
type Flag struct {
	Time     int64  `json:"time"`
	Kind     string `json:"kind"`     // finding or incident
	Severity string `json:"severity"` // info, warning or error
	What     string `json:"what"`
	Rest     int    `json:"rest"` // more flags of that moment, which are left out
}

// A Moment tells which moment the frame shows, and which others can be shown.
type Moment struct {
	At      int64   `json:"at"`      // that the client asked for; 0: now
	Shown   int64   `json:"shown"`   // that is shown for it: the newest that is kept and not after it. 0: it shows now, or nothing
	Missing string  `json:"missing"` // why nothing is shown; else ""
	Busy    bool    `json:"busy"`    // At is being read from a recording; meanwhile what was shown before is shown
	Oldest  int64   `json:"oldest"`  // the moments that can be shown; 0: none
	Newest  int64   `json:"newest"`
	Kept    int     `json:"kept"`  // how many there are; 0: any between Oldest and Newest
	Back    []int64 `json:"back"`  // those before the one that is shown, the nearest first, at most ten
	Forth   []int64 `json:"forth"` // those after it
	Note    string  `json:"note"`  // what the time line lacks; else ""
}
