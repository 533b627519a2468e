package dump

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// TableFormat names the JSON document of a [Table] and its version.
const TableFormat = "vtscope/table/v1"

// A Table is the threads of a process at a moment, grouped by what one wants to know.
type Table struct {
	Format  string  `json:"format"` // always [TableFormat]
	Process Process `json:"process"`

	Taken time.Time     `json:"taken"`
	AsOf  time.Time     `json:"as_of"`
	Took  time.Duration `json:"took_ns"`

	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	Filter   string `json:"filter,omitempty"`   // as of a [Snapshot]
	Filtered int    `json:"filtered,omitempty"` // as of a [Snapshot]
	Threads  int    `json:"threads"`

	By     []string   `json:"by"`     // names of dimensions, from the outermost on
	Rows   []TableRow `json:"rows"`   // the tree in pre-order, siblings by falling count
	Stacks []Stack    `json:"stacks"` // of the rows by stack
	// Rest is how many threads are in no row of some dimension, since there are too many rows; those of the dimensions before it count them.
	Rest int `json:"rest,omitempty"`
}

// A TableRow is the threads that have the same values of the dimensions up to its depth.
type TableRow struct {
	Depth  int    `json:"depth"`  // the index of its dimension
	Parent int    `json:"parent"` // index of the row around it; -1: none
	Value  string `json:"value"`
	Stack  int    `json:"stack"` // of rows by stack the index in [Table.Stacks]; else, or without a known stack, -1
	Count  int    `json:"count"`
	States Counts `json:"states"`
	Wait   Wait   `json:"wait"` // how long they have been in their states
	// Waits count them by how long, for [flight.BucketEnd], also beyond [flight.HistogramBuckets]; buckets from the first to the last that has any.
	Waits  []uint64 `json:"waits"`
	First  int      `json:"first"` // the bucket of Waits[0]
	Oldest *Example `json:"oldest"`
	Newest *Example `json:"newest"`
	Random *Example `json:"random"`
}

// TakeTable reads the threads of a source as [Take] does, and groups them by the dimensions, of which there is at least one.
func TakeTable(ctx context.Context, r Source, by []Dimension, o Options) (*Table, error) {
	began := time.Now()
	r = Looked(r)
	p := processOf(r, began)
	out := &Table{Format: TableFormat, Taken: began, AsOf: p.LastSeen, Process: p, Filter: o.Filter.String(), Rows: []TableRow{}}
	// What is missing is told as a snapshot tells it.
	s := &Snapshot{Process: p}
	if m, ok := r.(Moment); ok {
		s.Incomplete = m.Incomplete()
	}
	scopes, err := r.Scopes()
	if err != nil {
		s.missed(err)
	}
	tree := plant(scopes, o.Templates)
	now := r.Now()
	f := newFolder(tree, now, o)
	f.match = newMatching(o.Filter, r, tree, now)
	t := &tabler{src: r, by: by, now: now, most: f.maxGroups, stacks: newStackTable(r.Stack, o.Similar), numbers: map[string]uint64{}}
	t.texts = f.match
	if t.texts == nil {
		t.texts = newTexts(r, tree, now)
	}
	t.root.children = map[uint64]*tableNode{}
	f.sink = t.add
	if err := f.read(ctx, r, s); err != nil {
		return nil, err
	}
	t.rows(out, &t.root, -1, 0)
	out.Stacks = t.stacks.stacks
	out.Threads, out.Filtered, out.Rest = t.root.waits.n, f.filtered, t.over
	s.Lost.Unsymbolised = t.stacks.bare
	if t.over > 0 {
		s.miss("%s only counted: there are more than %s rows", Count(t.over, "thread"), Thousands(t.most))
	}
	s.offs(r)
	s.judge(tree, r.Lost())
	out.Complete, out.Incomplete = s.Complete, s.Incomplete
	out.Took = time.Since(began)
	return out, nil
}

// A tabler puts threads into a tree of groups.
type tabler struct {
	src    Source
	by     []Dimension
	now    flight.Ticks
	stacks *stackTable
	texts  *matching
	root   tableNode
	nodes  int
	most   int
	over   int

	numbers map[string]uint64 // of words
	words   []string
}

type tableNode struct {
	value    uint64
	waits    waitStat
	states   Counts
	oldest   tableExample
	newest   tableExample
	random   tableExample
	children map[uint64]*tableNode
}

type tableExample struct {
	wait flight.Ticks
	id   flight.ThreadID
	name flight.NameRef
	in   flight.ThreadRow // for sources whose names are not by reference
}

// word returns the number of a text.
func (t *tabler) word(s string) uint64 {
	n, ok := t.numbers[s]
	if !ok {
		n = uint64(len(t.words))
		t.numbers[s] = n
		t.words = append(t.words, s)
	}
	return n
}

func (t *tabler) add(fam int32, r *flight.ThreadRow, key groupKey) {
	wait := elapsed(r.Since, t.now)
	e := tableExample{wait, r.ID, r.Name, *r}
	node := &t.root
	node.count(&e, key.state, t.now)
	for i := range t.by {
		v := t.by[i].of(t, fam, r, &key)
		child := node.children[v]
		if child == nil {
			if t.nodes == t.most {
				t.over++
				return
			}
			t.nodes++
			child = &tableNode{value: v}
			if i+1 < len(t.by) {
				child.children = map[uint64]*tableNode{}
			}
			node.children[v] = child
		}
		node = child
		node.count(&e, key.state, t.now)
	}
}

