package metricstest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/metrics"
)

// A Want is the value that a series must have.
type Want struct {
	Instrument *metrics.Instrument
	Labels     map[string]string // by their names in OpenTelemetry; others do not matter
	Value      float64           // of a histogram how many durations it counts
}

// Query returns a query of Prometheus for the value. names translates from OpenTelemetry, and pid is the label that has the process, "" for none.
func (w *Want) Query(pidLabel string, pid int) string {
	name := w.Instrument.PrometheusName()
	if w.Instrument.Kind == metrics.Spread {
		name += "_count"
	}
	var labels []string
	for _, l := range slices.Sorted(maps.Keys(w.Labels)) {
		labels = append(labels, fmt.Sprintf("%s=%q", metrics.PrometheusLabel(l), w.Labels[l]))
	}
	if pidLabel != "" {
		labels = append(labels, fmt.Sprintf("%s=%q", pidLabel, strconv.Itoa(pid)))
	}
	return "sum(" + name + "{" + strings.Join(labels, ",") + "})"
}

// Lookup returns a row of the table, and panics if there is none.
func Lookup(name string) *metrics.Instrument {
	i := slices.IndexFunc(metrics.Instruments, func(in metrics.Instrument) bool { return in.Name == name })
	if i < 0 {
		panic("metricstest: no instrument " + name)
	}
	return &metrics.Instruments[i]
}

// Read returns what the instruments must say of a process that does nothing meanwhile: threads by state, events, schedulers, pins.
func Read(ctx context.Context, r *flight.Reader) ([]Want, error) {
	var all []Want
	add := func(name string, value float64, labels ...string) {
		w := Want{Instrument: Lookup(name), Labels: map[string]string{}, Value: value}
		for i := 0; i < len(labels); i += 2 {
			w.Labels[labels[i]] = labels[i+1]
		}
		all = append(all, w)
	}
	states := map[flight.State]int{}
	if _, err := r.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			if rows[i].State != flight.StateFree {
				states[rows[i].State]++
			}
		}
	}); err != nil {
		return nil, err
	}
	for s, n := range states {
		add("vt.thread.live", float64(n), "vt.thread.state", s.String())
	}
	rings, err := r.Rings()
	if err != nil {
		return nil, err
	}
	kinds, parks := map[flight.Kind]uint64{}, map[flight.Reason]uint64{}
	for i := range rings {
		for k, n := range rings[i].Counts {
			kinds[flight.Kind(k)] += n
		}
		for why, n := range rings[i].Parks {
			parks[flight.Reason(why)] += n
		}
	}
	add("vt.thread.started", float64(kinds[flight.EventThreadStart]))
	add("vt.thread.ended", float64(kinds[flight.EventThreadEnd]))
	add("vt.thread.submit_failed", float64(kinds[flight.EventSubmitFailed]))
	add("vt.thread.switches", float64(kinds[flight.EventMount]))
	add("vt.scope.opened", float64(kinds[flight.EventScopeOpen]))
	for why, n := range parks {
		if n > 0 {
			add("vt.thread.parks", float64(n), "vt.reason", why.String())
		}
	}
	for _, k := range []flight.Kind{flight.EventPark, flight.EventUnpark, flight.EventPinned} {
		if n := kinds[k]; n > 0 {
			add("vt.recorder.events", float64(n), "vt.event.kind", k.String())
		}
	}
	scopes, err := r.Scopes()
	if err != nil {
		return nil, err
	}
	add("vt.scope.open", float64(len(scopes)))
	sites, err := r.PinSites()
	if err != nil {
		return nil, err
	}
	pins, held := map[flight.Reason]uint64{}, map[flight.Reason]time.Duration{}
	for _, s := range sites {
		pins[s.Reason] += s.Count
		held[s.Reason] += s.Total
	}
	for why, n := range pins {
		add("vt.thread.pins", float64(n), "vt.reason", why.String())
		add("vt.thread.pins.time", held[why].Seconds(), "vt.reason", why.String())
	}
	rows, err := r.Schedulers()
	if err != nil {
		return nil, err
	}
	for i := range rows {
		of := []string{"vt.scheduler.name", rows[i].Name, "vt.scheduler.id", strconv.Itoa(int(rows[i].ID))}
		add("vt.thread.pinned", float64(rows[i].Pinned.Total()), of...)
		add("vt.scheduler.ready_delay", float64(rows[i].Ready.Total()), of...)
		add("vt.scheduler.slice", float64(rows[i].Slice.Total()), of...)
		add("vt.scheduler.parallelism", float64(rows[i].Figures[flight.FigureParallelism]), of...)
		add("vt.scheduler.submissions", float64(rows[i].Figures[flight.FigureSubmissions]), of...)
		add("vt.scheduler.pinned_time", float64(rows[i].Figures[flight.FigurePinnedTime])/1e9, of...)
	}
	return all, nil
}
