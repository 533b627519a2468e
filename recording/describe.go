package recording

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Name returns the name of the event's kind: of one of the program's own the name that the program gave it.
func (e *Event) Name(d Definitions) string {
	if e.Kind < flight.KindCount && flight.Kinds[e.Kind].Category == flight.CategoryProgram {
		if k := d.UserKind(e.Ref); k != nil {
			return k.Name
		}
	}
	return e.Kind.String()
}

// Fields calls f with each field of the event that says something, and what it says for people. Moments are told in local time: from is what times of the source
// are since. scope returns the name of a scope, "" if it has none that is known; it may be nil.
func (e *Event) Fields(d Definitions, from time.Time, scope func(flight.ScopeID) string, f func(field flight.Field, word uint64, text string)) {
	if e.Kind >= flight.KindCount {
		return
	}
	all := flight.Kinds[e.Kind].Fields
	if flight.Kinds[e.Kind].Category == flight.CategoryProgram {
		if k := d.UserKind(e.Ref); k != nil {
			all = append(slices.Clone(all), k.Fields...)
		}
	}
	for _, field := range all {
		word := e.Word(field)
		if text := e.fieldText(d, from, scope, field, word); text != "" {
			f(field, word, text)
		}
	}
}

func (e *Event) fieldText(d Definitions, from time.Time, scope func(flight.ScopeID) string, f flight.Field, word uint64) string {
	switch f.Use {
	case flight.FieldStack:
		return CallPlace(d.Stack(flight.StackID(word)))
	case flight.FieldBlocker:
		return blockerText(d, word)
	case flight.FieldString:
		return quoted(d.String(flight.StringID(word)))
	case flight.FieldText:
		return quoted(f.Text(e.More))
	case flight.FieldUserKind, flight.FieldScopeIndex:
		return "" // the event is called so; and of the thread its scope is told by the event scope-fork
	case flight.FieldTicks:
		if word == 0 {
			return ""
		}
		at, now := from.Add(time.Duration(word)).Local(), from.Add(e.Time).Local()
		if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
			return at.Format("15:04:05.000")
		}
		return at.Format("2006-01-02 15:04:05.000")
	case flight.FieldScope:
		text := flight.FieldUses[f.Use].Text(word)
		if scope != nil && word != 0 {
			if name := scope(flight.ScopeID(word)); name != "" {
				text += " " + strconv.Quote(name)
			}
		}
		return text
	}
	return flight.FieldUses[f.Use].Text(word)
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return strconv.Quote(s)
}

// CallPlace returns the innermost call of a stack that is the program's own, as "shop.Buy buy.go:7"; "" of an empty stack.
func CallPlace(s flight.Stack) string {
	i := slices.IndexFunc(s.Frames, func(f flight.Frame) bool { return !f.Internal })
	if i < 0 {
		i = 0
	}
	if i >= len(s.Frames) {
		return ""
	}
	f := &s.Frames[i]
	if f.File == "" {
		return f.Func
	}
	return f.Func + " " + f.File[strings.LastIndexByte(f.File, '/')+1:] + ":" + strconv.Itoa(f.Line)
}
