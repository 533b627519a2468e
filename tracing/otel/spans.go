package otel

import (
	"strings"
	"time"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// Spans is the observer that makes spans of a process. Its memory is bounded by the threads and scopes that live, and by the limits below.
//
//	S1  threads at a slot is of the thread that has the slot in the tracker, if its id is the same; else of one before.
//	S2  A detail belongs to one thread, then to the child that its scope keeps of it, then it is spare.
//	S3  Times that outlive an event are nanoseconds since 1970: what the tracker's are since changes with each [recording.Source.Read].
//	S4  A scope that is kept has marked the one around as inner, so that no span misses its parent: that one is closed later.
type Spans struct {
	x        *Exporter
	process  flight.Process
	source   recording.Source
	follower *traceid.Follower
	resource *resourcepb.Resource

	base    int64 // S3
	at      time.Duration
	began   time.Duration   // of the newest state: of who was made before events are missing
	threads [][]threadState // by slot, a page at a time; nil: nothing has happened to those
	scopes  map[flight.ScopeID]*scopeState
	rules   []*ruleState
	root    *ruleState // of threads without a scope

	spare     []*detail
	parts     int // in details that are in use
	waiting   int // children of all scopes
	examined  uint64
	kept      uint64
	finalized bool
}

const (
	// maxParts bounds the parks and pins of all live threads of a process, and maxThreadParts those of one.
	maxParts       = 1 << 17
	maxThreadParts = 32
	statePage      = 1024 // threads
	// maxWaiting bounds the ended threads that wait for their scopes to be closed, of a process.
	maxWaiting = 1 << 14
)

// A ruleState is a rule, and how many it has let pass.
type ruleState struct {
	Rule
	limit limiter
}

// A threadState is what is known of a thread beside what the tracker knows.
type threadState struct {
	id                 flight.ThreadID
	run, ready, wait   time.Duration
	pinned             time.Duration
	longest            time.Duration // of the pins
	parks, pins, spill uint32        // spill: parts that had no room
	stack              flight.StackID
	partial            bool // events of it are missing
	detail             *detail
}

// A detail is the long parks, and the pins, of a thread.
type detail struct{ parts []part }

type partKind uint8

const (
	partPark partKind = iota
	partPinned
	partMonopolized
)

var partNames = [...]string{"park", "pinned", "monopolized"}

// A part is something that a thread did for long.
type part struct {
	kind    partKind
	reason  flight.Reason
	stack   flight.StackID
	from    int64
	lasted  time.Duration
	blocker flight.Blocker
	victims uint64
	by      flight.ThreadID
	waker   traceid.Parent
}

// Why something is kept.
type why uint8

const (
	whySampled why = 1 << iota
	whySlow
	whyPinned
	whyFailed
	whyInner
)

var whyNames = [...]string{"sampled", "slow", "pinned", "failed", "inner"}

// String returns the reasons, with commas between.
func (w why) String() string {
	var all []string
	for i, name := range whyNames {
		if w&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return strings.Join(all, ",")
}

func newSpans(x *Exporter, p flight.Process, src recording.Source) *Spans {
	s := &Spans{
		x: x, process: p, source: src, follower: traceid.NewFollower(p, src), resource: resourceOf(x.o.Env.Resource(p)), scopes: map[flight.ScopeID]*scopeState{},
	}
	for _, r := range append(x.o.Rules[:len(x.o.Rules):len(x.o.Rules)], DefaultRule) {
		s.rules = append(s.rules, &ruleState{r, limiter{rate: r.Rate, tokens: max(r.Rate, 1)}})
	}
	s.root = s.rule("root")
	s.base = src.Info().From.UnixNano()
	return s
}

// rule returns the first that fits; the last fits all.
func (s *Spans) rule(name string) *ruleState {
	for _, r := range s.rules {
		if fits(r.Scope, name) {
			return r
		}
	}
	return s.rules[len(s.rules)-1]
}

// wall returns a time of the tracker's as nanoseconds since 1970.
func (s *Spans) wall(at time.Duration) int64 { return s.base + int64(at) }

// Reset keeps what is known of threads and scopes that live on.
func (s *Spans) Reset(t *recording.Tracker) {
	s.base, s.at = s.source.Info().From.UnixNano(), t.At()
	s.follower.Reset(t)
	known := map[flight.ThreadID]threadState{}
	for _, page := range s.threads {
		for i := range page {
			switch st := &page[i]; {
			case st.id == 0:
			case t.Thread(st.id) != nil:
				known[st.id] = *st
			default:
				s.put(st.detail)
			}
		}
	}
	s.threads, s.began = nil, t.At()
	for id, was := range known {
		st := s.state(t.Thread(id))
		*st = was
		st.partial = true
	}
	for id, sc := range s.scopes {
		if t.Scope(id) == nil {
			s.x.counted.unseen.Add(1)
			s.drop(sc)
		}
	}
	t.Scopes(func(sc *recording.Scope) bool {
		if sc.ID != 0 {
			s.open(sc)
		}
		return true
	})
}

// Lost counts.
func (s *Spans) Lost(n uint64) { s.x.counted.lost.Add(n) }

// Flush tells the exporter's counters.
func (s *Spans) Flush(t *recording.Tracker) {
	s.at = max(s.at, t.At())
	s.x.counted.threads.Add(s.examined)
	s.x.counted.threadsKept.Add(s.kept)
	s.examined, s.kept = 0, 0
}

// Event follows threads and scopes.
func (s *Spans) Event(e *recording.Event, c recording.Change, t *recording.Tracker) {
	s.at = e.Time
	if c.Thread != nil {
		s.moved(e, &c, t)
		return
	}
	switch e.Kind {
	case flight.EventPinned:
		s.held(e, t, partPinned)
	case flight.EventMonopolized:
		s.held(e, t, partMonopolized)
	case flight.EventScopeOpen:
		s.follower.Event(e, c, t)
		if sc := t.Scope(flight.ScopeID(e.Arg)); sc != nil {
			s.open(sc)
		}
	case flight.EventScopeClose:
		s.follower.Event(e, c, t)
		s.closed(flight.ScopeID(e.Arg), e.Time)
	case flight.EventScopeCancel, flight.EventScopeDeadline:
		s.ending(e)
	case flight.EventMark:
		s.follower.Event(e, c, t)
	}
}

// state returns what is known of a thread in a slot.
func (s *Spans) state(th *recording.Thread) *threadState {
	page := th.Slot / statePage
	for page >= len(s.threads) {
		s.threads = append(s.threads, nil)
	}
	if s.threads[page] == nil {
		s.threads[page] = make([]threadState, statePage)
	}
	st := &s.threads[page][th.Slot%statePage]
	if st.id != th.ID { // S1
		s.put(st.detail)
		*st = threadState{id: th.ID, partial: th.Created <= s.began}
	}
	return st
}

func (s *Spans) moved(e *recording.Event, c *recording.Change, t *recording.Tracker) {
	th := c.Thread
	st := s.state(th)
	switch c.From {
	case flight.StateFree:
		st.partial = th.Incomplete
	case flight.StateRunnable:
		st.ready += c.For
	case flight.StateMounted, flight.StatePinned:
		st.run += c.For
	case flight.StateNew, flight.StateDone:
	default:
		st.wait += c.For
		if c.For >= s.x.o.Wait {
			p := part{kind: partPark, reason: c.Reason, stack: c.Stack, from: s.wall(c.Since), lasted: c.For, blocker: c.Blocker}
			if e.Kind == flight.EventUnpark && e.Arg != 0 {
				p.by = flight.ThreadID(e.Arg)
				if by := t.Thread(p.by); by != nil {
					p.waker.Trace, p.waker.Span, _ = s.follower.Thread(t, by)
				}
			}
			s.note(st, p)
		}
	}
	switch e.Kind {
	case flight.EventPark:
		st.parks++
		if e.Ref != 0 {
			st.stack = flight.StackID(e.Ref)
		}
	case flight.EventThreadEnd:
		s.ended(e, th, st, t)
	}
}

// held takes note of a thread that held its carrier.
func (s *Spans) held(e *recording.Event, t *recording.Tracker, kind partKind) {
	th := t.Thread(e.Thread)
	if th == nil {
		return
	}
	st := s.state(th)
	h := flight.Held(e.Arg)
	d := h.Duration()
	if e.Ref != 0 {
		st.stack = flight.StackID(e.Ref)
	}
	if kind == partPinned {
		st.pins++
		st.pinned += d
		st.longest = max(st.longest, d)
	}
	if d >= s.x.o.Pin {
		s.note(st, part{kind: kind, reason: e.Code, stack: flight.StackID(e.Ref), from: s.wall(e.Time - d), lasted: d, victims: h.Victims()})
	}
}

// note keeps a part, if there is room.
func (s *Spans) note(st *threadState, p part) {
	if s.parts >= maxParts || st.detail != nil && len(st.detail.parts) >= maxThreadParts {
		st.spill++
		return
	}
	if st.detail == nil {
		if n := len(s.spare); n > 0 {
			st.detail, s.spare = s.spare[n-1], s.spare[:n-1]
		} else {
			st.detail = new(detail)
		}
	}
	st.detail.parts = append(st.detail.parts, p)
	s.parts++
}

// maxSpare bounds the details that are kept to be used again.
const maxSpare = 1024

// put gives back a detail; nil is none.
func (s *Spans) put(d *detail) {
	if d == nil {
		return
	}
	s.parts -= len(d.parts)
	d.parts = d.parts[:0]
	if len(s.spare) < maxSpare {
		s.spare = append(s.spare, d)
	}
}

// gone reports whether the process does not live any more, as far as its flight file tells.
func (s *Spans) gone() bool {
	r, err := flight.Open(s.process.Path)
	if err != nil {
		return true // it took the file with it
	}
	defer r.Close()
	status := r.Process().Status
	return status == flight.StatusEnded || status == flight.StatusGone
}

// Close ends the observation. If the process is gone, what was open in it becomes spans that are unfinished, as far as it is to be kept.
func (s *Spans) Close() error {
	if s.finalized {
		return nil
	}
	s.finalized = true
	if s.process.Path != "" && s.gone() {
		s.unfinished()
	}
	s.x.counted.threads.Add(s.examined)
	s.x.counted.threadsKept.Add(s.kept)
	s.examined, s.kept = 0, 0
	return nil
}
