package recording

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A sink takes a stretch of a process's life: a [Writer], or who reads a [Live].
type sink interface {
	Start() error // gives the state that the stretch begins with
	Add(...Event)
	Lose(n uint64)
	labelNow(*labelsNow)
	Begin(*State) error
	Miss(what string)
	Pending() int
	Flush(upTo time.Duration) error
	CloseAt(until time.Duration) error
}

// A sequencer makes a stretch of what the poller finds. Times are since the base of the clock until they are shifted to Info.From.
type sequencer struct {
	r       *flight.Reader
	base    flight.Ticks
	held    bool
	holds   time.Duration // before this the rings do not hold all; 0: they do
	every   time.Duration
	strings Strings
	open    func(Info, *Tracker) sink

	before []Event // what came before there was a state to begin with, the newest
	most   int     // of them
	lost   uint64
	labels *labelsNow // that came before
	out    sink
	first  *idTable[struct{}] // the threads at the beginning, as long as events from before may come; else nil
	from   time.Duration      // of the stretch, by the clock
	upTo   time.Duration      // of the last poll
	wrote  time.Time
}

func (q *sequencer) take(m *polled) error {
	q.upTo = m.upTo
	if q.out == nil {
		q.before = append(q.before, m.events...)
		q.lost += m.lost
		q.labels = cmp.Or(m.labels, q.labels)
		if n := len(q.before); n > q.most {
			q.lost += uint64(n / 2)
			q.before = slices.Delete(q.before, 0, n/2)
		}
		if m.state == nil {
			return nil
		}
		if err := q.begin(m); err != nil {
			return err
		}
	} else {
		for i := range m.events {
			ev := &m.events[i]
			ev.shift(q.from)
			if ev.Kind == flight.EventThreadStart && ev.Time < 0 && (q.first == nil || q.first.find(ev.Thread) == nil) {
				continue // it came late: the thread had ended before the beginning
			}
			q.out.Add(*ev)
		}
		if m.upTo-q.from > 50*lateness {
			q.first = nil
		}
		q.out.Lose(m.lost)
		m.labels.shift(q.from)
		q.out.labelNow(m.labels)
		if m.state != nil {
			m.state.shift(q.from)
			if err := q.out.Begin(m.state); err != nil {
				return err
			}
		}
	}
	for _, what := range m.missed {
		q.out.Miss(what)
	}
	old := time.Since(q.wrote) >= q.every
	if !old && q.out.Pending() < chunkEvents+chunkEvents/4 {
		return nil
	}
	if old {
		q.wrote = time.Now()
	}
	return q.out.Flush(m.upTo - q.from - lateness)
}

// begin finds where the recording begins, and writes the state there.
func (q *sequencer) begin(m *polled) error {
	slices.SortStableFunc(q.before, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	q.from = m.upTo
	t := NewTracker(q.strings)
	var now *State // what all threads do, if the events do not lead there
	if q.held {
		if len(q.before) > 0 {
			q.from = q.before[0].Time
		}
		if q.holds != 0 {
			q.from = max(q.from, q.holds)
		}
		begin := wind(m.state, q.before, q.from)
		if !q.leads(begin, m.state) {
			now = m.state
		}
		t.Reset(begin)
	} else {
		t.Reset(m.state)
		since := m.state.At
		if q.lost == 0 {
			since -= lateness
		}
		for i := range q.before {
			ev := &q.before[i]
			if ev.Kind == flight.EventThreadStart && ev.Time <= m.state.At && t.Thread(ev.Thread) == nil {
				continue // it came late: the thread had ended when the state was read
			}
			if ev.Time > since && ev.Time <= q.from {
				t.Apply(ev)
			}
		}
	}
	m.state = nil // there may be a million threads in it
	t.at = q.from
	t.shift(q.from)
	h := q.r.Header()
	info := Info{
		PID: h.PID, Program: h.Program, Exe: h.Exe, GoVersion: h.GoVersion, GoArch: h.GoArch, Started: h.Start,
		From: q.r.Time(q.base).Add(q.from),
	}
	if row, err := q.r.Settings(); err == nil && row.Known {
		info.Settings = row.Name
	}
	q.first, q.out = t.ids(), q.open(info, t)
	if q.held && q.holds != 0 {
		q.out.Miss("of threads that were moved before, what they waited for at the beginning is not known")
	}
	for i := range q.before {
		if ev := &q.before[i]; q.held && ev.Time >= q.from || ev.Time > q.from {
			ev.shift(q.from)
			q.out.Add(*ev)
		}
	}
	q.before = nil
	q.wrote = time.Now()
	q.labels.shift(q.from)
	q.out.labelNow(q.labels)
	q.labels = nil
	err := q.out.Start()
	q.out.Lose(q.lost)
	if now == nil || err != nil {
		return err
	}
	now.At = max(now.At, q.from)
	now.shift(q.from)
	return q.out.Begin(now)
}

// leads reports whether the events make of the threads at the beginning those that there are now. They do not if the process does not record all that moves threads.
func (q *sequencer) leads(begin, now *State) bool {
	moved := map[flight.ThreadID]bool{} // false: by what happened after now, so that now may have it or not
	for i := range q.before {
		if e := &q.before[i]; e.Thread != 0 {
			still, seen := moved[e.Thread]
			moved[e.Thread] = e.Time <= now.At && (still || !seen)
		}
	}
	some := &State{At: begin.At} // of begin, what is moved
	for i := range begin.Threads {
		th := &begin.Threads[i]
		if _, ok := moved[th.ID]; ok {
			some.Threads = append(some.Threads, *th)
		}
	}
	t := NewTracker(q.strings)
	t.Reset(some)
	for i := range q.before {
		if e := &q.before[i]; e.Thread != 0 && e.Time >= q.from {
			t.Apply(e)
		}
	}
	for i := range now.Threads {
		th := &now.Threads[i]
		switch settled, isMoved := moved[th.ID]; {
		case isMoved && !settled || th.Since > now.At:
		case isMoved:
			if of := t.Thread(th.ID); of == nil || of.State != th.State {
				return false
			}
		case th.Since > q.from: // wind has left it out
			return false
		}
		delete(moved, th.ID)
	}
	for id, settled := range moved {
		if settled && t.Thread(id) != nil {
			return false
		}
	}
	return true
}

func (q *sequencer) end() error {
	if q.out == nil {
		return fmt.Errorf("nothing of the process could be read")
	}
	return q.out.CloseAt(q.upTo - q.from)
}

// shift moves a state to another beginning.
func (s *State) shift(by time.Duration) {
	s.At -= by
	if s.held != nil {
		s.held.shift(by)
	}
	for i := range s.Threads {
		s.Threads[i].shift(by)
	}
	for i := range s.Scopes {
		s.Scopes[i].shift(by)
	}
}

func (l *labelsNow) shift(by time.Duration) {
	if l == nil {
		return
	}
	l.at -= by
	for i := range l.holds {
		l.holds[i].Since -= by
		l.holds[i].Seen -= by
	}
}

func (t *Tracker) shift(by time.Duration) {
	t.at -= by
	for i := range t.blocks {
		b := &t.blocks[i]
		for k := range b.still {
			b.still[k].since -= by
		}
		if b.full == nil {
			continue
		}
		for k := range b.full {
			b.full[k].shift(by)
		}
	}
	for _, sc := range t.scopes {
		sc.shift(by)
	}
}

func (th *Thread) shift(by time.Duration) {
	th.Created -= by
	th.Since -= by
}

func (sc *Scope) shift(by time.Duration) {
	sc.Opened -= by
	if sc.Deadline != 0 {
		sc.Deadline -= by
	}
}
