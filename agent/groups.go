package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// groupOrders are the orders of groups but that by count, by name.
var groupOrders = map[string]func(a, b *dump.Group) int{
	"":       nil,
	"change": func(a, b *dump.Group) int { return cmp.Compare(b.Change, a.Change) },
	"wait":   func(a, b *dump.Group) int { return cmp.Compare(b.Wait.Max, a.Wait.Max) },
}

// groups are the groups of the scope that a client names and of the scopes below it, largest first.
// The group that the client chose is among the rows, or last of them if it is a small one.
func (v *view) groups(scope, chosen string) *Groups { return v.groupsBy("", scope, chosen) }

// groupsBy are the groups by one of groupOrders.
func (v *view) groupsBy(order, scope, chosen string) *Groups {
	out := &Groups{Scope: scope, Rows: []GroupRow{}}
	at := v.scope(scope)
	switch {
	case v.snapshot == nil:
		out.Missing = cmp.Or(v.missing, "The first snapshot is on its way.")
		return out
	case at < 0 && v.snapshot.Filter != "" && (&view{snapshot: v.whole}).scope(scope) >= 0:
		out.Filter, out.Left = v.snapshot.Filter, v.snapshot.Filtered
		out.Missing = "No threads in this scope or below it that the filter matches."
		return out
	case at < 0:
		out.Missing = fmt.Sprintf("There is no scope %q any more: it was closed, or its siblings were folded in another way.", scope)
		return out
	}
	s := v.snapshot
	out.Filter, out.Left = s.Filter, s.Filtered
	out.Scope = strings.Join(s.Path(at), "/")
	inside := below(s, at)
	var all []*dump.Group
	for i := range s.Groups {
		if g := &s.Groups[i]; inside[g.Scope] {
			all = append(all, g)
		}
	}
	out.Order = order
	if by := groupOrders[order]; by != nil {
		slices.SortStableFunc(all, by)
	}
	for _, g := range all {
		out.Total += g.Count
		if len(out.Rows) >= limits.Groups && g.Key != chosen {
			out.Rest.Rows++
			out.Rest.Threads += g.Count
			continue
		}
		out.Rows = append(out.Rows, groupRow(s, g))
	}
	if at == 0 && s.Rest.Threads > 0 {
		out.Total += s.Rest.Threads
		out.Rest.Rows += s.Rest.Groups
		out.Rest.Threads += s.Rest.Threads
	}
	if len(out.Rows) == 0 {
		out.Missing = "No threads in this scope or below it."
		if s.Filter != "" {
			out.Missing = "No threads in this scope or below it that the filter matches."
		}
	}
	return out
}

// hasGroup reports whether there are threads of a group.
func (v *view) hasGroup(key string) bool {
	return v.snapshot != nil && key != "" && slices.ContainsFunc(v.snapshot.Groups, func(g dump.Group) bool { return g.Key == key })
}

// largestGroup is the key of the largest group of a scope and those below it, "" if there is none.
func (v *view) largestGroup(scope string) string {
	at := v.scope(scope)
	if at < 0 {
		return ""
	}
	inside := below(v.snapshot, at)
	for i := range v.snapshot.Groups {
		if g := &v.snapshot.Groups[i]; inside[g.Scope] {
			return g.Key
		}
	}
	return ""
}

// below tells for each scope whether it is scope at or lies below it.
func below(s *dump.Snapshot, at int) []bool {
	inside := make([]bool, len(s.Scopes))
	for i := at; i < len(s.Scopes); i++ { // children come after their parents
		p := s.Scopes[i].Parent
		inside[i] = i == at || p >= 0 && inside[p]
	}
	return inside
}

func groupRow(s *dump.Snapshot, g *dump.Group) GroupRow {
	row := GroupRow{
		Key: g.Key, Scope: strings.Join(s.Path(g.Scope), "/"), Count: g.Count, Change: g.Change,
		State: g.State.String(), Reason: g.Reason.String(), Blocker: g.Blocker,
		Min: int64(g.Wait.Min), Median: int64(g.Wait.Median), Max: int64(g.Wait.Max), Unknown: g.Wait.Unknown, Within: int64(g.Wait.Within), Seen: int64(g.Seen),
	}
	if g.Stack >= 0 {
		row.Top, row.Caller = topFrames(s.Stacks[g.Stack].Frames)
	}
	return row
}

// topFrames returns the innermost two calls of the program's own code, or of any code if there is none.
func topFrames(frames []dump.Frame) (top, caller string) {
	var names []string
	for i := range frames {
		if !frames[i].Internal {
			names = append(names, frames[i].Func)
		}
	}
	if len(names) == 0 {
		for i := range frames {
			names = append(names, frames[i].Func)
		}
	}
	if len(names) > 0 {
		top = names[0]
	}
	if len(names) > 1 {
		caller = names[1]
	}
	return top, caller
}

