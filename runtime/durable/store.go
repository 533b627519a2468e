package durable

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A Store keeps what threads have learned, so that they go on when their process is gone. It is used by one [Keeper] at a time. Its methods may be called from any
// goroutine.
type Store interface {
	// Load calls f with all entries that Commit has taken, in an order in which those of one thread are as they were. It is called once, before Commit.
	Load(f func(Entry) error) error
	// Commit makes entries last, all of them or none, and returns when they do: what it returned nil for is there after a power cut. After an error it is not known
	// what lasts of them, and all further calls fail.
	Commit(entries ...Entry) error
	// Close gives everything back. What was committed stays.
	Close() error
}

// An Op is what an [Entry] says.
type Op string

// The ops.
const (
	OpNew    Op = "new"    // the thread begins: Parent, Number, Body, Args
	OpStep   Op = "step"   // Step was appended
	OpSet    Op = "set"    // Step replaces the last one; a signal that it holds is no more to be awaited, and a park's permit is used
	OpBase   Op = "base"   // Step, a checkpoint, stands for the Since steps so far
	OpSignal Op = "signal" // a signal came: Name, Value
	OpUnpark Op = "unpark" // a permit came
	OpEnd    Op = "end"    // the thread has ended: Value, Err
	OpDrop   Op = "drop"   // nobody will ask for the thread again
	OpWhole  Op = "whole"  // Image is all of the thread, without its children
)

// An Entry is something that happened to a thread.
type Entry struct {
	Thread string          `json:"thread"`
	Op     Op              `json:"op"`
	Parent string          `json:"parent,omitempty"`
	Number int             `json:"number,omitempty"`
	Body   string          `json:"body,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Step   *Step           `json:"step,omitempty"`
	Since  int             `json:"since,omitempty"`
	Name   string          `json:"name,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Err    string          `json:"error,omitempty"`
	Image  *image          `json:"image,omitempty"`
}

// images are the threads that entries tell of, by id, without their children.
type images map[string]*kept

type kept struct {
	image
	parent string
}

// apply takes an entry. What cannot be is [ErrDamaged].
func (all images) apply(e *Entry) error {
	bad := func(why string) error {
		return fmt.Errorf("%w: %s of thread %.40q: %s", ErrDamaged, e.Op, e.Thread, why)
	}
	k := all[e.Thread]
	switch e.Op {
	case OpNew, OpWhole:
		if k != nil {
			return bad("there is one")
		}
		k = &kept{parent: e.Parent}
		if e.Op == OpWhole {
			if e.Image == nil {
				return bad("no image")
			}
			k.image = *e.Image
		} else {
			k.image = image{ID: e.Thread, Body: e.Body, Args: e.Args, Steps: []Step{}, Number: e.Number}
		}
		all[e.Thread] = k
		return nil
	case OpDrop:
		delete(all, e.Thread)
		return nil
	}
	if k == nil {
		return bad("there is none")
	}
	switch e.Op {
	case OpStep, OpSet, OpBase:
		if e.Step == nil {
			return bad("no step")
		}
	}
	switch e.Op {
	case OpStep:
		k.Steps = append(k.Steps, *e.Step)
		if e.Step.Kind == StepFork {
			k.Forks = max(k.Forks, e.Number)
		}
	case OpSet:
		if len(k.Steps) == 0 {
			return bad("no step is there")
		}
		k.Steps[len(k.Steps)-1] = *e.Step
		switch e.Step.Kind {
		case StepSignal:
			if waiting := k.Inbox[e.Step.Name]; len(waiting) > 0 {
				k.Inbox[e.Step.Name] = slices.Clone(waiting[1:])
			}
		case StepPark:
			k.Permit = false
		}
	case OpBase:
		k.Since, k.Steps = e.Since, []Step{*e.Step}
	case OpSignal:
		if k.Inbox == nil {
			k.Inbox = map[string][]json.RawMessage{}
		}
		k.Inbox[e.Name] = append(k.Inbox[e.Name], e.Value)
	case OpUnpark:
		k.Permit = true
	case OpEnd:
		k.Ended, k.Result, k.Err = true, e.Value, e.Err
	default:
		return bad("unknown")
	}
	return nil
}

// roots puts children into their parents and returns those that have none, sorted by id. A child without its parent is left out: nobody can ask for it.
func (all images) roots() []*image {
	var ids []string
	for id := range all {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return len(b) - len(a) }) // children have longer ids: they are put in before their parents are
	var roots []*image
	for _, id := range ids {
		k := all[id]
		slices.SortFunc(k.Children, func(a, b image) int { return a.Number - b.Number })
		if k.parent == "" {
			roots = append(roots, &k.image)
		} else if p := all[k.parent]; p != nil {
			p.Forks = max(p.Forks, k.Number)
			p.Children = append(p.Children, k.image)
		}
	}
	slices.SortFunc(roots, func(a, b *image) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return roots
}
