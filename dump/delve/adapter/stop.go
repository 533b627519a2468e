package adapter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A stop is the time from a stop of the process until it runs again. What was told of it is forgotten then.
type stop struct {
	goroutine int64 // that stopped; 0: none
	ctx       context.Context
	cancel    context.CancelFunc

	mu     sync.Mutex
	looks  *looking
	rows   map[int]row                        // groups in the list of threads, by their ids
	frames map[int]frame                      // by their ids: the adapter's own, and those of Delve
	values map[int]func() ([]variable, error) // by their references
	next   int                                // id of a frame or a value
	hidden map[int]int                        // frames of the runtime at the top of the stack, by thread
}

// ids of the adapter's own frames and values. Delve counts from 1,000 on.
const firstID = 1 << 30

// A looking is a look at the process that goes on. view and err are valid when done is closed.
type looking struct {
	done chan struct{}
	view *view
	err  error
}

func (a *Adapter) newStop(goroutine int64) *stop {
	ctx, cancel := context.WithCancel(a.ctx)
	return &stop{goroutine: goroutine, ctx: ctx, cancel: cancel, rows: map[int]row{}, frames: map[int]frame{}, values: map[int]func() ([]variable, error){}, next: firstID, hidden: map[int]int{}}
}

// isGroup reports whether a thread of the list is a group.
func (s *stop) isGroup(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.rows[id]
	return is && id < 0
}

// look begins a look at the process, if none goes on; again says that the newest will not do.
func (a *Adapter) look(s *stop, again bool) *looking {
	a.mu.Lock()
	wanted := slices.Concat([]int64{s.goroutine}, a.events, a.pinned)
	internal := a.internal
	a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks != nil && !again {
		return s.looks
	}
	l := &looking{done: make(chan struct{})}
	s.looks = l
	a.do(func() {
		defer close(l.done)
		l.view, l.err = a.process.look(s.ctx, wanted, internal)
	})
	return l
}

// wait returns what a look saw; nil if it takes longer than patience.
func (l *looking) wait(ctx context.Context, patience time.Duration) *view {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-l.done:
		return l.view
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

// stopped takes Delve's event that the process has stopped. A breakpoint with a condition of ours goes on if no thread meets it, and the editor does
// not learn of it.
func (a *Adapter) stopped(m *message) {
	body := decoded[dap.StoppedEventBody](m.Body)
	a.mu.Lock()
	pausing := a.pausing
	a.pausing = false
	a.mu.Unlock()
	joined := a.joined(&body)
	if !joined && !pausing && (body.Reason == "breakpoint" || body.Reason == "function breakpoint") {
		switch goroutine, met := a.judge(&body); {
		case !met:
			a.mu.Lock()
			a.goesOn = true
			a.mu.Unlock()
			a.ask("continue", dap.ContinueArguments{ThreadId: body.ThreadId}, func(*message) {})
			return
		case goroutine != 0:
			body.ThreadId = int(goroutine)
		}
	}
	a.runs() // where it stopped before is over, also if nobody has told that it ran
	s := a.newStop(int64(body.ThreadId))
	l := a.look(s, false)
	switch {
	case a.atFinding(s, l, &body):
	case body.Reason == "pause":
		a.pauseInUser(s, l, &body)
	case body.Reason == "step" && !joined && a.stepped(s, l):
		s.cancel()
		return
	}
	a.meet(s.goroutine)
	a.mu.Lock()
	a.stop, a.goesOn = s, false // from here on others see it
	a.mu.Unlock()
	m.Body = merged(m.Body, body)
	if body.HitBreakpointIds == nil {
		m.Body = without(m.Body, "hitBreakpointIds") // it is one of the adapter's own
	}
	_ = a.editor.send(*m, waiting{})
}

// patienceAtPause is how long a pause waits until it is known what threads there are.
const patienceAtPause = time.Second

// pauseInUser chooses the thread that a pause is in: Delve takes one that an OS thread executes, which may be the runtime's. The program's own comes first:
// one that executes, one that had an event before, or the one that waits for longest.
func (a *Adapter) pauseInUser(s *stop, l *looking, body *dap.StoppedEventBody) {
	v := l.wait(s.ctx, patienceAtPause)
	if v == nil {
		return
	}
	if s.goroutine > 0 && !v.helpers[s.goroutine] && v.find(s.ctx, &a.process, s.goroutine) != nil {
		return
	}
	chosen := int64(0)
	for _, g := range v.seen.Executing() {
		if !v.helpers[int64(g)] && v.find(s.ctx, &a.process, int64(g)) != nil {
			chosen = int64(g)
		}
	}
	a.mu.Lock()
	for _, g := range a.events {
		if p := v.people[g]; chosen == 0 && p != nil {
			chosen = g
		}
	}
	a.mu.Unlock()
	for _, of := range []*dump.Snapshot{v.threads, v.others} {
		for i := 0; of != nil && chosen == 0 && i < len(of.Groups); i++ {
			if g := &of.Groups[i]; len(g.Examples) > 0 {
				chosen = v.goroutineOf(of, g.Examples[0].ID)
			}
		}
	}
	if chosen != 0 {
		s.goroutine, body.ThreadId = chosen, int(chosen)
		a.look(s, true)
	}
}

// goroutineOf returns the goroutine that an example of a snapshot is, or runs on.
func (v *view) goroutineOf(of *dump.Snapshot, id flight.ThreadID) int64 {
	if of == v.threads {
		return v.goroutines[id]
	}
	return int64(id)
}

// find returns what is known of a goroutine; nil if it is none any more.
func (v *view) find(ctx context.Context, p *process, goroutine int64) *person {
	if at := v.people[goroutine]; at != nil {
		return at
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[int64]*person{}
	var err error
	if id := v.ids[goroutine]; id != 0 && p.threads != nil {
		err = v.meet(ctx, p.threads.FlightReader(), map[flight.ThreadID]bool{id: true}, found)
	} else {
		err = v.meet(ctx, v.seen, map[flight.ThreadID]bool{flight.ThreadID(goroutine): true}, found)
	}
	if err != nil && !errors.Is(err, flight.ErrIncomplete) {
		return nil
	}
	return found[goroutine]
}
