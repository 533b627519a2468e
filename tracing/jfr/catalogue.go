package jfr

import (
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A likeness is a class of the JDK that means the same as a kind of ours. Its own fields come first; what else the kind has follows.
type likeness struct {
	name, label string
	category    []string
	stack       bool // it has a stack, even if the kind has none
	columns     []column
	without     []string // fields of the kind that the columns tell already
}

var application = []string{"Java Application"}

// javaThreadID is a field that events of the JDK have beside the thread.
var javaThreadID = column{[]field{is(typeLong, "javaThreadId", "Java Thread Id")}, func(_ *writer, b []byte, m *moment) []byte { return appendVarint(b, uint64(m.Thread)) }}

// likenesses has a row for each kind that the JDK has events of, too.
var likenesses = [flight.KindCount]*likeness{
	flight.EventThreadStart: {
		name: "jdk.VirtualThreadStart", label: "Virtual Thread Start", category: application, stack: true,
		columns: []column{javaThreadID, scopeOfThread},
	},
	flight.EventThreadEnd: {
		name: "jdk.VirtualThreadEnd", label: "Virtual Thread End", category: application,
		columns: []column{javaThreadID},
	},
	flight.EventPinned: {
		name: "jdk.VirtualThreadPinned", label: "Virtual Thread Pinned", category: application,
		columns: []column{
			{[]field{is(typeString, "blockingOperation", "Blocking Operation")}, func(w *writer, b []byte, m *moment) []byte { return w.pooled(b, w.operation(m)) }},
			{[]field{is(typeString, "pinnedReason", "Pinned Reason")}, func(w *writer, b []byte, m *moment) []byte { return w.pooled(b, reasonText(m.Code)) }},
			{[]field{of(typeThread, "carrierThread", "Carrier Thread")}, putCarrier},
		},
		without: []string{"reason"},
	},
	flight.EventSubmitFailed: {
		name: "jdk.VirtualThreadSubmitFailed", label: "Virtual Thread Submit Failed", category: []string{"Java Development Kit", "Threading"}, stack: true,
		columns: []column{
			javaThreadID,
			{[]field{is(typeString, "exceptionMessage", "Exception Message")}, func(w *writer, b []byte, m *moment) []byte { return w.pooled(b, reasonText(flight.ReasonRejected)) }},
		},
	},
	// A pause of the JDK is one of several of a cycle; ours is their sum.
	flight.EventGC: {
		name: "jdk.GCPhasePause", label: "GC Phase Pause", category: []string{"Java Virtual Machine", "GC", "Phases"},
		columns: []column{
			{[]field{is(typeInt, "gcId", "GC Identifier")}, func(_ *writer, b []byte, m *moment) []byte { return appendVarint(b, uint64(m.Ref)) }},
			{[]field{is(typeString, "name", "Name")}, func(w *writer, b []byte, _ *moment) []byte { return w.pooled(b, "all pauses of the cycle") }},
		},
		without: []string{"cycle"},
	},
}

// more are columns of kinds that the catalogue has not, because they are told by other events.
var more = [flight.KindCount][]column{
	flight.EventMount: {{[]field{is(typeLong, "queueTime", "Queue Time", inNanos, described("How long the thread had been ready to execute"))},
		func(_ *writer, b []byte, m *moment) []byte {
			if m.change.From != flight.StateRunnable {
				return appendVarint(b, unknown)
			}
			return appendVarint(b, uint64(m.change.For))
		}}},
	flight.EventUnmount: {{[]field{is(typeLong, "runTime", "Run Time", inNanos, described("How long the thread had been mounted"))}, runTime}},
}

// redundant are fields of kinds whose events say the same in another one.
var redundant = [flight.KindCount][]string{flight.EventScopeOpen: {"name"}}

var (
	columnCarrier = column{[]field{of(typeThread, "carrier", "Carrier", described("The carrier on which it happened"))}, putCarrier}
	scopeOfThread = column{[]field{is(typeString, "scope", "Scope"), is(typeLong, "scopeId", "Scope Id")}, func(w *writer, b []byte, m *moment) []byte {
		if m.on == nil {
			return append(b, stringNull, 0)
		}
		return appendVarint(w.pooled(b, w.scope(m.on.Scope)), uint64(m.on.Scope))
	}}
)

func putCarrier(w *writer, b []byte, m *moment) []byte {
	return appendVarint(b, uint64(w.carrier(m.Carrier)))
}

func runTime(w *writer, b []byte, m *moment) []byte {
	if m.Carrier != flight.NoCarrier {
		if c := w.threads.carrier(m.Carrier, w.present); c.mounted == m.Thread && c.mounted != 0 {
			c.mounted = 0
			return appendVarint(b, uint64(m.Time-c.since))
		}
	}
	return appendVarint(b, unknown)
}

func reasonText(r flight.Reason) string {
	if r < flight.ReasonCount {
		return flight.Reasons[r].About
	}
	return r.String()
}

// kindClass makes the class of a kind's events; like is what of the JDK's means the same, or nil.
func kindClass(kind flight.Kind, like *likeness) (class, eventClass) {
	k := &flight.Kinds[kind]
	c, e := typeOf(k), eventClass{threads: true}
	if f := spanField(k); f != nil {
		e.duration = func(m *moment) time.Duration { return time.Duration(m.Word(*f)) }
	}
	if f := fieldOf(k, flight.FieldStack); f != nil {
		e.stack = func(m *moment) flight.StackID { return flight.StackID(m.Word(*f)) }
	} else if like != nil && like.stack {
		e.stack = func(*moment) flight.StackID { return 0 }
	}
	if like == nil {
		e.columns = append(columnsOf(k, redundant[kind]...), more[kind]...)
		e.columns = append(e.columns, columnCarrier)
	} else {
		c.name = like.name
		c.notes = []note{categorized(like.category...), labelled(like.label), described(sentence(k.About))}
		e.columns = append(like.columns[:len(like.columns):len(like.columns)], columnsOf(k, like.without...)...)
	}
	classOf(&c, &e, k)
	return c, e
}

// A wait is a class of the JDK for what a thread waited for, from the park to the unpark.
type wait struct {
	name, label string
	site        bool // as in eventClass
	columns     []column
}

// The classes of waits. What readers make of them depends on the order of the fields.
var waits = [waitCount]wait{
	waitPark: {"jdk.ThreadPark", "Thread Park", false, []column{
		blockerClass("parkedClass", "Class Parked On"),
		{[]field{is(typeLong, "timeout", "Park Timeout", inNanos), is(typeLong, "until", "Park Until", inEpoch)},
			func(_ *writer, b []byte, _ *moment) []byte { return appendVarint(appendVarint(b, unknown), unknown) }},
		blockerAddress("address", "Address of Object Parked"), columnWaker("unparkedBy", "Unparked By"), waitReason,
	}},
	waitLock: {"jdk.JavaMonitorEnter", "Java Monitor Blocked", true, []column{
		blockerClass("monitorClass", "Monitor Class"), columnWaker("previousOwner", "Previous Monitor Owner"), blockerAddress("address", "Monitor Address"),
	}},
	waitCondition: {"jdk.JavaMonitorWait", "Java Monitor Wait", false, []column{
		blockerClass("monitorClass", "Monitor Class"), columnWaker("notifier", "Notifier Thread"),
		{[]field{is(typeLong, "timeout", "Timeout", inMillis), is(typeBoolean, "timedOut", "Timed Out")},
			func(_ *writer, b []byte, m *moment) []byte {
				return appendBool(appendVarint(b, unknown), m.change.From == flight.StateTimedParked && m.Arg == 0)
			}},
		blockerAddress("address", "Monitor Address"),
	}},
	waitSleep: {"jdk.ThreadSleep", "Thread Sleep", false, []column{
		{[]field{is(typeLong, "time", "Sleep Time", inNanos)}, func(_ *writer, b []byte, m *moment) []byte { return appendVarint(b, uint64(m.change.For)) }},
	}},
}

const (
	waitPark = iota
	waitLock
	waitCondition
	waitSleep

	waitCount
)

// waitOf returns which class a wait with a reason is of.
func waitOf(r flight.Reason) int {
	switch r {
	case flight.ReasonLock:
		return waitLock
	case flight.ReasonCondition:
		return waitCondition
	case flight.ReasonSleep:
		return waitSleep
	}
	return waitPark
}

// waitReason is written in place: a reader in Go that knows ThreadPark takes strings in no other way.
var waitReason = column{[]field{is(typeString, "reason", "Reason")}, func(_ *writer, b []byte, m *moment) []byte { return appendString(b, m.change.Reason.String()) }}

// columnWaker is who ended a wait: the thread that the unpark names.
func columnWaker(name, label string) column {
	return column{[]field{of(typeThread, name, label)}, func(w *writer, b []byte, m *moment) []byte {
		return appendVarint(b, uint64(w.thread(flight.ThreadID(m.Arg))))
	}}
}

// blockerClass tells what a thread waited for as a class of its own.
func blockerClass(name, label string) column {
	return column{[]field{of(typeClass, name, label)}, func(w *writer, b []byte, m *moment) []byte {
		return appendVarint(b, uint64(w.blockerClass(m.change.Blocker.Kind())))
	}}
}

func blockerAddress(name, label string) column {
	return column{[]field{is(typeLong, name, label, address...)}, func(_ *writer, b []byte, m *moment) []byte {
		_, at := blockerParts(m.change.Blocker)
		return appendVarint(b, at)
	}}
}

func waitClass(w *wait) (class, eventClass) {
	e := eventClass{
		threads: true, columns: w.columns, site: w.site,
		duration: func(m *moment) time.Duration { return m.change.For },
		stack:    func(m *moment) flight.StackID { return m.change.Stack },
	}
	c := class{name: w.name, super: typeEvent, notes: []note{categorized(application...), labelled(w.label)}}
	classOf(&c, &e, &flight.Kinds[flight.EventPark])
	return c, e
}

// goroutineStart and goroutineEnd are for threads that are not virtual.
var (
	platformStart = likeness{name: "jdk.ThreadStart", label: "Java Thread Start", category: application, stack: true, columns: []column{
		{[]field{of(typeThread, "thread", "New Java Thread"), of(typeThread, "parentThread", "Parent Java Thread")}, func(w *writer, b []byte, m *moment) []byte {
			return appendVarint(appendVarint(b, uint64(w.threadOf(m))), uint64(w.thread(flight.ThreadID(m.Arg))))
		}},
		scopeOfThread,
	}, without: []string{"by"}}
	platformEnd = likeness{name: "jdk.ThreadEnd", label: "Java Thread End", category: application, columns: []column{
		{[]field{of(typeThread, "thread", "Java Thread")}, func(w *writer, b []byte, m *moment) []byte { return appendVarint(b, uint64(w.threadOf(m))) }},
	}}
)

// isPlatform reports whether a thread is placed on a goroutine or an OS thread of its own.
func isPlatform(t *recording.Thread) bool { return t != nil && kindOf(t.Flags) == goroutineThread }
