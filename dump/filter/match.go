package filter

import (
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Matcher decides for threads of one process. What a filter asks of a scope, a stack, a blocker, a scheduler or a state it looks at once.
type Matcher struct {
	filter *Filter
	texts  Texts
	memory map[question]bool
}

// A question is a condition and what it is about.
type question struct {
	slot int
	key  uint64
}

// Matcher returns a matcher for threads whose texts t has.
func (f *Filter) Matcher(t Texts) *Matcher { return &Matcher{f, t, map[question]bool{}} }

// Match reports whether the filter matches a thread.
func (m *Matcher) Match(row *Row) bool {
	return m.filter == nil || m.filter.root == nil || m.filter.root.match(m, row)
}

// Empty reports whether the filter matches every thread.
func (f *Filter) Empty() bool { return f == nil || f.root == nil }

func (a anyOf) match(m *Matcher, row *Row) bool {
	for _, n := range a {
		if n.match(m, row) {
			return true
		}
	}
	return false
}

func (a allOf) match(m *Matcher, row *Row) bool {
	for _, n := range a {
		if !n.match(m, row) {
			return false
		}
	}
	return true
}

func (n not) match(m *Matcher, row *Row) bool { return !n.of.match(m, row) }

// recall returns the answer to a question, or finds it by ask.
func (m *Matcher) recall(slot int, key uint64, ask func() bool) bool {
	q := question{slot, key}
	yes, known := m.memory[q]
	if !known {
		yes = ask()
		m.memory[q] = yes
	}
	return yes
}

func (t *term) match(m *Matcher, row *Row) bool {
	f := t.field
	if f.kind == duration || f.kind == number {
		n := f.num(m, row)
		if f.kind == duration && n == int64(UnknownWait) {
			return t.op == "!="
		}
		return t.compares(n)
	}
	ask := func() bool { return t.holds(f.text(m, row)) }
	switch f.memo {
	case byScope:
		return m.recall(t.slot, uint64(row.Scope), ask)
	case byStack:
		return m.recall(t.slot, uint64(row.Stack), func() bool { return t.inFrames(m, row) })
	case byState:
		return m.recall(t.slot, uint64(row.State)|uint64(row.Reason)<<8|uint64(row.Flags&0xff)<<16, ask)
	case byBlocker:
		return m.recall(t.slot, uint64(row.Blocker), ask)
	case byScheduler:
		return m.recall(t.slot, uint64(row.Scheduler), ask)
	}
	return ask()
}

// durable returns the zero row for a thread that is no durable one.
func (m *Matcher) durable(row *Row) *flight.DurableRow {
	if d := m.texts.Durable(row); d != nil {
		return d
	}
	return &flight.DurableRow{}
}

func (t *term) compares(n int64) bool {
	switch t.op {
	case "=":
		return n == t.number
	case "!=":
		return n != t.number
	case "<":
		return n < t.number
	case ">":
		return n > t.number
	case "<=":
		return n <= t.number
	}
	return n >= t.number
}

// holds compares a text.
func (t *term) holds(s string) bool {
	yes := s == t.value
	if t.pattern != nil {
		yes = t.pattern.MatchString(s)
	}
	return yes != strings.HasPrefix(t.op, "!")
}

// inFrames compares each function and place of a stack: one is enough, and none may be where the operator says not.
func (t *term) inFrames(m *Matcher, row *Row) bool {
	negated := strings.HasPrefix(t.op, "!")
	if row.Stack >= 0 {
		for _, s := range m.texts.Frames(row.Stack) {
			if s == t.value || t.pattern != nil && t.pattern.MatchString(s) {
				return !negated
			}
		}
	}
	return negated
}

// match looks in the name, the scope and the stack.
func (s *search) match(m *Matcher, row *Row) bool {
	if d := row.Durable; d != nil {
		return s.pattern.MatchString(d.ID) || s.pattern.MatchString(d.Body) || s.pattern.MatchString(d.Wait.Of()) || s.pattern.MatchString(d.Err)
	}
	const scopes, stacks = 1 << 62, 1 << 61
	if m.recall(s.slot, scopes|uint64(row.Scope), func() bool { return s.pattern.MatchString(m.texts.Scope(row.Scope)) }) {
		return true
	}
	if row.Stack >= 0 && m.recall(s.slot, stacks|uint64(row.Stack), func() bool {
		for _, f := range m.texts.Frames(row.Stack) {
			if s.pattern.MatchString(f) {
				return true
			}
		}
		return false
	}) {
		return true
	}
	return s.pattern.MatchString(m.texts.Name(row))
}

// Row makes the row of a thread of a flight file. wait is how long it has been in its state.
func RowOf(t *flight.ThreadRow) Row {
	return Row{
		ID: t.ID, Waker: t.Waker, State: t.State, Reason: t.Reason, Mounts: t.Mounts, Pins: t.Pins, Carrier: t.Carrier, Scheduler: t.Scheduler,
		Blocker: t.Blocker, Flags: t.Flags, Key: int(t.Index),
	}
}
