package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/source"
	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	// usualShare is the part of a processor that snapshots of a process may use: a snapshot that was on a
	// processor for d is followed by the next no sooner than d/share after it began.
	usualShare = 0.25
	// unwatched is how many intervals apart snapshots are of a process that no client looks at.
	unwatched = 5
	// Changes are told over compareOver, from one of the snapshots kept each compareStep.
	compareStep = 10 * time.Second
	compareOver = 30 * time.Second
)

// A follower watches one process. Its goroutine, run, is the only one that changes it; what others may
// know it publishes as a view.
type follower struct {
	agent        *Agent
	path         string
	open         func() (*flight.Reader, error) // another reader of the flight file
	openSource   func() (source.Source, error)  // another source
	reader       *flight.Reader                 // nil: there is no recorder
	live         source.Source                  // of the reader, if there is one; for one goroutine at a time, but for Process
	share        float64                        // of a processor, for looks
	usualPause   time.Duration                  // between two looks, which is told if it is longer
	own          *flight.Recorder               // nil: it is another process
	asked        *asked                         // nil: it is no endpoint
	stream       *stream                        // nil: nobody observes
	profiler     profiler
	past         *past  // nil: it is a process
	at           string // the moment of recorded; "": the end
	keeper       keeper
	flags        flags
	key          string
	onGoroutines atomic.Bool // there were threads on goroutines

	watched  atomic.Int32  // clients that look at this process
	surveyed atomic.Int32  // those of them that look at what surveys read
	filters  filters       // that they use
	kick     chan struct{} // a client came: take a snapshot soon

	// Of run alone.
	rings    counters
	told     told
	heard    bool // told has been renewed once
	counted  counted
	seen     *survey
	lookout  lookout
	history  timeline
	due      bool            // a tick has passed that has no point in history yet
	happened happened        // since the newest point
	shownNow map[string]bool // keys of the findings that the newest point knew; nil: none was judged
	latest   *dump.Snapshot
	lineage  lineage                   // of latest
	filtered map[string]*dump.Snapshot // by filter; not changed: views hold it
	lineages map[string]*lineage       // of those
	began    time.Time                 // of the newest snapshot
	cost     time.Duration             // processor time of the newest, with all that was read for it
	pause    time.Duration             // that the newest snapshot demands, from began on
	busy     bool                      // a snapshot is under way
	results  chan result               // its end
	reading  chan soFar                // how far the first one is, the newest alone
	soFar    *soFar                    // what it told last; nil: nothing
	problem  string

	mu struct {
		sync.Mutex
		view *view
		wake chan struct{} // closed when view is replaced
	}
}

type result struct {
	look     *dump.Look
	cost     time.Duration             // processor time
	filtered map[string]*dump.Snapshot // by filter
	err      error
	seen     *survey // nil: nobody looks
	first    bool    // the look has a snapshot alone
}

// newFollower returns one of a flight file.
func newFollower(a *Agent, path string, open func() (*flight.Reader, error)) (*follower, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	f := a.newFollower(path, keyOf(r, filepath.Base(path)), nil)
	of := func(r *flight.Reader) source.Source { return &live{Reader: r, goroutines: &f.onGoroutines} }
	f.open, f.reader, f.live = open, r, of(r)
	f.openSource = func() (source.Source, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		return of(r), nil
	}
	f.publish(r.Process())
	return f, nil
}

// newFollower returns one that has published nothing so far.
func (a *Agent) newFollower(path, key string, src source.Source) *follower {
	f := &follower{
		agent: a, path: path, key: key, live: src, share: usualShare,
		kick:    make(chan struct{}, 1),
		results: make(chan result, 1),
		reading: make(chan soFar, 1),
		history: timeline{most: a.options.Points},
		seen:    noSurvey(),
		lookout: lookout{options: a.options.Checks},
	}
	f.mu.wake = make(chan struct{})
	f.keeper.total = &a.meter.past
	return f
}

// view returns what is known now. It does not block.
func (f *follower) view() *view {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.view
}

// watch returns what is known now and a channel that is closed when there is more.
func (f *follower) watch() (*view, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.view, f.mu.wake
}

// enter and leave bracket the time that a client looks at the process.
func (f *follower) enter() {
	f.watched.Add(1)
	f.hurry()
	if f.past != nil {
		f.root().drawLine()
	}
}

// hurry asks for a snapshot as soon as the one before allows.
func (f *follower) hurry() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

func (f *follower) leave() { f.watched.Add(-1) }

func (f *follower) run() {
	ctx, cancel := context.WithCancel(f.agent.ctx)
	defer f.live.Close()
	defer func() {
		cancel()
		if f.busy {
			<-f.results
		}
	}()
	tick := time.NewTicker(f.agent.options.Interval)
	defer tick.Stop()
	for now := time.Now(); ; {
		p := f.live.Process()
		if isGone(p) {
			f.end(ctx, p)
			return
		}
		f.read(now)
		f.hear(now)
		f.due = true
		switch began := f.begin(ctx, now, false); {
		case !began:
			f.publish(p) // else its end does, so that there is one frame for each interval
		case f.latest == nil:
			f.publishSoFar(p)
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case now = <-tick.C:
				waiting = false
			case <-f.kick:
				f.begin(ctx, time.Now(), true)
			case s := <-f.reading:
				if f.soFar = &s; f.latest == nil {
					f.publishSoFar(f.live.Process())
				}
			case res := <-f.results:
				f.take(res)
				if res.first && res.err == nil {
					f.publishSoFar(f.live.Process())
					f.began = time.Time{}
					f.begin(ctx, time.Now(), true)
					break
				}
				f.publish(f.live.Process())
			}
		}
	}
}

