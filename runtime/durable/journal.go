package durable

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Kind is what a step of a journal tells.
type Kind uint8

// The kinds of steps. Their numbers are those of the format.
const (
	StepNone       Kind = iota
	StepDo              // a call of [Do]: begun, and later its result
	StepTime            // what [Now] returned
	StepRandom          // what [Random] returned
	StepSleep           // until when [Sleep] waits
	StepSignal          // what [Await] returned
	StepTimeout         // that [AwaitFor] waited in vain
	StepFork            // a child that [Fork] made
	StepJoin            // the result of a child
	StepPark            // [Park] has parked, and was unparked
	StepMove            // [Move] has sent the thread
	StepChoice          // what [Choose] returned
	StepPatch           // the version that [Patch] returned
	StepCheckpoint      // a state, and all that is left of the steps before it

	kindCount
)

// A KindInfo is a row of the table of kinds.
type KindInfo struct {
	Name  string
	About string
}

// Kinds describes the kinds of steps, indexed by [Kind].
var Kinds = [kindCount]KindInfo{
	StepNone:       {"none", "nothing"},
	StepDo:         {"do", "a call of something outside"},
	StepTime:       {"time", "the time"},
	StepRandom:     {"random", "a random number"},
	StepSleep:      {"sleep", "a time to wait for"},
	StepSignal:     {"signal", "a signal that came"},
	StepTimeout:    {"timeout", "a signal that did not come in time"},
	StepFork:       {"fork", "a child that was started"},
	StepJoin:       {"join", "the result of a child"},
	StepPark:       {"park", "a park that is over"},
	StepMove:       {"move", "the thread was sent elsewhere"},
	StepChoice:     {"choice", "a choice, of which clones made the others"},
	StepPatch:      {"patch", "a version of the code"},
	StepCheckpoint: {"checkpoint", "a state that stands for all steps before it"},
}

// String returns the kind's name.
func (k Kind) String() string {
	if k < kindCount {
		return Kinds[k].Name
	}
	return "unknown"
}

// A Step is something that a thread has learned from outside.
type Step struct {
	Kind     Kind            `json:"kind"`
	Name     string          `json:"name,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Err      string          `json:"error,omitempty"`    // of a call or a child that failed
	Open     bool            `json:"open,omitempty"`     // a call that was begun and has not ended, a wait that is not over
	Attempts int             `json:"attempts,omitempty"` // how often a call was begun, as far as is known
	At       time.Time       `json:"at"`                 // when it was recorded
	Took     time.Duration   `json:"took_ns,omitempty"`  // of a call
}

// MarshalText returns the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText takes the kind's name.
func (k *Kind) UnmarshalText(b []byte) error {
	for i, row := range Kinds {
		if row.Name == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("durable: no kind of steps %.20q", b)
}

// A Journal is what a thread has learned, in order.
//
//	J1  Steps are appended by the thread itself, and by nobody else; others read it while they hold its lock.
//	J2  Only the last step can be open.
//	J3  at is the step that the body asks for next. While at < len(steps) the thread replays: it executes nothing outside.
//	J4  A step is in the journal, and lasts in the store if there is one, before the body sees its value. What came from no one else (the time, random
//	    numbers) lasts before the next call, or the next step that must: nobody has seen it before.
type Journal struct {
	steps []Step
	at    int
	since int     // steps that checkpoints have replaced
	lazy  []Entry // that the store has not heard of yet: J4
}
