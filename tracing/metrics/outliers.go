package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// An Exemplar is an outlier that stands for those of its bucket.
type Exemplar struct {
	Value  float64 // seconds
	At     time.Time
	Thread flight.ThreadID
	Scope  string        // its name, "" if not known
	Trace  traceid.Trace // zero: it is not exported
	Span   traceid.Span
}

// outliers keeps the newest outlier of each bucket. It is a [recording.Observer] of one process.
type outliers struct {
	source recording.Source
	traces *traceid.Follower // nil: no traces are exported

	mu struct {
		sync.Mutex
		closed bool
		newest map[outlierOf][]Exemplar // by bucket; Value 0: none
	}
}

type outlierOf struct {
	kind      flight.Kind
	scheduler flight.SchedulerID
}

// maxOutliers bounds the schedulers of which outliers are kept.
const maxOutliers = 64

// Observe is for [github.com/vtscope/vtscope/agent.Options]: who observes a process here learns the outliers that become exemplars.
func (c *Collector) Observe(p flight.Process, src recording.Source) []recording.Observer {
	o := &outliers{source: src}
	if c.options.Traced {
		o.traces = traceid.NewFollower(p, src)
	}
	o.mu.newest = map[outlierOf][]Exemplar{}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepLocked(KeyOf(p)).outliers = o
	return []recording.Observer{o}
}

// outlierKinds are the kinds of events that tell of outliers.
var outlierKinds = func() (kinds [flight.KindCount]bool) {
	for i := range Instruments {
		kinds[Instruments[i].Outliers] = true
	}
	kinds[flight.EventNone] = false
	return kinds
}()

// PlacesOnly tells [recording.Observe] that where threads are is enough, unless their spans are asked for too.
func (o *outliers) PlacesOnly() bool { return o.traces == nil }

// Reset implements [recording.Observer].
func (o *outliers) Reset(t *recording.Tracker) {
	if o.traces != nil {
		o.traces.Reset(t)
	}
}

// Lost implements [recording.Observer]. An exemplar less is no number less.
func (o *outliers) Lost(uint64) {}

// Flush implements [recording.Observer].
func (o *outliers) Flush(*recording.Tracker) {}

// Event implements [recording.Observer].
func (o *outliers) Event(e *recording.Event, c recording.Change, t *recording.Tracker) {
	if o.traces != nil {
		o.traces.Event(e, c, t)
	}
	if e.Kind >= flight.KindCount || !outlierKinds[e.Kind] { // a newer program has kinds that nobody knows here
		return
	}
	d := time.Duration(e.Arg)
	if e.Kind == flight.EventPinned {
		d = flight.Held(e.Arg).Duration()
	}
	x := Exemplar{Value: d.Seconds(), At: o.source.Info().From.Add(e.Time), Thread: e.Thread}
	if th := t.Thread(e.Thread); th != nil {
		if sc := t.Scope(th.Scope); sc != nil {
			x.Scope = sc.Name
		}
		x.Trace, x.Span = o.spanOf(t, th)
	}
	o.keep(outlierOf{e.Kind, t.Scheduler(e.Carrier)}, bucketOf(d), x)
}

// spanOf returns the span that an outlier of a thread belongs to: that of its scope, which is kept when it was slow or pinned, or of a thread without one.
func (o *outliers) spanOf(t *recording.Tracker, th *recording.Thread) (traceid.Trace, traceid.Span) {
	switch {
	case o.traces == nil:
		return traceid.Trace{}, traceid.Span{}
	case th.Scope == 0:
		trace, span, _ := o.traces.Thread(t, th)
		return trace, span
	}
	return o.traces.Scope(t, th.Scope).Trace, o.traces.Seed().Scope(th.Scope)
}

func (o *outliers) keep(of outlierOf, bucket int, x Exemplar) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.mu.newest[of]
	if all == nil {
		if len(o.mu.newest) >= maxOutliers*3 {
			return
		}
		all = make([]Exemplar, len(ends)+1)
		o.mu.newest[of] = all
	}
	all[bucket] = x
}

// of returns the exemplars of a histogram. o may be nil.
func (o *outliers) of(k flight.Kind, s flight.SchedulerID) []Exemplar {
	if o == nil || k == flight.EventNone {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.mu.newest[outlierOf{k, s}]), func(x Exemplar) bool { return x.At.IsZero() })
}

// Close tells that no event follows.
func (o *outliers) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.closed = true
	return nil
}

// over reports whether no event follows. o may be nil.
func (o *outliers) over() bool {
	if o == nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mu.closed
}
