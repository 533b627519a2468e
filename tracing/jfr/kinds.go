package jfr

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A moment is an event with what the tracker knows of it.
type moment struct {
	*recording.Event
	change recording.Change
	on     *recording.Thread // the event's thread; nil if it is not known, or has ended before
	user   *userClass        // of events of a program's own
}

// A column is a value of the events of a class, or several that belong together.
type column struct {
	fields []field
	put    func(w *writer, b []byte, m *moment) []byte
}

// An eventClass is a class with what its events hold, in this order: the time, the duration, the thread, the stack, and the columns.
type eventClass struct {
	id       int
	duration func(m *moment) time.Duration // nil of what has none
	threads  bool
	stack    func(m *moment) flight.StackID // nil of what has none, and is written as none if it returns 0
	site     bool                           // of the stack, from the first frame on that is not ours
	columns  []column
}

// unknown is a number, a duration or a moment that is not known: readers print "N/A".
const unknown = 1 << 63

// A use is what a field of the catalogue becomes: columns derive from the row of its use.
type use struct {
	fields func(name, label string) []field
	put    func(w *writer, b []byte, v uint64) []byte
}

func one(class string, notes ...note) func(name, label string) []field {
	return func(name, label string) []field { return []field{is(class, name, label, notes...)} }
}

func number(w *writer, b []byte, v uint64) []byte { return appendVarint(b, v) }

// uses has a row for each use that is written. Durations of spans, stacks, texts and kinds of the program's own are told apart.
var uses = [flight.FieldUseCount]use{
	flight.FieldReason: {one(typeString), func(w *writer, b []byte, v uint64) []byte { return w.reason(b, flight.Reason(v)) }},
	flight.FieldBlocker: {func(name, label string) []field {
		return []field{is(typeString, name, label), is(typeLong, name+"Id", label+" Id"), is(typeLong, "address", "Address", address...)}
	}, func(w *writer, b []byte, v uint64) []byte {
		blocker := flight.Blocker(v)
		id, at := blockerParts(blocker)
		b = w.pooled(b, blockerWord(blocker.Kind()))
		b = appendVarint(b, id)
		return appendVarint(b, at)
	}},
	flight.FieldThread: {func(name, label string) []field { return []field{of(typeThread, name, label)} },
		func(w *writer, b []byte, v uint64) []byte {
			return appendVarint(b, uint64(w.thread(flight.ThreadID(v))))
		}},
	flight.FieldScope: {func(name, label string) []field {
		return []field{is(typeString, name, label), is(typeLong, name+"Id", label+" Id")}
	}, func(w *writer, b []byte, v uint64) []byte {
		return appendVarint(w.pooled(b, w.scope(flight.ScopeID(v))), v)
	}},
	flight.FieldDuration:  {one(typeLong, inNanos), number},
	flight.FieldCount:     {one(typeLong), number},
	flight.FieldString:    {one(typeString), func(w *writer, b []byte, v uint64) []byte { return w.pooled(b, w.src.String(flight.StringID(v))) }},
	flight.FieldScheduler: {one(typeString), func(w *writer, b []byte, v uint64) []byte { return w.pooled(b, w.scheduler(flight.SchedulerID(v))) }},
	flight.FieldFlags:     {func(_, _ string) []field { return []field{is(typeString, "placement", "Placed On")} }, func(w *writer, b []byte, v uint64) []byte { return w.pooled(b, placement(flight.RecordFlags(v))) }},
	flight.FieldTicks: {one(typeLong, timestamp("TICKS")), func(w *writer, b []byte, v uint64) []byte {
		if v == 0 {
			return appendVarint(b, unknown)
		}
		return appendVarint(b, w.ticks(time.Duration(v)))
	}},
	flight.FieldInt:   {one(typeLong), number},
	flight.FieldFloat: {one(typeDouble), func(_ *writer, b []byte, v uint64) []byte { return appendDouble(b, math.Float64frombits(v)) }},
	flight.FieldBool:  {one(typeBoolean), func(_ *writer, b []byte, v uint64) []byte { return appendBool(b, v != 0) }},
	flight.FieldBytes: {one(typeLong, inBytes), number},
}

func blockerWord(k flight.BlockerKind) string {
	if k < flight.BlockerKindCount {
		return flight.BlockerKinds[k].Name
	}
	return "unknown"
}

