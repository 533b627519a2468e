package recording

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say what [Record] records. The zero value records from now on until its context or the process ends.
type Options struct {
	For  time.Duration // how long; 0 for no limit
	Held bool          // begin with what the rings of the process still hold, as far as it is complete
	// Every is how old events get before they are written, and so what is missing after the recorder was killed. Default: 2 s.
	Every time.Duration

	labels  bool          // read those of threads
	places  bool          // states have no threads, but where they are
	gives   bool          // whoever reads them resets a tracker to them, no more
	waiting int64         // most events that are not taken yet
	idle    time.Duration // longest pause between two polls of a process that does nothing; 0: maxPause
}

// A Report says what was recorded.
type Report struct {
	Totals
	Info  Info
	Ended bool // the process has ended
}

const (
	// lateness is how much later than its time an event may come to its ring and still be written in order.
	lateness = 20 * time.Millisecond
	// Rings are polled so often that they are about aim full, but no more often than minPoll and no less than maxPause.
	aim      = 0.15
	minPoll  = 100 * time.Microsecond
	maxPause = time.Millisecond // a burst fills the smallest ring in as much
	// A [Live] polls a process that does nothing less and less, down to once in idlePause: fifty of them cost a few percent of a processor. What such a process
	// overwrites when it begins to do much is lost, and counted.
	idlePause = 10 * time.Millisecond
	// maxWaiting bounds the events that wait to be encoded and written, maxLive those that wait for the reader of a Live. Beyond it the rings are not read, and what
	// they overwrite is lost and counted.
	maxWaiting = 1 << 20
	maxLive    = 1 << 18
	// restate is how long after a loss the state of all threads is read again, at the soonest.
	restate = time.Second
	// tuneEvery is how often the clock is compared with that of the process, and the process asked whether it lives.
	tuneEvery = 200 * time.Millisecond
)

// Record follows the process of r from outside, without a pause of it, and writes what it does to w until ctx or the process ends, or o.For has passed. Then it
// has written all that it knows, and the end of ctx is no error. An error is of w or of r: what was written before is a recording. Events that could not be read
// in time are counted in Report.Lost, and in the recording.
func Record(ctx context.Context, r *flight.Reader, w io.Writer, o Options) (Report, error) {
	if o.Every < 0 || o.For < 0 {
		return Report{}, fmt.Errorf("recording: negative duration in %+v", o)
	}
	o.Every, o.waiting, o.labels = cmp.Or(o.Every, 2*time.Second), maxWaiting, true
	var out *Writer
	defs := newLiveDefinitions(r)
	ended, err := watch(ctx, r, o, defs, func(info Info, t *Tracker) sink {
		out = NewWriter(w, info, defs, nil)
		out.tracker = t
		if n, ok := w.(interface{ needsState() bool }); ok {
			out.next = n.needsState
		}
		return out
	})
	report := Report{Ended: ended}
	if out != nil {
		report.Totals, report.Info = out.Totals(), out.info
		report.Info.To = report.Info.From.Add(max(out.tracker.At(), out.until))
	}
	if err != nil {
		return report, fmt.Errorf("recording: %w", err)
	}
	return report, nil
}

// watch follows the process of r until ctx or the process ends or o.For has passed, and gives what it does to a sink that open makes when there is a state to
// begin with. All calls of the sink are on the caller's goroutine. It reports whether the process has ended.
func watch(ctx context.Context, r *flight.Reader, o Options, s Strings, open func(Info, *Tracker) sink) (ended bool, err error) {
	base := r.Now()
	c := newClock(r, base)
	f, err := newFollower(r, c, o.Held)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &poller{r: r, f: f, c: c, o: o, now: r.Now, queue: make(chan polled, o.waiting>>7), spare: make(chan []Event, 16), states: make(chan stateRead, 1)}
	q := &sequencer{r: r, base: base, held: o.Held, most: int(4 * o.waiting), every: o.Every, strings: s, open: open}
	if f.held != 0 {
		q.holds = c.time(f.held)
	}
	go func() {
		defer close(p.queue)
		p.run(ctx)
	}()
	for m := range p.queue {
		if err == nil {
			if err = q.take(&m); err != nil {
				cancel()
			}
		}
		p.waiting.Add(-int64(len(m.events)))
		select {
		case p.spare <- m.events[:0]:
		default:
		}
	}
	if err == nil {
		err = q.end()
	}
	return p.ended, err
}

