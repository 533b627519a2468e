package agent

// The members of frames that tell of threads: by scope, and by stack.

// Scopes is the tree of scopes, parents before children.
type Scopes struct {
	Order string     `json:"order"` // of scopes with one parent
	Rows  []ScopeRow `json:"rows"`
	Rest  Rest       `json:"rest"` // scopes beyond the limit, with their own threads
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

	// Oldest and Wait are 0 unless the rows are in one of these orders.
	Oldest int64   `json:"oldest"` // the longest that a thread in it or below it has waited
	Wait   float64 `json:"wait"`   // of all of them in sum, about: the median of each group for each of its threads
	Pins   uint64  `json:"pins"`   // how often those that live were pinned

	Children      int `json:"children"` // scopes right below it, those of one name counted once
	Hidden        int `json:"hidden"`   // of Children: not among the rows
	HiddenThreads int `json:"hiddenThreads"`
}

// A Rest sums what was left out.
type Rest struct {
	Rows    int `json:"rows"`
	Threads int `json:"threads"`
}

// Groups are the stack groups of the subscribed scope and the scopes below it, in the subscribed order.
type Groups struct {
	Scope   string     `json:"scope"`
	Missing string     `json:"missing"` // why there are none; else ""
	Total   int        `json:"total"`   // threads in all groups, Rest included
	Filter  string     `json:"filter"`  // that these are of, as it was understood; "" if all threads are
	Left    int        `json:"left"`    // threads of the process that the filter leaves out
	Order   string     `json:"order"`   // as subscribed
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
	Unknown int    `json:"unknown"` // of how many nobody recorded it; min, median and max are of the others, and 0 if there are none
	Within  int64  `json:"within"`  // all of unknown are shorter; 0: that is not known
	Seen    int64  `json:"seen"`    // how long ago somebody last saw all of them in this stack; 0: it is of the moment

	Mark string `json:"mark"` // what somebody thinks of it: good or suspicious; "" if nobody has said
	Note string `json:"note"` // of the mark
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

// Calls are the stacks of the subscribed scope and the scopes below it, merged to a tree: from the outermost call on, or from a function inwards or outwards. The
// columns have a value for each call. The first call is the scope or the function; a call stands after the one that it is below.
type Calls struct {
	Scope    string `json:"scope"`
	Missing  string `json:"missing"` // why there are none; else ""
	Filter   string `json:"filter"`  // as in [Groups]
	Func     string `json:"func"`    // that it begins with; "": the outermost calls
	Outward  bool   `json:"outward"` // what is below a call has called it
	Runtime  bool   `json:"runtime"` // with the frames of runtimes
	Total    int    `json:"total"`   // threads of the scope and those below it, whether they are in Func or not
	WaitedMS int64  `json:"waitedMs"`
	Compared bool   `json:"compared"` // Changes is known

	Funcs   []CallFunc `json:"funcs"`
	Parents []int      `json:"parents"` // position of the call that it is below; -1 of the first
	Calls   []int      `json:"calls"`   // position in Funcs
	Lines   []int      `json:"lines"`   // of the file where it is; 0: several, or not known
	Threads []int      `json:"threads"` // in it
	Own     []int      `json:"own"`     // of them: those whose stack ends with it
	WaitsMS []int64    `json:"waitsMs"` // that its threads have been in their state, in sum: for each group the median times its threads
	Changes []int      `json:"changes"` // of Threads, over the time that [Taken.ChangeOver] tells; empty if it is not known
	States  []int      `json:"states"`  // that most of its threads are in
	InState []int      `json:"inState"` // how many those are

	Rest Rest `json:"rest"` // calls beyond the limit, and the threads in them
}

// A CallFunc is a function of [Calls]. What stands in the place of calls has a name in brackets.
type CallFunc struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Internal bool   `json:"internal"` // of the runtime or of vtscope's own
}
