package dump

import (
	"fmt"
	"strconv"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A stackTable collects the distinct stacks of a snapshot.
type stackTable struct {
	read   func(flight.StackID) (flight.Stack, error)
	stacks []Stack
	bare   int // of stacks: with an address instead of a name somewhere
	byID   map[flight.StackID]flight.StackID
	bySum  map[string]flight.StackID
}

func newStackTable(read func(flight.StackID) (flight.Stack, error)) *stackTable {
	return &stackTable{
		read:   read,
		stacks: []Stack{},
		byID:   map[flight.StackID]flight.StackID{0: 0},
		bySum:  map[string]flight.StackID{},
	}
}

// shown returns 1 + the index in stacks of what the stack looks like, and 0 for no stack.
func (t *stackTable) shown(id flight.StackID) flight.StackID {
	n, ok := t.byID[id]
	if !ok {
		n = t.add(id)
		t.byID[id] = n
	}
	return n
}

func (t *stackTable) add(id flight.StackID) flight.StackID {
	raw, err := t.read(id)
	var s Stack
	bare := raw.Unsymbolised > 0
	if err != nil {
		bare = true
		s.Frames = []Frame{{Func: fmt.Sprintf("stack %d: %v", id, err)}}
	} else {
		s.Truncated = raw.Truncated
		s.Frames = make([]Frame, 0, len(raw.Frames))
		for _, f := range raw.Frames {
			g := Frame{f.Func, f.File, f.Line, f.Inlined, f.Internal}
			if g.Func == "" {
				g.Func = fmt.Sprintf("%#x", f.PC)
			}
			s.Frames = append(s.Frames, g)
		}
	}
	h := newHash
	for _, f := range s.Frames {
		h = h.word(f.Func).word(f.File).word(strconv.Itoa(f.Line))
	}
	if s.Truncated {
		h = h.word("…")
	}
	s.Fingerprint = h.String()
	if n, ok := t.bySum[s.Fingerprint]; ok {
		return n
	}
	t.stacks = append(t.stacks, s)
	if bare {
		t.bare++
	}
	n := flight.StackID(len(t.stacks))
	t.bySum[s.Fingerprint] = n
	return n
}
