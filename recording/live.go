package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// LiveOptions say how a [Live] follows a process. The zero value is usable.
type LiveOptions struct {
	// Every is how old events get before they are given. Default: 100 ms; at least 20 ms, within which carriers may be late.
	Every time.Duration
}

// A Live is what a process does from now on, as long as it is read: a [Source] that follows a flight file. The process takes no part. What could not be read in
// time, because who reads is slow or the process wrote more than its rings hold, is counted as lost, and followed by a batch with a state.
type Live struct {
	r *flight.Reader
	o Options
	liveDefinitions

	mu struct {
		sync.Mutex
		info Info
	}
}

// NewLive returns the source. The reader stays the caller's.
func NewLive(r *flight.Reader, o LiveOptions) (*Live, error) {
	o.Every = cmp.Or(o.Every, 100*time.Millisecond)
	if o.Every < lateness {
		return nil, fmt.Errorf("recording: live every %v: less than %v", o.Every, lateness)
	}
	l := &Live{r: r, o: Options{Every: o.Every, waiting: maxLive, idle: idlePause}, liveDefinitions: newLiveDefinitions(r)}
	h := r.Header()
	l.mu.info = Info{PID: h.PID, Program: h.Program, Exe: h.Exe, GoVersion: h.GoVersion, GoArch: h.GoArch, Started: h.Start, From: time.Now()}
	return l, nil
}

// Info tells what is known. From is when [Live.Read] has begun, exact from its first batch on. It may be called from any goroutine.
func (l *Live) Info() Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.info
}

// errEnough is told by a sink whose reader wants no more.
var errEnough = errors.New("enough")

// Read gives batches as the process fills them, until f returns false, ctx ends, or the process ends; then it has given all. It blocks meanwhile. An error is of ctx
// or of the flight file. It is called once at a time.
func (l *Live) Read(ctx context.Context, f func(*Batch) bool) error { return l.read(ctx, l.o, f) }

// readFor is Read for who resets one tracker to each state, and does nothing else with it: of a million threads there are fewer copies then. With places states have
// no threads, but where they are.
func (l *Live) readFor(ctx context.Context, places bool, f func(*Batch) bool) error {
	o := l.o
	o.gives, o.places = true, places
	return l.read(ctx, o, f)
}

func (l *Live) read(ctx context.Context, o Options, f func(*Batch) bool) error {
	_, err := watch(ctx, l.r, o, l, func(info Info, t *Tracker) sink {
		l.mu.Lock()
		l.mu.info = info
		l.mu.Unlock()
		return &batcher{visit: f, state: stateOf(t, o.gives), gives: o.gives, live: l}
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		return fmt.Errorf("recording: %w", err)
	}
	return ctx.Err()
}

// A batcher gives what is added as batches.
type batcher struct {
	arranger
	visit func(*Batch) bool
	state *State // of the next batch; nil: it has none
	gives bool   // states are given away
	live  *Live
}

func stateOf(t *Tracker, gives bool) *State {
	if gives {
		return t.give()
	}
	return t.State()
}

func (b *batcher) give(events []Event) error {
	batch := Batch{State: b.state, Events: events, Lost: b.lost}
	b.state, b.lost = nil, 0
	if !b.visit(&batch) {
		return errEnough
	}
	return nil
}

func (b *batcher) Start() error { return b.give(nil) }

func (b *batcher) Begin(s *State) error {
	newer := b.after(s.At)
	if err := b.Flush(maxTime); err != nil {
		return err
	}
	if len(newer) > 0 {
		t := NewTracker(b.live)
		t.Reset(s)
		for i := range newer {
			t.Apply(&newer[i])
		}
		s = stateOf(t, b.gives)
	}
	b.state = s
	return b.give(nil)
}

func (b *batcher) Flush(upTo time.Duration) error {
	if err := b.take(upTo, b.give); err != nil {
		return err
	}
	if b.lost > 0 {
		return b.give(nil)
	}
	return nil
}

func (b *batcher) Miss(what string) {
	b.live.mu.Lock()
	defer b.live.mu.Unlock()
	b.live.mu.info.miss(what)
}

func (b *batcher) labelNow(*labelsNow) {} // who follows a process asks it

func (b *batcher) CloseAt(time.Duration) error { return b.Flush(maxTime) }

// liveDefinitions are those of a flight file.
type liveDefinitions struct {
	*flight.Reader
	kinds    map[uint32]*flight.UserKindInfo
	blockers *blockerNames
}

func newLiveDefinitions(r *flight.Reader) liveDefinitions {
	return liveDefinitions{r, map[uint32]*flight.UserKindInfo{}, &blockerNames{}}
}

func (d liveDefinitions) Stack(id flight.StackID) flight.Stack {
	s, err := d.Reader.Stack(id)
	if err != nil {
		return flight.Stack{ID: id}
	}
	return s
}

func (d liveDefinitions) UserKind(number uint32) *flight.UserKindInfo {
	if k, ok := d.kinds[number]; ok {
		return k
	}
	all, _ := d.UserKinds() // one that is missing is asked for again when it is met again
	for i := range all {
		d.kinds[all[i].Number] = &all[i]
	}
	return d.kinds[number]
}
