package trigger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A need is what a rule looks at. They are bits.
type need uint8

const (
	needThreads need = 1 << iota
	needSchedulers
	needEvents
	needEnd // only when the process is gone
)

// A look is what rules look at: a process at one moment, and what has happened since the look before.
type look struct {
	reader     *flight.Reader
	at         time.Time
	gone       bool // it is the last look: the process is gone
	process    flight.Process
	threads    *dump.Snapshot
	look       *dump.Look // for the checks that some rule is true by; nil if there is none
	schedulers []flight.SchedulerRow
	events     []flight.Event // new ones of the kinds that some rule looks at, by ring
	users      map[uint32]string
	lost       uint64 // such events that were overwritten before they could be read
}

// maxRead bounds the events of a ring that are read in one look.
const maxRead = 1 << 20

// A looker takes looks.
type looker struct {
	reader *flight.Reader
	needs  need
	checks []string      // of package dump, by which some rule is true
	last   *dump.Look    // the newest
	kinds  []flight.Kind // that some rule looks at
	rings  map[int]ringSeen
	begun  bool
}

// ringSeen is how far a ring was looked at.
type ringSeen struct {
	head  uint64
	count uint64 // events of the kinds
}

// notCounted is a count that no ring has.
const notCounted = 1<<64 - 1

// take looks at what the rules need. What cannot be read is missing in the look; an error is that of ctx, or says that nothing can be read.
func (k *looker) take(ctx context.Context, now time.Time) (*look, error) {
	l := &look{reader: k.reader, at: now, process: k.reader.Process()}
	l.gone = l.process.Status == flight.StatusGone || l.process.Status == flight.StatusEnded
	if k.needs&needEvents != 0 {
		k.events(l)
	}
	var err error
	if len(k.checks) > 0 {
		if l.look, err = (dump.LookOptions{For: k.checks, After: k.last}).Take(ctx, k.reader); err != nil {
			return nil, err
		}
		k.last, l.threads = l.look, l.look.Snapshot
	}
	if k.needs&needThreads != 0 && l.threads == nil {
		if l.threads, err = dump.Take(ctx, k.reader, dump.Options{}); err != nil {
			return nil, err
		}
	}
	if k.needs&needSchedulers != 0 {
		if l.schedulers, err = k.reader.Schedulers(); err != nil && !errors.Is(err, flight.ErrIncomplete) {
			return nil, err
		}
	}
	return l, ctx.Err()
}

// events reads the new events of the rings in which there are any of the kinds. The first look finds none: what was before does not count.
func (k *looker) events(l *look) {
	rings, _ := k.reader.Rings() // what can be read will do
	for i := range rings {
		g := &rings[i]
		var count uint64
		for _, kind := range k.kinds {
			count += g.Counts[kind]
		}
		seen, known := k.rings[g.Index]
		k.rings[g.Index] = ringSeen{g.Head, count}
		if !k.begun || known && count == seen.count {
			continue
		}
		events, next, lost, err := k.reader.Events(g.Index, max(seen.head, g.Head-min(g.Head, maxRead)), maxRead)
		if next < g.Head { // an event that is being written
			k.rings[g.Index] = ringSeen{next, notCounted}
		}
		if err != nil {
			l.lost++
			continue
		}
		if lost > 0 { // some of them may have been of the kinds
			l.lost += lost
		}
		for _, e := range events {
			if slices.Contains(k.kinds, e.Kind) {
				l.events = append(l.events, e)
			}
		}
	}
	k.begun = true
	if len(l.events) > 0 {
		kinds, _ := k.reader.UserKinds() // what can be read will do
		l.users = map[uint32]string{}
		for _, u := range kinds {
			l.users[u.Number] = u.Name
		}
	}
}

// lasted returns the duration of an event.
func lasted(e *flight.Event) time.Duration {
	if e.Kind >= flight.KindCount {
		return 0
	}
	for _, f := range flight.Kinds[e.Kind].Fields {
		if f.Use == flight.FieldDuration {
			return time.Duration(f.Word(e.Code, uint32(e.Stack), e.Arg, nil))
		}
	}
	return 0
}
