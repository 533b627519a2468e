package filter

import (
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A Row is what a filter sees of a thread. Scope and Stack are keys of [Texts]: numbers that mean the same for as long as one [Matcher] is used.
type Row struct {
	ID        flight.ThreadID
	Waker     flight.ThreadID
	State     flight.State
	Reason    flight.Reason
	Wait      time.Duration // how long it has been in its state; [UnknownWait]: nobody recorded it
	Mounts    uint32
	Pins      uint32
	Carrier   flight.CarrierID // it is or was last mounted on
	Scheduler flight.SchedulerID
	Blocker   flight.Blocker
	Flags     flight.RecordFlags
	Scope     int
	Stack     int // -1: no stack is known
	Key       int // of the thread, for Name, Creator and Label

	Durable *journal.DurableRow // of a filter of [ParseDurable]: all that it looks at, with Wait
}

// Texts gives the texts that belong to a [Row]. They are asked for when a filter needs them, and kept where a key is used again.
type Texts interface {
	Scope(key int) string // the path, such as root/requests/GET
	// Frames has the functions of a stack, and the places "file.go:12", innermost first.
	Frames(key int) []string
	Name(row *Row) string
	Creator(row *Row) flight.ThreadID // 0: none, or not known
	Scheduler(flight.SchedulerID) string
	Blocker(flight.Blocker) string             // such as: mutex "db"
	Label(row *Row, key string) (string, bool) // of the profiler
	Durable(row *Row) *flight.DurableRow       // nil: it is no durable thread
}

// A kind is what values of a field are.
type kind uint8

const (
	text kind = iota
	word      // one of a list
	duration
	number
)

// A Field is something that can be asked.
type Field struct {
	Name  string
	About string
	// Values are the words that the field can be, for those that have a list; other texts are refused.
	Values []string

	kind kind
	text func(m *Matcher, row *Row) string
	num  func(m *Matcher, row *Row) int64 // of durations nanoseconds
	memo memo
}

// A memo tells for which rows a text is the same, so that it is looked at once.
type memo uint8

const (
	never memo = iota
	byScope
	byStack
	byState
	byBlocker
	byScheduler
)

// UnknownWait is the Wait of a row of which nobody recorded since when it is in its state: no comparison but != matches it.
const UnknownWait time.Duration = -1

// Fields are the table of what can be asked, in the order in which help lists them.
var Fields = []Field{
	{Name: "scope", About: "the path of its scope, such as root/requests/GET", text: func(m *Matcher, r *Row) string { return m.texts.Scope(r.Scope) }, memo: byScope},
	{Name: "name", About: "its name", text: func(m *Matcher, r *Row) string { return m.texts.Name(r) }},
	{Name: "state", About: "what it is doing", kind: word, Values: states(), text: func(_ *Matcher, r *Row) string { return r.State.String() }, memo: byState},
	{Name: "reason", About: "why it waits or left its carrier", kind: word, Values: reasons(), text: func(_ *Matcher, r *Row) string { return r.Reason.String() }, memo: byState},
	{Name: "wait", About: "how long it has been in its state, such as 30s or 1h30m", kind: duration, num: func(_ *Matcher, r *Row) int64 { return int64(r.Wait) }},
	{Name: "stack", About: "a function or file of its stack", text: func(m *Matcher, r *Row) string { return "" }, memo: byStack},
	{Name: "blocker", About: "what it waits for", text: func(m *Matcher, r *Row) string { return m.texts.Blocker(r.Blocker) }, memo: byBlocker},
	{Name: "scheduler", About: "the name of its scheduler", text: func(m *Matcher, r *Row) string { return m.texts.Scheduler(r.Scheduler) }, memo: byScheduler},
	{Name: "carrier", About: "the number of the carrier it is or was last mounted on", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Carrier) }},
	{Name: "kind", About: "what it runs on", kind: word, Values: []string{"virtual", "goroutine", "os-thread", "adopted"}, text: func(_ *Matcher, r *Row) string { return KindOf(r.Flags) }, memo: byState},
	{Name: "id", About: "its number", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.ID) }},
	{Name: "creator", About: "the number of the thread that made it; 0: none", kind: number, num: func(m *Matcher, r *Row) int64 { return int64(m.texts.Creator(r)) }},
	{Name: "waker", About: "the number of the thread that unparked it last; 0: none", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Waker) }},
	{Name: "durable", About: "the id of the durable thread that it is", text: func(m *Matcher, r *Row) string { return m.durable(r).ID }},
	{Name: "body", About: "the name of the body of the durable thread that it is", text: func(m *Matcher, r *Row) string { return m.durable(r).Body }},
	{Name: "steps", About: "how long the journal of the durable thread is that it is; 0: it is none", kind: number, num: func(m *Matcher, r *Row) int64 { return int64(m.durable(r).Steps) }},
	{Name: "mounts", About: "how often it was mounted", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Mounts) }},
	{Name: "pins", About: "how often it was pinned", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Pins) }},
}

// Operators are those that the field may stand before, the usual ones first.
func (f *Field) Operators() []string {
	if f.kind == duration || f.kind == number {
		return []string{">", "<", ">=", "<=", "=", "!="}
	}
	return []string{"=", "~", "!=", "!~"}
}

// Example is a value of the field, or "" where that depends on the program.
func (f *Field) Example() string {
	switch f.kind {
	case duration:
		return "30s"
	case number:
		return "1"
	}
	return ""
}

// labelPrefix begins the fields of profiler labels: label:KEY.
const labelPrefix = "label:"

// named returns the field of a name, nil if the language has none.
func (l *language) named(name string) *Field {
	for i := range l.fields {
		if l.fields[i].Name == name {
			return &l.fields[i]
		}
	}
	if !l.labels {
		return nil
	}
	if key, ok := strings.CutPrefix(name, labelPrefix); ok && key != "" {
		return &Field{Name: name, About: "a label of the profiler", text: func(m *Matcher, r *Row) string {
			v, _ := m.texts.Label(r, key)
			return v
		}}
	}
	return nil
}

func states() (names []string) {
	for s := flight.StateNew; s < flight.StateDone; s++ {
		names = append(names, s.String())
	}
	return names
}

func reasons() (names []string) {
	for r := flight.ReasonNone + 1; r < flight.ReasonCount; r++ {
		names = append(names, r.String())
	}
	return names
}

// KindOf returns what a thread of these flags runs on, by a word of the field kind.
func KindOf(f flight.RecordFlags) string {
	switch {
	case f&flight.RecordOnOSThread != 0:
		return "os-thread"
	case f&flight.RecordOnGoroutine != 0:
		return "goroutine"
	case f&flight.RecordAdopted != 0:
		return "adopted"
	}
	return "virtual"
}