// blockerParts returns a blocker's id and its address, of which it has one.
func blockerParts(b flight.Blocker) (id, at uint64) {
	if k := b.Kind(); k < flight.BlockerKindCount && flight.BlockerKinds[k].Hex {
		return 0, b.ID()
	}
	return b.ID(), 0
}

func placement(f flight.RecordFlags) string {
	switch {
	case f&flight.RecordOnOSThread != 0:
		return "os-thread"
	case f&flight.RecordOnGoroutine != 0:
		return "goroutine"
	case f&flight.RecordAdopted != 0:
		return "adopted"
	}
	return "carrier"
}

// spanField returns the field of a kind that says how long what it tells of took; nil if it has none.
func spanField(k *flight.KindInfo) *flight.Field {
	if !k.Span {
		return nil
	}
	return fieldOf(k, flight.FieldDuration)
}

func fieldOf(k *flight.KindInfo, u flight.FieldUse) *flight.Field {
	if i := slices.IndexFunc(k.Fields, func(f flight.Field) bool { return f.Use == u }); i >= 0 {
		return &k.Fields[i]
	}
	return nil
}

// columnOf returns what a field of the catalogue becomes; false if it is no column.
func columnOf(f flight.Field, name, label string) (column, bool) {
	if f.Use == flight.FieldText {
		return column{one(typeString)(name, label), func(_ *writer, b []byte, m *moment) []byte { return appendString(b, f.Text(m.More)) }}, true
	}
	if f.Use == flight.FieldUserKind {
		return column{one(typeString)(name, label), func(w *writer, b []byte, m *moment) []byte { return w.pooled(b, w.userName(uint32(m.Word(f)))) }}, true
	}
	u := uses[f.Use]
	if u.put == nil {
		return column{}, false
	}
	return column{u.fields(name, label), func(w *writer, b []byte, m *moment) []byte { return u.put(w, b, m.Word(f)) }}, true
}

// columnsOf returns the columns of a kind, but for its duration, its stack and the fields with the names in without.
func columnsOf(k *flight.KindInfo, without ...string) (columns []column) {
	span := spanField(k)
	for i := range k.Fields {
		f := &k.Fields[i]
		if f == span || slices.Contains(without, f.Name) {
			continue
		}
		if c, ok := columnOf(*f, camel(f.Name), title(f.Name)); ok {
			columns = append(columns, c)
		}
	}
	return columns
}

// typeOf returns the class of a kind's events, as it is unless the JDK has one that means the same.
func typeOf(k *flight.KindInfo) class {
	return class{
		name: "vt." + capital(camel(k.Name)), super: typeEvent,
		notes: []note{categorized("Go Virtual Threads", string(k.Category)), labelled(title(k.Name)), described(sentence(k.About))},
	}
}

// classOf completes c and e for events of a kind with some columns.
func classOf(c *class, e *eventClass, k *flight.KindInfo) {
	c.fields = []field{fieldStart}
	c.settings = []setting{{"enabled", "jdk.settings.Enabled", yesNo(k.Default.On)}}
	if e.duration != nil {
		c.fields = append(c.fields, fieldDuration)
		c.settings = append(c.settings, setting{"threshold", "jdk.settings.Threshold", millis(k.Default.Threshold)})
	}
	if e.threads {
		c.fields = append(c.fields, fieldThread)
	}
	if e.stack != nil {
		c.fields = append(c.fields, fieldStack)
		c.settings = append(c.settings, setting{"stackTrace", "jdk.settings.StackTrace", yesNo(k.Default.Stack)})
	}
	for _, col := range e.columns {
		c.fields = append(c.fields, col.fields...)
	}
}

func yesNo(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

// millis writes a duration as recorders of the JDK do.
func millis(d time.Duration) string {
	if d%time.Millisecond != 0 {
		return strconv.FormatInt(int64(d), 10) + " ns"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
}

// camel returns "lockWait" of "lock-wait".
func camel(name string) string {
	words := strings.Split(name, "-")
	for i := 1; i < len(words); i++ {
		words[i] = capital(words[i])
	}
	return strings.Join(words, "")
}

// title returns "Lock Wait" of "lock-wait".
func title(name string) string {
	words := strings.Split(name, "-")
	for i := range words {
		words[i] = capital(words[i])
	}
	return strings.Join(words, " ")
}

func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

func sentence(about string) string { return capital(about) }
