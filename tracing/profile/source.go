package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A Source is what profiles are made of: a process.
type Source interface {
	// Threads returns what the threads do now.
	Threads() dump.Source
	// Events returns who follows what they do, or nil if nobody does.
	Events() *Collector
	// CPU has the process take Go's own profile of what it uses processors for, which takes so long. An error that matches [ErrNone] says that it cannot.
	CPU(ctx context.Context, d time.Duration) ([]byte, error)
}

// ErrNone is what errors match of profiles that cannot be had of a source.
var ErrNone = errors.New("there is no such profile")

// UsualCPU is how long Go's own profile takes if nothing else is said, as in net/http/pprof.
const UsualCPU = 30 * time.Second

// Take makes a profile of a source. Of profiles of events it is what happened in the next d, for which it waits, or since the beginning if d is 0; of that of the
// processors in the next d, or [UsualCPU]. Profiles of threads are of the present: with d they are of the time after that, less what they are now, as with net/http/pprof.
func Take(ctx context.Context, k *Kind, src Source, d time.Duration) (*pprof.Profile, error) {
	threads := src.Threads()
	exe := threads.Process().Exe
	switch k.Origin {
	case OfProcess:
		data, err := src.CPU(ctx, cmp.Or(d, UsualCPU))
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", k.Name, err)
		}
		scopes, _ := threads.Scopes() // of those that cannot be read the names stay
		return Relabel(data, scopes)
	case OfThreads:
		p, err := FromThreads(ctx, k, threads)
		if err != nil || d == 0 {
			return p, err
		}
		if err := pause(ctx, d); err != nil {
			return nil, err
		}
		after, err := FromThreads(ctx, k, threads)
		if err != nil {
			return nil, err
		}
		return difference(p, after, d)
	}
	c := src.Events()
	if c == nil {
		return nil, fmt.Errorf("profile %s: %w: nobody follows what the threads do", k.Name, ErrNone)
	}
	var from *Mark
	if d > 0 {
		from = c.Mark()
		if err := pause(ctx, d); err != nil {
			return nil, err
		}
	}
	p := c.Profile(k, exe, time.Now(), from, c.Mark())
	p.Comments = append(p.Comments, leftOut(k, threads)...)
	return p, nil
}

// difference returns what one profile has more than another, and less.
func difference(before, after *pprof.Profile, d time.Duration) (*pprof.Profile, error) {
	before.Scale(-1)
	p, err := pprof.Merge([]*pprof.Profile{before, after})
	if err != nil {
		return nil, fmt.Errorf("profile: compare: %w", err)
	}
	p.TimeNanos, p.DurationNanos, p.Comments = after.TimeNanos, int64(d), after.Comments
	return p, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leftOut says which of the events that a profile needs the settings of the process leave out.
func leftOut(k *Kind, src dump.Source) (all []string) {
	from, ok := src.(interface {
		Settings() (flight.SettingsRow, error)
	})
	if !ok {
		return nil
	}
	set, err := from.Settings()
	if err != nil {
		all = append(all, err.Error())
	}
	if !set.Known {
		return all
	}
	for _, kind := range k.settings {
		switch one := set.Kinds[kind]; {
		case !one.On:
			all = append(all, fmt.Sprintf("the settings %q do not record %s: what is told by that is missing", set.Name, kind))
		case one.Every > 1 || one.PerSecond > 0 || one.Threshold > 0:
			all = append(all, fmt.Sprintf("the settings %q record %s in part (%s): what is told by the rest is missing", set.Name, kind, one))
		case slices.ContainsFunc(flight.Kinds[kind].Fields, func(f flight.Field) bool { return f.Use == flight.FieldStack }) && !one.Stack:
			all = append(all, fmt.Sprintf("the settings %q record no stacks of %s", set.Name, kind))
		}
	}
	return all
}

// ProcessOptions say what a [Process] has beside its flight file. The zero value is usable.
type ProcessOptions struct {
	CollectorOptions // but Blockers and Live, which are set
	// CPU has the process take Go's own profile; nil: it cannot be had.
	CPU func(ctx context.Context, d time.Duration) ([]byte, error)
}

// A Process is the [Source] of a process with a flight file.
type Process struct {
	r      *flight.Reader
	events *Collector
	cpu    func(ctx context.Context, d time.Duration) ([]byte, error)
}

// NewProcess returns the source of a process. The reader stays the caller's. Its Events are there when somebody lets them observe the process.
func NewProcess(r *flight.Reader, o ProcessOptions) (*Process, error) {
	o.Live, o.Blockers = true, r.Blockers
	c, err := NewCollector(func(id flight.StackID) flight.Stack {
		s, _ := r.Stack(id) // what cannot be read has no names, which is told
		return s
	}, o.CollectorOptions)
	if err != nil {
		return nil, err
	}
	return &Process{r, c, o.CPU}, nil
}

// Threads returns the reader.
func (p *Process) Threads() dump.Source { return p.r }

// Events returns the observer.
func (p *Process) Events() *Collector { return p.events }

// CPU asks the process.
func (p *Process) CPU(ctx context.Context, d time.Duration) ([]byte, error) {
	if p.cpu == nil {
		return nil, fmt.Errorf("%w: the process is not asked", ErrNone)
	}
	return p.cpu(ctx, d)
}

// Follow makes a profile of what the process of r does in the next d, or until its end: it is followed for so long, and not before or after. It is for those who
// have no [Source] that is followed all the time. Profiles of threads and of the processors are as [Take] makes them.
func Follow(ctx context.Context, k *Kind, r *flight.Reader, d time.Duration, o ProcessOptions) (*pprof.Profile, error) {
	p, err := NewProcess(r, o)
	if err != nil {
		return nil, err
	}
	if k.Origin != OfEvents {
		return Take(ctx, k, p, d)
	}
	if d <= 0 {
		return nil, fmt.Errorf("profile %s: %v: want a duration", k.Name, d)
	}
	live, err := recording.NewLive(r, recording.LiveOptions{})
	if err != nil {
		return nil, err
	}
	followed, stop := context.WithCancel(ctx)
	defer stop()
	w := &window{Collector: p.events, length: d, stop: stop}
	err = recording.Observe(followed, live, w)
	if w.timer != nil {
		w.timer.Stop()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	if w.from == nil {
		return nil, fmt.Errorf("profile %s: nothing of the process could be read", k.Name)
	}
	// All that happened has been told: what goes on does so until now.
	at := w.begin + min(time.Since(w.begun), d)
	out := p.events.Profile(k, r.Process().Exe, time.Now(), w.from, p.events.markAt(max(at, p.events.newest())))
	out.Comments = append(append(out.Comments, leftOut(k, r)...), live.Info().Incomplete...)
	return out, nil
}

// newest returns the time of the newest event.
func (c *Collector) newest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.mu.at, c.mu.settled)
}

