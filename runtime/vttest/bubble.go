package vttest

import (
	"bytes"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// An execution is one of a test, with one seed. It has ended, or was abandoned.
type execution struct {
	seed    seed
	choices int    // that had an alternative
	trail   uint64 // tells different executions apart
	steps   []sched.Step
	cut     int            // steps that are left out after the first [sched.StepsHead]
	names   []string       // of threads, by number
	failure *sched.Failure // of the simulation
	suspect *sched.Suspect // who kept it from going on until it was abandoned
	left    any            // why the bubble could not end
	stacks  string         // of goroutines that kept it, or are left
	broken  bool           // f, or a cleanup, has failed the test
	exited  bool           // f has called runtime.Goexit
	skipped bool
}

func (x *execution) failed() bool {
	return x.failure != nil || x.suspect != nil || x.left != nil || x.broken || x.exited
}

// A bubble is where an execution takes place. Its fields belong to its goroutines until it has ended.
//
// A goroutine of its own waits for it, so that the test can go on when the bubble cannot end: one of its goroutines may block in a way that
// nothing can undo.
type bubble struct {
	plan    *plan
	chooser *chooser
	sim     atomic.Pointer[sched.Simulated]
	mark    atomic.Pointer[string] // that the stacks of its goroutines have
	t       *testing.T
	failure *sched.Failure
	exited  bool
	broken  bool
	left    any
}

// execute executes f once.
func (p *plan) execute(t *testing.T, f func(t *testing.T), s seed) *execution {
	b := &bubble{plan: p, chooser: newChooser(s)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.broken = true
		defer func() { b.left = recover() }()
		synctest.Test(t, func(t *testing.T) { b.inside(t, f) })
		b.broken = false // else it has called t.FailNow
	}()
	suspect := b.watch(done)
	x := &execution{seed: s, suspect: suspect}
	sim := b.sim.Load()
	if sim != nil {
		x.steps, x.cut = sim.Steps()
		x.names = sim.Names()
	}
	if suspect != nil {
		x.failure = sim.Abandon()
		x.stacks = b.goroutines()
		return x
	}
	x.choices, x.trail = b.chooser.choices, b.chooser.trail
	x.failure, x.exited, x.left = b.failure, b.exited, b.left
	x.broken = b.broken && b.left == nil
	x.skipped = b.t != nil && b.t.Skipped()
	if x.failure != nil && x.failure.Kind == sched.Stopped {
		x.failure = nil // f had failed the test before, or has skipped it
	}
	if x.left != nil && x.failure == nil && sim != nil {
		x.stacks = b.goroutines()
	}
	return x
}

// inside is the execution, in its bubble.
func (b *bubble) inside(t *testing.T, f func(t *testing.T)) {
	b.t = t
	b.mark.Store(ownMark())
	defer giveRandom(t, b.chooser.seed)()
	s := sched.NewSimulated(sched.SimulatedOptions{
		Settle: synctest.Wait,
		Choose: func(c sched.Choice) int {
			if t.Failed() || t.Skipped() {
				return -1
			}
			return b.chooser.choose(c)
		},
		Carriers:   b.plan.carriers,
		MaxChoices: b.plan.choices,
	})
	b.sim.Store(s)
	returned := false
	b.failure = s.Run(func() {
		vthread.Builder{Name: "test", Scheduler: s}.Start(func() {
			f(t)
			returned = true
		})
	})
	b.exited = !returned && b.failure == nil && !t.Failed() && !t.Skipped()
}

// lookEvery is how often a bubble is looked at from outside.
const lookEvery = 50 * time.Millisecond

// watch waits until the bubble has ended. It returns who keeps it from going on if it does not move for too long.
func (b *bubble) watch(done <-chan struct{}) *sched.Suspect {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	moves, since := uint64(0), time.Now()
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		s := b.sim.Load()
		if s == nil {
			continue
		}
		if m := s.Moves(); m != moves {
			moves, since = m, time.Now()
			continue
		}
		stands := time.Since(since)
		if stands < b.plan.patience {
			continue
		}
		if v := s.Suspect(); v.Thread == 0 || v.Blocks || stands >= 10*b.plan.patience { // else it computes
			return &v
		}
	}
}

var bubbleMark = regexp.MustCompile(`synctest bubble \d+`)

func ownMark() *string {
	var buf [128]byte
	mark := string(bubbleMark.Find(buf[:runtime.Stack(buf[:], false)]))
	return &mark
}

// goroutines returns the stacks of the goroutines of the bubble that wait for something outside of it or compute, or of all if there are none. Those
// of the mechanism are left out.
func (b *bubble) goroutines() string {
	var all []byte
	for all = make([]byte, 1<<16); ; all = make([]byte, 2*len(all)) {
		if n := runtime.Stack(all, true); n < len(all) {
			all = bytes.TrimSpace(all[:n])
			break
		}
	}
	var guilty, others []string
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		header, frames, _ := strings.Cut(stack, "\n")
		switch {
		case !strings.Contains(header, *b.mark.Load()+"]") || isOurs(frames):
		case strings.Contains(header, "(durable)"):
			others = append(others, stack)
		default:
			guilty = append(guilty, stack)
		}
	}
	if len(guilty) == 0 {
		guilty = others
	}
	return strings.Join(guilty, "\n\n")
}

// isOurs reports whether a goroutine's frames are those of the testing package, or of the simulation's carrier.
func isOurs(frames string) bool {
	for _, f := range [...]string{"testing.testingSynctestTest(", "testing/synctest.Test(", "sched.(*Simulated).carry(", "sched.(*Simulated).Run("} {
		if strings.Contains(frames, f) {
			return true
		}
	}
	return false
}
