package dump

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// DurablesFormat names the JSON document of a list of durable threads.
const DurablesFormat = "vtscope/durables/v1"

// Durables is a list of durable threads: how many do what, and some of them.
type Durables struct {
	Format  string                `json:"format"`
	Source  DurableSource         `json:"source"`
	Taken   time.Time             `json:"taken"`
	Threads int                   `json:"threads"`
	Matched int                   `json:"matched"` // by the filter; all that follows is of these
	States  map[journal.State]int `json:"states"`

	Groups     []DurableGroup       `json:"groups"` // the largest first
	GroupsLeft int                  `json:"groups_left,omitempty"`
	Rows       []journal.DurableRow `json:"rows"` // in the order that Sort names
	RowsLeft   int                  `json:"rows_left,omitempty"`
	Sort       string               `json:"sort"`
	Incomplete []string             `json:"incomplete,omitempty"`
}

// The kinds of sources.
const (
	FromProcess = "process"
	FromFolder  = "folder"
	FromBytes   = "bytes"
	FromStream  = "stream"
)

// A DurableSource is where durable threads were looked up.
type DurableSource struct {
	Kind    string              `json:"kind"`           // process, folder, bytes or stream
	Path    string              `json:"path,omitempty"` // of a folder or a file; of a stream the servers, without secrets
	PID     int                 `json:"pid,omitempty"`  // of a folder the process that has it
	Program string              `json:"program,omitempty"`
	Status  Status              `json:"status,omitempty"` // of the process
	Stores  []journal.StoreTold `json:"stores,omitempty"` // of a process
	Files   int                 `json:"files,omitempty"`  // of a folder
	Bytes   int64               `json:"bytes,omitempty"`  // of records in them; of bytes and of a stream all
	Tail    int64               `json:"tail,omitempty"`   // bytes at the end of the newest file that are no record
	Why     string              `json:"why,omitempty"`    // why the folder was read of a process that was asked for
	Stream  *DurableStream      `json:"stream,omitempty"`
}

// A DurableStream is a store that many keepers share.
type DurableStream struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Messages  uint64          `json:"messages"`       // that it has
	Trees     int             `json:"trees"`          // that were looked at: threads with their children
	Read      int             `json:"read"`           // of them those whose journals were read
	Came      uint64          `json:"came,omitempty"` // messages that came while it was looked at: trees are not of one moment
	Took      time.Duration   `json:"took_ns"`
	Listened  time.Duration   `json:"listened_ns,omitempty"` // for keepers, of a list
	Keepers   []DurableKeeper `json:"keepers,omitempty"`
}

// A DurableKeeper is one that was heard of while a stream was looked at, or that has trees there.
type DurableKeeper struct {
	Name    string        `json:"name"`
	Trees   int           `json:"trees"`
	Lease   time.Duration `json:"lease_ns,omitempty"` // it says something ten times within it
	Silent  bool          `json:"silent,omitempty"`   // it has trees, and was not heard of for as long as it takes to be heard of twice
	Unheard bool          `json:"unheard,omitempty"`  // it has trees, and was not heard of, but its lease is so long that this tells nothing
}

// A DurableGroup is threads of one body that are in one state and wait for the same, or failed alike; numbers in names and errors make no difference.
type DurableGroup struct {
	Body     string           `json:"body"`
	State    journal.State    `json:"state"`
	Wait     *journal.Pending `json:"wait,omitempty"`  // of one of them, without its limit; of joins without the child
	Err      string           `json:"error,omitempty"` // that one of them has ended with
	Threads  int              `json:"threads"`
	Longest  time.Duration    `json:"longest_ns"` // since they do
	Shortest time.Duration    `json:"shortest_ns"`
	Steps    int              `json:"steps"`
	Bytes    int              `json:"bytes"`
	Failed   int              `json:"failed,omitempty"`
	Example  string           `json:"example"` // the one that does so for longest
}

// A DurableSort is an order of rows.
type DurableSort struct {
	Name, About string
	less        func(a, b *journal.DurableRow) int
}

// DurableSorts are the orders of rows; the first is the usual one.
var DurableSorts = []DurableSort{
	{"since", "those first that do what they do for longest", func(a, b *journal.DurableRow) int { return oldest(a.Since, b.Since) }},
	{"begun", "the oldest first", func(a, b *journal.DurableRow) int { return oldest(a.Begun, b.Begun) }},
	{"until", "those first that wait no longer than until soonest", func(a, b *journal.DurableRow) int { return oldest(limitOf(a), limitOf(b)) }},
	{"steps", "the most steps first", func(a, b *journal.DurableRow) int { return b.Steps - a.Steps }},
	{"bytes", "the largest journal first", func(a, b *journal.DurableRow) int { return b.Bytes - a.Bytes }},
	{"failed", "the most failed steps first", func(a, b *journal.DurableRow) int { return b.Failed - a.Failed }},
	{"id", "by id", func(a, b *journal.DurableRow) int { return 0 }},
}

// oldest puts what is not known last.
func oldest(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		switch {
		case a.IsZero() && b.IsZero():
			return 0
		case a.IsZero():
			return 1
		}
		return -1
	}
	return a.Compare(b)
}

