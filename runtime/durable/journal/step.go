package journal

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Kind is what a step of a journal tells.
type Kind uint8

// The kinds of steps, named after the functions of package durable that make them.
const (
	StepNone       Kind = iota
	StepDo              // a call of Do: begun, and later its result
	StepTime            // what Now returned
	StepRandom          // what [Random] returned
	StepSleep           // until when Sleep waits
	StepSignal          // what Await returned
	StepTimeout         // that AwaitFor waited in vain
	StepFork            // a child that Fork made
	StepJoin            // the result of a child
	StepPark            // Park has parked, and was unparked
	StepMove            // Move has sent the thread
	StepChoice          // what Choose returned
	StepPatch           // the version that Patch returned
	StepCheckpoint      // a state, and all that is left of the steps before it

	kindCount
)

// A KindInfo is a row of the table of kinds.
type KindInfo struct {
	Name  string
	About string
	Opens bool // it can be open: begun, or waited for
}

// Kinds describes the kinds of steps, indexed by [Kind].
var Kinds = [kindCount]KindInfo{
	StepNone:       {"none", "nothing", false},
	StepDo:         {"do", "a call of something outside", true},
	StepTime:       {"time", "the time", false},
	StepRandom:     {"random", "a random number", false},
	StepSleep:      {"sleep", "a time to wait for", true},
	StepSignal:     {"signal", "a signal that came", true},
	StepTimeout:    {"timeout", "a signal that did not come in time", false},
	StepFork:       {"fork", "a child that was started", false},
	StepJoin:       {"join", "the result of a child", true},
	StepPark:       {"park", "a park that is over", true},
	StepMove:       {"move", "the thread was sent elsewhere", true},
	StepChoice:     {"choice", "a choice, of which clones made the others", false},
	StepPatch:      {"patch", "a version of the code", false},
	StepCheckpoint: {"checkpoint", "a state that stands for all steps before it", false},
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
	Sum      string          `json:"sum,omitempty"`      // of a fork: tells the child's arguments from others
	Err      string          `json:"error,omitempty"`    // of a call or a child that failed
	Open     bool            `json:"open,omitempty"`     // a call or a move that was begun and has not ended, a wait that is not over
	Attempts int             `json:"attempts,omitempty"` // how often a call was begun, as far as is known
	At       time.Time       `json:"at"`                 // when it was recorded
	Took     time.Duration   `json:"took_ns,omitempty"`  // of a call, or a wait
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
	return fmt.Errorf("journal: no kind of steps %.20q", b)
}

func (s *Step) String() string {
	if s.Name == "" {
		return s.Kind.String()
	}
	return fmt.Sprintf("%s %q", s.Kind, s.Name)
}
