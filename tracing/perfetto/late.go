package perfetto

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A late is the rows below a track for slices of a category that are told at their end. Each row is a sequence of its own, so that its times go
// up (Q1), and has one slice at a time; Perfetto draws rows of one name together.
type late struct{ lanes []*sequence }

type lateKey struct {
	track    uint64
	category flight.Category
}

// beginLate begins a slice that has ended already; its event ends with the caller's sent. It returns nil if there is no row for it.
func (x *export) beginLate(track uint64, c flight.Category, from time.Duration) *sequence {
	key := lateKey{track, c}
	l := x.lates[key]
	if l == nil {
		l = &late{}
		x.lates[key] = l
	}
	i := slices.IndexFunc(l.lanes, func(q *sequence) bool { return q.at <= from })
	if i < 0 {
		if len(l.lanes) >= x.o.Lanes {
			return nil
		}
		i = len(l.lanes)
		l.lanes = append(l.lanes, x.w.sequence(x.newTrack(trackInfo{parent: track, name: strings.ToLower(string(c)), rank: lateRank})))
	}
	q := l.lanes[i]
	q.event(from, typeBegin, 0)
	return q
}

// lateRank is after the counters of a path.
const lateRank = int(pathCounters)

// A span is one of the program's own that has begun.
type span struct {
	at time.Duration
	e  recording.Event
}

type spanKey struct {
	thread flight.ThreadID
	kind   uint32
}

const (
	maxSpans       = 1 << 16 // that are open at a time
	maxSpansOfKind = 256     // of a thread
)

// spanBegins remembers what a span began with.
func (x *export) spanBegins(e *recording.Event) {
	key := spanKey{e.Thread, e.Ref}
	open := x.begun[key]
	if x.spans >= maxSpans || len(open) >= maxSpansOfKind {
		x.stats.Late++
		return
	}
	x.spans++
	s := span{at: e.Time, e: *e}
	s.e.More = slices.Clone(e.More)
	x.begun[key] = append(open, s)
}

// spanEnds draws a span: with the values that it ended with, or else, where those are 0, with those that it began with.
func (x *export) spanEnds(e *recording.Event) {
	key := spanKey{e.Thread, e.Ref}
	open := x.begun[key]
	from := e.Time - durationOf(e, &flight.Kinds[e.Kind])
	best := -1
	for i := range open {
		if best < 0 || (open[i].at-from).Abs() <= (open[best].at-from).Abs() {
			best = i
		}
	}
	if best >= 0 {
		x.spans--
		began := open[best].e.More
		if open = slices.Delete(open, best, best+1); len(open) == 0 {
			delete(x.begun, key)
		} else {
			x.begun[key] = open
		}
		both := *e
		both.More = slices.Clone(e.More)
		for i := range min(len(both.More), len(began)) {
			if both.More[i] == 0 {
				both.More[i] = began[i]
			}
		}
		e = &both
	}
	x.other(e)
}

// unfinished draws the spans that have not ended.
func (x *export) unfinished(end time.Duration) {
	var all []span
	for _, open := range x.begun {
		all = append(all, open...)
	}
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.e.Thread, b.e.Thread), cmp.Compare(a.e.Ref, b.e.Ref))
	})
	for i := range all {
		e := &all[i].e
		info := &flight.Kinds[e.Kind]
		_, track := x.place(e, info)
		q := x.beginLate(track, info.Category, all[i].at)
		if q == nil {
			x.stats.Late++
			continue
		}
		name := info.Name
		if user := x.userKind(e, info); user != nil {
			name = user.Name
			x.notes(q, e, user.Fields)
		}
		q.named(name, info.Category)
		q.noteBool("unfinished", true)
		x.who(q, e)
		q.sent()
		q.event(end, typeEnd, 0)
		q.sent()
	}
}
