package jfr

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A userClass is the class of a kind of events of a program's own.
type userClass struct {
	eventClass
	name string // as the program says
}

// user returns the class of a kind of a program's own, which it makes when it sees the first event; nil if nothing is known of the kind. It writes events: it
// is called before one is begun.
func (w *writer) user(number uint32) *userClass {
	if u, ok := w.users[number]; ok {
		return u
	}
	var u *userClass
	if info := w.src.UserKind(number); info != nil {
		var c class
		c, u = newUserClass(info)
		for taken := true; taken; {
			if _, taken = w.meta.ids[c.name]; taken {
				c.name += "_"
			}
		}
		u.id = w.meta.add(c)
		w.settings(&u.eventClass, info.Setting)
	}
	w.users[number] = u
	return u
}

// userName returns what a program calls a kind.
func (w *writer) userName(number uint32) string {
	if u := w.users[number]; u != nil {
		return u.name
	}
	return fmt.Sprintf("#%d", number)
}

// newUserClass returns the class of a kind. Its events have a duration, which is 0 of marks: readers do not show that.
func newUserClass(info *flight.UserKindInfo) (class, *userClass) {
	u := &userClass{name: info.Name, eventClass: eventClass{threads: true}}
	span := spanField(&flight.Kinds[flight.EventSpanEnd])
	u.duration = func(m *moment) time.Duration {
		if m.Kind != flight.EventSpanEnd {
			return 0
		}
		return time.Duration(m.Word(*span))
	}
	stack := fieldOf(&flight.Kinds[flight.EventMark], flight.FieldStack)
	u.stack = func(m *moment) flight.StackID {
		if m.Kind != flight.EventMark || stack == nil {
			return 0
		}
		return flight.StackID(m.Word(*stack))
	}
	taken := map[string]bool{fieldStart.name: true, fieldDuration.name: true, fieldThread.name: true, fieldStack.name: true, columnCarrier.fields[0].name: true}
	for _, f := range info.Fields {
		name := identifier(f.Name)
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		if c, ok := columnOf(f, name, valid(f.Name)); ok {
			u.columns = append(u.columns, c)
		}
	}
	u.columns = append(u.columns, columnCarrier)
	c := class{
		name: identifier(info.Name), super: typeEvent,
		notes: []note{categorized("Go Virtual Threads", string(flight.CategoryProgram)), labelled(valid(info.Name))},
	}
	row := flight.Kinds[flight.EventSpanEnd]
	row.Default = info.Setting
	classOf(&c, &u.eventClass, &row)
	return c, u
}

// identifier makes a name of a program's own one that readers take for a class or a field: letters, digits, "_", "$" and dots between them.
func identifier(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case unicode.IsLetter(r) && r < 0x10000, r == '_', r == '$', r >= '0' && r <= '9' && i > 0, r == '.' && i > 0 && i+1 < len(name):
			b.WriteRune(r)
		case r == '/':
			b.WriteByte('.')
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
