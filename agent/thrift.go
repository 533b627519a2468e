package agent

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A step is something that the agent does without when it costs too much, beside what the steps before it say.
type step struct {
	name   string
	note   string // what that means, as a clause
	slower int    // snapshots come so many times more rarely
	groups int    // most groups of a snapshot
	past   int    // the memory of kept moments is so many times smaller

	noFilters   bool // clients get no filtered snapshots
	noSurvey    bool // nothing is read of pins, delays and warnings
	noObservers bool // nothing is exported
}

// steps are taken one after the other. What leaves the process for others goes last.
var steps = []step{
	{name: "all", slower: 1, groups: math.MaxInt, past: 1},
	{name: "half", note: "snapshots come half as often, and half as much of the past is kept", slower: 2, groups: math.MaxInt, past: 2},
	{name: "fifth", note: "snapshots come a fifth as often, and a quarter of the past is kept", slower: 5, groups: math.MaxInt, past: 4},
	{name: "few groups", note: "snapshots come a fifth as often and keep 200 groups of threads, the others are only counted; an eighth of the past is kept; filters are off", slower: 5, groups: 200, past: 8, noFilters: true},
	{name: "no surveys", note: "snapshots come a fifth as often and keep 200 groups of threads, the others are only counted; a sixteenth of the past is kept; filters, pin sites, pollers, delays and warnings are off", slower: 5, groups: 200, past: 16, noFilters: true, noSurvey: true},
	{name: "no observers", note: "snapshots come a tenth as often and keep 200 groups of threads, the others are only counted; a sixteenth of the past is kept; filters, pin sites, pollers, delays, warnings and all exports of events are off", slower: 10, groups: 200, past: 16, noFilters: true, noSurvey: true, noObservers: true},
}

const (
	overFor = 3 // readings in a row above a limit before a step is taken
	// A step is undone after so many readings in a row below these parts of the limits; after twice as many if the step before was undone in vain, and so on.
	roomFor     = 10
	longestRoom = 320
	roomCPU     = 0.7
	roomMemory  = 0.8
)

// A thrift decides which step holds.
type thrift struct {
	step atomic.Int32 // index into steps; stored by judge

	mu struct {
		sync.Mutex
		over, room int           // readings in a row
		patience   int           // room that is needed
		undone     int           // readings since a step was undone; negative: none was
		why        string        // the limit that was exceeded last
		changed    chan struct{} // closed when the step changes

		may    context.Context // while events may be read; nil: they may not
		mayNot context.CancelFunc
		until  time.Time // somebody wants the events until then
		unused bool      // nobody wants them
	}
}

func (t *thrift) init() {
	t.mu.patience, t.mu.undone = roomFor, -1
	t.mu.changed = make(chan struct{})
	t.mu.may, t.mu.mayNot = context.WithCancel(context.Background())
}

// judge takes note of a reading: why it is over a limit, or whether there is room for more.
func (t *thrift) judge(over string, room bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := int(t.step.Load())
	if t.mu.undone >= 0 {
		t.mu.undone++
	}
	switch {
	case over != "":
		t.mu.why = over
		t.mu.room = 0
		if t.mu.over++; t.mu.over < overFor || at == len(steps)-1 {
			return
		}
		if t.mu.undone >= 0 && t.mu.undone <= 2*overFor {
			t.mu.patience = min(2*t.mu.patience, longestRoom)
		}
		t.mu.undone = -1
		t.takeLocked(at + 1)
	case room && at > 0:
		t.mu.over = 0
		if t.mu.room++; t.mu.room < t.mu.patience {
			return
		}
		t.mu.undone = 0
		t.takeLocked(at - 1)
	case room && t.mu.undone > longestRoom:
		t.mu.patience, t.mu.undone = roomFor, -1
		t.mu.over = 0
	default:
		t.mu.over, t.mu.room = 0, 0
	}
}

func (t *thrift) takeLocked(to int) {
	t.mu.over, t.mu.room = 0, 0
	t.step.Store(int32(to))
	t.mayLocked()
}

// mayLocked decides whether events may be read.
func (t *thrift) mayLocked() {
	switch no := t.rule().noObservers || t.mu.unused; {
	case no && t.mu.may != nil:
		t.mu.mayNot()
		t.mu.may = nil
	case !no && t.mu.may == nil:
		t.mu.may, t.mu.mayNot = context.WithCancel(context.Background())
	}
	close(t.mu.changed)
	t.mu.changed = make(chan struct{})
}

// rest lets no events be read if nobody wants them.
func (t *thrift) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.mu.unused && time.Until(t.mu.until) <= 0 {
		t.mu.unused = true
		t.mayLocked()
	}
}

// want lets events be read for so long from now on.
func (t *thrift) want(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.until = time.Now().Add(d); t.mu.unused {
		t.mu.unused = false
		t.mayLocked()
	}
}

// rule is the step that holds.
func (t *thrift) rule() *step { return &steps[t.step.Load()] }

// now returns the number of the step that holds, and says in words what it means and why; "" if nothing is left out.
func (t *thrift) now() (at int, note string) {
	if at = int(t.step.Load()); at == 0 {
		return 0, ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return at, fmt.Sprintf("the agent saves cost, step %d of %d: %s. The reason: %s", at, len(steps)-1, steps[at].note, t.mu.why)
}

// whileObserving waits until events may be read, and returns a context that ends when they may not any more. The error is that of ctx.
func (t *thrift) whileObserving(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for {
		t.mu.Lock()
		may, changed := t.mu.may, t.mu.changed
		t.mu.Unlock()
		if may != nil {
			inner, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(may, cancel)
			return inner, func() { stop(); cancel() }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// interval is the time between two snapshots of a process that is watched, as the step demands.
func (t *thrift) interval(of time.Duration) time.Duration { return time.Duration(t.rule().slower) * of }
