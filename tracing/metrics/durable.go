package metrics

import (
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

var waitLabel = Label{"vt.durable.wait", "what for: signal, time, permit, child; call for one that calls something outside"}

// durables are the instruments of durable threads. Processes that have had none have no such series.
func durables() []Instrument {
	all := []Instrument{
		{
			Name: "vt.durable.hibernated", About: "durable threads that are hibernated, of the newest snapshot", Unit: "{thread}", Kind: UpDown,
			process: func(p *Process, to *points) {
				if p.Durable != nil && p.Snapshot != nil && !p.Gone {
					to.add(float64(p.Snapshot.States[flight.StateHibernated]))
				}
			},
		},
		{
			Name: "vt.durable.live", About: "durable threads that the process has, hibernated or not, by what they wait for; those that wait for nothing, or for what any thread may, have no label", Unit: "{thread}", Kind: UpDown,
			Labels: []Label{waitLabel}, process: func(p *Process, to *points) {
				if p.Durable == nil || p.Gone {
					return
				}
				for w, n := range p.DurableWaits {
					to.add(float64(n), flight.DurableWait(w).String())
				}
			},
		},
		{
			Name: "vt.durable.replay", About: "how long replays of journals took", Unit: "s", Kind: Spread,
			process: func(p *Process, to *points) {
				if p.Durable != nil {
					to.all = append(to.all, Point{Values: to.values(nil), Spread: newDistribution(&p.Durable.Replay, float64(p.Durable.Counts[flight.DurableReplayTime])/1e9)})
				}
			},
		},
	}
	for c, info := range flight.DurableCounts {
		what := flight.DurableCount(c)
		if what == flight.DurableReplays || what == flight.DurableReplayTime {
			continue // vt.durable.replay has them
		}
		in := Instrument{
			Name: "vt.durable." + strings.ReplaceAll(info.Name, "-", "_"), About: info.About, Unit: "{count}", Kind: Counter,
			process: func(p *Process, to *points) {
				if p.Durable != nil {
					to.count(p.Durable.Counts[what])
				}
			},
		}
		if info.Unit == flight.FieldBytes {
			in.Unit = "By"
		}
		all = append(all, in)
	}
	return all
}
