package perfetto

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say how much is drawn. A field that is 0 means its default; -1 means none of it.
type Options struct {
	Threads int           // tracks of threads: the first that are met have one, none if more live at the start. Default 200
	Scopes  int           // tracks of scopes; what is below them is on the track of the next one above. Default 1,000
	Lanes   int           // things of one track that are drawn at a time, each in a row of its own: scopes, spans, waits for locks. Default 8
	Flows   int           // arrows that begin in a second of the recording. Default 10,000
	Every   time.Duration // between values of a counter. Default 10 ms
}

// Stats tells what [Write] has written, and what it left out.
type Stats struct {
	Events  uint64 // that were read
	Lost    uint64 // that the source says are missing
	Unknown uint64 // of kinds that this version does not know
	Packets uint64
	Bytes   uint64

	Carriers     int
	ThreadTracks int
	OtherThreads uint64 // that have no track of their own
	ScopeTracks  int
	FoldedScopes uint64 // that are on the track of one above, as there were too many tracks
	HiddenScopes uint64 // that have no slice, as there were too many at a time
	Flows        uint64
	OtherFlows   uint64 // unparks without an arrow
	Late         uint64 // spans and waits that are marks at their end, as there were too many at a time, or because their begin was forgotten
}

// LeftOut says what of the source is not in the trace, or not as it could be, and how often.
func (s *Stats) LeftOut() []string {
	var out []string
	add := func(n uint64, what string) {
		if n != 0 {
			out = append(out, fmt.Sprintf("%s: %d", what, n))
		}
	}
	add(s.OtherThreads, "threads without a track of their own")
	add(s.FoldedScopes, "scopes on the track of one above")
	add(s.HiddenScopes, "scopes without a slice, as too many of one name were open at a time")
	add(s.OtherFlows, "unparks without an arrow")
	add(s.Late, "spans and waits that are marks at their end, as there were too many at a time")
	add(s.Unknown, "events of kinds that this version does not know")
	return out
}

func (o *Options) defaults() error {
	for _, f := range []struct {
		name  string
		value *int
		def   int
	}{{"threads", &o.Threads, 200}, {"scopes", &o.Scopes, 1000}, {"lanes", &o.Lanes, 8}, {"flows", &o.Flows, 10_000}} {
		switch {
		case *f.value == 0:
			*f.value = f.def
		case *f.value == -1:
			*f.value = 0
		case *f.value < 0:
			return fmt.Errorf("perfetto: %s: got %d, want -1, 0 or more", f.name, *f.value)
		}
	}
	if o.Every < 0 {
		return fmt.Errorf("perfetto: every: got %v, want 0 or more", o.Every)
	}
	if o.Every == 0 {
		o.Every = 10 * time.Millisecond
	}
	return nil
}

// Write writes what src holds to w, in one pass, as a Perfetto trace: a message of Perfetto's type Trace. Memory is bounded by the threads and scopes that
// live at a time, and by the options. It blocks until all is written, w returns an error, or ctx ends; what was written by then is a trace, too.
func Write(ctx context.Context, w io.Writer, src recording.Source, o Options) (Stats, error) {
	if err := o.defaults(); err != nil {
		return Stats{}, err
	}
	x := newExport(w, src, o)
	err := src.Read(ctx, func(b *recording.Batch) bool {
		x.batch(b)
		return x.w.err == nil
	})
	x.finish()
	x.w.flush()
	x.stats.Packets, x.stats.Bytes = x.w.packets, x.w.written
	if x.w.err != nil {
		return x.stats, fmt.Errorf("perfetto: %w", x.w.err)
	}
	if err != nil {
		return x.stats, fmt.Errorf("perfetto: %w", err)
	}
	return x.stats, nil
}

