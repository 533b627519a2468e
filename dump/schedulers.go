package dump

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// SchedulersFormat names the JSON document of [SchedulersJSON] and its version.
const SchedulersFormat = "vtscope/schedulers/v1"

// Schedulers is what the schedulers of a process tell of themselves, with what the thread records and the newest events say about them.
type Schedulers struct {
	Format  string  `json:"format"` // always [SchedulersFormat]
	Process Process `json:"process"`

	Taken time.Time     `json:"taken"`   // when the file was read
	AsOf  time.Time     `json:"as_of"`   // the moment it describes: Taken, or the last sign of life of a process that is gone
	Took  time.Duration `json:"took_ns"` // reading it

	// Complete reports that nothing is missing. If not, Incomplete says what is, one short sentence each.
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	// None says, in one sentence, why Schedulers is empty; it is "" if it is not.
	None string `json:"none,omitempty"`

	Schedulers []Scheduler `json:"schedulers"` // by id
	Others     Others      `json:"others"`     // what belongs to none of Schedulers

	Pollers   []Poller      `json:"pollers"`   // by number
	PinSites  []PinSite     `json:"pin_sites"` // longest in sum first
	Incidents []Incident    `json:"incidents"` // of all that the rings still hold, the newest first
	Scopes    []ScopeDelays `json:"scopes"`    // worst first
	Sample    Sample        `json:"sample"`    // what Scopes were computed from

	// Slow are the newest slow operations on sockets and files that the rings hold, of look-ups with delays: at most 100. They are in no document: vtdump events --kind io
	// prints all.
	Slow []SlowIO `json:"-"`

	Rest SchedulersRest `json:"rest"`
}

// A SlowIO is an operation of a thread on a socket or a file that took long.
type SlowIO struct {
	Reason  flight.Reason // read, write, accept, connect, dial, lookup or file
	Blocker string        // such as "socket #12"; "" if that is not known
	With    string        // the other side's address, or a path
	Ago     time.Duration // since its end
	For     time.Duration
	Bytes   uint64
	Thread  flight.ThreadID
	Name    string // the thread's, if it lives
	Place   *Place
}

// A Scheduler is one scheduler of a process.
type Scheduler struct {
	ID    flight.SchedulerID `json:"id"`
	Name  string             `json:"name"`
	Began time.Time          `json:"began"`

	// Figures, Ready and Slice are as the scheduler told them at Written: about every second while it works, and when it falls asleep.
	// Told reports that it has.
	Told    bool          `json:"told"`
	Written time.Time     `json:"written"`
	Age     time.Duration `json:"age_ns"` // of the figures: [Schedulers.AsOf] less Written
	Figures Figures       `json:"figures"`
	Ready   Histogram     `json:"ready"` // how long runnable threads waited until they were mounted; sampled
	Slice   Histogram     `json:"slice"` // how long threads executed until they left their carrier; sampled

	// The others are as of [Schedulers.AsOf].
	Threads  Counts    `json:"threads"`  // by state
	Reasons  Reasons   `json:"reasons"`  // of the threads that are parked, blocked, waiting or hibernated
	Carriers []Carrier `json:"carriers"` // held ones first, then those that execute a thread; longest first
}

// Others are the threads and carriers of schedulers that tell no figures: of one's own, or that have no record.
type Others struct {
	Threads  Counts    `json:"threads"`
	Carriers []Carrier `json:"carriers"`
}

// Figures are a scheduler's figures. As JSON it is an object by name, in lower_snake; those that are durations end in _ns.
type Figures [flight.FigureCount]uint64

// MarshalJSON writes {"parallelism":2,…}.
func (f Figures) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", jsonName(flight.Figure(i)), v)
	}
	return append(b, '}'), nil
}

func jsonName(f flight.Figure) string {
	name := strings.ReplaceAll(f.String(), "-", "_")
	if flight.Figures[f].Unit == flight.FieldDuration {
		name += "_ns"
	}
	return name
}

// Reasons counts threads by reason. As JSON it is an object of the reasons that are not zero, by name; threads that gave none are "none".
type Reasons [flight.ReasonCount]int

// MarshalJSON writes {"sleep":3,…}.
func (r Reasons) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, n := range r {
		if n == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", reasonName(flight.Reason(i)), n)
	}
	return append(b, '}'), nil
}

func reasonName(r flight.Reason) string {
	if r == flight.ReasonNone {
		return "none"
	}
	return r.String()
}

