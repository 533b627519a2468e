package adapter

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	// patience is how long the list of threads waits for the look at them, if the editor can be told later that the list has changed, and
	patience = 80 * time.Millisecond
	// patienceUntold if it cannot.
	patienceUntold = 2 * time.Second

	mostGroups = 100 // in the list
	countingID = -2  // of the row that says that others are still counted; Delve has -1
	moreID     = -3
	firstGroup = -1000 // and below
)

// A row is a group of threads in the list of threads.
type row struct {
	of    *dump.Snapshot
	group *dump.Group
}

// threads answers with those that matter, and a row for each group of the others.
func (a *Adapter) threads(m *message) {
	s := a.stopping()
	if s == nil {
		a.forward(m, nil)
		return
	}
	l := a.look(s, false)
	a.do(func() {
		v := l.wait(s.ctx, a.patience())
		select {
		case <-l.done:
			if l.err != nil {
				a.forward(m, nil) // Delve's own list is better than none
				return
			}
		default:
			a.answer(m, dap.ThreadsResponseBody{Threads: a.counting(s)})
			a.do(func() {
				<-l.done
				if l.err == nil && a.stopping() == s {
					a.changed()
				}
			})
			return
		}
		a.answer(m, dap.ThreadsResponseBody{Threads: a.list(s, v)})
	})
}

// patience is how long the editor waits for the look at the process.
func (a *Adapter) patience() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reloads {
		return patience
	}
	return patienceUntold
}

// counting is the list of threads while nobody knows yet which there are.
func (a *Adapter) counting(s *stop) (rows []dap.Thread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.ordered(s) {
		rows = append(rows, dap.Thread{Id: int(g), Name: mark(s, g) + fmt.Sprintf("goroutine %d", g)})
	}
	return append(rows, dap.Thread{Id: countingID, Name: "the others are being counted"})
}