func isGone(p flight.Process) bool {
	return p.Status == flight.StatusEnded || p.Status == flight.StatusGone
}

// begin starts a snapshot in a goroutine of its own if it is time for one, and reports whether it did.
func (f *follower) begin(ctx context.Context, now time.Time, soon bool) bool {
	wait := f.pause
	if !soon {
		// Ticks come a little early or late; half an interval is neither.
		wait = f.every() - f.agent.options.Interval/2
	}
	if f.busy || now.Sub(f.began) < wait {
		return false
	}
	f.busy, f.began = true, now
	if f.latest == nil && f.reader != nil {
		go func() {
			var res result
			res.cost = onProcessor(func() { res = f.firstLook(ctx) })
			f.results <- res // has room for the one snapshot under way
		}()
		return true
	}
	survey := f.surveyed.Load() > 0 && !f.agent.meter.thrift.rule().noSurvey
	what := f.lookFor(survey)
	go func() {
		var res result
		res.cost = onProcessor(func() {
			began := time.Now()
			src := dump.Looked(f.live)
			if res.err = failed(src); res.err != nil {
				return
			}
			if res.look, res.err = what.Take(ctx, src); res.err == nil {
				res.look.Snapshot.Took = time.Since(began)
				res.filtered, res.err = f.takeFiltered(ctx, src)
			}
		})
		if what.Delays && res.err == nil && res.look.Schedulers != nil {
			res.seen = newSurvey(res.look.Schedulers)
		}
		f.results <- res
	}()
	return true
}

// every is the time from the start of one snapshot to that of the next.
func (f *follower) every() time.Duration {
	interval := f.agent.meter.thrift.interval(f.agent.options.Interval)
	if f.watched.Load() == 0 {
		return max(f.pause, unwatched*interval)
	}
	return max(f.pause, interval)
}

func (f *follower) take(res result) {
	f.busy = false
	least := time.Duration(0) // of the pause
	if f.asked != nil {
		least = f.asked.pause()
		f.pause = least
	}
	if res.err != nil {
		f.problem = fmt.Sprintf("no snapshot: %v", res.err)
		return
	}
	f.problem = ""
	s := res.look.Snapshot
	if res.first { // the next one follows at once, and is compared and judged
		f.latest, f.cost = s, res.cost
		return
	}
	interval := f.agent.options.Interval
	before := f.seen
	if f.seen = res.seen; f.seen == nil {
		f.seen = noSurvey()
	}
	f.seen.since(before)
	f.pause = max(least, max(0, time.Duration(float64(res.cost)/f.share)+interval-1)/interval*interval)
	f.lineage.add(s)
	f.takeNotes(res.filtered)
	f.latest, f.cost = s, res.cost
	f.judge(res.look)
}

// end takes the last snapshot of a process that is gone: its flight file still holds what it did at the
// end. If that fails, the snapshot before stays.
func (f *follower) end(ctx context.Context, p flight.Process) {
	if f.busy {
		f.take(<-f.results)
	}
	now := time.Now()
	if f.reader == nil { // its memory is gone with it
		p.LastSeen = time.Now()
		f.publish(p)
		return
	}
	f.read(now)
	f.hear(now)
	what := f.lookFor(true)
	what.For, what.Delays = nil, true
	l, err := what.Take(ctx, f.reader)
	if err == nil {
		res := result{look: l, seen: newSurvey(l.Schedulers)}
		res.filtered, res.err = f.takeFiltered(ctx, f.reader)
		f.take(res)
	} else if f.latest == nil {
		f.problem = fmt.Sprintf("no snapshot: %v", err)
	}
	f.publish(p)
}

// publish makes a new view and wakes who waits for one.
func (f *follower) publish(p flight.Process) {
	if f.due {
		f.flagFindings()
		f.happened.flags = f.flags.take()
		f.history.add(time.Now(), f.latest, f.rings, f.happened)
		f.happened, f.due = happened{}, false
	}
	f.replace(f.newView(p), 1)
}

// publishSoFar makes a view that one for the whole interval follows soon: none that a slow client could miss.
func (f *follower) publishSoFar(p flight.Process) { f.replace(f.newView(p), 0) }

// replace makes v the view, so many versions later than the one before.
func (f *follower) replace(v *view, later uint64) {
	f.keeper.add(v, time.Duration(f.history.most)*f.agent.options.Interval)
	f.agent.economize()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.view != nil {
		v.version = f.mu.view.version + later
	}
	f.mu.view = v
	close(f.mu.wake)
	f.mu.wake = make(chan struct{})
}