// A Histogram is [flight.Histogram] with its quantiles. As JSON it has the buckets that are not empty; "up_to_ns" is missing in the one for
// what is longer than all others.
type Histogram struct{ flight.Histogram }

type histogramJSON struct {
	Times
	Buckets []bucketJSON `json:"buckets"`
}

type bucketJSON struct {
	UpTo  time.Duration `json:"up_to_ns,omitempty"`
	Count uint64        `json:"count"`
}

// MarshalJSON writes {"count":3,"p50_ns":192,…,"buckets":[{"up_to_ns":192,"count":3}]}.
func (h Histogram) MarshalJSON() ([]byte, error) {
	j := histogramJSON{h.Times(), []bucketJSON{}}
	for i, n := range h.Histogram {
		if n == 0 {
			continue
		}
		b := bucketJSON{flight.BucketEnd(i), n}
		if i == flight.HistogramBuckets-1 {
			b.UpTo = 0
		}
		j.Buckets = append(j.Buckets, b)
	}
	return json.Marshal(j)
}

// Times returns the quantiles: each the end of a bucket, so that it is at most half too long.
func (h *Histogram) Times() Times {
	return Times{int(h.Total()), h.Quantile(0.5), h.Quantile(0.9), h.Quantile(0.99), h.Quantile(1)}
}

