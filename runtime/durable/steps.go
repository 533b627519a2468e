package durable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// next returns what the journal holds for the step that the body is about to make, or nil if that is new. An open step that is the last is new as well: opened is it.
// The thread leaves here if it is told to, or if the journal holds something else.
func (t *Thread) next(kind Kind, name string) (recorded, opened *Step) {
	if t.leaving {
		t.exit() // a deferred function asks for something
	}
	t.mu.Lock()
	j := &t.mu.journal
	if j.at < len(j.steps) {
		s := &j.steps[j.at]
		if s.Kind != kind && !(s.Kind == StepTimeout && kind == StepSignal) || s.Name != name {
			t.mu.Unlock()
			t.diverges(&Step{Kind: kind, Name: name})
		}
		if s.Open {
			opened = s
		} else {
			recorded = s
			j.at++
		}
		t.mu.Unlock()
		return recorded, opened
	}
	leave := t.mu.leave
	t.mu.Unlock()
	if leave != stay {
		t.exit()
	}
	if len(name) > maxName {
		panic(fmt.Sprintf("durable: a name of %d bytes: at most %d", len(name), maxName))
	}
	return nil, nil
}

// append adds a step, which is closed, or open if more is to come ([Thread.settle]). lazy ones need not last before the next that does.
func (t *Thread) append(s Step, lazy bool, with ...Entry) {
	s.At = time.Now()
	t.mu.Lock()
	j := &t.mu.journal
	j.steps = append(j.steps, s)
	if !s.Open {
		j.at++
	}
	e := Entry{Thread: t.id, Op: OpStep, Step: &s}
	if s.Kind == StepFork {
		e.Number = t.mu.forks
	}
	t.lastLocked(lazy, append(with, e)...)
}

// lastLocked makes entries last, at once or with the next, and unlocks. If that fails the thread leaves for good.
func (t *Thread) lastLocked(lazy bool, entries ...Entry) {
	j := &t.mu.journal
	if t.builder.keeper == nil {
		t.mu.Unlock()
		return
	}
	j.lazy = append(j.lazy, entries...)
	if lazy {
		t.mu.Unlock()
		return
	}
	all := j.lazy
	j.lazy = nil
	if len(all) == 0 {
		t.mu.Unlock()
		return
	}
	err := t.keepLocked(all...)
	if err != nil {
		t.mu.err = err
	}
	t.mu.Unlock()
	if err != nil {
		t.exit()
	}
}

// settle changes the last step, which is open, and closes it. It is called with the lock, and unlocks.
func (t *Thread) settleLocked(change func(s *Step), with ...Entry) {
	j := &t.mu.journal
	s := &j.steps[len(j.steps)-1]
	change(s)
	s.Open = false
	j.at++
	settled := *s
	e := Entry{Thread: t.id, Op: OpSet, Step: &settled}
	if n := len(j.lazy); n > 0 && j.lazy[n-1].Op == OpStep && j.lazy[n-1].Step.Open { // the store has not heard of it
		j.lazy = j.lazy[:n-1]
		e.Op = OpStep
	}
	t.lastLocked(false, append(with, e)...)
}

// diverges ends the thread.
func (t *Thread) diverges(got *Step) {
	d := t.divergence(got.String())
	t.mu.Lock()
	t.mu.err = d
	t.mu.Unlock()
	t.exit()
}

func (t *Thread) divergence(got string) *Divergence {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := &t.mu.journal
	return &Divergence{Thread: t.id, Body: t.body.name, At: j.since + j.at, Want: j.steps[j.at].String(), Got: got, Stack: callers()}
}

// decoded makes a value of what was recorded. What cannot be decoded diverges: the body wants another type than it was recorded with.
func decoded[T any](t *Thread, s *Step) (v T) {
	if err := json.Unmarshal(s.Value, &v); err != nil {
		t.mu.Lock()
		t.mu.journal.at-- // it is that step
		t.mu.Unlock()
		t.diverges(&Step{Kind: s.Kind, Name: fmt.Sprintf("%s as %T: %v", s.Name, v, err)})
	}
	return v
}

// A Failure is an error of a call or a child as it was recorded: its text. It is returned the first time too, so that a body sees the same each time.
type Failure struct{ Text string }

func (f *Failure) Error() string { return f.Text }

// Is reports whether the error was one of a known text: errors.Is(err, io.EOF).
func (f *Failure) Is(target error) bool { return target != nil && target.Error() == f.Text }

// A Call is what a called function is told of its call.
type Call struct {
	// Key is the same in each attempt of this call, and in no other call of any thread: for those who can tell that they have done something already.
	Key     string
	Attempt int // 1 for the first, as far as is known: an attempt that died with its process may be missing
}

// A Policy says what becomes of a call that was under way when the process died.
type Policy uint8

// The policies.
const (
	AtLeastOnce Policy = iota // it is made again; the function is idempotent, or uses [Call.Key]
	AtMostOnce                // it is not; it returns [ErrInterruptedCall]
)

// ErrInterruptedCall is returned by a call with [AtMostOnce] of which nobody knows how it ended.
var ErrInterruptedCall = errors.New("durable: the call was under way when its process ended")

