package jfr

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options change what [Write] writes. The zero value is what most want.
type Options struct {
	// BlankNames leaves the names of threads without one empty, as the JDK does. Else they are "virtual-" and the thread's id: readers show nothing else of
	// a thread.
	BlankNames bool
	// WaitsFrom leaves out events of the JDK for waits that took less: ThreadPark, JavaMonitorEnter, JavaMonitorWait and ThreadSleep. Events of ours are
	// there all the same.
	WaitsFrom time.Duration
	// CPU is a profile that Go's CPU profiler took of the process meanwhile, or nil. Its samples become jdk.ExecutionSample.
	CPU *profile.Profile
	// ChunkSize is how many bytes of events make a chunk; 0: 12 MiB. One of less than 4 KiB or of more than 128 MiB is an error.
	ChunkSize int
}

// Stats tell what [Write] has written.
type Stats struct {
	Read    uint64                   // events of the source that were exported
	Kinds   [flight.KindCount]uint64 // of these each kind
	Events  uint64                   // in the file: waits and samples come on top, constants and metadata do not count
	Waits   uint64                   // of these: from a park to an unpark
	Samples uint64                   // of these: of the CPU profile
	Threads uint64                   // that had an event while they lived
	Chunks  int
	Bytes   uint64
	Lost    uint64 // events that the source has lost
	// LeftOut says what is not in the file, and why, a short sentence each.
	LeftOut []string
}

// A writer makes a file of the events that it is given.
type writer struct {
	chunk
	pools
	src     recording.Source
	options Options
	stats   Stats
	meta    *metadata
	threads *threads
	tracker *recording.Tracker
	samples samples
	moment  moment
	err     error

	// What events of each kind become.
	kinds                                 [flight.KindCount]eventClass
	waits                                 [waitCount]eventClass
	platformStart, platformEnd            eventClass
	function, lost, statistics, execution int // ids of classes
	users                                 map[uint32]*userClass

	// Words that events say again and again.
	reasons     [flight.ReasonCount]uint32      // keys of strings
	blockers    [flight.BlockerKindCount]uint32 // keys of classes
	schedulers  map[flight.SchedulerID]string
	closing     flight.ScopeID // the scope that was closed last, which the tracker has forgotten
	closingName string

	before, started, peak uint64 // threads
	nextFigures           time.Duration
	first                 time.Duration // where the recording begins
	early, short, other   uint64        // what was left out
}

// Write writes what src holds to w as a file of JDK Flight Recorder. It holds one chunk and the threads that live at a time in memory, and writes whole chunks
// alone. When it returns an error, what it has written is of no use, but for the whole chunks. It does not close w.
func Write(ctx context.Context, w io.Writer, src recording.Source, o Options) (Stats, error) {
	if o.ChunkSize == 0 {
		o.ChunkSize = usualChunk
	}
	if o.ChunkSize < 4<<10 || o.ChunkSize > 128<<20 {
		return Stats{}, fmt.Errorf("jfr: chunks of %d bytes: want 4 KiB to 128 MiB", o.ChunkSize)
	}
	f := newWriter(w, src, o)
	if err := f.all(ctx); err != nil {
		return f.summary(), fmt.Errorf("jfr: %w", err)
	}
	return f.summary(), nil
}