// An export is a trace that is being written.
type export struct {
	w       *writer
	src     recording.Source
	info    recording.Info
	o       Options
	stats   Stats
	tracker *recording.Tracker
	started bool
	now     time.Duration   // of the newest event
	left    flight.ThreadID // whose park or end was the event before; 0: it was another

	base    uint64    // of the numbers of tracks
	tracks  uint64    // given away
	main    *sequence // of all that has no sequence of its own
	process uint64    // the process's track

	carriers     map[flight.CarrierID]*carrier
	carrierGroup uint64 // a track
	goroutines   uint64 // a track; 0: not described yet
	schedulers   []recording.Scheduler

	root    *path
	open    map[flight.ScopeID]openScope
	threads []*[blockSlots]thread // by slot
	drawn   map[flight.ThreadID]*ownTrack
	draws   bool   // threads have tracks, while there are few
	group   uint64 // the track of those
	entries map[flight.StackID]string
	lates   map[lateKey]*late
	begun   map[spanKey][]span
	spans   int // in begun

	counters counters
	flows    flows
}

func newExport(w io.Writer, src recording.Source, o Options) *export {
	info := src.Info()
	x := &export{
		w:   &writer{to: w, epoch: 1, most: maxInterned, buf: make([]byte, 0, flushAt+64<<10), realtime: uint64(max(info.From.UnixNano(), 0))},
		src: src, info: info, o: o, tracker: recording.NewTracker(src),
		carriers: map[flight.CarrierID]*carrier{}, open: map[flight.ScopeID]openScope{}, drawn: map[flight.ThreadID]*ownTrack{},
		entries: map[flight.StackID]string{}, lates: map[lateKey]*late{}, begun: map[spanKey][]span{},
	}
	if since := info.From.Sub(info.Started); !info.Started.IsZero() && since > 0 {
		x.w.boot = uint64(since)
	}
	// Numbers of tracks should not be those of another trace: traces can be put together.
	h := fnv.New64a()
	fmt.Fprintln(h, info.PID, info.Started.UnixNano())
	x.base = h.Sum64() >> 8 &^ (1<<24 - 1)
	x.main = x.w.sequence(0)
	x.describeProcess()
	x.root = x.newPath(x.process, "scopes", rankScopes)
	x.flows.init(o.Flows)
	x.counters.init(x)
	return x
}

// batch writes a part of the source.
func (x *export) batch(b *recording.Batch) {
	if b.Lost > 0 {
		switch {
		case b.State != nil:
			x.lost(b.State.At, b.Lost)
		case len(b.Events) > 0:
			x.lost(b.Events[0].Time, b.Lost)
		default:
			x.lost(x.now, b.Lost)
		}
	}
	if b.State != nil && (!x.started || b.Lost > 0) {
		x.begin(b.State)
	}
	for i := range b.Events {
		e := &b.Events[i]
		x.stats.Events++
		if e.Kind >= flight.KindCount || e.Kind == flight.EventNone {
			x.stats.Unknown++
			continue
		}
		x.now = max(x.now, e.Time)
		x.counters.until(x, x.now)
		x.counters.events++
		x.event(e)
	}
}

// lost marks the place where events are missing.
func (x *export) lost(at time.Duration, n uint64) {
	x.now = max(x.now, at)
	x.stats.Lost += n
	x.counters.lost.add(int64(n))
	q := x.main
	q.event(at, typeInstant, x.process)
	q.named("events lost", flight.CategoryRecorder)
	q.noteUint("events", n)
	q.sent()
}

// finish ends what is open.
func (x *export) finish() {
	end := x.now
	if !x.info.To.IsZero() {
		end = max(end, x.info.To.Sub(x.info.From))
	}
	x.now = end
	x.counters.last(x, end)
	for _, id := range sorted(x.carriers) {
		x.carriers[id].leave(x, end, nil)
	}
	for _, id := range sorted(x.drawn) {
		x.drawn[id].ends(end)
	}
	for _, id := range sorted(x.open) {
		x.closeScope(id, end)
	}
	x.unfinished(end)
	x.dropFlows(end)
}