// A window is a collector that stops to be told a while after it began.
type window struct {
	*Collector
	length time.Duration
	stop   func()
	timer  *time.Timer
	from   *Mark
	begin  time.Duration // by the events
	begun  time.Time
}

// Reset also begins.
func (w *window) Reset(t *recording.Tracker) {
	w.Collector.Reset(t)
	if w.from == nil {
		w.begin, w.begun = t.At(), time.Now()
		w.from = w.markAt(w.begin)
		w.timer = time.AfterFunc(w.length, w.stop)
	}
}

// OfRecording makes a profile of what a recording tells of the time from one moment to another, since its Info().From. Profiles of threads are of the end of that. An
// error matches [ErrNone] if no recording has such a profile.
func OfRecording(ctx context.Context, k *Kind, f *recording.File, from, to time.Duration, o CollectorOptions) (*pprof.Profile, error) {
	switch {
	case k.Origin == OfProcess:
		return nil, fmt.Errorf("profile %s: %w of a recording", k.Name, ErrNone)
	case from > to:
		return nil, fmt.Errorf("profile %s: from %v to %v: nothing", k.Name, from, to)
	}
	at := f.Info().From.Add(to)
	if k.Origin == OfThreads {
		m, err := f.At(ctx, to)
		if err != nil {
			return nil, err
		}
		return FromThreads(ctx, k, m)
	}
	o.Live = false
	c, err := NewCollector(f.Stack, o)
	if err != nil {
		return nil, err
	}
	s := &stretch{c: c, begin: from, end: to}
	if err := recording.Observe(ctx, part{f, from, to}, s); err != nil {
		return nil, err
	}
	if !s.finish() {
		return nil, fmt.Errorf("profile %s: the recording has nothing of that time", k.Name)
	}
	p := c.Profile(k, f.Info().Exe, at, s.from, s.to)
	p.Comments = append(p.Comments, f.Info().Incomplete...)
	return p, nil
}

const maxTime = time.Duration(1<<63 - 1)

// A part is a recording from the last state before a moment on.
type part struct {
	*recording.File
	from, to time.Duration
}

func (p part) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	return p.ReadSince(ctx, p.from, func(b *recording.Batch) bool {
		return f(b) && (len(b.Events) == 0 || b.Events[len(b.Events)-1].Time <= p.to)
	})
}

// A stretch tells a collector what happened up to the end of a time, and marks its beginning and its end.
type stretch struct {
	c          *Collector
	begin, end time.Duration
	from, to   *Mark
}

// upTo marks what lies before a moment.
func (s *stretch) upTo(at time.Duration) {
	if s.from == nil && at > s.begin && s.c.Began() {
		s.from = s.c.markAt(max(s.begin, s.c.newest()))
	}
	if s.to == nil && at > s.end && s.from != nil {
		s.to = s.c.markAt(max(s.end, s.c.newest()))
	}
}

// finish marks what no event lay behind. It also serves a stretch that ends at the largest time there is, which no event can pass: a damaged header names
// such a time. It reports whether the collector began.
func (s *stretch) finish() bool {
	if !s.c.Began() {
		return false
	}
	if s.from == nil {
		s.from = s.c.markAt(max(s.begin, s.c.newest()))
	}
	if s.to == nil {
		s.to = s.c.markAt(max(s.end, s.c.newest()))
	}
	return true
}

// Reset tells the state, unless it is of after the end.
func (s *stretch) Reset(t *recording.Tracker) {
	if s.upTo(t.At()); s.to == nil {
		s.c.Reset(t)
	}
}

// Event tells an event, unless it is of after the end.
func (s *stretch) Event(e *recording.Event, ch recording.Change, t *recording.Tracker) {
	if s.upTo(e.Time); s.to == nil {
		s.c.Event(e, ch, t)
	}
}

// Lost tells what is missing, unless it is of after the end.
func (s *stretch) Lost(n uint64) {
	if s.to == nil {
		s.c.Lost(n)
	}
}

// Flush has nothing to do: time is that of events.
func (s *stretch) Flush(*recording.Tracker) {}