func newWriter(out io.Writer, src recording.Source, o Options) *writer {
	info := src.Info()
	w := &writer{
		src: src, options: o, threads: newThreads(o.BlankNames), tracker: recording.NewTracker(src), users: map[uint32]*userClass{}, schedulers: map[flight.SchedulerID]string{},
		pools: *newPools(info.GoVersion),
	}
	w.chunk = chunk{out: out, began: info.From, limit: o.ChunkSize, buf: make([]byte, 0, o.ChunkSize+o.ChunkSize/4)}
	w.meta = newMetadata()
	add := func(c class, e eventClass) eventClass { e.id = w.meta.add(c); return e }
	for k := range flight.KindCount {
		if k != flight.EventNone && k != flight.EventMore {
			w.kinds[k] = add(kindClass(k, likenesses[k]))
		}
	}
	for i := range waits {
		w.waits[i] = add(waitClass(&waits[i]))
	}
	w.platformStart = add(kindClass(flight.EventThreadStart, &platformStart))
	w.platformEnd = add(kindClass(flight.EventThreadEnd, &platformEnd))
	for _, c := range environment {
		w.meta.add(c)
	}
	for _, list := range [][]class{values, annotations} {
		for _, c := range list {
			w.meta.add(c)
		}
	}
	w.function, w.lost = w.meta.id("go.Function"), w.meta.id("vt.EventsLost")
	w.statistics, w.execution = w.meta.id("jdk.JavaThreadStatistics"), w.meta.id("jdk.ExecutionSample")
	w.samples = newSamples(o.CPU, info)
	w.reset()
	return w
}

// all writes the whole file.
func (w *writer) all(ctx context.Context) error {
	info := w.src.Info()
	stale, begun := true, false
	err := w.src.Read(ctx, func(b *recording.Batch) bool {
		if !begun {
			w.begin(b)
			begun = true
		}
		if b.Lost > 0 {
			w.lose(b.Lost, b)
			stale = true
		}
		if b.State != nil {
			for _, s := range b.State.Scheduler {
				w.schedulers[s.ID] = s.Name
			}
			if stale {
				w.tracker.Reset(b.State)
				w.before = max(w.before, uint64(w.tracker.Len()))
				stale = false
			}
		}
		for i := range b.Events {
			if w.event(&b.Events[i]); len(w.buf)+threadSize*len(w.threads.marked) >= w.limit {
				w.err = w.finish(false)
			}
			if w.err != nil {
				return false
			}
		}
		return true
	})
	if err == nil {
		err = w.err
	}
	if err != nil {
		return err
	}
	if !begun {
		w.describe(info)
	}
	if d := info.To.Sub(info.From); !info.To.IsZero() {
		w.to = max(w.to, d)
	}
	w.sampled(w.to)
	w.samples.outside += uint64(len(w.samples.order) - w.samples.next)
	w.conclude(info)
	return w.finish(true)
}

// begin begins the file where the recording does: what was recorded before may have been dropped.
func (w *writer) begin(b *recording.Batch) {
	if b.State != nil {
		w.first = max(b.State.At, 0)
	}
	w.from, w.to = w.first, w.first
	w.describe(w.src.Info())
}

// nameField is what a thread was named.
var nameField = fieldOf(&flight.Kinds[flight.EventThreadName], flight.FieldText)

// event exports one event of the source.
func (w *writer) event(e *recording.Event) {
	w.sampled(e.Time)
	w.figures(e.Time)
	w.to = max(w.to, e.Time)
	if e.Kind == flight.EventScopeClose {
		w.closing, w.closingName = flight.ScopeID(e.Arg), w.scope(flight.ScopeID(e.Arg))
	}
	m := &w.moment // not a variable of its own: columns are called through the table, and it would escape
	*m = moment{Event: e, change: w.tracker.Apply(e)}
	m.on = m.change.Thread
	switch e.Kind {
	case flight.EventNone, flight.EventMore:
		return
	case flight.EventThreadName:
		if m.on = w.tracker.Thread(e.Thread); m.on != nil {
			w.threads.renamed(m.on, w.present)
		} else if e.Thread != 0 {
			w.threads.absentNamed(e.Thread, nameField.Text(e.More))
		}
	case flight.EventThreadStart:
		w.started++
		w.peak = max(w.peak, uint64(w.tracker.Len()))
	case flight.EventThreadEnd:
		if m.on != nil && e.Carrier != flight.NoCarrier {
			w.threads.carrier(e.Carrier, w.present).end(w.threads, m.on, w.present)
		}
	case flight.EventMount:
		if e.Carrier != flight.NoCarrier {
			c := w.threads.carrier(e.Carrier, w.present)
			c.mounted, c.since = e.Thread, e.Time
		}
	case flight.EventUnpark:
		w.waited(m)
	case flight.EventMark, flight.EventSpanEnd:
		m.user = w.user(e.Ref)
	case flight.EventSpanBegin:
		w.user(e.Ref)
	}
	if e.Kind >= flight.KindCount {
		w.other++ // of a newer recorder
		return
	}
	w.stats.Read++
	w.stats.Kinds[e.Kind]++
	class := &w.kinds[e.Kind]
	switch {
	case m.user != nil:
		class = &m.user.eventClass
	case e.Kind == flight.EventThreadStart && isPlatform(m.on):
		class = &w.platformStart
	case e.Kind == flight.EventThreadEnd && isPlatform(m.on):
		class = &w.platformEnd
	}
	w.put(class, m)
}