func limitOf(r *journal.DurableRow) time.Time {
	if r.Wait == nil {
		return time.Time{}
	}
	return r.Wait.Until
}

// ParseDurableSort finds an order by its name.
func ParseDurableSort(name string) (*DurableSort, error) {
	var names []string
	for i := range DurableSorts {
		if DurableSorts[i].Name == name {
			return &DurableSorts[i], nil
		}
		names = append(names, DurableSorts[i].Name)
	}
	return nil, fmt.Errorf("want one of %s", strings.Join(names, ", "))
}

// DurableOptions say which threads are listed, and how many.
type DurableOptions struct {
	Filter *filter.Filter // of [filter.ParseDurable]; nil: all
	Sort   *DurableSort   // nil: the usual one
	Top    int            // rows and groups; 0 means 20, negative all
}

// maxDurableGroups is how many groups are told apart; threads of further ones are counted without them.
const maxDurableGroups = 10_000

// A DurableFold makes [Durables] of rows that come one by one. Its memory grows with what is shown and with the groups, not with the threads.
type DurableFold struct {
	options DurableOptions
	doc     *Durables
	groups  map[string]*DurableGroup
	other   int // threads of groups beyond the most
}

// NewDurableFold begins a list as of a moment.
func NewDurableFold(o DurableOptions, taken time.Time) *DurableFold {
	if o.Top == 0 {
		o.Top = defaultTop
	}
	if o.Sort == nil {
		o.Sort = &DurableSorts[0]
	}
	return &DurableFold{options: o, groups: map[string]*DurableGroup{}, doc: &Durables{
		Format: DurablesFormat, Taken: taken, States: map[journal.State]int{}, Groups: []DurableGroup{}, Rows: []journal.DurableRow{}, Sort: o.Sort.Name,
	}}
}

// Add takes a thread.
func (f *DurableFold) Add(r journal.DurableRow) {
	d := f.doc
	d.Threads++
	if !f.options.Filter.MatchDurable(&r, d.Taken) {
		return
	}
	d.Matched++
	d.States[r.State]++
	f.group(&r)
	d.Rows = append(d.Rows, r)
	if f.options.Top > 0 && len(d.Rows) >= 2*f.options.Top+1000 {
		f.cut()
	}
}

func (f *DurableFold) cut() {
	slices.SortFunc(f.doc.Rows, func(a, b journal.DurableRow) int {
		return cmp.Or(f.options.Sort.less(&a, &b), cmp.Compare(a.ID, b.ID))
	})
	if f.options.Top > 0 && len(f.doc.Rows) > f.options.Top {
		f.doc.Rows = f.doc.Rows[:f.options.Top]
	}
}

func (f *DurableFold) group(r *journal.DurableRow) {
	g := DurableGroup{Body: r.Body, State: r.State}
	if r.Wait != nil {
		g.Wait = &journal.Pending{Kind: r.Wait.Kind, Name: r.Wait.Name}
		if g.Wait.Kind == journal.StepJoin {
			g.Wait.Name = ""
		}
	}
	if r.State == journal.Failed || r.State == journal.Diverged {
		g.Err, _, _ = strings.Cut(r.Err, "\n")
	}
	key := strings.Join([]string{g.Body, string(g.State), withoutNumbers(g.Wait.Of()), withoutNumbers(g.Err)}, "\x00")
	now := f.groups[key]
	if now == nil {
		if len(f.groups) >= maxDurableGroups {
			f.other++
			return
		}
		now = &g
		f.groups[key] = now
	}
	since := max(f.doc.Taken.Sub(r.Since), 0)
	if r.Since.IsZero() {
		since = 0
	}
	if now.Threads == 0 || since < now.Shortest {
		now.Shortest = since
	}
	if now.Threads == 0 || since > now.Longest {
		now.Longest, now.Example = since, r.ID
	}
	now.Threads++
	now.Steps += r.Steps
	now.Bytes += r.Bytes
	now.Failed += r.Failed
}

// withoutNumbers makes texts one that differ in numbers only.
func withoutNumbers(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// Done returns the list. The fold is used no more.
func (f *DurableFold) Done(source DurableSource, incomplete ...string) *Durables {
	d := f.doc
	f.cut()
	d.RowsLeft = d.Matched - len(d.Rows)
	for _, g := range f.groups {
		d.Groups = append(d.Groups, *g)
	}
	slices.SortFunc(d.Groups, func(a, b DurableGroup) int {
		return cmp.Or(b.Threads-a.Threads, cmp.Compare(b.Longest, a.Longest), cmp.Compare(a.Example, b.Example))
	})
	if n := f.options.Top; n > 0 && len(d.Groups) > n {
		d.GroupsLeft = len(d.Groups) - n
		d.Groups = d.Groups[:n]
	}
	d.Source, d.Incomplete = source, incomplete
	if f.other > 0 {
		d.Incomplete = append(d.Incomplete, fmt.Sprintf("%s are in no group: there are more than %s", Count(f.other, "thread"), Thousands(maxDurableGroups)))
	}
	return d
}

// DurablesJSON writes a list as one document.
func DurablesJSON(w io.Writer, d *Durables) error { return writeDocument(w, d) }
