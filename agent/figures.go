package agent

import (
	"os"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/metrics"
)

// counted is what the flight file of a process counts, for [Agent.Figures].
type counted struct {
	at         time.Time
	counts     flight.Counts
	lost       flight.Lost
	schedulers []flight.SchedulerRow // not changed: views hold it
	pins       []flight.PinSite
	durable    *flight.DurableTotals
	waits      [flight.DurableWaitCount]int // of durable threads
	size       int64
}

// count renews all but the schedulers.
func (f *follower) count(now time.Time, rings []flight.RingRow) {
	c := counted{at: now, counts: f.reader.CountsOf(rings), lost: f.reader.Lost(), schedulers: f.counted.schedulers, pins: f.counted.pins, size: f.counted.size}
	if pins, err := f.reader.PinSites(); err == nil || len(pins) > 0 {
		c.pins = pins
	}
	if d, ok, err := f.reader.DurableTotals(); ok && err == nil {
		c.durable, c.waits = &d, f.counted.waits
		if rows, err := f.reader.Durables(); err == nil || len(rows) > 0 {
			c.waits = [flight.DurableWaitCount]int{}
			for i := range rows {
				c.waits[rows[i].Wait]++
			}
		}
	} else if err != nil {
		c.durable, c.waits = f.counted.durable, f.counted.waits
	}
	if info, err := os.Stat(f.path); err == nil {
		c.size = info.Size()
	}
	f.counted = c
}

// Figures returns what there is to measure, of each process that is followed as it was when it was looked at last, which is about [Options.Interval] ago; its
// snapshot may be older. It does not block. The caller must not change what it is given.
func (a *Agent) Figures() metrics.Figures {
	cpu, known := processCPU()
	if !known {
		cpu = -1
	}
	out := metrics.Figures{Agent: &metrics.Agent{Started: a.started, CPU: cpu, Memory: memory(), Sent: a.meter.sent.Load(), Step: int(a.meter.thrift.step.Load())}}
	a.mu.Lock()
	out.Agent.Clients = a.mu.clients
	a.mu.Unlock()
	for _, v := range a.views() {
		if v.problem != "" {
			out.Agent.Problems++
		}
		if v.counted.at.IsZero() {
			continue // it was not looked at yet
		}
		out.Processes = append(out.Processes, metrics.Process{
			Process: v.process, Key: v.row.Key, Gone: v.row.Gone > 0, Goroutines: v.from.plain(),
			At: v.counted.at, Counts: v.counted.counts, Lost: v.counted.lost, Schedulers: v.counted.schedulers, PinSites: v.counted.pins, Durable: v.counted.durable, DurableWaits: v.counted.waits, Size: v.counted.size,
			Snapshot: v.snapshot, Findings: v.counts(), Observed: v.observed.Events, Unobserved: v.observed.Lost,
		})
	}
	return out
}

// counts counts the findings of each check that was made; nil if none was.
func (v *view) counts() map[string]int {
	if v.found == nil {
		return nil
	}
	all := map[string]int{}
	for _, name := range dump.CheckNames() {
		all[name] = 0
	}
	for _, u := range v.found.Unjudged {
		if !u.Partly {
			delete(all, u.Check)
		}
	}
	for i := range v.found.Findings {
		all[v.found.Findings[i].Check]++
	}
	return all
}
