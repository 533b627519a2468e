package profile

import (
	"slices"

	pprof "github.com/google/pprof/profile"

	threads "github.com/vtscope/vtscope/dump/profile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// An Origin is what a profile is made of.
type Origin uint8

// The origins.
const (
	OfThreads Origin = iota // what all threads do now
	OfEvents                // what happened, as a [Collector] counted it
	OfProcess               // the process tells it of itself
)

// A Kind is a profile. The table [Kinds] is the only list of them: what is served, commands and docs derive from it.
type Kind struct {
	Name   string
	About  string // one sentence, no full stop
	Origin Origin
	Types  threads.Types // of the values of a sample
	Usual  string        // the type that readers show first

	what     what                     // of profiles of events: which counts
	reasons  func(flight.Reason) bool // of these those with such a reason; nil: all
	ofWhat   string                   // what a profile without samples says that did not happen
	endless  bool                     // of profiles of threads: those alone that wait without a time limit
	settings []flight.Kind            // events that it needs
}

// Go's own profiles of waits have these types, and so what reads those knows ours.
var delays = threads.Types{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}

var moves = []flight.Kind{flight.EventPark, flight.EventUnpark, flight.EventMount}

// Kinds are all profiles.
var Kinds = []Kind{
	{Name: "threads", About: "the threads that there are now, by stack, and how long they have been in their states", Origin: OfThreads,
		Types: threads.Threads, Usual: threads.Threads[0].Type},
	{Name: "park", About: "where threads parked, how often and how long", Origin: OfEvents, Types: delays, Usual: "delay",
		what: whatPark, ofWhat: "no thread was parked", settings: moves},
	{Name: "ready", About: "how long threads that could go on had to wait for a carrier, by where they had waited before", Origin: OfEvents, Types: delays, Usual: "delay",
		what: whatReady, ofWhat: "no thread was runnable", settings: moves},
	{Name: "pinned", About: "where threads blocked while they held their carriers, how often and how long, and how many threads waited for a carrier meanwhile", Origin: OfEvents,
		Types: append(slices.Clone(delays), pprof.ValueType{Type: "victims", Unit: "count"}), Usual: "delay",
		what: whatPinned, ofWhat: "no thread was pinned", settings: []flight.Kind{flight.EventPinned}},
	{Name: "lock", About: "where threads waited for locks, how often and how long", Origin: OfEvents, Types: delays, Usual: "delay",
		what: whatPark, reasons: func(r flight.Reason) bool { return r == flight.ReasonLock }, ofWhat: "no thread waited for a lock", settings: moves},
	{Name: "io", About: "where threads waited for sockets, files and pipes, how often and how long", Origin: OfEvents, Types: delays, Usual: "delay",
		what: whatPark, reasons: func(r flight.Reason) bool { return slices.Contains(ioReasons, r) }, ofWhat: "no thread waited for input or output", settings: moves},
	{Name: "run", About: "how often and how long threads were mounted, whether they executed or were pinned, by where they had waited before", Origin: OfEvents,
		Types: threads.Types{{Type: "slices", Unit: "count"}, {Type: "run", Unit: "nanoseconds"}}, Usual: "run",
		what: whatRun, ofWhat: "no thread was mounted", settings: moves},
	{Name: "cpu", About: "what used processors: Go's own profile, which the process takes of itself", Origin: OfProcess},
	{Name: "leak", About: "the threads that wait now without a time limit, and how long they have; those that wait longest first", Origin: OfThreads,
		Types: threads.Threads, Usual: threads.Threads[1].Type, endless: true},
}

// KindOf returns the profile of a name, nil if there is none.
func KindOf(name string) *Kind {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &Kinds[i]
}

// Names returns the names of all profiles.
func Names() []string {
	names := make([]string, len(Kinds))
	for i := range Kinds {
		names[i] = Kinds[i].Name
	}
	return names
}

// ioNames are the reasons of waits for input and output, as the table of reasons calls them. Of those that it does not have there are no events.
var ioNames = []string{"io", "read", "write", "accept", "connect", "dial", "lookup", "file"}

var ioReasons = func() (all []flight.Reason) {
	for r := range flight.ReasonCount {
		if slices.Contains(ioNames, r.String()) {
			all = append(all, r)
		}
	}
	return all
}()
