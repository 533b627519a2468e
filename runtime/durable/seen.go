package durable

import (
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ownFrames are those of the runtime above the body where it waits.
const ownFrames = 1

// seen is what observers are told of a thread. It decides nothing: with the recorder off it is empty.
type seen struct {
	recorder *flight.Recorder      // that record is of
	record   *flight.DurableRecord // from the first begin to the end here; nil: not recorded
	shown    *flight.Record        // while it is hibernated; nil: it is not recorded
	as       flight.ThreadID       // the thread that it is now, or was last
	hides    flight.Ticks          // when it hibernated; 0: it does not
	replays  flight.Ticks          // when its replay began; 0: it stands where it stood
	before   int32                 // steps that the replay gives
	errors   int32                 // of the journal
	bytes    int                   // that it was made of, until it begins
	restored bool                  // it has begun before, here or elsewhere
}

// openSeenLocked gives the thread its record.
func (t *Thread) openSeenLocked() {
	s := &t.mu.seen
	if s.record != nil {
		return
	}
	if s.recorder = flight.Default(); s.recorder == nil {
		return
	}
	s.record = s.recorder.OpenDurable(t.id, t.body.name)
	s.errors = 0
	for i := range t.mu.journal.steps {
		if t.mu.journal.steps[i].Err != "" {
			s.errors++
		}
	}
	s.record.Learned(t.learnedLocked(), int(s.errors))
}

func (t *Thread) closeSeenLocked() {
	s := &t.mu.seen
	s.recorder.CloseDurable(s.record)
	s.record = nil
}

// learnedLocked is how long the journal is, with what checkpoints have replaced.
func (t *Thread) learnedLocked() int { return t.mu.journal.since + len(t.mu.journal.steps) }

// beginsLocked tells that the thread has a goroutine from now on.
func (t *Thread) beginsLocked() {
	t.openSeenLocked()
	s := &t.mu.seen
	hidden, since := s.as, s.hides
	s.as, s.hides = t.mu.thread.ID(), 0
	n := len(t.mu.journal.steps)
	s.record.Is(s.as, n > 0)
	if n > 0 {
		s.replays, s.before = flight.Now(), int32(n)
	}
	r := flight.Default()
	if r == nil {
		return
	}
	if !s.restored {
		r.CountDurable(flight.DurableStarted, 1)
		s.restored = true
		return
	}
	thread, asleep := s.as, time.Duration(0)
	switch {
	case s.bytes > 0:
		r.CountDurable(flight.DurableUnparks, 1)
	case since != 0:
		thread, asleep = hidden, flight.Since(since)
		fallthrough
	default:
		r.CountDurable(flight.DurableResumes, 1)
	}
	t.tellBody(flight.EventDurableResume, thread, uint64(t.learnedLocked()), uint64(s.bytes), uint64(asleep), uint64(s.as))
	s.bytes = 0
}

// replayedLocked tells that the thread stands where it stood.
func (t *Thread) replayedLocked() {
	s := &t.mu.seen
	if s.replays == 0 {
		return
	}
	took := flight.Since(s.replays)
	s.replays = 0
	s.record.Replayed()
	r := flight.Default()
	r.CountReplay(int(s.before), took)
	if r.Over(flight.EventDurableReplay, flight.Ticks(0).Add(took)) {
		t.tellBody(flight.EventDurableReplay, s.as, uint64(took), uint64(s.before))
	}
}

// stepLocked tells that the journal has a step more, or that its last one is complete. closed ones are counted.
func (t *Thread) stepLocked(step *journal.Step) {
	r := flight.Default()
	if r == nil {
		return
	}
	s := &t.mu.seen
	if step.Err != "" {
		s.errors++
		r.CountDurable(flight.DurableErrors, 1)
	}
	s.record.Learned(t.learnedLocked(), int(s.errors))
	if step.Open {
		return
	}
	r.CountDurable(flight.DurableSteps, 1)
	if r.On(flight.EventDurableStep) {
		text := flight.TextOf(step.String())
		t.tellBody(flight.EventDurableStep, s.as, uint64(t.learnedLocked()), text[:]...)
	}
}

// checkpointLocked tells that a state stands for forgotten steps.
func (t *Thread) checkpointLocked(step *journal.Step, forgotten int) {
	t.mu.seen.errors = 0
	t.stepLocked(step)
	if r := flight.Default(); r != nil {
		r.CountDurable(flight.DurableCheckpoints, 1)
		t.tellBody(flight.EventDurableCheckpoint, t.mu.seen.as, uint64(t.learnedLocked()), uint64(len(step.Value)), uint64(forgotten))
	}
}

// divergesLocked tells that the thread is about to end.
func (t *Thread) divergesLocked(d *Divergence) {
	r := flight.Default()
	if r == nil {
		return
	}
	r.CountDurable(flight.DurableDivergences, 1)
	want, got := flight.TextOf(d.Want), flight.TextOf(d.Got)
	t.tellBody(flight.EventDurableDivergence, t.mu.seen.as, uint64(d.At), append(want[:], got[:]...)...)
}

// packed tells that the thread, with its children, is so many bytes, and goes on elsewhere.
func (t *Thread) packed(bytes int) {
	r := flight.Default()
	if r == nil {
		return
	}
	r.CountDurable(flight.DurableParks, 1)
	r.CountDurable(flight.DurableBytes, bytes)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellBody(flight.EventDurablePark, t.mu.seen.as, uint64(t.learnedLocked()), uint64(bytes))
}

// tellBody records an event of a kind whose reference is the body and whose first words are the id.
func (t *Thread) tellBody(k flight.Kind, thread flight.ThreadID, arg uint64, words ...uint64) {
	t.tellMore(k, 0, uint32(flight.Default().Intern(t.body.name)), thread, arg, words)
}

func (t *Thread) tellMore(k flight.Kind, why flight.Reason, ref uint32, thread flight.ThreadID, arg uint64, words []uint64) {
	var more [3 * flight.TextWords]uint64
	id := flight.TextOf(t.id)
	copy(more[copy(more[:], id[:]):], words)
	sched.EmitMoreFor(k, why, ref, thread, arg, more[:]...)
}

// showLocked gives a hibernated thread a row in the flight file, since it has no thread that has one.
func (t *Thread) showLocked() {
	s := &t.mu.seen
	slept := s.as != 0 // else it waits since before it was here
	t.openSeenLocked()
	r := flight.Default()
	now := flight.Now()
	s.as, s.hides = sched.NewID(nil), now
	if !slept {
		s.hides = now.Add(-time.Since(t.mu.wait.since))
	}
	s.restored, s.replays = true, 0
	if s.shown = r.GetRecord(); s.shown == nil {
		return // the recorder is off, or the table is full, which it counts
	}
	w := &t.mu.wait
	name, limited := flight.TextOf(t.label()), w.blocker()
	if !w.until.IsZero() {
		limited = limited.Limited()
	}
	s.shown.Hibernated(s.hides, s.as, w.reason(), w.stack, limited)
	r.SetName(s.shown, t.label())
	s.record.Is(s.as, false)
	s.record.Waits(w.seen(), w.name, w.child, w.since, w.until)
	until := flight.Ticks(0)
	if !w.until.IsZero() {
		until = now.Add(time.Until(w.until))
	}
	if slept {
		r.CountDurable(flight.DurableHibernations, 1)
	}
	sched.EmitMoreFor(flight.EventThreadName, 0, 0, s.as, 0, name[:]...)
	t.tellMore(flight.EventDurableHibernate, w.reason(), uint32(w.stack), s.as, uint64(limited), []uint64{uint64(r.Intern(t.body.name)), uint64(t.learnedLocked()), uint64(until)})
}

func (t *Thread) hideLocked() {
	if s := &t.mu.seen; s.shown != nil {
		s.shown.End(flight.Now())
		s.recorder.PutRecord(s.shown)
		s.shown = nil
	}
}

// leavesLocked takes a hibernated thread from sight: this process has it no more.
func (t *Thread) leavesLocked() {
	t.hideLocked()
	if s := &t.mu.seen; s.hides != 0 {
		s.hides = 0
		t.tellBody(flight.EventDurableLeave, s.as, uint64(t.learnedLocked()))
	}
}

// seen is what observers are told that a thread waits for.
func (w *wait) seen() flight.DurableWait {
	switch w.kind {
	case journal.StepSignal:
		return flight.DurableSignal
	case journal.StepSleep:
		return flight.DurableSleep
	case journal.StepPark:
		return flight.DurablePermit
	case journal.StepJoin:
		return flight.DurableChild
	}
	return flight.DurableRuns
}

func (w *wait) blocker() flight.Blocker { return w.seen().Blocker(w.name) }

// label is what dumps call the thread.
func (t *Thread) label() string { return t.body.name + " " + t.id }
