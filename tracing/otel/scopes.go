package otel

import (
	"slices"
	"time"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// A scopeState is what is known of an open scope.
type scopeState struct {
	recording.Scope
	rule     *ruleState
	from     int64 // S3
	decided  bool
	sampled  bool
	why      why // without sampled
	ended    int // threads
	failed   int
	pinned   int
	children []child

	cancelled, deadline int64 // when; 0: never
}

// A child is a thread that has ended in a scope that is open, and may have a span.
type child struct {
	threadState // of S2
	name        string
	from, until int64
	end         flight.Reason
	creator     flight.ThreadID
	mounts      uint32
	why         why
	unfinished  bool
	trace       traceid.Trace
	span        traceid.Span
	parent      traceid.Span
	scope       flight.ScopeID
	scopeName   string
}

func (s *Spans) open(sc *recording.Scope) {
	st := s.scopes[sc.ID]
	if st == nil {
		st = &scopeState{rule: s.rule(sc.Name), from: s.wall(sc.Opened)}
		s.scopes[sc.ID] = st
	}
	st.Scope = *sc
	if sc.Deadline != 0 {
		st.Deadline = sc.Deadline - sc.Opened
	}
}

// drop forgets a scope that was closed unseen.
func (s *Spans) drop(sc *scopeState) {
	for i := range sc.children {
		s.put(sc.children[i].detail)
	}
	s.waiting -= len(sc.children)
	delete(s.scopes, sc.ID)
}

func (s *Spans) ending(e *recording.Event) {
	sc := s.scopes[flight.ScopeID(e.Arg)]
	switch {
	case sc == nil:
	case e.Kind == flight.EventScopeCancel:
		sc.cancelled = s.wall(e.Time)
	default:
		sc.deadline = s.wall(e.Time)
		if sc.rule.Failed {
			sc.why |= whyFailed
		}
	}
}

// sample decides once, when it is asked first, whether a scope is sampled.
func (s *Spans) sample(sc *scopeState, p *traceid.Place) bool {
	if sc.decided {
		return sc.sampled
	}
	sc.decided = true
	env := &s.x.o.Env.Sampler
	switch {
	case p.Program.Span != (traceid.Span{}) && env.Parent:
		sc.sampled = p.Program.Sampled && p.Trace.OtherShare() < sc.rule.Keep
	case p.Program.Span != (traceid.Span{}) || p.Begins():
		share := p.Trace.Share()
		if sc.sampled = share < env.Ratio && share < sc.rule.Keep; sc.sampled && !sc.rule.limit.take(s.at) {
			sc.sampled = false
			s.x.counted.limited.Add(1)
		}
	default:
		around := s.scopes[sc.Parent]
		if around == nil {
			sc.sampled = p.Trace.Share() < min(env.Ratio, sc.rule.Keep)
			break
		}
		place := s.follower.Scope(nil, sc.Parent)
		share := p.Trace.Share()
		if p.Program.Span != (traceid.Span{}) {
			share = p.Trace.OtherShare()
		}
		sc.sampled = s.sample(around, &place) && share < sc.rule.Keep
	}
	return sc.sampled
}

// forbidden reports whether the program has decided that its trace is not kept.
func (s *Spans) forbidden(p *traceid.Place) bool {
	return s.x.o.Env.Sampler.Parent && p.Program.Span != (traceid.Span{}) && !p.Program.Sampled
}

// closed decides on a scope.
func (s *Spans) closed(id flight.ScopeID, at time.Duration) {
	sc := s.scopes[id]
	if sc == nil {
		return
	}
	s.finish(sc, s.wall(at), false)
}

func (s *Spans) finish(sc *scopeState, until int64, unfinished bool) {
	defer s.drop(sc)
	s.x.counted.scopes.Add(1)
	p := s.follower.Scope(nil, sc.ID)
	if p.Trace == (traceid.Trace{}) {
		p.Trace = s.follower.Seed().Begun(s.follower.Seed().Scope(sc.ID)) // its beginning was not seen
	}
	if s.forbidden(&p) {
		s.x.counted.notSampled.Add(1)
		return
	}
	if sc.rule.Slow > 0 && time.Duration(until-sc.from) >= sc.rule.Slow {
		sc.why |= whySlow
	}
	because := sc.why
	if s.sample(sc, &p) {
		because |= whySampled
	}
	if because == 0 {
		return
	}
	if around := s.scopes[sc.Parent]; around != nil && p.Parent == s.follower.Seed().Scope(sc.Parent) {
		around.why |= whyInner // S4
	}
	b := s.x.spans.begin()
	if b == nil {
		s.x.traces.dropped.Add(uint64(1 + len(sc.children)))
		return
	}
	s.x.counted.scopesKept.Add(1)
	added := s.buildScope(b, s.resource, sc, &p, until, because, unfinished)
	for i := range sc.children {
		if b.size >= maxBatchSize || b.spans.used >= 2*s.x.spans.limits.Most { // the rest goes with the next
			s.x.spans.end(added)
			if b, added = s.x.spans.begin(), 0; b == nil {
				s.x.traces.dropped.Add(uint64(len(sc.children) - i))
				return
			}
		}
		added += s.buildThread(b, &sc.children[i])
		s.kept++
	}
	s.x.spans.end(added)
}

func (s *Spans) buildScope(b *batch, r *resourcepb.Resource, sc *scopeState, p *traceid.Place, until int64, because why, unfinished bool) int {
	sp := b.add(b.of(r), p.Trace, s.follower.Seed().Scope(sc.ID), p.Parent, named(sc.Name, "scope"), sc.from, until)
	to := &sp.Attributes
	b.text(to, attrKind, "scope")
	b.text(to, attrKept, because.String())
	b.int(to, attrScopeID, int64(sc.ID))
	b.text(to, attrScopeName, sc.Name)
	b.text(to, attrScopePolicy, sc.Policy)
	if sc.Limit > 0 {
		b.int(to, attrScopeLimit, int64(sc.Limit))
	}
	if sc.Deadline > 0 {
		b.double(to, attrScopeDeadline, sc.Deadline.Seconds())
	}
	if sc.Owner != 0 {
		b.int(to, attrThreadID, int64(sc.Owner))
	}
	b.int(to, attrScopeThreads, int64(sc.ended))
	b.int(to, attrScopeFailed, int64(sc.failed))
	b.int(to, attrScopePinned, int64(sc.pinned))
	b.int(to, attrScopeUntold, int64(sc.ended-len(sc.children)))
	b.yes(to, attrUnfinished, unfinished)
	if sc.deadline != 0 {
		b.event(sp, "deadline", sc.deadline)
	}
	if sc.cancelled != 0 {
		b.event(sp, "cancelled", sc.cancelled)
	}
	if p.Around.Span != (traceid.Span{}) && s.x.o.Env.SpanLimits.Links > 0 {
		b.link(sp, p.Around)
	}
	sp.limit(&s.x.o.Env.SpanLimits)
	switch {
	case unfinished:
		sp.Status = statusGone
	case sc.deadline != 0:
		sp.Status = statusDeadline
	case sc.failed > 0:
		sp.Status = statusThreads
	}
	return 1
}

func named(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// unfinished makes spans of what lives in a process that is gone: scopes within others first.
func (s *Spans) unfinished() {
	until := s.wall(s.at)
	for len(s.scopes) > 0 {
		ids := make([]flight.ScopeID, 0, len(s.scopes))
		around := map[flight.ScopeID]bool{}
		for id, sc := range s.scopes {
			ids = append(ids, id)
			around[sc.Parent] = true
		}
		inner := slices.DeleteFunc(ids, func(id flight.ScopeID) bool { return around[id] })
		if len(inner) == 0 {
			return // a circle: a file that is damaged
		}
		slices.Sort(inner)
		for _, id := range inner {
			s.finish(s.scopes[id], until, true)
		}
	}
}