func (n *tableNode) count(e *tableExample, s flight.State, now flight.Ticks) {
	n.waits.addRow(&e.in, now)
	n.states[s]++
	if n.waits.n == 1 {
		n.oldest, n.newest, n.random = *e, *e, *e
		return
	}
	if e.wait > n.oldest.wait {
		n.oldest = *e
	}
	if e.wait-1 < n.newest.wait-1 { // unknown ones last
		n.newest = *e
	}
	if rand.IntN(n.waits.n) == 0 {
		n.random = *e
	}
}

// rows appends the rows below a node.
func (t *tabler) rows(out *Table, n *tableNode, parent, depth int) {
	if depth == 0 {
		for _, d := range t.by {
			out.By = append(out.By, d.Name)
		}
	}
	all := make([]*tableNode, 0, len(n.children))
	for _, c := range n.children {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *tableNode) int {
		return cmp.Or(cmp.Compare(b.waits.n, a.waits.n), cmp.Compare(b.waits.max, a.waits.max), cmp.Compare(a.value, b.value))
	})
	for _, c := range all {
		row := TableRow{
			Depth: depth, Parent: parent, Stack: -1, Count: c.waits.n, States: c.states,
			Value:  t.by[depth].text(t, c.value),
			Oldest: t.example(&c.oldest), Newest: t.example(&c.newest), Random: t.example(&c.random),
			Wait: c.waits.wait(t.span),
		}
		if t.by[depth].Name == "stack" {
			row.Stack = int(c.value) - 1
		}
		row.First, row.Waits = t.buckets(&c.waits)
		out.Rows = append(out.Rows, row)
		t.rows(out, c, len(out.Rows)-1, depth+1)
	}
}

func (t *tabler) span(ticks flight.Ticks) time.Duration {
	if ticks <= 1 {
		return 0
	}
	return max(t.src.Between(t.now-ticks, t.now), 0)
}

func (t *tabler) example(e *tableExample) *Example {
	x := &Example{ID: e.id, Name: t.texts.names(e.in), Wait: t.span(e.wait), Unknown: e.wait == unknownWait}
	if x.Unknown && e.in.After != 0 {
		x.Within = roundUp(t.span(elapsed(e.in.After, t.now)))
	}
	return x
}

// buckets counts waits in buckets as those of [flight.Histogram], which go on where that ends: threads wait for hours.
func (t *tabler) buckets(w *waitStat) (first int, counts []uint64) {
	var h [maxWaitBuckets]uint64
	if w.hist == nil {
		for _, ticks := range w.exact {
			h[bucketOfWait(t.span(ticks))]++
		}
	} else {
		for i, n := range w.hist {
			if n > 0 {
				h[bucketOfWait(t.span(waitBucketMiddle(i)))] += uint64(n)
			}
		}
	}
	last := -1
	for i, n := range h {
		if n > 0 {
			if last < 0 {
				first = i
			}
			last = i
		}
	}
	return first, h[first : last+1]
}

// maxWaitBuckets is more than there are for the longest duration.
const maxWaitBuckets = 128

// bucketOfWait returns the bucket of a wait, which ends at [flight.BucketEnd]. Unlike [flight.BucketOf] it knows no last one.
func bucketOfWait(d time.Duration) int {
	i := flight.BucketOf(d)
	for i >= flight.HistogramBuckets-1 && flight.BucketEnd(i) <= d && i < maxWaitBuckets-1 && flight.BucketEnd(i+1) > 0 {
		i++
	}
	return i
}

// stackText is the innermost call of the program's own, and who called that.
func (t *tabler) stackText(i int) string {
	if i < 0 {
		return "(no stack)"
	}
	var calls []string
	for _, f := range t.stacks.stacks[i].Frames {
		if !f.Internal {
			if calls = append(calls, ShortFunc(f.Func)); len(calls) == 2 {
				break
			}
		}
	}
	if len(calls) == 0 && len(t.stacks.stacks[i].Frames) > 0 {
		calls = []string{ShortFunc(t.stacks.stacks[i].Frames[0].Func)}
	}
	return strings.Join(calls, " < ")
}

// newTexts is a matching that is not asked whether it matches.
func newTexts(src Source, t *tree, now flight.Ticks) *matching {
	return newMatching(everything, src, t, now)
}

var everything = func() *filter.Filter {
	f, err := filter.Parse("id>=0")
	if err != nil {
		panic(err) // an invariant: it is right
	}
	return f
}()

// TableJSON writes a table as one document.
func TableJSON(w io.Writer, t *Table) error { return writeDocument(w, t) }

// KeepTop keeps the n largest rows below each row, and what they have below.
func (t *Table) KeepTop(n int) {
	if n < 0 {
		return
	}
	kept := make([]TableRow, 0, len(t.Rows))
	place := make([]int, len(t.Rows))
	siblings := map[int]int{}
	for i, row := range t.Rows {
		place[i] = -1
		if row.Parent >= 0 && place[row.Parent] < 0 {
			continue
		}
		if siblings[row.Parent]++; siblings[row.Parent] > n {
			continue
		}
		if row.Parent >= 0 {
			row.Parent = place[row.Parent]
		}
		place[i] = len(kept)
		kept = append(kept, row)
	}
	t.Rows = kept
}
