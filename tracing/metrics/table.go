package metrics

import (
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// The labels.
var (
	stateLabel     = Label{"vt.thread.state", "state of the threads: [events.md](events.md#states-of-a-thread)"}
	reasonLabel    = Label{"vt.reason", "why: [events.md](events.md#reasons)"}
	schedulerLabel = Label{"vt.scheduler.name", "name of the scheduler"}
	idLabel        = Label{"vt.scheduler.id", "its number, since names may be the same"}
	scopeLabel     = Label{"vt.scope.name", "template of the scope's name: numbers and ids in it are `*`"}
	overflowLabel  = Label{"otel.metric.overflow", "`true` on the one series that sums what is beyond the limit, else absent"}
	kindLabel      = Label{"vt.event.kind", "kind of the events: [events.md](events.md#events)"}
	lostLabel      = Label{"vt.recorder.lost.what", "what: events, threads, stacks …"}
	checkLabel     = Label{"vt.finding.name", "name of the check: [findings](findings/README.md)"}
	signalLabel    = Label{"vt.export.signal", "metrics, traces, logs or profiles"}
	versionLabel   = Label{"process.runtime.version", "version of Go"}
	exeLabel       = Label{"process.executable.path", "the program's file"}
	ofScheduler    = []Label{schedulerLabel, idLabel, overflowLabel}
	ofScope        = []Label{scopeLabel, overflowLabel}
)

// Instruments are all instruments, in the order in which they are told.
var Instruments = slices.Concat(threads, schedulers(), durables(), others)

var threads = []Instrument{
	{
		Name: "vt.process.info", About: "the process that is followed: always 1", Unit: "1", Kind: Gauge, Labels: []Label{versionLabel, exeLabel},
		process: func(p *Process, to *points) { to.add(1, p.GoVersion, p.Exe) },
	},
	{
		Name: "vt.process.start_time", About: "when it, or its recorder, began, since 1970", Unit: "s", Kind: Gauge, Anywhere: true,
		process: func(p *Process, to *points) { to.add(float64(p.Start.UnixNano()) / 1e9) },
	},
	{
		Name: "vt.thread.live", About: "threads by state, of the newest snapshot", Unit: "{thread}", Kind: UpDown, Anywhere: true, Labels: []Label{stateLabel},
		Same: "jvm.threads.virtual.live", Differs: "that has mounted and queued alone: `mounted` and `runnable` here", process: threadCounts,
	},
	{
		Name: "vt.thread.started", About: "threads that were started", Unit: "{thread}", Kind: Counter,
		process: func(p *Process, to *points) { to.count(p.Counts.Kinds[flight.EventThreadStart]) },
	},
	{
		Name: "vt.thread.ended", About: "threads that have ended", Unit: "{thread}", Kind: Counter,
		process: func(p *Process, to *points) { to.count(p.Counts.Kinds[flight.EventThreadEnd]) },
	},
	{
		Name: "vt.thread.submit_failed", About: "times that a scheduler refused a thread that was started or unparked", Unit: "{thread}", Kind: Counter,
		Same:    "jvm.thread.virtual.submit_failed",
		process: func(p *Process, to *points) { to.count(p.Counts.Kinds[flight.EventSubmitFailed]) },
	},
	{
		Name: "vt.thread.pinned", About: "how long threads blocked and held their carrier", Unit: "s", Kind: Spread, Labels: ofScheduler,
		Same: "jvm.thread.virtual.pinned", Differs: "every pin counts, not only those of 20 ms and more", Outliers: flight.EventPinned,
		process: func(p *Process, to *points) {
			for i := range p.Schedulers {
				s := &p.Schedulers[i]
				to.spread(s, &s.Pinned, float64(s.Figures[flight.FigurePinnedTime])/1e9)
			}
		},
	},
	{
		Name: "vt.thread.pins", About: "times that threads blocked and held their carrier, of all schedulers, also those that are closed", Unit: "{pin}", Kind: Counter,
		Labels: []Label{reasonLabel}, process: func(p *Process, to *points) {
			to.byReason(p, func(s *flight.PinSite) float64 { return float64(s.Count) })
		},
	},
	{
		Name: "vt.thread.pins.time", About: "how long those took together", Unit: "s", Kind: Counter, Labels: []Label{reasonLabel},
		process: func(p *Process, to *points) {
			to.byReason(p, func(s *flight.PinSite) float64 { return s.Total.Seconds() })
		},
	},
	{
		Name: "vt.thread.pins.victims", About: "threads that waited for a carrier meanwhile", Unit: "{thread}", Kind: Counter, Labels: []Label{reasonLabel},
		process: func(p *Process, to *points) {
			to.byReason(p, func(s *flight.PinSite) float64 { return float64(s.Victims) })
		},
	},
	{
		Name: "vt.thread.parks", About: "times that threads gave up their carrier until they are unparked", Unit: "{park}", Kind: Counter, Labels: []Label{reasonLabel},
		process: func(p *Process, to *points) {
			for why, n := range p.Counts.Parks {
				if n > 0 {
					to.add(float64(n), flight.Reason(why).String())
				}
			}
		},
	},
	{
		Name: "vt.thread.switches", About: "times that threads were mounted", Unit: "{switch}", Kind: Counter,
		process: func(p *Process, to *points) { to.count(p.Counts.Kinds[flight.EventMount]) },
	},
}

// schedulers are the histograms, and the figures that each scheduler tells, from flight's own table.
func schedulers() []Instrument {
	all := []Instrument{
		{
			Name: "vt.scheduler.ready_delay", About: "how long runnable threads waited until they were mounted", Unit: "s", Kind: Spread, Labels: ofScheduler,
			Outliers: flight.EventQueued, Sampled: true, process: func(p *Process, to *points) {
				for i := range p.Schedulers {
					to.spread(&p.Schedulers[i], &p.Schedulers[i].Ready, middles(&p.Schedulers[i].Ready))
				}
			},
		},
		{
			Name: "vt.scheduler.slice", About: "how long threads executed until they left their carrier", Unit: "s", Kind: Spread, Labels: ofScheduler,
			Outliers: flight.EventSlice, Sampled: true, process: func(p *Process, to *points) {
				for i := range p.Schedulers {
					to.spread(&p.Schedulers[i], &p.Schedulers[i].Slice, middles(&p.Schedulers[i].Slice))
				}
			},
		},
	}
	for f, info := range flight.Figures {
		in := Instrument{
			Name: "vt.scheduler." + strings.ReplaceAll(info.Name, "-", "_"), About: info.About, Unit: figureUnits[info.Unit], Kind: UpDown, Labels: ofScheduler,
			Same: sameFigures[flight.Figure(f)],
			process: func(p *Process, to *points) {
				if p.Gone && !info.Total {
					return
				}
				for i := range p.Schedulers {
					s := &p.Schedulers[i]
					v := float64(s.Figures[f])
					if info.Unit == flight.FieldDuration {
						v /= 1e9
					}
					to.of(s, v)
				}
			},
		}
		switch {
		case info.Total:
			in.Kind = Counter
		case info.Unit == flight.FieldDuration:
			in.Kind = Gauge
		}
		all = append(all, in)
	}
	return all
}

var figureUnits = map[flight.FieldUse]string{flight.FieldCount: "{count}", flight.FieldDuration: "s"}

var sameFigures = map[flight.Figure]string{
	flight.FigureParallelism: "jvm.threads.virtual.parallelism",
	flight.FigureCarriers:    "jvm.threads.virtual.pool.size",
}

var others = []Instrument{
	{
		Name: "vt.scope.open", About: "scopes that are open, by name, of the newest snapshot", Unit: "{scope}", Kind: UpDown, Anywhere: true, Labels: ofScope,
		process: func(p *Process, to *points) {
			to.scopes(p, func(s *scopeSum) int { return s.scopes })
		},
	},
	{
		Name: "vt.scope.threads", About: "threads of scopes of that name, of the newest snapshot", Unit: "{thread}", Kind: UpDown, Anywhere: true, Labels: ofScope,
		process: func(p *Process, to *points) {
			to.scopes(p, func(s *scopeSum) int { return s.threads })
		},
	},
	{
		Name: "vt.scope.opened", About: "scopes that were opened", Unit: "{scope}", Kind: Counter,
		process: func(p *Process, to *points) { to.count(p.Counts.Kinds[flight.EventScopeOpen]) },
	},
	{
		Name: "vt.scope.closed", About: "scopes that were closed", Unit: "{scope}", Kind: Counter,
		process: func(p *Process, to *points) { to.count(p.Counts.Kinds[flight.EventScopeClose]) },
	},
	{
		Name: "vt.findings", About: "what is found to be wrong", Unit: "{finding}", Kind: UpDown, Anywhere: true, Labels: []Label{checkLabel},
		process: func(p *Process, to *points) {
			for _, name := range sorted(p.Findings) {
				to.add(float64(p.Findings[name]), name)
			}
		},
	},
	{
		Name: "vt.recorder.events", About: "events that happened, recorded or not", Unit: "{event}", Kind: Counter, Labels: []Label{kindLabel},
		process: func(p *Process, to *points) {
			for k := flight.EventNone + 1; k < flight.KindCount; k++ {
				if n := p.Counts.Kinds[k]; n > 0 && k != flight.EventMore {
					to.add(float64(n), k.String())
				}
			}
		},
	},
	{
		Name: "vt.recorder.lost", About: "what the recorder had no room for", Unit: "{count}", Kind: Counter, Labels: []Label{lostLabel},
		process: func(p *Process, to *points) {
			for _, l := range losses {
				to.add(float64(l.of(&p.Lost)), l.name)
			}
		},
	},
	{
		Name: "vt.recorder.size", About: "size of the flight file: memory of the process that the recorder takes", Unit: "By", Kind: UpDown,
		process: func(p *Process, to *points) {
			if p.Size > 0 && !p.Gone {
				to.add(float64(p.Size))
			}
		},
	},
	{
		Name: "vt.observer.events", About: "events that exporters were told, of those that were recorded", Unit: "{event}", Kind: Counter,
		process: func(p *Process, to *points) { to.count(p.Observed) },
	},
	{
		Name: "vt.observer.lost", About: "events that were overwritten before exporters were told", Unit: "{event}", Kind: Counter,
		process: func(p *Process, to *points) { to.count(p.Unobserved) },
	},
	{
		Name: "vt.snapshot.duration", About: "how long the newest snapshot took", Unit: "s", Kind: Gauge, Anywhere: true,
		process: func(p *Process, to *points) {
			if p.Snapshot != nil && !p.Gone {
				to.add(p.Snapshot.Took.Seconds())
			}
		},
	},
	{
		Name: "vt.agent.cpu.time", About: "processor time that the agent's process has used", Unit: "s", Kind: Counter,
		agent: func(a *Agent, _ *Collector, to *points) {
			if a.CPU >= 0 {
				to.add(a.CPU.Seconds())
			}
		},
	},
	{
		Name: "vt.agent.memory", About: "memory that Go has from the system in the agent's process", Unit: "By", Kind: UpDown,
		agent: func(a *Agent, _ *Collector, to *points) { to.add(float64(a.Memory)) },
	},
	{
		Name: "vt.agent.sent", About: "what the agent has sent to pages", Unit: "By", Kind: Counter,
		agent: func(a *Agent, _ *Collector, to *points) { to.count(a.Sent) },
	},
	{
		Name: "vt.agent.clients", About: "pages that are connected", Unit: "{client}", Kind: UpDown,
		agent: func(a *Agent, _ *Collector, to *points) { to.add(float64(a.Clients)) },
	},
	{
		Name: "vt.agent.step", About: "how much the agent leaves out because it cost more than its limits: 0 for nothing", Unit: "1", Kind: Gauge,
		agent: func(a *Agent, _ *Collector, to *points) { to.add(float64(a.Step)) },
	},
	{
		Name: "vt.agent.problems", About: "processes that the agent cannot read as it should", Unit: "{process}", Kind: UpDown,
		agent: func(a *Agent, _ *Collector, to *points) { to.add(float64(a.Problems)) },
	},
	{
		Name: "vt.export.sent", About: "what a collector took: spans, log records, profiles, and of metrics messages", Unit: "{item}", Kind: Counter, Labels: []Label{signalLabel},
		agent: func(_ *Agent, c *Collector, to *points) { c.exported(to, func(e *Export) uint64 { return e.Sent }) },
	},
	{
		Name: "vt.export.failed", About: "what no collector took, after all retries; of metrics the next message has it", Unit: "{item}", Kind: Counter, Labels: []Label{signalLabel},
		agent: func(_ *Agent, c *Collector, to *points) { c.exported(to, func(e *Export) uint64 { return e.Failed }) },
	},
	{
		Name: "vt.export.dropped", About: "what found no room to wait for a collector that is slow or away; metrics need none", Unit: "{item}", Kind: Counter,
		Labels: []Label{signalLabel},
		agent:  func(_ *Agent, c *Collector, to *points) { c.exported(to, func(e *Export) uint64 { return e.Dropped }) },
	},
}

// losses are the counts of a [flight.Lost].
var losses = []struct {
	name string
	of   func(*flight.Lost) uint64
}{
	{"events", func(l *flight.Lost) uint64 { return l.Events }},
	{"threads", func(l *flight.Lost) uint64 { return l.Threads }},
	{"stacks", func(l *flight.Lost) uint64 { return l.Stacks }},
	{"strings", func(l *flight.Lost) uint64 { return l.Strings }},
	{"symbols", func(l *flight.Lost) uint64 { return l.Symbols }},
	{"scopes", func(l *flight.Lost) uint64 { return l.Scopes }},
	{"names", func(l *flight.Lost) uint64 { return l.Names }},
	{"rings", func(l *flight.Lost) uint64 { return l.Rings }},
	{"blockers", func(l *flight.Lost) uint64 { return l.Blockers }},
	{"durables", func(l *flight.Lost) uint64 { return l.Durables }},
	{"waits", func(l *flight.Lost) uint64 { return l.Waits }},
}

func threadCounts(p *Process, to *points) {
	if p.Snapshot == nil || p.Gone {
		return
	}
	for s := flight.StateNew; s < flight.StateDone; s++ {
		to.add(float64(p.Snapshot.States[s]), s.String())
	}
}
