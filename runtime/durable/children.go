package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A Child is a thread that another one has forked, with its number. It can be a part of the state of a [Checkpoint]: in JSON it is the number. Its zero value is none.
type Child struct{ number int }

// MarshalJSON returns the number.
func (c Child) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(c.number), 10), nil }

// UnmarshalJSON takes the number.
func (c *Child) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &c.number) }

// Fork starts a child, whose body is registered by that name. It runs where its parent runs, goes with it when that is parked to bytes, and is cloned with it. The
// error is about the name, args or the scheduler; it is the same each time. Other args in a replay are a [Divergence]; members that args have on one side alone, and that
// are zero there, make no difference. Children are at most [journal.MaxGenerations] deep.
func Fork(t *Thread, name string, args any) (Child, error) {
	s, _ := t.next(journal.StepFork, name)
	if s == nil {
		t.fork(name, args)
		t.mu.Lock()
		last := t.mu.journal.steps[len(t.mu.journal.steps)-1]
		t.mu.Unlock()
		s = &last
	} else if s.Sum != "" {
		t.forksAgain(s, args)
	}
	if s.Err != "" {
		return Child{}, &Failure{s.Err}
	}
	return Child{decoded[int](t, s)}, nil
}

// forksAgain compares the arguments of a fork in a replay.
func (t *Thread) forksAgain(s *journal.Step, args any) {
	encoded, err := encode(args)
	if err != nil {
		t.divergesBack("", fmt.Sprintf("%s with arguments that are none: %v", s, err))
	}
	if sumOf(encoded) == s.Sum {
		return
	}
	want := "others"
	if c := t.Child(decoded[int](t, s)); c != nil { // it was not joined yet
		want = short(c.args)
	}
	t.divergesBack(fmt.Sprintf("%s with arguments %s", s, want), fmt.Sprintf("%s with arguments %s", s, short(encoded)))
}

// sumOf tells arguments apart. What decodes to the same in each type has the same sum: so a member that is zero is left out.
func sumOf(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return ""
	}
	text, err := json.Marshal(withoutZeros(v))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// withoutZeros leaves out members of objects that are zero.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	case map[string]any:
		for name, member := range v {
			switch m := withoutZeros(member).(type) {
			case nil:
				delete(v, name)
			case bool:
				if !m {
					delete(v, name)
				}
			case string:
				if m == "" {
					delete(v, name)
				}
			case json.Number:
				if m == "0" {
					delete(v, name)
				}
			case []any:
				if len(m) == 0 {
					delete(v, name)
				}
			case map[string]any:
				if len(m) == 0 {
					delete(v, name)
				}
			}
		}
	}
	return v
}

// fork makes a child and adds the step. The child begins when both last.
func (t *Thread) fork(name string, args any) {
	number := t.mu.forks + 1 // the thread's own
	b := t.builder
	b.ID = childID(t.id, number)
	encoded, err := encode(args)
	var c *Thread
	if generation := t.generation() + 1; err == nil && generation >= journal.MaxGenerations {
		err = fmt.Errorf("durable: fork %s: %d generations: at most %d", name, generation+1, journal.MaxGenerations)
	}
	if err == nil {
		c, err = b.make(name, encoded)
	}
	if err == nil {
		err = c.body.takes(encoded)
	}
	if err != nil {
		t.append(journal.Step{Kind: journal.StepFork, Name: name, Err: textOf(err)}, false)
		return
	}
	c.parent, c.number = t, number
	t.mu.Lock()
	t.mu.forks = number // with the step, for who takes an image
	t.mu.children[number] = c
	t.appendLocked(journal.Step{Kind: journal.StepFork, Name: name, Value: json.RawMessage(strconv.Itoa(number)), Sum: sumOf(encoded)}, false, c.birth())
	_ = c.begin() // an error ends it, and its parent joins that
}

// generation is how many threads are above it.
func (t *Thread) generation() (n int) {
	for p := t.parent; p != nil; p = p.parent {
		n++
	}
	return n
}

func childID(parent string, number int) string { return parent + "/" + strconv.Itoa(number) }

// Join waits until the child has ended, and returns what its body has returned; an error comes back as a [*Failure]. A child is joined once.
func Join[R any](t *Thread, c Child) (r R, err error) {
	name := strconv.Itoa(c.number)
	s, opened := t.next(journal.StepJoin, name)
	if s == nil {
		t.mu.Lock()
		child := t.mu.children[c.number]
		t.mu.Unlock()
		if child == nil {
			t.diverges(&journal.Step{Kind: journal.StepJoin, Name: fmt.Sprintf("%d, a child that it has not, or has joined before", c.number)})
		}
		if opened == nil {
			t.append(journal.Step{Kind: journal.StepJoin, Name: name, Open: true}, false)
		}
		t.waitFor(wait{kind: journal.StepJoin, name: name, child: c.number})
		child.mu.Lock()
		result, failed := child.mu.result, child.mu.err
		child.mu.Unlock()
		t.mu.Lock()
		delete(t.mu.children, c.number)
		t.settleLocked(func(open *journal.Step) {
			open.Value = result
			if failed != nil {
				open.Value, open.Err = nil, textOf(failed)
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
