package adapter

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A variable is a line of what vtscope knows. within is what it expands to; nil: nothing.
type variable struct {
	name, value string
	within      func() ([]variable, error)
}

// text returns a variable that does not expand.
func text(name, value string) variable { return variable{name: name, value: value} }

// list returns a variable that expands to others, which are known.
func list(name, value string, within []variable) variable {
	return variable{name, value, func() ([]variable, error) { return within, nil }}
}

// variables answers with what vtscope knows, and leaves Delve's variables to it.
func (a *Adapter) variables(m *message) {
	ref := decoded[dap.VariablesArguments](m.Arguments).VariablesReference
	s := a.stopping()
	if s == nil || ref < firstID {
		a.forward(m, nil)
		return
	}
	s.mu.Lock()
	of := s.values[ref]
	s.mu.Unlock()
	if of == nil {
		a.refuse(m, fmt.Errorf("the process has run since then"))
		return
	}
	a.do(func() {
		all, err := of()
		if err != nil {
			a.refuse(m, err)
			return
		}
		body := dap.VariablesResponseBody{Variables: []dap.Variable{}}
		for _, v := range all {
			shown := dap.Variable{Name: dump.Printable(v.name), Value: dump.Printable(v.value)}
			if v.within != nil {
				shown.VariablesReference = s.value(v.within)
			}
			body.Variables = append(body.Variables, shown)
		}
		a.answer(m, body)
	})
}

// patienceForValues is how long somebody waits who asks what vtscope knows.
const patienceForValues = 30 * time.Second

// about tells what is known of what a frame belongs to.
func (a *Adapter) about(s *stop, f frame) ([]variable, error) {
	l := a.look(s, false)
	v := l.wait(s.ctx, patienceForValues)
	switch {
	case s.ctx.Err() != nil:
		return nil, fmt.Errorf("the process runs again")
	case v == nil && l.err != nil:
		return nil, l.err
	case v == nil:
		return nil, fmt.Errorf("the look at the process takes longer than %s", patienceForValues)
	}
	var all []variable
	switch {
	case f.group != nil:
		all = a.aboutGroup(s, v, f.group)
	case f.goroutine != 0:
		report, err := a.report(s.ctx, v, f.goroutine)
		if err != nil {
			return nil, err
		}
		all = a.aboutThread(s, v, report)
	}
	return append(all, a.aboutAll(s, v)...), nil
}

// report reads all that is known of a goroutine, or of the thread that runs on it.
func (a *Adapter) report(ctx context.Context, v *view, goroutine int64) (*dump.ThreadReport, error) {
	a.process.mu.Lock()
	defer a.process.mu.Unlock()
	if id := v.ids[goroutine]; id != 0 && a.process.threads != nil {
		return dump.TakeThread(ctx, a.process.threads, id)
	}
	return dump.TakeThread(ctx, v.seen, flight.ThreadID(goroutine))
}

// aboutGroup tells of a group of threads.
func (a *Adapter) aboutGroup(s *stop, v *view, r *row) []variable {
	g := r.group
	all := []variable{text("group", r.title()), text("waits", g.Wait.Text(g.Count, dump.Span))}
	if g.Blocker != "" {
		all = append(all, text("for", g.Blocker))
	}
	var examples []variable
	for i := range g.Examples {
		e := g.Examples[i]
		value := "for " + dump.Span(e.Wait)
		if e.Unknown {
			value = "for how long is not known"
		}
		name := fmt.Sprintf("%s #%d", e.Name, e.ID)
		goroutine := v.goroutineOf(r.of, e.ID)
		examples = append(examples, variable{strings.TrimSpace(name), value, func() ([]variable, error) {
			report, err := a.report(s.ctx, v, goroutine)
			if err != nil {
				return nil, err
			}
			return a.aboutThread(s, v, report), nil
		}})
	}
	return append(all, list("examples", dump.Count(len(examples), "thread"), examples))
}

