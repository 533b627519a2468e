package durable

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
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
	Version int // of S: another one for each S that lacks a member or has another type for one. Saved states with members that S lacks are a [Divergence], unless Upgrade reads them

	// Upgrade makes a state of one that was saved with an older version; decode gives it as JSON does. nil: older ones are refused.
	Upgrade func(version int, decode func(any) error) (S, error)
}

// saved is the value of a checkpoint's step.
type saved struct {
	Version int             `json:"version"`
	State   json.RawMessage `json:"state"`
}

// Save replaces the journal so far by a state. From now on a replay begins here: the body gets the state from Restore, and goes on as it does after Save. Children that
// were not joined stay, and a [Child] can be a part of the state, to join it later. A Save right after Restore does nothing in a replay: the state is the one that Restore has returned.
func (c *Checkpoint[S]) Save(t *Thread, s S) {
	if t.justRestored(c.Name) {
		return
	}
	recorded, _ := t.next(journal.StepCheckpoint, c.Name)
	if recorded != nil {
		t.divergesBack("", "a save of it, where a body with checkpoints calls Restore")
	}
	state, err := encode(s)
	if err != nil {
		panic(err)
	}
	value, _ := encode(saved{c.Version, state})
	t.mu.Lock()
	j := &t.mu.journal
	forgotten := len(j.steps)
	j.since += forgotten
	step := journal.Step{Kind: journal.StepCheckpoint, Name: c.Name, Value: value, At: time.Now()}
	j.steps = append(make([]journal.Step, 0, 8), step)
	j.at, j.lazy = 1, nil // it holds what they have told
	t.checkpointLocked(&step, forgotten)
	e := journal.Entry{Thread: t.id, Op: journal.OpBase, Step: &step, Since: j.since}
	if t.builder.keeper.sharing() && t.parent == nil && len(t.mu.children) == 0 {
		im := t.imageLocked() // it is all of the tree, so that the store forgets what was before
		e = journal.Entry{Thread: t.id, Op: journal.OpBase, Image: &im}
	}
	t.lastLocked(false, e)
}

// justRestored reports whether the thread replays, and stands right behind its checkpoint.
func (t *Thread) justRestored(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := &t.mu.journal
	return j.at == 1 && j.at < len(j.steps) && j.steps[0].Kind == journal.StepCheckpoint && j.steps[0].Name == name
}

// Restore returns the state that was saved last, and false if there is none. A body that saves calls it first, before any other step.
func (c *Checkpoint[S]) Restore(t *Thread) (s S, ok bool) {
	if t.leaving {
		t.exit()
	}
	t.mu.Lock()
	j := &t.mu.journal
	first := j.at == 0
	none := len(j.steps) == 0 || j.steps[0].Kind != journal.StepCheckpoint
	t.mu.Unlock()
	switch {
	case !first:
		t.divergesFrom("", fmt.Sprintf("a restore of %q after other steps", c.Name))
	case none:
		return s, false
	}
	recorded, _ := t.next(journal.StepCheckpoint, c.Name)
	from := decoded[saved](t, recorded)
	decode := func(to any) error { return json.Unmarshal(from.State, to) }
	var err error
	switch {
	case from.Version == c.Version:
		if err = strictly(from.State, &s); err != nil {
			err = fmt.Errorf("%w: a type that was changed has another Version, and Upgrade", err)
		}
	case from.Version < c.Version && c.Upgrade != nil:
		s, err = c.Upgrade(from.Version, decode)
	default:
		err = fmt.Errorf("it was saved with version %d", from.Version)
	}
	if err != nil {
		t.divergesBack("", (&journal.Step{Kind: journal.StepCheckpoint, Name: fmt.Sprintf("%s of version %d: %v", c.Name, c.Version, err)}).String())
	}
	return s, true
}
