package durable

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// A Child is a thread that another one has forked, with its number.
type Child struct{ number int }

// Fork starts a child, whose body is registered by that name. It runs where its parent runs, goes with it when that is parked to bytes, and is cloned with it. The
// error is about the name, args or the scheduler; it is the same each time.
func Fork(t *Thread, name string, args any) (Child, error) {
	s, _ := t.next(StepFork, name)
	if s == nil {
		t.fork(name, args)
		t.mu.Lock()
		last := t.mu.journal.steps[len(t.mu.journal.steps)-1]
		t.mu.Unlock()
		s = &last
	}
	if s.Err != "" {
		return Child{}, &Failure{s.Err}
	}
	return Child{decoded[int](t, s)}, nil
}

// fork makes a child and adds the step. The child begins when both last.
func (t *Thread) fork(name string, args any) {
	t.mu.Lock()
	t.mu.forks++
	number := t.mu.forks
	t.mu.Unlock()
	b := t.builder
	b.ID = childID(t.id, number)
	encoded, err := encode(args)
	var c *Thread
	if err == nil {
		c, err = b.make(name, encoded)
	}
	if err != nil {
		t.append(Step{Kind: StepFork, Name: name, Err: err.Error()}, false)
		return
	}
	c.parent, c.number = t, number
	t.mu.Lock()
	t.mu.children[number] = c
	t.mu.Unlock()
	t.append(Step{Kind: StepFork, Name: name, Value: json.RawMessage(strconv.Itoa(number))}, false, c.birth())
	_ = c.begin() // an error ends it, and its parent joins that
}

func childID(parent string, number int) string { return parent + "/" + strconv.Itoa(number) }

// Join waits until the child has ended, and returns what its body has returned; an error comes back as a [*Failure]. A child is joined once.
func Join[R any](t *Thread, c Child) (r R, err error) {
	name := strconv.Itoa(c.number)
	s, opened := t.next(StepJoin, name)
	if s == nil {
		t.mu.Lock()
		child := t.mu.children[c.number]
		t.mu.Unlock()
		if child == nil {
			panic(fmt.Sprintf("durable: thread %s joins child %d, which it has not, or has joined before", t.id, c.number))
		}
		if opened == nil {
			t.append(Step{Kind: StepJoin, Name: name, Open: true}, false)
		}
		t.waitFor(wait{kind: StepJoin, name: name, child: c.number})
		child.mu.Lock()
		result, failed := child.mu.result, child.mu.err
		child.mu.Unlock()
		t.mu.Lock()
		delete(t.mu.children, c.number)
		t.settleLocked(func(open *Step) {
			open.Value = result
			if failed != nil {
				open.Value, open.Err = nil, failed.Error()
			}
			copied := *open
			s = &copied
		}, child.drops()...)
	}
	if s.Err != "" {
		return r, &Failure{s.Err}
	}
	return decoded[R](t, s), nil
}

// Child returns the child of that number, the first fork being 1; nil if there is none, or it was joined.
func (t *Thread) Child(number int) *Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.children[number]
}