// aboutThread tells of one thread, or goroutine.
func (a *Adapter) aboutThread(s *stop, v *view, r *dump.ThreadReport) (all []variable) {
	isThread := r.Process.Kind != "goroutine"
	if isThread {
		all = append(all, text("thread", fmt.Sprintf("#%d", r.ID)))
	} else {
		all = append(all, text("goroutine", fmt.Sprint(r.ID)))
	}
	if r.Name != "" {
		all = append(all, text("name", r.Name))
	}
	all = append(all, text("kind", r.Kind))
	if len(r.Scope) > 0 {
		all = append(all, list("scope", strings.Join(r.Scope, "/"), scopesOf(v, r)))
	}
	state := r.State
	if r.Reason != "" {
		state += " (" + r.Reason + ")"
	}
	if r.Wait > 0 {
		state += ", " + dump.Span(r.Wait)
	}
	all = append(all, text("state", state))
	if f := r.For; f != nil {
		all = append(all, list("waits for", f.Thing, waitedFor(f)))
	}
	if len(r.Waiters) > 0 {
		var waiters []variable
		n := 0
		for _, w := range r.Waiters {
			n += w.Count
			waiters = append(waiters, text(w.Thing, fmt.Sprintf("%s, the longest %s: %s", dump.Count(w.Count, "thread"), dump.Span(w.Longest), partyName(&w.Example))))
		}
		all = append(all, list("is waited for by", dump.Count(n, "thread"), waiters))
	}
	if len(r.Locks) > 0 {
		var locks []variable
		for _, l := range r.Locks {
			value := "held"
			if l.Held > 0 {
				value += " for " + dump.Span(l.Held)
			}
			locks = append(locks, text(l.Thing, value+at(l.Made)))
		}
		all = append(all, list("holds", dump.Count(len(locks), "lock")+" for which somebody waits", locks))
	}
	if len(r.Owns) > 0 {
		var owns []variable
		for _, o := range r.Owns {
			owns = append(owns, text(strings.Join(o.Scope, "/"), dump.Count(o.Threads, "thread")))
		}
		all = append(all, list("owns", dump.Count(len(owns), "open scope"), owns))
	}
	if r.Creator != nil {
		all = append(all, text("made by", partyName(r.Creator)))
	}
	if r.Waker != nil {
		all = append(all, text("last unparked by", partyName(r.Waker)))
	}
	if len(r.Labels) > 0 {
		var labels []variable
		for _, l := range r.Labels {
			labels = append(labels, text(l.Key, l.Value))
		}
		all = append(all, list("labels", dump.Count(len(labels), "label"), labels))
	}
	if !r.Created.IsZero() {
		all = append(all, text("began", clock(r.Created)))
	}
	if r.Run > 0 {
		all = append(all, text("ran", dump.Span(r.Run)+" in all, ready "+dump.Span(r.Ready)))
	}
	if isThread {
		id := r.ID
		all = append(all, variable{"events", "the last ones", func() ([]variable, error) { return a.eventsOf(s, id) }})
	}
	if len(r.Incomplete) > 0 {
		all = append(all, text("not known", strings.Join(r.Incomplete, "; ")))
	}
	return all
}

// scopesOf tells of the scopes of a thread, from the innermost on.
func scopesOf(v *view, r *dump.ThreadReport) (all []variable) {
	of := v.threads
	if r.Process.Kind == "goroutine" {
		of = v.others
	}
	if of == nil {
		return nil
	}
	want := strings.Join(r.Scope, "/")
	at := -1
	for i := range of.Scopes {
		if i > 0 && scopeName(of.Path(i)) == want {
			at = i
			break
		}
	}
	for ; at > 0; at = of.Scopes[at].Parent {
		scope := &of.Scopes[at]
		value := dump.Count(scope.Total, "thread")
		switch {
		case scope.OwnerName != "":
			value += fmt.Sprintf(", owner %s #%d", scope.OwnerName, scope.Owner)
		case scope.Owner != 0:
			value += fmt.Sprintf(", owner #%d", scope.Owner)
		}
		if scope.Policy != "" {
			value += ", policy " + scope.Policy
		}
		if d := scope.Deadline; d != nil {
			if left := d.Sub(of.AsOf); left > 0 {
				value += ", deadline in " + dump.Span(left)
			} else {
				value += ", deadline over since " + dump.Span(-left)
			}
		}
		all = append(all, text(scope.Name, value))
	}
	return all
}