// stack is the group with the given key in full; "" is the first of groups.
func (v *view) stack(key string, groups *Groups) *Stack {
	out := &Stack{Group: key, Frames: []FrameRow{}, Examples: []ThreadRow{}}
	if key == "" && len(groups.Rows) > 0 {
		key = groups.Rows[0].Key
	}
	if v.snapshot == nil || key == "" {
		out.Missing = groups.Missing
		return out
	}
	s := v.snapshot
	i := slices.IndexFunc(s.Groups, func(g dump.Group) bool { return g.Key == key })
	if i < 0 {
		out.Missing = "No thread is in this group any more: its threads moved on."
		if v.row.Gone > 0 {
			out.Missing = "No thread was in this group at the end."
		}
		return out
	}
	g := &s.Groups[i]
	row := groupRow(s, g)
	out.Group, out.Row = key, &row
	for _, e := range g.Examples {
		out.Examples = append(out.Examples, ThreadRow{threadID(e.ID), e.Name, int64(e.Wait)})
	}
	if g.Stack < 0 {
		return out
	}
	stack := &s.Stacks[g.Stack]
	out.Truncated = stack.Truncated
	for _, f := range stack.Frames {
		out.Frames = append(out.Frames, FrameRow{f.Func, f.File, f.Line, f.Inlined, f.Internal})
	}
	return out
}

// carriers are the carriers by id. What a thread is called, and that it is pinned, is known if the newest
// snapshot saw it on its carrier too.
func (v *view) carriers(now time.Time) *Carriers {
	sum := v.carrying()
	out := &Carriers{Rows: []CarrierRow{}, Total: sum.Total, Busy: sum.Busy}
	seen := v.executing()
	for i := range v.rings.carriers {
		c := &v.rings.carriers[i]
		row := CarrierRow{ID: int(c.id), State: c.state.String(), Switches: round(c.switches), Events: c.events, Scheduler: v.told.name(c.scheduler), Past: string(c.past)}
		if v.row.Gone > 0 {
			row.Switches = 0
		}
		if c.thread != 0 {
			row.Thread, row.Doing = threadID(c.thread), flight.StateMounted.String()
			row.Since = max(0, int64(now.Sub(c.mounted)))
			row.Reason, row.Where = c.reason.String(), c.where
			if c.pinned {
				row.Doing = flight.StatePinned.String()
			}
			if g, ok := seen[c.thread]; ok {
				row.Name = g.name
				row.Doing = g.group.State.String()
				if g.group.State == flight.StatePinned {
					row.Since, row.Reason = int64(g.wait), g.group.Reason.String()
					if g.group.Stack >= 0 {
						row.Where, _ = topFrames(v.snapshot.Stacks[g.group.Stack].Frames)
					}
				}
			}
			if at := v.seen.holders[c.thread]; at != nil && row.Reason != "" {
				row.Where = at.Func
			}
		}
		out.Rows = append(out.Rows, row)
	}
	slices.SortFunc(out.Rows, func(a, b CarrierRow) int { return a.ID - b.ID })
	if len(out.Rows) > limits.Carriers {
		// Those that run a thread come first then: they are what one looks for.
		slices.SortStableFunc(out.Rows, func(a, b CarrierRow) int { return idle(a) - idle(b) })
		out.Rest = len(out.Rows) - limits.Carriers
		out.Rows = out.Rows[:limits.Carriers]
	}
	return out
}

// carrying counts them.
func (v *view) carrying() (c Carrying) {
	c.Total = len(v.rings.carriers)
	for i := range v.rings.carriers {
		switch v.rings.carriers[i].state {
		case flight.CarrierHeld:
			c.Held++
			c.Busy++
		case flight.CarrierRunning:
			c.Busy++
		}
	}
	return c
}

func idle(row CarrierRow) int {
	if row.Thread == "" {
		return 1
	}
	return 0
}

type example struct {
	name  string
	wait  time.Duration
	group *dump.Group
}

// executing returns the mounted and pinned threads that the snapshot names.
func (v *view) executing() map[flight.ThreadID]example {
	seen := map[flight.ThreadID]example{}
	if v.snapshot == nil {
		return seen
	}
	for i := range v.snapshot.Groups {
		g := &v.snapshot.Groups[i]
		if g.State != flight.StateMounted && g.State != flight.StatePinned {
			continue
		}
		for _, e := range g.Examples {
			seen[e.ID] = example{e.Name, e.Wait, g}
		}
	}
	return seen
}

func threadID(id flight.ThreadID) string { return strconv.FormatUint(uint64(id), 10) }
