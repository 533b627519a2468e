package agent

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
)

// A Config is the first message of a connection: what a client must know to read the rest.
type Config struct {
	Type       string `json:"type"`
	Protocol   int    `json:"protocol"`
	Agent      About  `json:"agent"`
	States     []Term `json:"states"`  // indexed by state; the order of every array of counts by state
	Reasons    []Term `json:"reasons"` // indexed by reason
	Kinds      []Term `json:"kinds"`   // indexed by kind of event
	IntervalMS int    `json:"intervalMs"`
	Points     int    `json:"points"` // most points of the time line
	Limits     Limits `json:"limits"`
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

// Limits are the most rows that a frame carries; what lies beyond is summed.
type Limits struct {
	Scopes   int `json:"scopes"`
	Groups   int `json:"groups"`
	Carriers int `json:"carriers"`
}

// A Subscription says what a client wants to see. Each replaces the one before.
type Subscription struct {
	Type    string `json:"type"`
	Process string `json:"process"` // a process's key or pid; "" lets the agent choose
	Scope   string `json:"scope"`   // a scope's key or path; "" is the whole process
	Group   string `json:"group"`   // a group's key; "" is the largest
}

// A Problem answers a message that could not be used. The subscription stays as it was.
type Problem struct {
	Type  string `json:"type"`
	Error string `json:"error"`
	Try   string `json:"try"`
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
	Scopes    *Scopes       `json:"scopes,omitempty"`
	Groups    *Groups       `json:"groups,omitempty"`
	Stack     *Stack        `json:"stack,omitempty"`
	Carriers  *Carriers     `json:"carriers,omitempty"`
	Points    *Points       `json:"points,omitempty"`
}

// A ProcessRow is one process of the picker.
type ProcessRow struct {
	Key     string `json:"key"` // "<pid>-<start time>"
	PID     int    `json:"pid"`
	Program string `json:"program"`
	Status  string `json:"status"` // running, stopped, ended, killed or unknown
	Started int64  `json:"started"`
	Gone    int64  `json:"gone"` // when it ended or was killed, as near as is known; 0 while it lives
	Threads int    `json:"threads"`
}

// A Process is the header: one process as a whole.
type Process struct {
	ProcessRow
	Missing string `json:"missing"` // why there is nothing to show, then the rest is zero; else ""
	Problem string `json:"problem"` // the last error in reading the process; "" if none

	Exe        string `json:"exe"`
	GoVersion  string `json:"goVersion"`
	Counts     []int  `json:"counts"` // threads by state
	ScopeCount int    `json:"scopeCount"`
	Rates      Rates  `json:"rates"`
	Drops      Drops  `json:"drops"`
	Snapshot   Taken  `json:"snapshot"`
	Cost       Cost   `json:"cost"`
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

// A Taken describes the snapshot that a frame was made from.
type Taken struct {
	Time       int64    `json:"time"` // 0: none yet
	Took       int64    `json:"took"`
	ChangeOver int64    `json:"changeOver"` // the time that every Change of scopes and groups is over; 0: too early to tell
	Every      int64    `json:"every"`      // the pause between the starts of two snapshots
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete"` // why not
	Note       string   `json:"note"`       // why snapshots come more rarely than once an interval; else ""
}

// A Cost is what the agent itself uses.
type Cost struct {
	CPU    float64 `json:"cpu"`    // of one processor, over the last interval
	Memory uint64  `json:"memory"` // bytes that Go obtained from the system and holds
	Bytes  float64 `json:"bytes"`  // sent to all clients, per second
}

// Scopes is the tree of scopes, parents before children.
type Scopes struct {
	Rows []ScopeRow `json:"rows"`
	Rest Rest       `json:"rest"` // scopes beyond the limit, with their own threads
}

// A ScopeRow is a scope, or several siblings of one name folded into one.
type ScopeRow struct {
	Key    string `json:"key"`  // what a [Subscription] names; the same for the same path in every snapshot
	Path   string `json:"path"` // names from the root, joined by "/"
	Name   string `json:"name"`
	Depth  int    `json:"depth"`
	Fold   int    `json:"fold"`   // how many scopes this row stands for
	Own    int    `json:"own"`    // threads in it
	Total  int    `json:"total"`  // threads in it and below it
	Change int    `json:"change"` // of Total, over the time that [Taken.ChangeOver] tells
	Owner  string `json:"owner"`
	Counts []int  `json:"counts"` // by state, in it and below it
}

// A Rest sums what was left out.
type Rest struct {
	Rows    int `json:"rows"`
	Threads int `json:"threads"`
}

// Groups are the stack groups of the subscribed scope and the scopes below it, largest first.
type Groups struct {
	Scope   string     `json:"scope"`
	Missing string     `json:"missing"` // why there are none; else ""
	Total   int        `json:"total"`   // threads in all groups, Rest included
	Rows    []GroupRow `json:"rows"`
	Rest    Rest       `json:"rest"`
}

// A GroupRow is a number of threads of one scope with the same stack, state and reason.
type GroupRow struct {
	Key     string `json:"key"`   // the same for the same scope path, stack, state and reason in every snapshot
	Scope   string `json:"scope"` // path
	Count   int    `json:"count"`
	Change  int    `json:"change"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Blocker string `json:"blocker"` // what all of them wait for, if that is one thing and known
	Top     string `json:"top"`     // the innermost call that is not the runtime's
	Caller  string `json:"caller"`  // the call that made it
	Min     int64  `json:"min"`     // how long they have been in this state
	Median  int64  `json:"median"`
	Max     int64  `json:"max"`
}

// A Stack is the chosen group in full.
type Stack struct {
	Group     string      `json:"group"`
	Missing   string      `json:"missing"` // why there is none; else ""
	Row       *GroupRow   `json:"row"`
	Frames    []FrameRow  `json:"frames"` // innermost first
	Truncated bool        `json:"truncated"`
	Examples  []ThreadRow `json:"examples"`
}

// A FrameRow is one call.
type FrameRow struct {
	Func     string `json:"func"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Inlined  bool   `json:"inlined"`
	Internal bool   `json:"internal"` // of the runtime or of vtscope's own
}

// A ThreadRow is one thread given as an example.
type ThreadRow struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Wait int64  `json:"wait"`
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
	Doing    string  `json:"doing"` // state of that thread
	Since    int64   `json:"since"` // how long
	Where    string  `json:"where"` // of a pinned thread
	Switches float64 `json:"switches"`
	Events   uint64  `json:"events"`
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
}
