package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A callTree is the stacks of a snapshot, merged from one end on. calls[0] is what all have in common: the scope, or a function. A call stands after the one
// that it is below.
type callTree struct {
	calls []call
	below map[callKey]int32
	funcs map[string]int32
	names []CallFunc
}

type call struct {
	callKey
	line int // 0: they differ
	weight
	own  int   // threads of the stacks that end here
	was  int   // threads in the snapshot before
	last int32 // the call below it that was met last: often the next stack goes the same way
}

type callKey struct {
	parent int32
	name   int32 // in callTree.names
}

// A weight is what the groups of one stack have in sum. Waiting is in milliseconds: in nanoseconds a million threads would overflow it in three hours.
type weight struct {
	threads int
	waited  int64
	states  [flight.StateCount]int32
}

// longestWait is a time in milliseconds, thirty years, beyond which only damage makes a thread wait.
const longestWait = 1e12

func (w *weight) add(o *weight) {
	w.threads += o.threads
	w.waited += o.waited
	for i, n := range o.states {
		w.states[i] += n
	}
}

func (w *weight) addGroup(g *dump.Group) {
	w.threads += g.Count
	w.waited += min(max(g.Wait.Median.Milliseconds(), 0), longestWait) * int64(g.Count)
	w.states[g.State] += int32(g.Count)
}

// most is the state that most threads are in, and how many are.
func (w *weight) most() (state flight.State, n int32) {
	for i, k := range w.states {
		if k > n {
			state, n = flight.State(i), k
		}
	}
	return state, n
}

// The names of what stands in the place of calls.
const (
	callUnrecorded = "[not recorded]" // outer calls of a stack that is cut
	callMoreGroups = "[more groups]"  // threads beyond the most groups of a snapshot
)

// A callsOf says which calls are merged.
type callsOf struct {
	scope    string
	function string // "": all, from the outermost on
	outward  bool   // of function: its callers, else what it calls
	runtime  bool   // the frames of runtimes too
}

// calls merges the stacks of the threads of a scope and those below it.
func (v *view) calls(of callsOf) *Calls {
	out := &Calls{Scope: of.scope, Func: of.function, Outward: of.outward, Runtime: of.runtime, Funcs: []CallFunc{}, Changes: []int{}}
	out.allocate(0)
	at := v.scope(of.scope)
	if none := v.groups(of.scope, ""); none.Missing != "" {
		out.Missing, out.Filter = none.Missing, none.Filter
		return out
	}
	s := v.snapshot
	out.Filter, out.Scope = s.Filter, strings.Join(s.Path(at), "/")
	t := newCallTree(of.function)
	total := t.merge(s, at, of, false)
	out.Total, out.WaitedMS = total.threads, total.waited
	if of.function != "" && t.calls[0].threads == 0 {
		out.Missing = fmt.Sprintf("No thread in this scope or below it is in %s.", of.function)
		return out
	}
	if v.before != nil && s.ChangeOver > 0 {
		out.Compared = true
		if then := v.at(v.before, at); then >= 0 {
			t.merge(v.before, then, of, true)
		}
	}
	t.write(out)
	return out
}

// at returns the position in another snapshot of scope i, or -1.
func (v *view) at(s *dump.Snapshot, i int) int {
	return slices.IndexFunc(s.Scopes, func(sc dump.Scope) bool { return sc.Key == v.snapshot.Scopes[i].Key })
}

func newCallTree(function string) *callTree {
	t := &callTree{below: map[callKey]int32{}, funcs: map[string]int32{}}
	t.calls = []call{{callKey: callKey{-1, t.name(dump.Frame{Func: function})}}}
	return t
}

// name returns the position of a function in names.
func (t *callTree) name(f dump.Frame) int32 {
	i, ok := t.funcs[f.Func]
	if !ok {
		i = int32(len(t.names))
		t.funcs[f.Func] = i
		t.names = append(t.names, CallFunc{f.Func, f.File, f.Internal})
	}
	return i
}

// merge adds the threads of scope at and those below it, and returns what they are in sum. With before they are those of the snapshot before.
func (t *callTree) merge(s *dump.Snapshot, at int, of callsOf, before bool) (total weight) {
	inside := below(s, at)
	stacks := make([]weight, len(s.Stacks))
	var bare [flight.StateCount]weight // without a stack
	for i := range s.Groups {
		g := &s.Groups[i]
		if !inside[g.Scope] {
			continue
		}
		total.addGroup(g)
		if g.Stack >= 0 {
			stacks[g.Stack].addGroup(g)
		} else {
			bare[g.State].addGroup(g)
		}
	}
	var path []dump.Frame
	for i := range stacks {
		if stacks[i].threads == 0 {
			continue
		}
		st := &s.Stacks[i]
		path = append(path[:0], st.Shown(of.runtime)...) // innermost first
		if st.Truncated {
			path = append(path, dump.Frame{Func: callUnrecorded})
		}
		if of.function != "" {
			// Of a function that calls itself it is the outermost call, so that callers and callees together are the stack.
			k := len(path) - 1
			for k >= 0 && path[k].Func != of.function {
				k--
			}
			switch {
			case k < 0:
				continue
			case of.outward:
				path = path[k+1:]
			default:
				path = path[:k]
			}
		}
		if !of.outward {
			slices.Reverse(path)
		}
		t.add(path, &stacks[i], before)
	}
	if of.function != "" {
		return total
	}
	for state := range bare {
		if bare[state].threads > 0 {
			t.add([]dump.Frame{{Func: "[" + flight.State(state).String() + "]"}}, &bare[state], before)
		}
	}
	if at == 0 && s.Rest.Threads > 0 {
		more := weight{threads: s.Rest.Threads}
		total.add(&more)
		t.add([]dump.Frame{{Func: callMoreGroups}}, &more, before)
	}
	return total
}

