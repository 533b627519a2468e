package dump

import (
	"fmt"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A stackTable collects the distinct stacks of a snapshot.
type stackTable struct {
	similar Similarity
	read    func(flight.StackID) (flight.Stack, error)
	stacks  []Stack
	bare    int // of stacks: with an address instead of a name somewhere
	byID    map[flight.StackID]flight.StackID
	bySum   map[string]flight.StackID
}

// beginOfContinuation is the outermost call of a continuation's own goroutine.
const beginOfContinuation = "github.com/vtscope/vtscope/runtime/continuation.(*Continuation).begin"

func newStackTable(read func(flight.StackID) (flight.Stack, error), similar Similarity) *stackTable {
	return &stackTable{
		similar: similar,
		read:    read,
		stacks:  []Stack{},
		byID:    map[flight.StackID]flight.StackID{0: 0},
		bySum:   map[string]flight.StackID{},
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
		// A thread parks on the goroutine of the innermost continuation that it runs: those of the others are not recorded.
		n := len(raw.Frames)
		s.Truncated = raw.Truncated || n > 0 && raw.Frames[n-1].Func == beginOfContinuation
		s.Frames = make([]Frame, 0, len(raw.Frames))
		for _, f := range raw.Frames {
			g := Frame{f.Func, f.File, f.Line, f.Inlined, f.Internal}
			if g.Func == "" {
				g.Func = fmt.Sprintf("%#x", f.PC)
			}
			s.Frames = append(s.Frames, g)
		}
	}
	s.Fingerprint = t.similar.fingerprint(&s)
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
