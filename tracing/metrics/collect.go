package metrics

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say what a [Collector] tells. The zero value is usable.
type Options struct {
	Scopes     int // names of scopes that have series of their own, for each process; 0: 100
	Schedulers int // schedulers that have; 0: 16
	// Keep is for how long the totals of a process are told that is gone, so that who asks now and then learns its last ones; 0: five minutes
	Keep time.Duration
	// Traced tells that traces are exported: exemplars name the span of the scope, or of a thread without one, by [traceid]. Else they name the thread alone.
	Traced bool
	// Exports tell what was sent, by signal; asked at each [Collector.Collect].
	Exports map[string]func() Export
}

// An Export is what was sent of one signal so far.
type Export struct {
	Sent    uint64 // that was taken: spans, log records, profiles, or messages of metrics
	Failed  uint64 // that was not, after all retries
	Dropped uint64 // that found no room before it could be sent
}

func (o Options) withDefaults() (Options, error) {
	if o.Scopes < 0 || o.Schedulers < 0 || o.Keep < 0 {
		return o, fmt.Errorf("metrics: %d names of scopes, %d schedulers, kept for %v: negative", o.Scopes, o.Schedulers, o.Keep)
	}
	o.Scopes = cmp.Or(o.Scopes, 100)
	o.Schedulers = cmp.Or(o.Schedulers, 16)
	o.Keep = cmp.Or(o.Keep, 5*time.Minute)
	return o, nil
}

// A Collector makes metrics of figures.
type Collector struct {
	options Options
	began   time.Time

	mu struct {
		sync.Mutex
		from    func() Figures
		kept    map[string]*kept // by key of the process
		exports map[string]func() Export
	}
}

// kept is what is remembered of a process from one look to the next.
type kept struct {
	scopes   map[string]bool // that have a series
	gone     time.Time       // when it was first seen gone
	outliers *outliers       // nil: its events are not observed
}

// New returns a collector, which has nothing to tell before [Collector.From].
func New(o Options) (*Collector, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Collector{options: o, began: time.Now()}
	c.mu.kept = map[string]*kept{}
	c.mu.exports = maps.Clone(o.Exports)
	return c, nil
}

// From says where figures come from, as a rule the method Figures of an agent. It is called at each [Collector.Collect], must not block for long, and its
// figures are not changed.
func (c *Collector) From(figures func() Figures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.from = figures
}

// Exported says who knows what was sent of a signal.
func (c *Collector) Exported(signal string, by func() Export) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.exports == nil {
		c.mu.exports = map[string]func() Export{}
	}
	c.mu.exports[signal] = by
}

// A Group is all that there is to tell of one process, or of the agent.
type Group struct {
	flight.Process        // since its start is counted
	Key            string // of the process; "" for the agent
	At             time.Time
	Families       []Family // in the order of [Instruments]; none is empty
}

// A Family is what an instrument tells.
type Family struct {
	*Instrument
	Points []Point
}

// A Point is one series of an instrument.
type Point struct {
	Values []string // of Instrument.Labels, as many; "": absent
	Value  float64  // of all kinds but histograms
	Spread *Distribution
}

// A Distribution is a histogram of durations in seconds.
type Distribution struct {
	Counts    []uint64 // of the buckets that end at [Bounds], and of the rest
	Count     uint64
	Sum       float64
	Exemplars []Exemplar // at most one for each bucket
}

// Collect returns what there is to tell now: the processes, the agent last.
func (c *Collector) Collect() []Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.from == nil {
		return nil
	}
	now, figures := time.Now(), c.mu.from()
	var groups []Group
	seen := map[string]bool{}
	for i := range figures.Processes {
		p := &figures.Processes[i]
		seen[p.Key] = true
		k := c.keepLocked(p.Key)
		if p.Gone {
			if k.gone.IsZero() {
				k.gone = now
			}
			if now.Sub(k.gone) > c.options.Keep {
				continue
			}
		}
		groups = append(groups, c.group(p, k))
	}
	for key, k := range c.mu.kept {
		if !seen[key] && k.outliers.over() {
			delete(c.mu.kept, key)
		}
	}
	if a := figures.Agent; a != nil {
		g := Group{Process: self(a.Started), At: now}
		for i := range Instruments {
			if in := &Instruments[i]; in.OfAgent() {
				to := &points{in: in}
				in.agent(a, c, to)
				g.add(in, to)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// self describes this process.
func self(started time.Time) flight.Process {
	exe, _ := os.Executable() // "" will do
	return flight.Process{PID: os.Getpid(), UID: os.Getuid(), Program: filepath.Base(cmp.Or(exe, os.Args[0])), Exe: exe, GoVersion: runtime.Version(), Start: started}
}

func (c *Collector) keepLocked(key string) *kept {
	k := c.mu.kept[key]
	if k == nil {
		k = &kept{scopes: map[string]bool{}}
		c.mu.kept[key] = k
	}
	return k
}

func (c *Collector) group(p *Process, k *kept) Group {
	g := Group{Process: p.Process, Key: p.Key, At: p.At}
	p = c.limited(p)
	scopes := k.scopeSums(p.Snapshot, c.options.Scopes)
	for i := range Instruments {
		in := &Instruments[i]
		if in.OfAgent() || p.Gone && in.Kind == UpDown || p.Goroutines && !in.Anywhere {
			continue
		}
		to := &points{in: in, sums: scopes, outliers: k.outliers}
		in.process(p, to)
		g.add(in, to)
	}
	return g
}

// overflowID is the number of the scheduler that sums those beyond the limit.
const overflowID flight.SchedulerID = 0

// limited returns the process with no more schedulers than have series of their own, and one that sums the others.
func (c *Collector) limited(p *Process) *Process {
	if len(p.Schedulers) <= c.options.Schedulers {
		return p
	}
	q := *p
	all := slices.Clone(p.Schedulers)
	slices.SortStableFunc(all, func(a, b flight.SchedulerRow) int { return cmp.Compare(a.ID, b.ID) }) // who came first keeps its series
	rest := flight.SchedulerRow{ID: overflowID}
	for i := range all[c.options.Schedulers:] {
		s := &all[c.options.Schedulers+i]
		for f, n := range s.Figures {
			rest.Figures[f] += n
		}
		rest.Ready.Add(&s.Ready)
		rest.Slice.Add(&s.Slice)
		rest.Pinned.Add(&s.Pinned)
	}
	q.Schedulers = append(all[:c.options.Schedulers:c.options.Schedulers], rest)
	return &q
}

func (g *Group) add(in *Instrument, to *points) {
	if len(to.all) > 0 {
		g.Families = append(g.Families, Family{in, to.all})
	}
}

// exported adds a count of each signal.
func (c *Collector) exported(to *points, of func(*Export) uint64) {
	for _, signal := range sorted(c.mu.exports) {
		e := c.mu.exports[signal]()
		to.add(float64(of(&e)), signal)
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