// Do calls f, which does something outside, and records what it returns: each later time it returns that. T is encoded as JSON; an error comes back as a
// [*Failure]. f may block as any thread may; it must not use t.
func Do[T any](t *Thread, name string, f func(Call) (T, error), policy ...Policy) (v T, err error) {
	s, opened := t.next(StepDo, name)
	if s == nil {
		s = t.call(name, opened, len(policy) > 0 && policy[0] == AtMostOnce, func(c Call) (json.RawMessage, error) {
			v, err := f(c)
			if err != nil {
				return nil, err
			}
			return encode(v)
		})
	}
	switch {
	case s.Err == ErrInterruptedCall.Error():
		return v, ErrInterruptedCall
	case s.Err != "":
		return v, &Failure{s.Err}
	}
	return decoded[T](t, s), nil
}

func (t *Thread) call(name string, opened *Step, once bool, f func(Call) (json.RawMessage, error)) *Step {
	attempts := 1
	if opened == nil {
		t.append(Step{Kind: StepDo, Name: name, Open: true, Attempts: 1}, !once && !t.hasLazy())
	} else {
		t.mu.Lock()
		opened.Attempts++
		attempts = opened.Attempts
		t.mu.Unlock()
	}
	begun := time.Now()
	var value json.RawMessage
	err := ErrInterruptedCall
	if opened == nil || !once {
		t.mu.Lock()
		key := fmt.Sprintf("%s.%d", t.id, t.mu.journal.since+t.mu.journal.at)
		t.mu.Unlock()
		value, err = f(Call{Key: key, Attempt: attempts})
	}
	var done Step
	t.mu.Lock()
	t.settleLocked(func(s *Step) {
		s.Value, s.Took = value, time.Since(begun)
		if err != nil {
			s.Value, s.Err = nil, cmp.Or(err.Error(), "error without a text")
		}
		done = *s
	})
	return &done
}

// hasLazy reports whether steps do not last yet that a call must not be made before.
func (t *Thread) hasLazy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mu.journal.lazy) > 0
}

// record returns what make returns the first time.
func record[T any](t *Thread, kind Kind, name string, make func() T) T {
	s, _ := t.next(kind, name)
	if s == nil {
		v := make()
		value, err := encode(v)
		if err != nil {
			panic(err)
		}
		t.append(Step{Kind: kind, Name: name, Value: value}, true)
		return v
	}
	return decoded[T](t, s)
}

// Now returns the time, in UTC and without a monotonic reading.
func Now(t *Thread) time.Time {
	return record(t, StepTime, "", func() time.Time { return time.Now().UTC().Round(0) })
}

// Random returns a random number.
func Random(t *Thread) uint64 { return record(t, StepRandom, "", rand.Uint64) }

// NewID returns a text that no other call returns.
func NewID(t *Thread) string { return record(t, StepRandom, "id", newID) }

// Sleep waits, also while no process has the thread. A name helps who looks.
func Sleep(t *Thread, name string, d time.Duration) {
	s, opened := t.next(StepSleep, name)
	if s != nil {
		return
	}
	until := time.Now().Add(d)
	if opened != nil {
		until = decoded[time.Time](t, opened)
	} else {
		value, _ := encode(until)
		t.append(Step{Kind: StepSleep, Name: name, Value: value, Open: true}, false)
	}
	t.waitFor(wait{kind: StepSleep, name: name, until: until})
	t.mu.Lock()
	t.settleLocked(func(*Step) {})
}

// Await waits for a signal of this name ([Thread.Signal]), and returns its value.
func Await[T any](t *Thread, name string) T {
	v, _ := awaitUntil[T](t, name, nil)
	return v
}

// AwaitFor is [Await] for at most d; ok tells whether a signal came.
func AwaitFor[T any](t *Thread, name string, d time.Duration) (v T, ok bool) {
	return awaitUntil[T](t, name, &d)
}

func awaitUntil[T any](t *Thread, name string, limit *time.Duration) (v T, ok bool) {
	s, opened := t.next(StepSignal, name)
	if s == nil {
		var until time.Time
		switch {
		case opened != nil:
			until = decoded[time.Time](t, opened)
		case limit != nil:
			until = time.Now().Add(*limit)
		}
		if opened == nil {
			value, _ := encode(until)
			t.append(Step{Kind: StepSignal, Name: name, Value: value, Open: true}, false)
		}
		t.waitFor(wait{kind: StepSignal, name: name, until: until})
		t.mu.Lock()
		t.settleLocked(func(open *Step) {
			if all := t.mu.inbox[name]; len(all) > 0 {
				open.Value, t.mu.inbox[name] = all[0], all[1:]
			} else {
				open.Kind, open.Value = StepTimeout, nil
			}
			copied := *open
			s = &copied
		})
	}
	if s.Kind == StepTimeout {
		return v, false
	}
	return decoded[T](t, s), true
}

// Park waits until somebody calls [Thread.Unpark].
func Park(t *Thread, name string) {
	s, opened := t.next(StepPark, name)
	if s != nil {
		return
	}
	if opened == nil {
		t.append(Step{Kind: StepPark, Name: name, Open: true}, false)
	}
	t.waitFor(wait{kind: StepPark, name: name})
	t.mu.Lock()
	t.mu.permit = false
	t.settleLocked(func(*Step) {})
}

// Patch returns the version of the code that the thread has come to at this marker: version the first time, and the same from then on; 0 if the thread was
// here before there was a marker. So a body that was changed keeps what it did for threads that are under way:
//
//	if durable.Patch(t, "check the address", 1) > 0 { … }
func Patch(t *Thread, marker string, version int) int {
	t.mu.Lock()
	j := &t.mu.journal
	before := j.at < len(j.steps) && (j.steps[j.at].Kind != StepPatch || j.steps[j.at].Name != marker)
	t.mu.Unlock()
	if before && !t.leaving {
		return 0
	}
	return record(t, StepPatch, marker, func() int { return version })
}
