package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A stream tells the observers of [Options.Observe] what a process does. Its goroutine ends with the process or the agent.
type stream struct {
	agent     *Agent
	reader    *flight.Reader // its own
	process   flight.Process
	source    *recording.Live
	observers []recording.Observer

	events, lost atomic.Uint64 // stored by the goroutine of run, as an observer
}

// newStream asks for the observers of a process. It returns nil if there are none. The reader is the stream's, and is closed if there is none.
func newStream(a *Agent, r *flight.Reader) *stream {
	p := r.Process()
	source, err := recording.NewLive(r, recording.LiveOptions{})
	if err != nil {
		r.Close()
		a.warnOnce(err.Error())
		return nil
	}
	s := &stream{agent: a, reader: r, process: p, source: source}
	if s.observers = a.options.Observe(p, source); len(s.observers) == 0 {
		r.Close()
		return nil
	}
	return s
}

// startStream begins to tell observers of a process that lives. It returns nil if there are none.
func (a *Agent) startStream(open func() (*flight.Reader, error), p flight.Process) *stream {
	if a.options.Observe == nil || !p.Status.Live() {
		return nil
	}
	r, err := open()
	if err != nil {
		if !errors.Is(err, flight.ErrNoProcess) { // it has just ended
			a.warnOnce(err.Error())
		}
		return nil
	}
	s := newStream(a, r)
	if s != nil && !a.goWhileOpen(s.run) {
		s.close()
		return nil
	}
	return s
}

func (s *stream) run() {
	defer s.close()
	observers := append([]recording.Observer{s}, s.observers...)
	for {
		ctx, cancel, err := s.agent.meter.thrift.whileObserving(s.agent.ctx)
		if err != nil {
			return
		}
		err = recording.Observe(ctx, s.source, observers...)
		saving := ctx.Err() != nil
		cancel()
		if s.agent.ctx.Err() != nil || isGone(s.reader.Process()) {
			return
		}
		if saving { // as Cost tells: what happens until it is over is not counted either
			continue
		}
		why := "it ended early"
		if err != nil {
			why = err.Error()
		}
		s.agent.warnOnce(fmt.Sprintf("pid %d is observed anew: %s", s.process.PID, why))
		// What happens meanwhile is not counted as lost events, since nobody knows how many: the state that comes next is whole again.
		if pause(s.agent.ctx, s.agent.options.Interval) != nil {
			return
		}
	}
}

// close closes the observers that can be closed, and the reader.
func (s *stream) close() {
	var errs []error
	for _, o := range s.observers {
		if c, ok := o.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	if err := errors.Join(append(errs, s.reader.Close())...); err != nil {
		s.agent.warnOnce(fmt.Sprintf("pid %d is observed no more: %v", s.process.PID, err))
	}
}

// observed is what the stream of a process has counted so far; s may be nil.
func (s *stream) observed() Observed {
	if s == nil {
		return Observed{}
	}
	return Observed{Observers: len(s.observers), Events: s.events.Load(), Lost: s.lost.Load()}
}

// Of [recording.Observer].

func (s *stream) PlacesOnly() bool                                             { return true }
func (s *stream) Reset(*recording.Tracker)                                     {}
func (s *stream) Event(*recording.Event, recording.Change, *recording.Tracker) { s.events.Add(1) }
func (s *stream) Lost(n uint64)                                                { s.lost.Add(n); s.agent.meter.lostEvents.Add(n) }
func (s *stream) Flush(*recording.Tracker)                                     {}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