// put appends an event of a class. Spans end at the moment.
func (w *writer) put(c *eventClass, m *moment) {
	at := len(w.buf)
	var b []byte
	if c.duration == nil {
		b = begin(w.buf, c.id, ticks(m.Time))
	} else {
		from, to := ticks(m.Time-c.duration(m)), ticks(m.Time)
		b = begin(w.buf, c.id, from)
		b = appendVarint(b, to-from)
	}
	if c.threads {
		b = appendVarint(b, uint64(w.threadOf(m)))
	}
	switch {
	case c.stack == nil:
	case c.site:
		b = appendVarint(b, uint64(w.site(c.stack(m))))
	default:
		b = appendVarint(b, uint64(w.stack(c.stack(m))))
	}
	for i := range c.columns {
		b = c.columns[i].put(w, b, m)
	}
	w.buf = end(b, at)
	w.stats.Events++
}

// waited exports what a thread waited for until it was unparked.
func (w *writer) waited(m *moment) {
	switch m.change.From {
	case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting:
	default:
		return // it had not parked, or that is not known
	}
	switch {
	case m.change.Since < w.first:
		w.early++
	case m.change.For < w.options.WaitsFrom:
		w.short++
	default:
		w.stats.Waits++
		w.put(&w.waits[waitOf(m.change.Reason)], m)
	}
}

// threadOf returns the key of the event's thread: of an event without one the carrier's.
func (w *writer) threadOf(m *moment) uint32 {
	if m.on != nil {
		return w.threads.live(m.on, w.present)
	}
	if m.Thread == 0 {
		return w.carrier(m.Carrier)
	}
	if m.Kind == flight.EventUnmount && m.Carrier != flight.NoCarrier {
		// It follows the end of the thread, which the tracker has forgotten.
		if key := w.threads.carrier(m.Carrier, w.present).last(w.threads, m.Thread, w.present); key != 0 {
			return key
		}
	}
	return w.thread(m.Thread)
}

// thread returns the key of a thread, 0 for none.
func (w *writer) thread(id flight.ThreadID) uint32 {
	if id == 0 {
		return 0
	}
	if th := w.tracker.Thread(id); th != nil {
		return w.threads.live(th, w.present)
	}
	return w.threads.absent(id)
}

// carrier returns the key of a carrier, 0 for none.
func (w *writer) carrier(id flight.CarrierID) uint32 {
	if id == flight.NoCarrier {
		return 0
	}
	return w.threads.carrier(id, w.present).key
}

// stack returns the key of a stack, 0 for none.
func (w *writer) stack(id flight.StackID) uint32 {
	if id == 0 {
		return 0
	}
	known := w.stackKeys.at(uint32(id))
	if *known == 0 {
		s := w.src.Stack(id)
		*known = 1 + w.pools.stack(s.Frames, s.Truncated)
	}
	key := *known - 1
	w.stacks.mark(key, w.present)
	return key
}

