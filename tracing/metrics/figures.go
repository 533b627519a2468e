package metrics

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Figures are what there is to measure at a moment, as whoever follows processes knows them.
type Figures struct {
	Processes []Process
	Agent     *Agent // nil: nobody follows
}

// A Process is what is known of one process.
type Process struct {
	flight.Process
	Key  string // tells it from all others, also from one with the same pid
	Gone bool   // what it counted stays; what it is doing is nothing any more

	Goroutines bool // its threads are those: there is no recorder, and what one counts is not known

	At           time.Time // of the counts
	Counts       flight.Counts
	Lost         flight.Lost
	Schedulers   []flight.SchedulerRow
	PinSites     []flight.PinSite
	Durable      *flight.DurableTotals        // nil: it has had no durable threads
	DurableWaits [flight.DurableWaitCount]int // of those that it has, by what they wait for
	Size         int64                        // of the flight file, in bytes; 0: not known

	Snapshot *dump.Snapshot // the newest; nil: none yet
	Findings map[string]int // by name of the check; nil: nobody looks for any

	Observed, Unobserved uint64 // events that observers were told, and that were lost to them
}

// An Agent is what following costs.
type Agent struct {
	Started  time.Time
	CPU      time.Duration // used by its process so far; below 0: not known
	Memory   uint64        // that Go has from the system, in bytes
	Sent     uint64        // to pages, in bytes
	Clients  int
	Step     int // how much it leaves out because it cost too much; 0: nothing
	Problems int // processes that it cannot read
}

// KeyOf returns the key of a process: the name of its flight file, or its pid and start where it has none.
func KeyOf(p flight.Process) string {
	if p.Path == "" {
		return fmt.Sprintf("%d-%d", p.PID, p.Start.UnixNano())
	}
	return strings.TrimSuffix(filepath.Base(p.Path), ".flight")
}
