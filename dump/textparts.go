package dump

import (
	"container/heap"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// stateOrder is how states are listed.
var stateOrder = []flight.State{
	flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StateHibernated,
	flight.StateRunnable, flight.StateMounted, flight.StatePinned, flight.StateNew, flight.StateDone,
}

func (p *page) scopeName(i int) string {
	s := &p.s.Scopes[i]
	name := p.clean(s.Name)
	if name == "" {
		name = "(no name)"
	}
	if p.nodes[i].gap {
		name = p.ellipsis + " " + name
	}
	if s.Count > 1 {
		name += " " + p.times + Thousands(s.Count)
	}
	return name
}

// scope prints the line of a scope.
func (p *page) scope(i int) {
	s := &p.s.Scopes[i]
	p.text(plain, p.nodes[i].lead)
	name := p.scopeName(i)
	if room := p.countCol - len(Thousands(s.Total)) - 2 - p.at(); Columns(name) > room {
		// The count of folded scopes must survive.
		tail := ""
		if s.Count > 1 {
			tail = " " + p.times + Thousands(s.Count)
		}
		name = cut(strings.TrimSuffix(name, tail), room-Columns(tail), p.ellipsis) + tail
	}
	p.text(bold, name)
	p.right(plain, Thousands(s.Total), p.countCol)
	if s.Own != s.Total {
		p.right(plain, Thousands(s.Own), p.ownCol)
	}
	note := func(st style, text string) {
		p.pad(p.ownCol)
		p.text(plain, "   ")
		p.text(st, text)
	}
	if n := p.nodes[i].rest.Count; n > 0 && p.bare(i) {
		note(dim, p.ellipsis+" "+Count(n, "more scope"))
	}
	if s.Owner != 0 {
		owner := "owner #" + number(uint64(s.Owner))
		if s.OwnerName != "" {
			owner += " " + p.quote(s.OwnerName)
		}
		note(plain, owner)
	}
	if s.Deadline != nil {
		note(p.deadline(*s.Deadline))
	}
	switch {
	case s.Limit > 0 && s.Queued > 0:
		note(plain, "limit "+Thousands(s.Limit)+", "+Thousands(s.Queued)+" queued")
	case s.Limit > 0:
		note(plain, "limit "+Thousands(s.Limit))
	case s.Queued > 0:
		note(plain, Thousands(s.Queued)+" queued")
	}
	if n := s.States[flight.StatePinned]; n > 0 {
		note(stateStyle(flight.StatePinned), Thousands(n)+" pinned")
	}
	if s.Pins > 0 {
		note(plain, Count(s.Pins, "pin"))
	}
	if p.o.Used && s.Used != nil {
		note(plain, s.Used.text())
	}
	if s.Change != 0 {
		note(bold, p.change(s.Change))
	}
	p.endLine()
}

// deadline tells how far a deadline is, at the moment that the snapshot describes. One that has passed is bold.
func (p *page) deadline(at time.Time) (style, string) {
	left := at.Sub(p.s.AsOf)
	if left <= 0 {
		return bold, "deadline " + Span(-left) + " ago"
	}
	return plain, "deadline in " + Span(left)
}

func (p *page) change(n int) string {
	if n < 0 {
		return p.shrank + " " + Thousands(-n)
	}
	return p.grew + " " + Thousands(n)
}

// guide is what stands before the lines of a scope's groups.
func (p *page) guide(scope int) string {
	n := &p.nodes[scope]
	if len(n.children) > 0 || n.rest.Count > 0 {
		return n.under + p.line
	}
	return n.under + p.blank
}

// group prints how many threads do the same, for how long, and where.
func (p *page) group(scope, at int) {
	g := &p.s.Groups[at]
	guide := p.guide(scope)
	start := func(indent int) {
		p.text(dim, guide)
		p.text(plain, strings.Repeat(" ", indent))
	}
	start(groupIndent)
	p.text(bold, "x "+Thousands(g.Count))
	p.text(plain, " ")
	p.text(stateStyle(g.State), g.State.String())
	p.text(plain, " "+g.Wait.Text(g.Count, p.span))
	if p.span(g.Wait.Min) != p.span(g.Wait.Max) {
		p.text(plain, "  median "+p.span(g.Wait.Median))
	}
	if g.Reason != flight.ReasonNone && g.Reason != flight.ReasonPark {
		p.text(plain, "   "+g.Reason.String())
	}
	if g.Seen > 0 {
		p.text(dim, "   "+SeenAgo(g.Seen))
	}
	if g.Blocker != "" {
		p.text(plain, "   on "+p.clean(g.Blocker))
	}
	ref, again := p.stackNumber(g)
	if ref > 0 && !again {
		p.text(dim, "   stack "+Thousands(ref))
	}
	if g.Change != 0 {
		p.text(bold, "   "+p.change(g.Change))
	}
	if p.keys[at] != "" {
		p.text(dim, "   group "+p.keys[at])
	}
	p.endLine()
	if g.Mark != "" {
		start(frameIndent)
		p.text(warn, p.clean(string(g.Mark)))
		if g.Note != "" {
			p.text(warn, ": "+p.clean(g.Note))
		}
		p.endLine()
	}

	frames, left, truncated := p.frames(g)
	if again {
		frames, left, truncated = frames[:1], left+len(frames)-1, false
	}
	for _, f := range frames {
		start(frameIndent)
		st := plain
		if f.Internal {
			st = dim
		}
		name := p.clean(ShortFunc(f.Func))
		if f.File == "" {
			p.text(st, name)
			p.endLine()
			continue
		}
		p.text(st, cut(name, p.fileCol-p.at(), p.ellipsis))
		p.pad(p.fileCol + 2)
		p.text(dim, p.clean(baseName(f.File))+":"+strconv.Itoa(f.Line))
		p.endLine()
	}
	if left > 0 {
		start(frameIndent)
		p.text(dim, p.ellipsis+" "+Thousands(left)+" more")
		if again {
			p.text(dim, ", as stack "+Thousands(ref)+" above")
		}
		p.endLine()
	}
	if truncated {
		start(frameIndent)
		p.text(dim, p.ellipsis+" deeper frames are not recorded")
		p.endLine()
	}
	if g.Stack < 0 {
		if why := noStack(g); why != "" {
			start(frameIndent)
			p.text(dim, why)
			p.endLine()
		}
	}
	for i := range g.LockHolders {
		h := &g.LockHolders[i]
		start(frameIndent)
		s := "#" + number(uint64(h.ID))
		if h.Name != "" {
			s += " " + p.quote(cut(p.clean(h.Name), exampleColumn, p.ellipsis))
		}
		s += " holds " + p.clean(strings.Join(h.Locks, ", "))
		if h.More > 0 {
			s += " and " + Count(h.More, "more lock")
		}
		if more := g.Holding - len(g.LockHolders); more > 0 && i == len(g.LockHolders)-1 {
			s += "; " + Count(more, "more thread") + " holding locks"
		}
		p.text(plain, s)
		p.endLine()
	}
	if len(g.Examples) > 0 {
		start(frameIndent)
		lead := ""
		if g.Count > 1 {
			lead = "e.g. "
		}
		for i, e := range g.Examples[:min(len(g.Examples), textExamples)] {
			word := "#" + number(uint64(e.ID))
			if e.Name != "" {
				word += " " + p.quote(cut(p.clean(e.Name), exampleColumn, p.ellipsis))
			}
			word += stepsText(&e)
			if i > 0 {
				lead = " "
				if p.at()+1+Columns(word) > p.o.Width {
					break
				}
			}
			p.text(dim, lead+word)
		}
		p.endLine()
	}
}

// stackNumber returns the number of a stack that several groups of the page have, and whether it was asked for
// before. It is 0 for others, and for stacks so short that a reference would not be shorter.
func (p *page) stackNumber(g *Group) (number int, again bool) {
	if g.Stack < 0 || p.uses[g.Stack] < 2 {
		return 0, false
	}
	if frames, _, _ := p.frames(g); len(frames) < 3 {
		return 0, false
	}
	if number, again = p.numbers[g.Stack]; !again {
		number = len(p.numbers) + 1
		p.numbers[g.Stack] = number
	}
	return number, again
}

// frames returns the frames of a group to show, how many more there are, and whether even more are not recorded.
func (p *page) frames(g *Group) (frames []Frame, left int, truncated bool) {
	if g.Stack < 0 || g.Stack >= len(p.s.Stacks) {
		return nil, 0, false
	}
	st := &p.s.Stacks[g.Stack]
	frames = st.Shown(p.o.Internal)
	if n := len(frames); n > p.f.depth && n > p.f.depth+1 { // a line that says "1 more" can as well show it
		frames, left = frames[:p.f.depth], n-p.f.depth
	}
	return frames, left, st.Truncated && left == 0
}

// Shown returns the frames that are shown by default: those that are not internal, or all if all are.
// With internal set it returns all.
func (s *Stack) Shown(internal bool) []Frame {
	isInternal := func(f Frame) bool { return f.Internal }
	if internal || !slices.ContainsFunc(s.Frames, isInternal) {
		return s.Frames
	}
	shown := slices.DeleteFunc(slices.Clone(s.Frames), isInternal)
	if len(shown) == 0 {
		return s.Frames
	}
	return shown
}

func noStack(g *Group) string {
	switch g.State {
	case flight.StateMounted:
		return "no stack while it is mounted"
	case flight.StateNew:
		return "not started"
	case flight.StateRunnable:
		if g.Reason == flight.ReasonYield {
			return "no stack after a yield"
		}
		return "no stack yet"
	case flight.StateDone:
		return ""
	}
	return "stack not recorded"
}

// largestScopes returns the n scopes with the most threads that are at most levels deep; of equals the first.
func largestScopes(scopes []Scope, n, levels int) []int {
	h := &scopeHeap{scopes: scopes}
	for i := range scopes {
		if scopes[i].Depth > levels {
			continue
		}
		if h.Len() < n {
			heap.Push(h, i)
		} else if n > 0 && scopes[i].Total > scopes[h.at[0]].Total {
			h.at[0] = i
			heap.Fix(h, 0)
		}
	}
	return h.at
}

// A scopeHeap has the smallest scope on top, of equals the last.
type scopeHeap struct {
	scopes []Scope
	at     []int
}

func (h *scopeHeap) Len() int      { return len(h.at) }
func (h *scopeHeap) Swap(i, j int) { h.at[i], h.at[j] = h.at[j], h.at[i] }
func (h *scopeHeap) Push(x any)    { h.at = append(h.at, x.(int)) }
func (h *scopeHeap) Pop() any      { panic("dump: a scopeHeap only grows") }
func (h *scopeHeap) Less(i, j int) bool {
	a, b := h.at[i], h.at[j]
	if x, y := h.scopes[a].Total, h.scopes[b].Total; x != y {
		return x < y
	}
	return a > b
}
