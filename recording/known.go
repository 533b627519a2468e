package recording

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Known is what is still known of what one thread did.
type Known struct {
	Definitions           // of Events
	From        time.Time // what times are since
	Events      []Event   // the newest, in order of time
	Earlier     int       // events that are known too, and left out for there are more
	// Whole is from when on no event of the thread is missing. Before it, some are known.
	Whole time.Duration
	Lost  uint64   // events of any threads that were never recorded, or not read; some may be of the thread and after Whole
	Miss  []string // what could not be read, one short sentence each
}

// KnownOf returns the newest events of a thread, at most so many, that the rings of a process still hold. The process takes no part. All that is kept meanwhile is
// a part of a ring, and the thread's events.
func KnownOf(ctx context.Context, r *flight.Reader, id flight.ThreadID, most int) (*Known, error) {
	base := r.Now()
	f := &follower{r: r, clock: newClock(r, base)}
	k := &Known{Definitions: newLiveDefinitions(r), From: r.Time(base), Lost: r.Lost().Events}
	k.Whole = r.Process().Start.Sub(k.From)
	overwritten := false
	rings, err := r.Rings()
	if err != nil {
		if len(rings) == 0 {
			return nil, fmt.Errorf("recording: %w", err)
		}
		k.Miss = append(k.Miss, err.Error())
	}
	var raw []flight.Event
	for i := range rings {
		row := &rings[i]
		for next := uint64(0); next < row.Head; {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			all, after, gone, err := r.Events(row.Index, next, maxPoll)
			if err != nil {
				k.Miss = append(k.Miss, err.Error())
				break
			}
			if gone > 0 && len(all) > 0 {
				oldest := f.clock.time(all[0].Time)
				if overwritten {
					oldest = max(oldest, k.Whole)
				}
				k.Whole, overwritten = oldest, true
			}
			if after == next {
				break
			}
			next = after
			raw = ofThread(raw[:0], all, id)
			k.Events = f.convert(k.Events, raw)
			if len(k.Events) > 2*most+maxPoll {
				k.keep(most)
			}
		}
	}
	k.keep(most)
	return k, nil
}

// ofThread appends the events of a thread, with the slots that follow them.
func ofThread(into, all []flight.Event, id flight.ThreadID) []flight.Event {
	mine := false
	for i := range all {
		if all[i].Kind != flight.EventMore {
			mine = all[i].Thread == id
		}
		if mine {
			into = append(into, all[i])
		}
	}
	return into
}

// keep sorts the events, and leaves out all but the newest.
func (k *Known) keep(most int) {
	slices.SortStableFunc(k.Events, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	if over := len(k.Events) - most; over > 0 {
		k.Earlier += over
		k.Events = slices.Delete(k.Events, 0, over)
	}
}

// KnownOf returns the newest events of a thread, at most so many, that happened until a time since Info().From. It reads back from there, as far as it must.
func (f *File) KnownOf(ctx context.Context, id flight.ThreadID, until time.Duration, most int) (*Known, error) {
	begins := f.Begins()
	var k *Known
	for back := 2 * time.Second; ; back *= 8 {
		since := max(until-back, begins)
		k = &Known{Definitions: f, From: f.info.From, Whole: since}
		seen := false // the start of the thread
		err := f.ReadSince(ctx, since, func(b *Batch) bool {
			k.Lost += b.Lost
			for i := range b.Events {
				e := &b.Events[i]
				if e.Thread != id || e.Time > until {
					continue
				}
				seen = seen || e.Kind == flight.EventThreadStart
				own := *e
				own.More = slices.Clone(e.More)
				k.Events = append(k.Events, own)
			}
			if len(k.Events) > 2*most+maxPoll {
				k.keep(most)
			}
			return len(b.Events) == 0 || b.Events[len(b.Events)-1].Time <= until+lateness
		})
		if err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
		k.keep(most)
		if since > begins && !seen && len(k.Events) < most {
			continue
		}
		if len(k.Events) > 0 && !seen && since > begins {
			k.Whole = k.Events[0].Time
		}
		return k, nil
	}
}
