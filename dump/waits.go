package dump

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// WaitsFormat names the JSON document of [WaitsJSON] and its version.
const WaitsFormat = "vtscope/waits/v1"

// Waits tells who waits for whom in a process: what threads and goroutines wait for, who holds it, and who of them wait for each other.
type Waits struct {
	Format  string  `json:"format"` // always [WaitsFormat]
	Process Process `json:"process"`

	Taken time.Time     `json:"taken"`   // when the file was read
	AsOf  time.Time     `json:"as_of"`   // the moment it describes: Taken, or the last sign of life of a process that is gone
	Took  time.Duration `json:"took_ns"` // reading it

	// Complete reports that nothing is missing. If not, Incomplete says what is, one short sentence each.
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	Filter string `json:"filter,omitempty"` // it is about the threads that match, as of a [Snapshot]
	Group  string `json:"group,omitempty"`  // it is about the threads of the group of this key

	Threads    int     `json:"threads"`    // all threads that it is about
	Waiting    int     `json:"waiting"`    // threads and goroutines in Groups and Rest
	Goroutines int     `json:"goroutines"` // those of Waiting that are no threads
	Others     Reasons `json:"others"`     // threads that wait for nothing that others hold or do, such as sleeps and sockets, or for what is not known

	// Of the waits without a time limit: those in which a deadlock would have been found, since it is known who can end them, and those in which it would not.
	// Without a deadlock, and with some of the latter, it is not known whether there is one.
	Judged   int            `json:"judged"`
	Unjudged []UnjudgedWait `json:"unjudged"` // most first

	Deadlocks []Deadlock  `json:"deadlocks"` // most threads first
	Groups    []WaitGroup `json:"groups"`    // those of deadlocks first, then by falling count
	Rest      Rest        `json:"rest"`      // what is in no group of Groups
	Orphans   []Orphan    `json:"orphans"`   // open scopes whose owner has ended, longest open first
	Stacks    []Stack     `json:"stacks"`    // distinct stacks, to which the others have indexes; -1 stands for none
}

// KeepTop keeps the first n groups and sums the others in Rest. Deadlocks stay.
func (w *Waits) KeepTop(n int) {
	if n < 0 || n >= len(w.Groups) {
		return
	}
	for i := range w.Groups[n:] {
		w.Rest.Groups++
		w.Rest.Threads += w.Groups[n+i].Count
	}
	w.Groups = w.Groups[:n:n]
}

// A Thing is what somebody waits for or holds: a lock, the end of a thread, the carriers of a scheduler.
type Thing struct {
	Kind  string `json:"kind"`            // by its name in [flight.BlockerKinds], or "carriers"
	ID    string `json:"id,omitempty"`    // a number or an address; empty if Count is not 1
	Name  string `json:"name,omitempty"`  // given by the user
	Made  *Place `json:"made,omitempty"`  // where it was created
	Count int    `json:"count,omitempty"` // several things alike: of one kind, name, place of creation and scope of the holders; of very many it may be too large
}

// A Party is a thread, or a goroutine that is none.
type Party struct {
	Thread    flight.ThreadID `json:"thread,omitempty"`
	Goroutine string          `json:"goroutine,omitempty"` // its number, as Go's own dumps show it
	Name      string          `json:"name,omitempty"`
	Scope     []string        `json:"scope,omitempty"` // names from below the root's; none for the root itself and for goroutines
}

// A Deadlock is threads that wait for each other in a circle: without a time limit, each for what the next one holds or is, and the last for the first.
type Deadlock struct {
	Threads    int           `json:"threads"`    // members that are threads
	Goroutines int           `json:"goroutines"` // and those that are none
	Members    []Member      `json:"members"`    // of a large circle the first 100
	For        time.Duration `json:"for_ns"`     // since the last member began to wait
	Victims    int           `json:"victims"`    // others that wait for them, directly or through others
}

// A Member is a link of a deadlock.
type Member struct {
	Party
	Count int    `json:"count"` // so many of its scope wait alike; Party is the one that waits longest
	State string `json:"state"`

	Role  string        `json:"role"` // how it keeps Keeps from the one before it: "holds", "is", "is in", "owns" or "holds one of"
	Keeps Thing         `json:"keeps"`
	Held  time.Duration `json:"held_ns,omitempty"` // how long; 0: not known
	Wants Thing         `json:"wants"`
	For   time.Duration `json:"for_ns"`
	Stack int           `json:"stack"` // index in [Waits.Stacks]
}

// A WaitGroup is the threads and goroutines of the sibling scopes of one name that wait for one thing, or for several alike.
type WaitGroup struct {
	Scope      []string      `json:"scope,omitempty"` // names from below the root's; none for the root itself
	For        Thing         `json:"for"`
	Count      int           `json:"count"`
	Goroutines int           `json:"goroutines,omitempty"` // those of Count that are no threads
	Timed      int           `json:"timed,omitempty"`      // those of Count that wait with a time limit
	Shortest   time.Duration `json:"shortest_ns"`          // of those of which it is known; 0: of none
	Longest    time.Duration `json:"longest_ns"`           // likewise
	Stack      int           `json:"stack"`                // of the longest waiting: index in [Waits.Stacks]
	Example    Party         `json:"example"`              // that
	Deadlock   int           `json:"deadlock"`             // it waits for deadlock number N, from 1; 0: for none

	Capacity  uint64   `json:"capacity,omitempty"`  // of the thing: permits, places, parties
	Available int64    `json:"available,omitempty"` // of Capacity
	Held      int      `json:"held,omitempty"`      // holders
	Holders   []Keeper `json:"holders,omitempty"`   // some of them, at most [flight.HoldersKept]
	Gone      bool     `json:"gone,omitempty"`      // a holder is a thread that has ended
}

// A Keeper is somebody who holds what others wait for, or whose end they wait for.
type Keeper struct {
	Party
	State string        `json:"state"`             // of the thread: by its name in [flight.States], "ended", or "" for a goroutine of which nothing is known
	Held  time.Duration `json:"held_ns,omitempty"` // how long it has held it; 0: not known
	For   time.Duration `json:"for_ns,omitempty"`  // how long it has been in State
	Stack int           `json:"stack"`             // where it waits: index in [Waits.Stacks]
}

// An Orphan is an open scope whose owner, a thread, has ended without closing it.
type Orphan struct {
	ID    flight.ScopeID  `json:"id"`
	Scope []string        `json:"scope"` // names from below the root's
	Owner flight.ThreadID `json:"owner"`
	Open  time.Duration   `json:"open_ns"` // since it was opened
}

// ScopeName writes the path of a scope as "orders/checkout", or "root".
func ScopeName(path []string) string {
	if len(path) == 0 {
		return "root"
	}
	names := slices.Clone(path)
	for i, n := range names {
		if n == "" {
			names[i] = "(no name)"
		}
	}
	return strings.Join(names, "/")
}

// WaitsJSON writes w as one document; the package comment describes it.
func WaitsJSON(to io.Writer, w *Waits) error { return writeDocument(to, w) }