func waitedFor(f *dump.WaitedFor) (all []variable) {
	for _, c := range f.Cases {
		all = append(all, text("case", c))
	}
	if f.Made != nil {
		all = append(all, text("made", strings.TrimSpace(at(f.Made))))
	}
	if f.Limited {
		all = append(all, text("limit", "it waits with a time limit"))
	}
	for i := range f.Holders {
		h := &f.Holders[i]
		value := partyName(&h.Party)
		if h.Held > 0 {
			value += ", for " + dump.Span(h.Held)
		}
		if h.State != "" {
			value += ", " + h.State
		}
		all = append(all, text("held by", value))
	}
	return all
}

func partyName(p *dump.Party) string {
	switch {
	case p.Thread == 0:
		return "goroutine " + p.Goroutine
	case p.Name != "":
		return fmt.Sprintf("%s #%d", p.Name, p.Thread)
	}
	return fmt.Sprintf("#%d", p.Thread)
}

func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

// mostEvents is how many events of a thread are shown.
const mostEvents = 50

// eventsOf tells what a thread did last, the newest first.
func (a *Adapter) eventsOf(s *stop, id flight.ThreadID) (all []variable, err error) {
	a.process.mu.Lock()
	defer a.process.mu.Unlock()
	if a.process.threads == nil {
		return nil, errNoProcess
	}
	e, err := dump.TakeThreadEvents(s.ctx, a.process.threads, id, mostEvents)
	if err != nil {
		return nil, err
	}
	for i := len(e.Events) - 1; i >= 0; i-- {
		v := &e.Events[i]
		value := v.Kind
		if v.Event != "" {
			value = v.Event
		}
		if v.For > 0 {
			value += ", " + dump.Span(v.For)
		}
		if v.Stack >= 0 && v.Stack < len(e.Stacks) {
			value += at(e.Stacks[v.Stack].Place())
		}
		if v.By != nil {
			value += ", by " + partyName(v.By)
		}
		for _, f := range v.Fields {
			value += ", " + f.Name + " " + f.Text
		}
		all = append(all, text(clock(v.Time), value))
	}
	return all, nil
}

// aboutAll tells of the whole process: its tree of scopes, and what is wrong in it.
func (a *Adapter) aboutAll(s *stop, v *view) (all []variable) {
	for _, of := range []*dump.Snapshot{v.threads, v.others} {
		if of == nil {
			continue
		}
		name := "scopes of threads"
		if of == v.others {
			name = "scopes of goroutines"
		}
		all = append(all, variable{name, fmt.Sprintf("%s in %s", of.Process.Threads(of.Threads), dump.Count(len(of.Scopes), "scope")), func() ([]variable, error) { return scopeTree(of, 0), nil }})
	}
	return append(all,
		variable{"findings", "what is wrong", func() ([]variable, error) { return a.findings(s, v) }},
		text("more", "in the console: vt help"),
	)
}

// scopeTree tells of the scopes within one.
func scopeTree(of *dump.Snapshot, in int) (all []variable) {
	for i := range of.Scopes {
		if i == 0 || of.Scopes[i].Parent != in {
			continue
		}
		scope := &of.Scopes[i]
		v := text(scope.Name, dump.Count(scope.Total, "thread"))
		if scope.Count > 1 {
			v.value += fmt.Sprintf(", %s × this scope", dump.Thousands(scope.Count))
		}
		v.within = func() ([]variable, error) {
			within := scopeTree(of, i)
			for g := range of.Groups {
				if r := (row{of, &of.Groups[g]}); r.group.Scope == i {
					within = append(within, text("group "+r.group.Key[:min(4, len(r.group.Key))], r.title()))
				}
			}
			return within, nil
		}
		all = append(all, v)
	}
	return all
}

// findings tells what the checks find.
func (a *Adapter) findings(s *stop, v *view) (all []variable, err error) {
	for _, d := range a.documents(s.ctx, v, takeFindings) {
		if d.err != nil {
			return nil, d.err
		}
		for _, f := range d.document.(*dump.Findings).Findings {
			var more []variable
			if f.Place != nil {
				more = append(more, text("place", strings.TrimSpace(at(f.Place))))
			}
			for _, e := range f.Evidence {
				more = append(more, text("evidence", e))
			}
			more = append(more, text("about", "docs/findings/"+f.Check+".md"))
			all = append(all, list(f.Check, f.What, more))
		}
	}
	if len(all) == 0 {
		all = append(all, text("none", "of those that one look can find"))
	}
	return all, nil
}