// Times summarises durations. All are 0 if there are none.
type Times struct {
	Count   int           `json:"count"` // of a [Histogram] about: each that was counted may stand for several
	P50     time.Duration `json:"p50_ns"`
	P90     time.Duration `json:"p90_ns"`
	P99     time.Duration `json:"p99_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// A Poller makes threads go on that wait for sockets or files.
type Poller struct {
	Number  int           `json:"number"`  // as what a thread waits for names it
	Kind    string        `json:"kind"`    // read, write, ring or helpers
	Watched uint64        `json:"watched"` // sockets, or operations under way
	Wakeups uint64        `json:"wakeups"` // how often it found something, since the process began
	Ready   uint64        `json:"ready"`   // what it found
	Failed  uint64        `json:"failed"`  // waits that the system refused
	Ago     time.Duration `json:"ago_ns"`  // since it found something; 0: never
	// Batches counts the wake-ups that found 1, 2 to 3, 4 to 7 … and 128 or more at once.
	Batches [flight.PollerBatches]uint32 `json:"batches"`
}

// A Carrier is one carrier with what it does.
type Carrier struct {
	ID    flight.CarrierID
	State flight.CarrierState // held, if its thread blocks, whoever has seen that

	Thread flight.ThreadID // mounted on it; 0: none
	Name   string          // the thread's
	For    time.Duration   // since the thread was mounted, or since Reason

	Reason flight.Reason // why the thread holds the carrier, or that it computes for long; 0 if it does neither
	Place  *Place        // where; nil if that is not known
	Seen   time.Duration // how long ago somebody last saw the thread at Place, where it may not be any more; 0: it is of the moment
}

type carrierJSON struct {
	ID     flight.CarrierID `json:"id"`
	State  string           `json:"state"`
	Thread flight.ThreadID  `json:"thread,omitempty"`
	Name   string           `json:"name,omitempty"`
	For    time.Duration    `json:"for_ns,omitempty"`
	Reason string           `json:"reason,omitempty"`
	Place  *Place           `json:"place,omitempty"`
	Seen   time.Duration    `json:"seen_ns,omitempty"`
}

// MarshalJSON writes the carrier with its state and reason by name.
func (c Carrier) MarshalJSON() ([]byte, error) {
	return json.Marshal(carrierJSON{c.ID, c.State.String(), c.Thread, c.Name, c.For, c.Reason.String(), c.Place, c.Seen})
}

// A Place is where in the program's own code something happened: the innermost frame of a stack that is neither of vtscope, of Go's runtime nor
// of the standard library, or the innermost if all are.
type Place struct {
	Frame
	Calls   string `json:"calls,omitempty"`   // the function of the standard library that it called there
	Guessed bool   `json:"guessed,omitempty"` // an inner call that has returned may stand for it: see [flight.Reason.Guessed]
}

// A PinSite is a place where threads blocked and held their carriers, for one reason, since the process began.
type PinSite struct {
	Place   *Place        // nil: not known, or all those together that found no room
	Reason  flight.Reason //
	Count   uint64
	Total   time.Duration
	Longest time.Duration
	Victims uint64        // threads that waited for a carrier meanwhile
	Ago     time.Duration // since the last one ended
}

type pinSiteJSON struct {
	Place   *Place        `json:"place,omitempty"`
	Reason  string        `json:"reason"`
	Count   uint64        `json:"count"`
	Total   time.Duration `json:"total_ns"`
	Longest time.Duration `json:"longest_ns"`
	Victims uint64        `json:"victims"`
	Ago     time.Duration `json:"ago_ns"`
}

// MarshalJSON writes the site with its reason by name.
func (p PinSite) MarshalJSON() ([]byte, error) {
	return json.Marshal(pinSiteJSON{p.Place, reasonName(p.Reason), p.Count, p.Total, p.Longest, p.Victims, p.Ago})
}

// An Incident is one event that tells of trouble: of the kind pinned, monopolized or starved.
type Incident struct {
	Kind      flight.Kind
	Ago       time.Duration
	Scheduler flight.SchedulerID // 0: not known
	Carrier   flight.CarrierID   // of monopolized: if it is known; else [flight.NoCarrier]
	Thread    flight.ThreadID
	Name      string // the thread's, if it lives
	For       time.Duration
	Victims   uint64
	Reason    flight.Reason
	Place     *Place
}

type incidentJSON struct {
	Event     string             `json:"event"`
	Ago       time.Duration      `json:"ago_ns"`
	Scheduler flight.SchedulerID `json:"scheduler,omitempty"`
	Carrier   *flight.CarrierID  `json:"carrier,omitempty"`
	Thread    flight.ThreadID    `json:"thread,omitempty"`
	Name      string             `json:"name,omitempty"`
	For       time.Duration      `json:"for_ns"`
	Victims   uint64             `json:"victims"`
	Reason    string             `json:"reason,omitempty"`
	Place     *Place             `json:"place,omitempty"`
}

// MarshalJSON writes the incident with its kind and reason by name.
func (e Incident) MarshalJSON() ([]byte, error) {
	j := incidentJSON{e.Kind.String(), e.Ago, e.Scheduler, &e.Carrier, e.Thread, e.Name, e.For, e.Victims, e.Reason.String(), e.Place}
	if e.Carrier == flight.NoCarrier {
		j.Carrier = nil
	}
	return json.Marshal(j)
}

// A ScopeDelays tells how long the threads of sibling scopes of one name waited for carriers, and how long they executed.
type ScopeDelays struct {
	Path  []string `json:"path,omitempty"` // names from the root's; none: threads that have ended, whose scope is not known any more
	Count int      `json:"count"`          // scopes
	Ready Times    `json:"ready"`          // ready-to-run delay: from start, unpark or yield to mount
	Slice Times    `json:"slice"`          // from mount to unmount

	Runnable int           `json:"runnable"`  // threads that wait for a carrier
	Waited   time.Duration `json:"waited_ns"` // for how long, the longest of them
}

// worst is what scopes are sorted by.
func (d *ScopeDelays) worst() time.Duration { return max(d.Ready.P99, d.Waited) }

// A Sample tells from which events the delays of scopes were computed: those of the window in which no carrier's ring has overwritten any. Of the
// delays, those are missing whose beginning was overwritten elsewhere.
type Sample struct {
	Window time.Duration `json:"window_ns"` // up to [Schedulers.AsOf]
	Ready  int           `json:"ready"`     // delays
	Slice  int           `json:"slice"`
	Older  int           `json:"older"` // events that the rings still hold of before the window, and that do not count therefore

	Dropped uint64 `json:"dropped_events"` // since the process began: what they would have told is in no number here
}

// SchedulersRest tells what is left out.
type SchedulersRest struct {
	PinSites  int `json:"pin_sites"`
	Incidents int `json:"incidents"` // as many that the rings still hold
	Scopes    int `json:"scopes"`

	// Overwritten are the pinned, monopolized and starved events that the rings do not hold any more.
	Overwritten uint64 `json:"overwritten_incidents"`
}

// KeepTop keeps the first n pin sites, incidents and scopes, and counts the others in Rest.
func (s *Schedulers) KeepTop(n int) {
	s.PinSites, s.Rest.PinSites = keepTop(s.PinSites, n, s.Rest.PinSites)
	s.Incidents, s.Rest.Incidents = keepTop(s.Incidents, n, s.Rest.Incidents)
	s.Scopes, s.Rest.Scopes = keepTop(s.Scopes, n, s.Rest.Scopes)
}

func keepTop[T any](all []T, n, rest int) ([]T, int) {
	if n < 0 || n >= len(all) {
		return all, rest
	}
	return all[:n:n], rest + len(all) - n
}
