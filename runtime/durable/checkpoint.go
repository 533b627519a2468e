package durable

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Checkpoint says how what a body has come to is kept in a checkpoint, so that the steps before it need not be. It is made once, as a variable of the package.
//
//	var progress = durable.Checkpoint[Progress]{Name: "progress", Version: 1}
//
//	func copyAll(t *durable.Thread, files []string) (int, error) {
//		p, _ := progress.Restore(t)
//		for p.Next < len(files) {
//			…
//			p.Next++
//			progress.Save(t, p)
//		}
//	}
type Checkpoint[S any] struct {
	Name    string
	Version int // of S

	// Upgrade makes a state of one that was saved with an older version; decode gives it as JSON does. nil: older ones are refused.
	Upgrade func(version int, decode func(any) error) (S, error)
}

// saved is the value of a checkpoint's step.
type saved struct {
	Version int             `json:"version"`
	State   json.RawMessage `json:"state"`
}

// Save replaces the journal so far by a state. From now on a replay begins here: the body gets the state from Restore, and goes on as it does after Save. Children that
// were not joined stay.
func (c *Checkpoint[S]) Save(t *Thread, s S) {
	// Two saves in a row, or one right after Restore, are no different.
	recorded, _ := t.next(StepCheckpoint, c.Name)
	if recorded != nil {
		panic(fmt.Sprintf("durable: checkpoint %q: Save where Restore has to be: a body with checkpoints calls Restore first", c.Name))
	}
	state, err := encode(s)
	if err != nil {
		panic(err)
	}
	value, _ := encode(saved{c.Version, state})
	t.mu.Lock()
	j := &t.mu.journal
	j.since += len(j.steps)
	step := Step{Kind: StepCheckpoint, Name: c.Name, Value: value, At: time.Now()}
	j.steps = append(make([]Step, 0, 8), step)
	j.at, j.lazy = 1, nil // it holds what they have told
	t.lastLocked(false, Entry{Thread: t.id, Op: OpBase, Step: &step, Since: j.since})
}

// Restore returns the state that was saved last, and false if there is none. A body that saves calls it first, before any other step.
func (c *Checkpoint[S]) Restore(t *Thread) (s S, ok bool) {
	if t.leaving {
		t.exit()
	}
	t.mu.Lock()
	j := &t.mu.journal
	first := j.at == 0
	none := len(j.steps) == 0 || j.steps[0].Kind != StepCheckpoint
	t.mu.Unlock()
	switch {
	case !first:
		panic(fmt.Sprintf("durable: checkpoint %q: Restore after other steps", c.Name))
	case none:
		return s, false
	}
	recorded, _ := t.next(StepCheckpoint, c.Name)
	from := decoded[saved](t, recorded)
	decode := func(to any) error { return json.Unmarshal(from.State, to) }
	var err error
	switch {
	case from.Version == c.Version:
		err = decode(&s)
	case from.Version < c.Version && c.Upgrade != nil:
		s, err = c.Upgrade(from.Version, decode)
	default:
		err = fmt.Errorf("it was saved with version %d", from.Version)
	}
	if err != nil {
		t.mu.Lock()
		j.at--
		t.mu.Unlock()
		t.diverges(&Step{Kind: StepCheckpoint, Name: fmt.Sprintf("%s of version %d: %v", c.Name, c.Version, err)})
	}
	return s, true
}