// A polled is what a poll found.
type polled struct {
	events []Event
	lost   uint64
	upTo   time.Duration // all that happened before is in this poll or was in one before, but for what comes late; no later than the last look at all rings
	missed []string
	labels *labelsNow // nil: they were not read since the poll before
	state  *State     // nil, or a state read since the poll before
}

type stateRead struct {
	state   *State
	missing []string
	err     error
}

// A poller reads the rings, and hands what it finds to the sequencer. It has a goroutine of its own.
type poller struct {
	r       *flight.Reader
	f       *follower
	c       *clock
	o       Options
	queue   chan polled
	waiting atomic.Int64 // events in queue
	spare   chan []Event // slices that the sequencer has copied from
	ended   bool
	now     func() flight.Ticks // of the process; it asks the system, and so takes a while
	tick    flight.Ticks        // when the clock was tuned last,
	tuned   time.Time           // which was no later than then: see present
	upTo    time.Duration       // before all rings were looked at last

	states  chan stateRead
	reading bool // a state is being read, and will be in states
	read    time.Time
	begun   time.Time // when the first state was there, with which a recording begins; zero: not yet
	dirty   bool      // events were lost since the last state

	labelling chan labelsRead // labels are being read, and will be in it; nil: they are not
	labelled  time.Time       // when they were read last,
	labelRest time.Duration   // and how long they are not read again
}

func (p *poller) run(ctx context.Context) {
	p.tune()
	p.readState()
	timer := time.NewTimer(0)
	defer timer.Stop()
	every := maxPause
	for last := false; !last; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			last = true
		}
		now := time.Now()
		if p.o.For > 0 && !p.begun.IsZero() && now.Sub(p.begun) >= p.o.For {
			last = true
		}
		if now.Sub(p.tuned) >= tuneEvery {
			p.tune()
			s := p.r.Status()
			p.ended = s == flight.StatusEnded || s == flight.StatusGone
			last = last || p.ended
		}
		p.poll(last)
		switch f := p.f.full; {
		case f > 2*aim:
			every /= 4
		case f > aim:
			every /= 2
		case f < aim/2:
			every += every / 4
		}
		most := maxPause
		if p.o.idle > 0 && p.f.quiet >= idleAfter {
			most = p.o.idle
		}
		every = min(max(every, minPoll), most)
		timer.Reset(every)
	}
}

// tune also notes the present moment by both clocks, that of the process first: to ask the process for it at each poll takes too long.
func (p *poller) tune() {
	p.tick = p.now()
	p.tuned = time.Now()
	p.c.tune(p.r, p.tick)
}

// present returns the time by the clock. It may be a moment ago, but is never to come: what happens now would then be taken for what came late.
func (p *poller) present() time.Duration { return p.c.time(p.tick) + time.Since(p.tuned) }

// readState begins to read a state. The rings are polled meanwhile.
func (p *poller) readState() {
	p.reading, p.dirty = true, false
	go func() {
		s, missing, err := readState(context.Background(), p.r, p.c, &p.o)
		p.states <- stateRead{s, missing, err}
	}()
}

// poll reads the rings once, if there is room for what they hold or it is the last time. Then it also waits for a state that is being read.
func (p *poller) poll(last bool) {
	if p.waiting.Load() > p.o.waiting && !last {
		return
	}
	var m polled
	if p.reading {
		select {
		case s := <-p.states:
			p.took(&m, s)
		default:
			if last {
				p.took(&m, <-p.states)
			}
		}
	}
	if p.o.labels {
		p.pollLabels(&m, last)
	}
	present := p.present()
	var into []Event
	select {
	case into = <-p.spare:
	default:
	}
	if m.events, m.lost = p.f.poll(into, last || m.state != nil); p.f.whole {
		p.upTo = present
	}
	m.upTo = p.upTo
	if p.f.problem != "" {
		m.missed = append(m.missed, p.f.problem)
		p.f.problem = ""
	}
	p.dirty = p.dirty || m.lost > 0
	switch {
	case p.dirty && last: // the state at the end is right, whatever was lost before
		p.readState()
		p.took(&m, <-p.states)
	case p.dirty && !p.reading && time.Since(p.read) >= restate:
		p.readState()
	}
	p.waiting.Add(int64(len(m.events)))
	p.queue <- m // the sequencer has m.events from here on
}

func (p *poller) took(m *polled, s stateRead) {
	p.reading, p.read = false, time.Now()
	if p.begun.IsZero() {
		p.begun = p.read
	}
	m.missed = append(m.missed, s.missing...)
	m.state = s.state
	if s.err != nil {
		m.missed = append(m.missed, s.err.Error())
	}
}