// ordered returns the goroutines that stand for themselves: the one that stopped, then those that were pinned, then those that had an event, the newest
// first. a.mu is held.
func (a *Adapter) ordered(s *stop) (all []int64) {
	add := func(g int64) {
		if g > 0 && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	add(s.goroutine)
	for _, g := range a.pinned {
		add(g)
	}
	for _, g := range slices.Backward(a.events) {
		add(g)
	}
	return all
}

// mark is what begins the name of the thread that stopped, as Delve has it.
func mark(s *stop, goroutine int64) string {
	if goroutine == s.goroutine {
		return "* "
	}
	return ""
}

// list is the list of threads.
func (a *Adapter) list(s *stop, v *view) (rows []dap.Thread) {
	a.mu.Lock()
	for _, g := range a.ordered(s) {
		switch p := v.people[g]; {
		case p != nil:
			rows = append(rows, dap.Thread{Id: int(g), Name: mark(s, g) + p.title()})
		case g == s.goroutine: // one of the runtime's own
			rows = append(rows, dap.Thread{Id: int(g), Name: mark(s, g) + fmt.Sprintf("goroutine %d of Go's runtime", g)})
		}
	}
	a.mu.Unlock()
	var groups []row
	for _, of := range []*dump.Snapshot{v.threads, v.others} {
		for i := 0; of != nil && i < len(of.Groups); i++ {
			groups = append(groups, row{of, &of.Groups[i]})
		}
	}
	slices.SortStableFunc(groups, func(x, y row) int { return cmp.Compare(y.group.Count, x.group.Count) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range groups {
		if i == mostGroups {
			left := 0
			for _, r := range groups[i:] {
				left += r.group.Count
			}
			rows = append(rows, dap.Thread{Id: moreID, Name: fmt.Sprintf("%s in %s more: vt threads", dump.Count(left, "thread"), dump.Count(len(groups)-i, "group"))})
			break
		}
		id := 0
		if r.group.Count == 1 && len(r.group.Examples) == 1 {
			id = int(v.goroutineOf(r.of, r.group.Examples[0].ID))
		}
		if id == 0 {
			id = a.groupID(r)
		}
		s.rows[id] = r
		rows = append(rows, dap.Thread{Id: id, Name: r.title()})
	}
	if len(rows) == 0 {
		rows = append(rows, dap.Thread{Id: 1, Name: "no goroutine"}) // editors need one
	}
	return rows
}

// groupID returns the id that a group has for as long as the conversation lasts.
func (a *Adapter) groupID(r row) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := r.of.Format + " " + r.group.Key
	id := a.groupIDs[key]
	if id == 0 {
		id = firstGroup - len(a.groupIDs)
		a.groupIDs[key] = id
	}
	return id
}

// title is the name of a person in the list, such as "writer #7 in steps: mounted" or "goroutine 18: chan receive 3s at main.go:12".
func (p *person) title() string {
	var b strings.Builder
	switch {
	case p.thread == 0:
		fmt.Fprintf(&b, "goroutine %d", p.goroutine)
		if p.name != "" {
			fmt.Fprintf(&b, " (%s)", p.name)
		}
	case p.name != "":
		fmt.Fprintf(&b, "%s #%d", p.name, p.thread)
	default:
		fmt.Fprintf(&b, "thread #%d", p.thread)
	}
	if len(p.path) > 1 && p.thread != 0 {
		b.WriteString(" in " + scopeName(p.path))
	}
	b.WriteString(": " + stateName(p.state, p.reason))
	if p.wait > 0 && p.state != flight.StateMounted {
		b.WriteString(" " + dump.Span(p.wait))
	}
	if p.state != flight.StateMounted {
		b.WriteString(at(p.place))
	}
	if len(p.path) > 1 && p.thread == 0 {
		b.WriteString(", started by " + startedBy(p.path))
	}
	return dump.Printable(b.String())
}

// title is the name of a group in the list, such as "69,945 × parked in shop/sessions at session.go:139".
func (r row) title() string {
	g := r.group
	var b strings.Builder
	if g.Count == 1 && len(g.Examples) == 1 {
		e := &g.Examples[0]
		switch {
		case r.of.Process.Kind == "goroutine":
			fmt.Fprintf(&b, "goroutine %d: ", e.ID)
		case e.Name != "":
			fmt.Fprintf(&b, "%s #%d: ", e.Name, e.ID)
		default:
			fmt.Fprintf(&b, "thread #%d: ", e.ID)
		}
	} else {
		fmt.Fprintf(&b, "%s × ", dump.Thousands(g.Count))
	}
	b.WriteString(stateName(g.State, g.Reason))
	path := r.of.Path(g.Scope)
	if len(path) > 1 && r.of.Process.Kind != "goroutine" {
		b.WriteString(" in " + scopeName(path))
	}
	if s := r.stack(); s != nil {
		b.WriteString(at(s.Place()))
	}
	if len(path) > 1 && r.of.Process.Kind == "goroutine" {
		b.WriteString(", started by " + startedBy(path))
	}
	return dump.Printable(b.String())
}

// startedBy is the innermost go statement of a path of them.
func startedBy(path []string) string { return dump.ShortFunc(path[len(path)-1]) }

// stack returns the stack of the group, nil if none is known.
func (r row) stack() *dump.Stack {
	if r.group.Stack < 0 || r.group.Stack >= len(r.of.Stacks) {
		return nil
	}
	return &r.of.Stacks[r.group.Stack]
}

func stateName(s flight.State, r flight.Reason) string {
	if r == flight.ReasonNone {
		return s.String()
	}
	return s.String() + " (" + r.String() + ")"
}

// scopeName is a path without the root's name.
func scopeName(path []string) string { return strings.Join(path[1:], "/") }

// at is where a stack is in the program's own code.
func at(p *dump.Place) string {
	switch {
	case p == nil:
		return ""
	case p.File == "":
		return " in " + dump.ShortFunc(p.Func)
	}
	return fmt.Sprintf(" at %s:%d", filepath.Base(p.File), p.Line)
}