func (w *writer) pooled(b []byte, s string) []byte { return appendPooled(b, w.string(s)) }

func (w *writer) reason(b []byte, r flight.Reason) []byte {
	if r >= flight.ReasonCount || w.reasons[r] == 0 {
		key := w.string(r.String())
		if r < flight.ReasonCount {
			w.reasons[r] = key
		}
		return appendPooled(b, key)
	}
	w.strings.mark(w.reasons[r], w.present)
	return appendPooled(b, w.reasons[r])
}

func (w *writer) ticks(at time.Duration) uint64 { return ticks(at) }

// scope returns the name of an open scope.
func (w *writer) scope(id flight.ScopeID) string {
	if sc := w.tracker.Scope(id); sc != nil {
		return sc.Name
	}
	if id == w.closing && id != 0 {
		return w.closingName
	}
	return ""
}

// scheduler returns what a scheduler is called.
func (w *writer) scheduler(id flight.SchedulerID) string {
	if name := w.schedulers[id]; name != "" || id == 0 {
		return name
	}
	return fmt.Sprintf("#%d", id)
}

// operation returns what a pinned thread was blocked in: what the program's own code called.
func (w *writer) operation(m *moment) string {
	f := fieldOf(&flight.Kinds[m.Kind], flight.FieldStack)
	frames := w.src.Stack(flight.StackID(m.Word(*f))).Frames
	if len(frames) == 0 {
		return ""
	}
	i := max(0, slices.IndexFunc(frames, func(f flight.Frame) bool { return !f.Internal && !ofStandardLibrary(split(f.Func).path) })-1)
	return strings.ReplaceAll(frames[i].Func, "%2e", ".")
}

// site returns the key of a stack without the innermost frames that are ours: where the JDK has a lock in the language, it has no frames for it.
func (w *writer) site(id flight.StackID) uint32 {
	if id == 0 {
		return 0
	}
	known := w.siteKeys.at(uint32(id))
	if *known == 0 {
		s := w.src.Stack(id)
		if i := slices.IndexFunc(s.Frames, func(f flight.Frame) bool { return !f.Internal }); i > 0 {
			*known = 1 + w.pools.stack(s.Frames[i:], s.Truncated)
		} else {
			*known = 1 + w.stack(id)
		}
	}
	key := *known - 1
	w.stacks.mark(key, w.present)
	return key
}

// blockerClass returns the class that stands for a kind of blocker, 0 for none.
func (w *writer) blockerClass(k flight.BlockerKind) uint32 {
	if k == flight.BlockedByNone || k >= flight.BlockerKindCount {
		return 0
	}
	if w.blockers[k] == 0 {
		w.blockers[k] = w.class(flight.BlockerKinds[k].Name, "", true)
	}
	w.classes.mark(w.blockers[k], w.present)
	return w.blockers[k]
}

func (w *writer) summary() Stats {
	s := w.stats
	s.Threads, s.Chunks, s.Bytes = w.threads.seen, w.chunks, w.chunk.written
	s.LeftOut = append(s.LeftOut, w.src.Info().Incomplete...)
	leave := func(n uint64, one, many string) {
		switch {
		case n == 1:
			s.LeftOut = append(s.LeftOut, "1 "+one)
		case n > 1:
			s.LeftOut = append(s.LeftOut, fmt.Sprintf("%d %s", n, many))
		}
	}
	leave(s.Lost, "event that the recording has lost", "events that the recording has lost")
	leave(w.early, "wait that began before the recording: the unpark is there", "waits that began before the recording: the unparks are there")
	leave(w.short, "wait that was shorter than asked for", "waits that were shorter than asked for")
	leave(w.other, "event of a kind that this version does not know", "events of kinds that this version does not know")
	leave(w.samples.tooMany, "sample of the profile: there are too many", "samples of the profile: there are too many")
	leave(w.samples.outside, "sample of the profile: it was not during the recording", "samples of the profile: they were not during the recording")
	return s
}
