package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// finestLine is the least between two points of the time line of a recording.
const finestLine = 50 * time.Millisecond

// longestLine is how long a recording is read for its time line. Tests have another one.
var longestLine = 30 * time.Second

// drawLine makes the time line of a recording, once, in a goroutine of its own, and shows what it has now and then.
func (f *follower) drawLine() {
	f.past.once.Do(func() {
		if f.past.file != nil {
			f.agent.goWhileOpen(func() {
				if err := f.readLine(f.agent.ctx); err != nil && f.agent.ctx.Err() == nil {
					f.showLine(timeline{most: f.agent.options.Points, note: "the time line ends early: " + err.Error()})
				}
			})
		}
	})
}

// readLine reads all of a recording, for no longer than longestLine.
func (f *follower) readLine(ctx context.Context) (err error) {
	again, err := openRecorded(f.past.path, f.agent.options.Scopes) // a file has one reader at a time, and pages ask for moments meanwhile
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, again.close()) }()
	in := again.info
	length := in.To.Sub(in.From) - again.begins
	if length <= 0 {
		return nil
	}
	most := f.agent.options.Points
	d := &drawing{
		line: timeline{most: most}, from: in.From, to: in.To.Sub(in.From), at: again.begins,
		step: max((length+time.Duration(most)-1)/time.Duration(most), finestLine),
	}
	d.next = d.at + d.step
	if again.bundle != nil {
		for _, c := range again.bundle.Manifest.Causes {
			d.flags = append(d.flags, Flag{Time: c.Fired.UnixMilli(), Kind: FlagIncident, Severity: string(dump.SeverityError), What: dump.Cut(c.What, 200)})
		}
	}
	limit, cancel := context.WithTimeout(ctx, longestLine)
	defer cancel()
	d.shown = time.Now()
	d.show = func() {
		line := d.line
		line.note = fmt.Sprintf("the time line is being made: it has %s of %s", dump.Span(d.at-again.begins), dump.Span(length))
		f.showLine(line)
	}
	err = recording.Observe(limit, again.file, d)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if limit.Err() != nil {
		d.line.note = fmt.Sprintf("the time line has %s of %s: the recording is large, and reading it was ended after %v", dump.Span(d.at-again.begins), dump.Span(length), longestLine)
		err = nil
	} else {
		d.until(d.to)
	}
	f.showLine(d.line)
	return err
}

// showLine replaces the time line of the view, and wakes who waits for one.
func (f *follower) showLine(line timeline) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := *f.mu.view
	v.version++
	v.history, v.shelf = line, &shelf{}
	f.mu.view = &v
	close(f.mu.wake)
	f.mu.wake = make(chan struct{})
}

// A drawing makes a time line of what it observes.
type drawing struct {
	line  timeline
	from  time.Time
	step  time.Duration
	at    time.Duration // of the newest point, since from
	next  time.Duration // the end of the point that is being made
	to    time.Duration
	flags []Flag // all

	// Of the point that is being made.
	counts                 [flight.StateCount]int // as they are now
	starts, ends, switches int
	lost                   uint64
	marks                  [markCount]uint64
	ready                  spreads
	stopped                time.Duration

	shown time.Time
	show  func()
}

// until ends the points up to a time.
func (d *drawing) until(t time.Duration) {
	for d.at < d.to && t >= min(d.next, d.to) {
		end := min(d.next, d.to)
		over := (end - d.at).Seconds()
		p := point{
			time: d.from.Add(end).UnixMilli(), counts: d.counts,
			starts: float64(d.starts) / over, ends: float64(d.ends) / over, switches: float64(d.switches) / over, drops: float64(d.lost) / over,
			marks: d.marks, stopped: d.stopped, ready: d.ready.delays(),
		}
		first := d.from.Add(d.at).UnixMilli()
		for _, x := range d.flags {
			if x.Time > first && x.Time <= p.time || end == d.to && x.Time > p.time {
				p.flags = append(p.flags, x)
			}
		}
		d.line.append(p)
		d.at, d.next = end, end+d.step
		d.starts, d.ends, d.switches, d.lost, d.marks, d.ready, d.stopped = 0, 0, 0, 0, [markCount]uint64{}, spreads{}, 0
	}
	if time.Since(d.shown) > time.Second {
		d.show()
		d.shown = time.Now()
	}
}

// Reset counts anew.
func (d *drawing) Reset(t *recording.Tracker) {
	d.until(t.At())
	d.counts = [flight.StateCount]int{}
	t.Threads(func(th *recording.Thread) bool {
		if th.State < flight.StateCount {
			d.counts[th.State]++
		}
		return true
	})
}

// Event counts an event.
func (d *drawing) Event(e *recording.Event, c recording.Change, _ *recording.Tracker) {
	if e.Time >= d.next {
		d.until(e.Time)
	}
	switch e.Kind {
	case flight.EventThreadStart:
		d.starts++
	case flight.EventThreadEnd:
		d.ends++
	case flight.EventMount:
		d.switches++
		if c.Thread != nil && c.From == flight.StateRunnable && c.For >= 0 {
			d.ready[flight.BucketOf(c.For)]++
		}
	default:
		for i, k := range marked {
			if e.Kind == k {
				d.marks[i]++
			}
		}
		if e.Kind == flight.EventGC {
			d.stopped += time.Duration(e.Arg)
		}
	}
	if c.Thread == nil {
		return
	}
	if from := c.From; from != flight.StateFree && from < flight.StateCount && d.counts[from] > 0 {
		d.counts[from]--
	}
	if to := c.Thread.State; to != flight.StateDone && to < flight.StateCount {
		d.counts[to]++
	}
}

// Lost counts what is missing.
func (d *drawing) Lost(n uint64) { d.lost += n }

// Flush does nothing: points end with time.
func (d *drawing) Flush(*recording.Tracker) {}
