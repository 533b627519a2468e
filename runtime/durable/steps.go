package durable

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// next returns what the journal holds for the step that the body is about to make, or nil if that is new. An open step that is the last is new as well: opened is it.
// The thread leaves here if it is told to, or if the journal holds something else.
func (t *Thread) next(kind journal.Kind, name string) (recorded, opened *journal.Step) {
	if t.leaving {
		t.exit() // a deferred function asks for something
	}
	t.mu.Lock()
	j := &t.mu.journal
	if !t.mu.outside.IsZero() {
		t.mu.Unlock()
		panic(fmt.Sprintf("durable: %s in a call or a move of thread %s, which is outside of it", &journal.Step{Kind: kind, Name: name}, t.id))
	}
	if j.at < len(j.steps) {
		s := &j.steps[j.at]
		if s.Kind != kind && !(s.Kind == journal.StepTimeout && kind == journal.StepSignal) || s.Name != name {
			t.mu.Unlock()
			t.diverges(&journal.Step{Kind: kind, Name: name})
		}
		if s.Open {
			opened = s
			t.replayedLocked()
		} else {
			recorded = s
			if j.at++; j.at == len(j.steps) {
				t.replayedLocked()
			}
		}
		t.mu.Unlock()
		return recorded, opened
	}
	leave, me := t.mu.leave, t.mu.thread
	t.mu.Unlock()
	switch {
	case me != vthread.Current(): // T1
		panic(fmt.Sprintf("durable: %s of thread %s on another goroutine than its own", &journal.Step{Kind: kind, Name: name}, t.id))
	case leave != stay:
		t.exit()
	case len(name) > journal.MaxName || !utf8.ValidString(name):
		panic(fmt.Sprintf("durable: a name of %d bytes: at most %d, and UTF-8", len(name), journal.MaxName))
	}
	return nil, nil
}

// append adds a step, which is closed, or open if more is to come ([Thread.settle]). lazy ones need not last before the next that does.
func (t *Thread) append(s journal.Step, lazy bool, with ...journal.Entry) {
	t.mu.Lock()
	t.appendLocked(s, lazy, with...)
}

// appendLocked is append with the lock, and unlocks.
func (t *Thread) appendLocked(s journal.Step, lazy bool, with ...journal.Entry) {
	s.At = time.Now()
	j := &t.mu.journal
	j.steps = append(j.steps, s)
	if !s.Open {
		j.at++
	}
	t.stepLocked(&s)
	e := journal.Entry{Thread: t.id, Op: journal.OpStep, Step: &s}
	if s.Kind == journal.StepFork && s.Err == "" {
		e.Number = t.mu.forks
	}
	t.lastLocked(lazy, append(with, e)...)
}