// add adds threads with one stack, its frames from the call below calls[0] on.
func (t *callTree) add(path []dump.Frame, w *weight, before bool) {
	at := int32(0)
	for i := -1; i < len(path); i++ {
		if i >= 0 {
			at = t.step(at, path[i])
		}
		c := &t.calls[at]
		if before {
			c.was += w.threads
		} else {
			c.weight.add(w)
		}
	}
	if !before {
		t.calls[at].own += w.threads
	}
}

// step returns the position of a call that is below another.
func (t *callTree) step(parent int32, f dump.Frame) int32 {
	at := t.calls[parent].last
	if at == 0 || t.names[t.calls[at].name].Name != f.Func {
		key := callKey{parent, t.name(f)}
		var ok bool
		if at, ok = t.below[key]; !ok {
			at = int32(len(t.calls))
			t.below[key] = at
			t.calls = append(t.calls, call{callKey: key, line: f.Line})
		}
		t.calls[parent].last = at
	}
	if t.calls[at].line != f.Line {
		t.calls[at].line = 0
	}
	return at
}

// write writes the calls with most threads or waiting, in an order that does not change with these: by name below each call.
func (t *callTree) write(out *Calls) {
	shown := t.largest(limits.Calls, out)
	children := make([][]int32, len(t.calls))
	n := 0
	for i := range t.calls {
		if !shown[i] {
			continue
		}
		n++
		if p := t.calls[i].parent; p >= 0 {
			children[p] = append(children[p], int32(i))
		}
	}
	out.allocate(n)
	if out.Compared {
		out.Changes = make([]int, 0, n)
	}
	names := map[int32]int{}
	var visit func(i int32, parent int)
	visit = func(i int32, parent int) {
		c := &t.calls[i]
		name, ok := names[c.name]
		if !ok {
			name = len(out.Funcs)
			names[c.name] = name
			out.Funcs = append(out.Funcs, t.names[c.name])
		}
		state, of := c.most()
		at := len(out.Parents)
		out.Parents, out.Calls, out.Lines = append(out.Parents, parent), append(out.Calls, name), append(out.Lines, c.line)
		out.Threads, out.Own, out.WaitsMS = append(out.Threads, c.threads), append(out.Own, c.own), append(out.WaitsMS, c.waited)
		out.States, out.InState = append(out.States, int(state)), append(out.InState, int(of))
		if out.Compared {
			out.Changes = append(out.Changes, c.threads-c.was)
		}
		slices.SortFunc(children[i], func(a, b int32) int { return cmp.Compare(t.names[t.calls[a].name].Name, t.names[t.calls[b].name].Name) })
		for _, k := range children[i] {
			visit(k, at)
		}
	}
	visit(0, -1) // as deep as the deepest stack
}

// largest chooses at most n calls that have threads, by their share of the threads or of the waiting, whichever is larger, and counts the others in out.
// No call has more than the one that it is below, which stands before it: so that one is chosen too.
func (t *callTree) largest(n int, out *Calls) []bool {
	shown := make([]bool, len(t.calls))
	share := make([]float64, len(t.calls))
	order := make([]int, 0, len(t.calls))
	for i := range t.calls {
		if c := &t.calls[i]; c.threads > 0 {
			share[i] = max(float64(c.threads)/float64(max(out.Total, 1)), float64(c.waited)/float64(max(out.WaitedMS, 1)))
			order = append(order, i)
		}
	}
	if len(order) > n {
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(share[b], share[a]), cmp.Compare(a, b)) })
		out.Rest.Rows = len(order) - n
		order = order[:n]
	}
	for _, i := range order {
		shown[i] = true
	}
	for i := range t.calls {
		if c := &t.calls[i]; !shown[i] && c.threads > 0 && shown[c.parent] {
			out.Rest.Threads += c.threads
		}
	}
	return shown
}

// allocate makes the columns, so that none is null as JSON.
func (c *Calls) allocate(n int) {
	for _, column := range []*[]int{&c.Parents, &c.Calls, &c.Lines, &c.Threads, &c.Own, &c.States, &c.InState} {
		*column = make([]int, 0, n)
	}
	c.WaitsMS = make([]int64, 0, n)
}

// noCalls are the calls of no process.
func noCalls() *Calls {
	c := &Calls{Funcs: []CallFunc{}, Changes: []int{}}
	c.allocate(0)
	return c
}
