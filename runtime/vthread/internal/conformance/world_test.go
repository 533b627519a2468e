package conformance_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A pin is what keeps a virtual thread on its carrier.
type pin string

const (
	free     pin = "no"
	section  pin = "section"   // an explicit pin section
	osThread pin = "os-thread" // locked to an OS thread
)

// axes are the ways in which worlds differ. Its zero value has a goroutine that calls and virtual threads, on one carrier
// and on several.
type axes struct {
	callers bool // the test's body is run by a goroutine, and by a virtual thread
	onlyOn  bool // the test's body is run by a thread alone, of each kind if kinds is set
	kinds   bool // threads of each kind that can be started
	adopted bool // goroutines that are threads for the time of a call, too
	pins    bool // virtual threads are free, in a pin section, and locked to an OS thread
	apart   bool // who calls has a carrier that others do not need: there are two at least
	places  bool // virtual threads on every other scheduler, too
}

// A world is where a test runs.
type world struct {
	*testing.T
	carriers int
	onThread bool // the test's body is run by a thread
	kind     vthread.Kind
	pin      pin
	place    *place // nil: a fork-join scheduler with the carriers
	sched    sched.Scheduler
}

// everywhere runs a test in each world of the axes, as subtests.
func everywhere(t *testing.T, a axes, test func(w *world)) {
	t.Helper()
	var worlds []world
	for _, carriers := range []int{1, 4} {
		for _, onThread := range a.bodies() {
			for _, kind := range a.ofKinds() {
				for _, p := range a.pinned(kind) {
					w := world{carriers: carriers, onThread: onThread, kind: kind, pin: p}
					if a.apart && onThread {
						w.carriers = max(2, carriers)
					}
					worlds = append(worlds, w)
				}
			}
		}
	}
	if a.places {
		for _, onThread := range a.bodies() {
			for _, p := range places {
				worlds = append(worlds, world{onThread: onThread, pin: free, place: &p})
			}
		}
	}
	for _, w := range worlds {
		t.Run(w.String(), func(t *testing.T) {
			w.T = t
			w.begin(a, test)
		})
	}
}

func (a axes) bodies() []bool {
	switch {
	case a.onlyOn:
		return []bool{true}
	case a.callers:
		return []bool{false, true}
	}
	return []bool{false}
}

func (a axes) ofKinds() []vthread.Kind {
	all := []vthread.Kind{vthread.Virtual}
	if a.kinds {
		all = append(all, vthread.OnGoroutine, vthread.OnOSThread)
	}
	if a.adopted {
		all = append(all, vthread.Adopted)
	}
	return all
}

func (a axes) pinned(k vthread.Kind) []pin {
	if a.pins && k == vthread.Virtual {
		return []pin{free, section, osThread}
	}
	return []pin{free}
}

func (w *world) String() string {
	body := "goroutine"
	if w.onThread {
		body = "thread"
	}
	if w.place != nil {
		return fmt.Sprintf("scheduler=%s/caller=%s", w.place.name, body)
	}
	return fmt.Sprintf("carriers=%d/caller=%s/kind=%s/pin=%s", w.carriers, body, w.kind, w.pin)
}

// begin runs the test. After a failure its scheduler is left alone: threads may hold its carriers.
func (w *world) begin(a axes, test func(w *world)) {
	p := w.place
	if p == nil {
		p = &place{make: forkJoin(sched.ForkJoinOptions{Parallelism: w.carriers})}
	}
	var end func() error
	w.sched, end = p.make(w)
	w.Cleanup(func() {
		if w.Failed() {
			return
		}
		if err := end(); err != nil {
			w.Errorf("close the scheduler: %v", err)
		}
	})
	switch {
	case a.onlyOn:
		w.start(func() { test(w) }).Join()
	case w.onThread:
		vthread.Builder{Name: "caller", Scheduler: w.sched}.Start(func() { test(w) }).Join()
	default:
		test(w)
	}
}

// builder makes threads of the world's kind; what they execute is not pinned.
func (w *world) builder() vthread.Builder {
	b := vthread.Builder{Kind: w.kind}
	if w.kind == vthread.Virtual {
		b.Scheduler = w.sched
	}
	return b
}

// start starts a thread of the world's kind, and pinned if the world says so.
func (w *world) start(f func()) *vthread.Thread {
	if w.kind != vthread.Adopted {
		return w.builder().Start(w.pinned(f))
	}
	begun := make(chan *vthread.Thread, 1)
	go vthread.Builder{}.Run(func() {
		begun <- vthread.Current()
		f()
	})
	return <-begun
}

// pinned returns f, pinned if the world says so.
func (w *world) pinned(f func()) func() {
	switch w.pin {
	case section:
		return func() {
			continuation.Pin()
			defer continuation.Unpin()
			f()
		}
	case osThread:
		return func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			f()
		}
	}
	return f
}

// holds reports whether a thread of the world holds its carrier while it is parked. Coroutines by channels are not bound
// to OS threads.
func (w *world) holds() bool { return w.pin == section || w.pin == osThread && coro.Binds }

// paused is the state in which a thread of the world shows that would be in state s if it were not pinned.
func (w *world) paused(s flight.State) flight.State {
	if w.holds() {
		return flight.StatePinned
	}
	return s
}

// awaitState waits until a thread is in one of some states.
func (w *world) awaitState(th *vthread.Thread, states ...flight.State) {
	w.Helper()
	if !becomes(func() bool { return slices.Contains(states, th.State()) }) {
		w.Fatalf("thread %v: want it %v\n%s", th, states, threadDump())
	}
}

// awaitParked waits until a thread of the world is parked without a limit of time.
func (w *world) awaitParked(th *vthread.Thread) {
	w.Helper()
	w.awaitState(th, w.paused(flight.StateParked))
}

// join waits for the end of a thread.
func (w *world) join(th *vthread.Thread) {
	w.Helper()
	join(w.T, th)
}

// interrupted checks the interrupt status of the calling thread, and clears it.
func (w *world) interrupted(want bool, when string) {
	w.Helper()
	if me := vthread.Current(); me != nil && me.IsInterrupted() != want {
		w.Errorf("%s: got interrupt status %v, want %v", when, !want, want)
	}
	if got := vthread.Interrupted(); got != want {
		w.Errorf("%s: Interrupted: got %v, want %v", when, got, want)
	}
	if vthread.Interrupted() {
		w.Errorf("%s: Interrupted did not clear the status", when)
	}
}

func TestWorldsAreAllThatTheAxesSay(t *testing.T) {
	for _, c := range []struct {
		axes
		want int
	}{{axes{}, 2}, {axes{callers: true}, 4}, {axes{callers: true, kinds: true, pins: true}, 20}, {axes{onlyOn: true, kinds: true}, 6},
		{axes{onlyOn: true, kinds: true, adopted: true}, 8},
		{axes{callers: true, places: true}, 4 + 2*len(places)}} {
		got := map[string]bool{}
		t.Run("count", func(t *testing.T) {
			everywhere(t, c.axes, func(w *world) {
				got[w.String()] = true
				if on := vthread.Current() != nil; on != w.onThread {
					w.Errorf("on a thread: %v, want %v", on, w.onThread)
				}
			})
		})
		if len(got) != c.want {
			t.Errorf("%+v: got %d worlds, want %d: %s", c.axes, len(got), c.want, strings.Join(keys(got), " "))
		}
	}
}

func keys(m map[string]bool) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