// lastLocked makes entries last, at once or with the next, and unlocks. If that fails the thread leaves for good.
func (t *Thread) lastLocked(lazy bool, entries ...journal.Entry) {
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
func (t *Thread) settleLocked(change func(s *journal.Step), with ...journal.Entry) {
	j := &t.mu.journal
	s := &j.steps[len(j.steps)-1]
	if s.Kind != journal.StepDo { // a call says itself how long it took
		s.Took = max(time.Since(s.At), 0)
	}
	change(s)
	s.Open = false
	j.at++
	t.stepLocked(s)
	settled := *s
	e := journal.Entry{Thread: t.id, Op: journal.OpSet, Step: &settled}
	if n := len(j.lazy); n > 0 && j.lazy[n-1].Op == journal.OpStep && j.lazy[n-1].Step.Open { // the store has not heard of it
		j.lazy = j.lazy[:n-1]
		e.Op = journal.OpStep
	}
	t.lastLocked(false, append(with, e)...)
}

// diverges ends the thread.
func (t *Thread) diverges(got *journal.Step) {
	t.divergesFrom("", got.String())
}

// divergesBack ends the thread at the step that it was just given.
func (t *Thread) divergesBack(want, got string) {
	t.mu.Lock()
	t.mu.journal.at--
	t.mu.Unlock()
	t.divergesFrom(want, got)
}

func (t *Thread) divergesFrom(want, got string) {
	d := t.divergence(want, got)
	t.mu.Lock()
	t.mu.err = d
	t.mu.Unlock()
	t.exit()
}

// divergence tells of one, and makes it known. want is "" for the step where the body stands.
func (t *Thread) divergence(want, got string) *Divergence {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := &t.mu.journal
	if want == "" {
		want = "nothing"
		if j.at < len(j.steps) {
			want = j.steps[j.at].String()
		}
	}
	d := &Divergence{Thread: t.id, Body: t.body.name, At: j.since + j.at, Want: want, Got: got, Stack: callers()}
	t.divergesLocked(d)
	return d
}

// decoded makes a value of what was recorded. What cannot be decoded diverges: the body wants another type than it was recorded with.
func decoded[T any](t *Thread, s *journal.Step) T { return decodedBy[T](t, s, json.Unmarshal) }

func decodedBy[T any](t *Thread, s *journal.Step, decode func([]byte, any) error) (v T) {
	if err := decode(s.Value, &v); err != nil {
		t.divergesBack("", (&journal.Step{Kind: s.Kind, Name: fmt.Sprintf("%s as %T: %v", s.Name, v, err)}).String())
	}
	return v
}

// strictly decodes what was encoded as the same type. A member that the type has no more is an error: it has another name now, or nobody knows what it was for.
func strictly(b []byte, to any) error {
	if bytes.IndexByte(b, '{') < 0 {
		return json.Unmarshal(b, to)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// short is as much of a text as a line has.
func short(b []byte) string {
	const most = 200
	if len(b) <= most {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:most]), "") + "…"
}

// textOf is what is recorded of an error.
func textOf(err error) string {
	return cmp.Or(strings.ToValidUTF8(err.Error(), "\uFFFD"), "error without a text")
}

// A Failure is an error of a call or a child as it was recorded: its text. It is returned the first time too, so that a body sees the same each time.
type Failure struct{ Text string }

func (f *Failure) Error() string { return f.Text }

// Is reports whether the error was one of a known text: errors.Is(err, io.EOF).
func (f *Failure) Is(target error) bool { return target != nil && target.Error() == f.Text }

// A Call is what a called function is told of its call.
type Call struct {
	// Key is the same in each attempt of this call, and in no other call of any thread: for those who can tell that they have done something already. With [AtLeastOnce],
	// whose beginning does not last, code that was changed after the process died may have another call with this key: who depends on it uses [ByKey].
	Key     string
	Attempt int // 1 for the first, as far as is known: an attempt that died with its process may be missing
}

// A Policy says what becomes of a call that was under way when the process died.
type Policy uint8

// The policies.
const (
	AtLeastOnce Policy = iota // it is made again, if the body still makes it: code that was changed may not
	AtMostOnce                // it is not; it returns [ErrInterruptedCall]
	ByKey                     // it is made again, with the same [Call.Key], also by code that was changed: the function is idempotent for a key
)

// ErrInterruptedCall is returned by a call with [AtMostOnce] of which nobody knows how it ended.
var ErrInterruptedCall = errors.New("durable: the call was under way when its process ended")

// Do calls f, which does something outside, and records what it returns: each later time it returns that, and f is not called. So f returns all that the body
// wants to know of it, and sets no variable of the body's. T is encoded as JSON, and what cannot be encoded is an error of the call; an error comes back as a
// [*Failure], and a value beside it is not recorded.
// f may block as any thread may; it must not use t, where a step panics. An error that matches [ErrClosed] of a call whose own keeper is closed is not recorded.
//
// Steps are told apart by their names, and a replay does not see what f would do. So a name says what is done and with what ("charge order-4711"), where it is not the same each time.
// A T that lacks a member that was recorded, or has another type for one, is a [Divergence]; one that has more members is not.
func Do[T any](t *Thread, name string, f func(Call) (T, error), policy ...Policy) (v T, err error) {
	s, opened := t.next(journal.StepDo, name)
	if s == nil {
		s = t.call(name, opened, append(policy, AtLeastOnce)[0], func(c Call) (json.RawMessage, error) {
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
	return decodedBy[T](t, s, strictly), nil
}

func (t *Thread) call(name string, opened *journal.Step, policy Policy, f func(Call) (json.RawMessage, error)) *journal.Step {
	attempts := 1
	if opened == nil {
		t.append(journal.Step{Kind: journal.StepDo, Name: name, Open: true, Attempts: 1}, policy == AtLeastOnce && !t.hasLazy())
	} else {
		t.mu.Lock()
		opened.Attempts++
		attempts = opened.Attempts
		again := *opened
		t.lastLocked(false, journal.Entry{Thread: t.id, Op: journal.OpSet, Step: &again})
	}
	begun := time.Now()
	defer t.tellLongCall()()
	var value json.RawMessage
	err := ErrInterruptedCall
	if opened == nil || policy != AtMostOnce {
		t.mu.Lock()
		key := fmt.Sprintf("%s.%d", t.id, t.mu.journal.since+t.mu.journal.at)
		t.mu.seen.record.Waits(flight.DurableCall, name, 0, begun, time.Time{})
		t.mu.Unlock()
		t.outside(func() { value, err = f(Call{Key: key, Attempt: attempts}) })
	}
	if errors.Is(err, ErrClosed) && t.builder.keeper.closing() {
		// It asked for something of its own keeper, which is no outcome of the call: that is made again where the thread goes on, or not, as its policy says.
		t.mu.Lock()
		t.mu.leave = toClose
		t.mu.Unlock()
		t.exit()
	}
	var done journal.Step
	t.mu.Lock()
	t.mu.seen.record.Goes()
	t.settleLocked(func(s *journal.Step) {
		s.Value, s.Took = value, time.Since(begun)
		if err != nil {
			s.Value, s.Err = nil, textOf(err)
		}
		done = *s
	})
	return &done
}

// outside calls f, in which the thread makes no steps.
func (t *Thread) outside(f func()) {
	set := func(since time.Time) {
		t.mu.Lock()
		t.mu.outside = since
		t.mu.Unlock()
	}
	set(time.Now())
	defer set(time.Time{}) // also if it does not return
	f()
}

// longCall is how long a call of a kept thread lasts before its store is told that it is under way: who looks after a death sees it then, and its attempts count.
const longCall = time.Second

// tellLongCall tells the store of the call that begins now, if it lasts long. It does so on another goroutine; what is returned ends that.
func (t *Thread) tellLongCall() (end func() bool) {
	if t.builder.keeper == nil {
		return func() bool { return false }
	}
	t.mu.Lock()
	position := t.mu.journal.since + t.mu.journal.at
	t.mu.Unlock()
	return time.AfterFunc(longCall, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		j := &t.mu.journal
		if j.since+j.at != position || len(j.steps) != j.at+1 || !j.steps[j.at].Open || len(j.lazy) == 0 {
			return // it is over, or the store knows
		}
		if t.keepLocked(j.lazy...) == nil { // else the end of the call finds it out
			j.lazy = nil
		}
	}).Stop
}

// hasLazy reports whether steps do not last yet that a call must not be made before.
func (t *Thread) hasLazy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.mu.journal.lazy) > 0
}

// record returns what make returns the first time.
func record[T any](t *Thread, kind journal.Kind, name string, make func() T) T {
	s, _ := t.next(kind, name)
	if s == nil {
		v := make()
		value, err := encode(v)
		if err != nil {
			panic(err)
		}
		t.append(journal.Step{Kind: kind, Name: name, Value: value}, true)
		return v
	}
	return decoded[T](t, s)
}

// Now returns the time, in UTC and without a monotonic reading.
func Now(t *Thread) time.Time {
	return record(t, journal.StepTime, "", func() time.Time { return time.Now().UTC().Round(0) })
}

// Rand returns a source of random numbers, which is of the body alone: what it is seeded with is recorded, as one step.
func Rand(t *Thread) *rand.Rand {
	seed := record(t, journal.StepRandom, "source", func() [2]uint64 { return [2]uint64{t.draw(), t.draw()} })
	return rand.New(rand.NewPCG(seed[0], seed[1]))
}

// Random returns a random number.
func Random(t *Thread) uint64 { return record(t, journal.StepRandom, "", t.draw) }

func (t *Thread) draw() uint64 {
	if t.builder.Random != nil {
		return t.builder.Random()
	}
	return rand.Uint64()
}

// NewID returns a text that no other call returns.
func NewID(t *Thread) string { return record(t, journal.StepRandom, "id", t.builder.newID) }

// Sleep waits, also while no process has the thread. A name helps who looks. Until when is recorded: a replay with another d waits until then all the same.
func Sleep(t *Thread, name string, d time.Duration) {
	s, opened := t.next(journal.StepSleep, name)
	if s != nil {
		return
	}
	until := time.Now().Add(d)
	if opened != nil {
		until = decoded[time.Time](t, opened)
	} else {
		value, _ := encode(until)
		t.append(journal.Step{Kind: journal.StepSleep, Name: name, Value: value, Open: true}, false)
	}
	t.waitFor(wait{kind: journal.StepSleep, name: name, until: until})
	t.mu.Lock()
	t.settleLocked(func(*journal.Step) {})
}

// Await waits for a signal of this name ([Thread.Signal]), and returns its value. One that is no T is a [Divergence]: signals of a name have one type.
func Await[T any](t *Thread, name string) T {
	v, _ := awaitUntil[T](t, name, nil)
	return v
}

// AwaitFor is [Await] for at most d; ok tells whether a signal came.
func AwaitFor[T any](t *Thread, name string, d time.Duration) (v T, ok bool) {
	return awaitUntil[T](t, name, &d)
}

func awaitUntil[T any](t *Thread, name string, limit *time.Duration) (v T, ok bool) {
	s, opened := t.next(journal.StepSignal, name)
	if s == nil {
		var until time.Time
		switch {
		case opened != nil:
			if err := json.Unmarshal(opened.Value, &until); err != nil || until.IsZero() != (limit == nil) {
				t.divergesFrom(limited(opened.String(), !until.IsZero()), limited(opened.String(), limit != nil))
			}
		case limit != nil:
			until = time.Now().Add(*limit)
		}
		if opened == nil {
			value, _ := encode(until)
			t.append(journal.Step{Kind: journal.StepSignal, Name: name, Value: value, Open: true}, false)
		}
		t.waitFor(wait{kind: journal.StepSignal, name: name, until: until})
		t.mu.Lock()
		t.settleLocked(func(open *journal.Step) {
			if all := t.mu.inbox[name]; len(all) > 0 {
				if open.Value, t.mu.inbox[name] = all[0], all[1:]; len(all) == 1 {
					delete(t.mu.inbox, name)
				}
			} else {
				open.Kind, open.Value = journal.StepTimeout, nil
			}
			copied := *open
			s = &copied
		})
	}
	switch {
	case s.Kind == journal.StepTimeout && limit == nil:
		t.divergesBack("", limited((&journal.Step{Kind: journal.StepSignal, Name: name}).String(), false))
	case s.Kind == journal.StepTimeout:
		return v, false
	}
	return decoded[T](t, s), true
}

// limited tells of a wait for a signal whether it has a limit.
func limited(what string, limit bool) string {
	if limit {
		return what + " within a time"
	}
	return what + " without a limit"
}

// Park waits until somebody calls [Thread.Unpark].
func Park(t *Thread, name string) {
	s, opened := t.next(journal.StepPark, name)
	if s != nil {
		return
	}
	if opened == nil {
		t.append(journal.Step{Kind: journal.StepPark, Name: name, Open: true}, false)
	}
	t.waitFor(wait{kind: journal.StepPark, name: name})
	t.mu.Lock()
	t.mu.permit = false
	t.settleLocked(func(*journal.Step) {})
}

// Patch returns the version of the code that the thread has come to at this marker: version the first time, and the same from then on; 0 if the thread was
// here before there was a marker. So a body that was changed keeps what it did for threads that are under way:
//
//	if durable.Patch(t, "check the address", 1) > 0 { … }
//
// In a loop each round is asked by itself: a thread that was in the loop is told 0 of the rounds that are recorded, and version of those to come.
func Patch(t *Thread, marker string, version int) int {
	t.mu.Lock()
	j := &t.mu.journal
	before := j.at < len(j.steps) && (j.steps[j.at].Kind != journal.StepPatch || j.steps[j.at].Name != marker)
	t.mu.Unlock()
	if before && !t.leaving {
		return 0
	}
	return record(t, journal.StepPatch, marker, func() int { return version })
}
