package journal

import (
	"encoding/json"
	"strings"
	"time"
)

// A State is what a thread does, as far as whoever tells it can know.
type State string

// The states of rows.
const (
	Running    State = "running"
	Waiting    State = "waiting"
	Hibernated State = "hibernated"
	Stopping   State = "stopping"
	Busy       State = "busy"
	Runnable   State = "runnable"
	Done       State = "done"
	Failed     State = "failed"
	Diverged   State = "diverged"
	Moved      State = "moved"
)

// States are all states, with what they mean.
var States = []struct {
	State State
	About string
}{
	{Running, "it executes its body, or a call"},
	{Waiting, "it waits; in a process it has its stack"},
	{Hibernated, "it waits, without a stack"},
	{Busy, "its store has not answered yet, so that no more can be told"},
	{Stopping, "it is being parked to bytes, or given to another keeper"},
	{Runnable, "no process has it; it goes on as soon as one does"},
	{Failed, "its body has returned an error"},
	{Diverged, "its body did something else than its journal holds"},
	{Done, "its body has returned"},
	{Moved, "it goes on elsewhere"},
}

// A Pending is what a thread has open: a wait, or a call that is under way.
type Pending struct {
	Kind  Kind      `json:"kind"`
	Name  string    `json:"name,omitempty"`
	Until time.Time `json:"until,omitzero"` // zero: without a limit
}

// Of returns what is waited for without its limit: signal "address".
func (w *Pending) Of() string {
	switch {
	case w == nil:
		return ""
	case w.Kind == StepJoin:
		return "join of child " + w.Name
	}
	return (&Step{Kind: w.Kind, Name: w.Name}).String()
}

// A Saved is a checkpoint that a journal begins with.
type Saved struct {
	Name  string    `json:"name"`
	At    time.Time `json:"at"`
	Steps int       `json:"steps"` // that it stands for
}

// A DurableRow is what is told of a thread where many are listed.
type DurableRow struct {
	ID         string    `json:"id"`
	Body       string    `json:"body"`
	State      State     `json:"state"`
	Begun      time.Time `json:"begun,omitzero"` // zero: its store does not know
	Since      time.Time `json:"since,omitzero"` // when it began to wait, was given its last step, or ended
	Wait       *Pending  `json:"wait,omitempty"`
	Steps      int       `json:"steps"` // that it has made, checkpoints among them
	Kept       int       `json:"kept"`  // of them in its journal
	Bytes      int       `json:"bytes"` // of arguments, names, values and errors that are kept
	Checkpoint *Saved    `json:"checkpoint,omitempty"`
	Children   int       `json:"children,omitempty"` // that were not joined
	Attempts   int       `json:"attempts,omitempty"` // of the call that is under way
	Failed     int       `json:"failed,omitempty"`   // kept steps that have an error
	Err        string    `json:"error,omitempty"`    // why it ended, or else the error of the newest step that has one
	Lease      *Lease    `json:"lease,omitempty"`    // in a store that many keepers share
	Inbox      int       `json:"inbox,omitempty"`    // signals and permits that came by such a store, and that no keeper has taken yet
	Unread     bool      `json:"unread,omitempty"`   // the head of its tree alone was read: begun, steps, kept, bytes, children, failed are not known, nor are its children listed
}

// maxRowError is how much of an error a row has.
const maxRowError = 200

// RowOf tells of an image what a journal alone can tell: a thread that has not ended waits or is runnable. Children are counted, and not looked at.
func RowOf(im *Image) DurableRow {
	r := DurableRow{ID: im.ID, Body: im.Body, Begun: im.Begun, Since: im.Begun, Steps: im.Since + len(im.Steps), Kept: len(im.Steps), Children: len(im.Children)}
	r.Bytes = len(im.Args) + len(im.Result)
	for _, all := range im.Inbox {
		for _, v := range all {
			r.Bytes += len(v)
		}
	}
	for i := range im.Steps {
		s := &im.Steps[i]
		r.Bytes += len(s.Name) + len(s.Value) + len(s.Err)
		if s.Err != "" {
			r.Failed++
			r.Err = s.Err
		}
	}
	r.State = Runnable
	if n := len(im.Steps); n > 0 {
		if first := &im.Steps[0]; first.Kind == StepCheckpoint {
			r.Checkpoint = &Saved{first.Name, first.At, im.Since}
		}
		last := &im.Steps[n-1]
		r.Since = last.At
		switch {
		case last.Open:
			r.Wait = last.waits()
			r.Attempts = last.Attempts
			if last.Kind != StepDo && last.Kind != StepMove {
				r.State = Waiting
			}
		default:
			r.Since = last.At.Add(last.Took)
		}
	}
	if im.Ended {
		r.State, r.Since, r.Wait = Done, im.EndedAt, nil
		if im.Err != "" {
			r.State, r.Err = Failed, im.Err
		} else {
			r.Err = ""
		}
	}
	r.Err = shortened(r.Err)
	return r
}

func shortened(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= maxRowError {
		return s
	}
	return strings.ToValidUTF8(s[:maxRowError], "") + "…"
}

// waits returns what an open step waits for.
func (s *Step) waits() *Pending {
	w := &Pending{Kind: s.Kind, Name: s.Name}
	if s.Kind == StepSleep || s.Kind == StepSignal {
		_ = json.Unmarshal(s.Value, &w.Until) // what is none tells nothing
	}
	return w
}
