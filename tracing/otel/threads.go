package otel

import (
	"strconv"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

// ended decides on a thread: of a scope, whether the scope is to keep it until it is closed; else at once.
func (s *Spans) ended(e *recording.Event, th *recording.Thread, st *threadState, t *recording.Tracker) {
	s.examined++
	sc := s.scopes[th.Scope]
	rule := s.root
	if sc != nil {
		rule = sc.rule
	}
	lasted := e.Time - th.Created
	var because why
	if rule.Slower > 0 && lasted >= rule.Slower {
		because |= whySlow
	}
	if rule.Pinned > 0 && st.longest >= rule.Pinned {
		because |= whyPinned
	}
	failed := e.Code == flight.ReasonPanic || e.Code == flight.ReasonGoexit
	if failed && rule.Failed {
		because |= whyFailed
	}
	if sc != nil {
		sc.ended++
		if failed {
			sc.failed++
		}
		if st.pins > 0 {
			sc.pinned++
		}
		if th.Created-sc.Opened < traceid.LongLived { // else it is a trace of its own
			sc.why |= because &^ whySlow // a slow scope is so by itself
			if because != 0 || rule.Threads == 1 || s.follower.Seed().Thread(th.ID).Share() < rule.Threads {
				s.keep(sc, s.child(e, th, st, because))
			}
			s.forget(st)
			return
		}
	}
	s.alone(e, th, st, because, rule, t)
	s.forget(st)
}

// forget makes the slot free.
func (s *Spans) forget(st *threadState) {
	s.put(st.detail)
	*st = threadState{}
}

// child takes what is known of a thread, and its detail (S2).
func (s *Spans) child(e *recording.Event, th *recording.Thread, st *threadState, because why) child {
	c := child{
		threadState: *st, name: th.Name, from: s.wall(th.Created), until: s.wall(e.Time), end: e.Code, creator: th.Creator, mounts: th.Mounts, why: because,
		scope: th.Scope,
	}
	st.detail = nil
	return c
}

// keep adds a child to a scope, or puts it in the place of one that was only sampled.
func (s *Spans) keep(sc *scopeState, c child) {
	if len(sc.children) < sc.rule.Most && s.waiting < maxWaiting {
		sc.children = append(sc.children, c)
		s.waiting++
		return
	}
	if c.why != 0 {
		for i := range sc.children {
			if sc.children[i].why == 0 {
				s.put(sc.children[i].detail)
				sc.children[i] = c
				s.x.counted.untold.Add(1)
				return
			}
		}
	}
	s.put(c.detail)
	s.x.counted.untold.Add(1)
}

// alone decides on a thread that is a trace of its own.
func (s *Spans) alone(e *recording.Event, th *recording.Thread, st *threadState, because why, rule *ruleState, t *recording.Tracker) {
	trace, span, _ := s.follower.Thread(t, th)
	share := trace.Share()
	if share < s.x.o.Env.Sampler.Ratio && share < rule.Keep && span.Share() < rule.Threads {
		if rule.limit.take(e.Time) {
			because |= whySampled
		} else if because == 0 {
			s.x.counted.limited.Add(1)
		}
	}
	if because == 0 {
		return
	}
	b := s.x.spans.begin()
	if b == nil {
		s.x.traces.dropped.Add(1)
		return
	}
	added := 0
	defer func() { s.x.spans.end(added) }()
	c := s.child(e, th, st, because)
	c.trace, c.span = trace, span
	added = s.buildThread(b, &c)
	s.put(c.detail)
	s.kept++
}

// buildThread builds the span of a thread, and those of its parts if they are to be spans. One without a trace is of its scope's.
func (s *Spans) buildThread(b *batch, c *child) (added int) {
	limits := &s.x.o.Env.SpanLimits
	seed := s.follower.Seed()
	if c.span == (traceid.Span{}) {
		c.span = seed.Thread(c.id)
		p := s.follower.Scope(nil, c.scope)
		if c.trace, c.parent = p.Trace, seed.Scope(c.scope); p.Trace == (traceid.Trace{}) {
			c.trace = seed.Begun(c.parent)
		}
		if sc := s.scopes[c.scope]; sc != nil {
			c.scopeName = sc.Name
		}
		if c.why == 0 {
			c.why = whySampled
		}
	}
	var entry flight.Frame
	if c.stack != 0 {
		entry = entryOf(s.source.Stack(c.stack))
	}
	name := c.name
	if name == "" {
		name = named(entry.Func, "thread")
	}
	to := b.of(s.resource)
	sp := b.add(to, c.trace, c.span, c.parent, name, c.from, c.until)
	a := &sp.Attributes
	b.text(a, attrKind, "thread")
	b.text(a, attrKept, c.why.String())
	b.int(a, attrThreadID, int64(c.id))
	b.text(a, attrThreadName, c.name)
	b.code(a, entry)
	if c.scope != 0 {
		b.int(a, attrScopeID, int64(c.scope))
		b.text(a, attrScopeName, c.scopeName)
	}
	b.text(a, attrThreadEnd, c.end.String())
	if c.creator != 0 {
		b.int(a, attrThreadCreator, int64(c.creator))
	}
	b.int(a, attrThreadMounts, int64(c.mounts))
	b.int(a, attrThreadParks, int64(c.parks))
	b.int(a, attrThreadPins, int64(c.pins))
	b.double(a, attrThreadRunning, c.run.Seconds())
	b.double(a, attrThreadReady, c.ready.Seconds())
	b.double(a, attrThreadWaiting, c.wait.Seconds())
	b.double(a, attrThreadPinned, c.pinned.Seconds())
	b.yes(a, attrThreadIncomplete, c.partial)
	b.yes(a, attrUnfinished, c.unfinished)
	switch c.end {
	case flight.ReasonPanic:
		sp.Status = statusPanic
	case flight.ReasonGoexit:
		sp.Status = statusGoexit
	}
	added = 1
	sp.limit(&s.x.o.Env.SpanLimits)
	sp.DroppedEventsCount = c.spill
	if c.detail == nil {
		return added
	}
	for i := range c.detail.parts {
		p := &c.detail.parts[i]
		if s.x.o.Parts {
			id := seed.Part(c.id, uint64(p.from))
			child := b.add(to, c.trace, id, c.span, partNames[p.kind]+" "+p.reason.String(), p.from, p.from+int64(p.lasted))
			s.buildPart(b, &child.Attributes, c, p, true)
			s.linkTo(b, child, p, limits.Links)
			child.limit(limits)
			added++
			continue
		}
		s.linkTo(b, sp, p, limits.Links)
		if len(sp.Events) >= limits.Events {
			sp.DroppedEventsCount++
			continue
		}
		e := b.event(sp, partNames[p.kind], p.from)
		s.buildPart(b, &e.Attributes, c, p, false)
	}
	return added
}

// linkTo links the span of who was woken to that of who woke it.
func (s *Spans) linkTo(b *batch, of span, p *part, most int) {
	if p.waker.Span == (traceid.Span{}) {
		return
	}
	if len(of.Links) >= most {
		of.DroppedLinksCount++
		return
	}
	l := b.link(of, p.waker)
	b.int(&l.Attributes, attrWaker, int64(p.by))
	b.text(&l.Attributes, attrReason, p.reason.String())
}

// buildPart adds what is known of a part; of a span of its own also the thread.
func (s *Spans) buildPart(b *batch, a *[]*commonpb.KeyValue, c *child, p *part, span bool) {
	b.text(a, attrKind, partNames[p.kind])
	b.text(a, attrReason, p.reason.String())
	b.double(a, attrDuration, p.lasted.Seconds())
	if p.blocker != 0 {
		b.text(a, attrBlocker, p.blocker.String())
	}
	if p.by != 0 {
		b.int(a, attrWaker, int64(p.by))
	}
	if p.kind != partPark {
		b.int(a, attrVictims, int64(p.victims))
	}
	if span {
		b.int(a, attrThreadID, int64(c.id))
		b.text(a, attrThreadName, c.name)
	}
	if p.stack != 0 {
		stack := s.source.Stack(p.stack)
		b.code(a, innermost(stack))
		b.text(a, attrStack, stackText(stack))
	}
}

// code adds the place of a frame; the zero Frame is none.
func (b *batch) code(a *[]*commonpb.KeyValue, f flight.Frame) {
	if f.Func == "" {
		return
	}
	b.text(a, attrFunction, f.Func)
	b.text(a, attrFile, f.File)
	if f.Line > 0 {
		b.int(a, attrLine, int64(f.Line))
	}
}

// entryOf returns the outermost frame of the program's own.
func entryOf(s flight.Stack) (entry flight.Frame) {
	if s.Truncated {
		return entry
	}
	for _, f := range s.Frames {
		if !f.Internal {
			entry = f
		}
	}
	return entry
}

// innermost returns the innermost frame of the program's own.
func innermost(s flight.Stack) flight.Frame {
	for _, f := range s.Frames {
		if !f.Internal {
			return f
		}
	}
	return flight.Frame{}
}

// maxFrames bounds the text of a stack.
const maxFrames = 32

// stackText is the stack in the form of Go's own, without the runtime's frames.
func stackText(s flight.Stack) string {
	var text strings.Builder
	n := 0
	for _, f := range s.Frames {
		if f.Internal {
			continue
		}
		if n++; n > maxFrames {
			text.WriteString("…\n")
			break
		}
		text.WriteString(f.Func)
		text.WriteString("(...)\n\t")
		text.WriteString(f.File)
		text.WriteByte(':')
		text.WriteString(strconv.Itoa(f.Line))
		text.WriteByte('\n')
	}
	return text.String()
}
