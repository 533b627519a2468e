package profile

import (
	"fmt"

	pprof "github.com/google/pprof/profile"

	threads "github.com/vtscope/vtscope/dump/profile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// stacks puts stacks of a flight file, or of a recording, into a profile.
type stacks struct {
	b     *threads.Builder
	read  func(flight.StackID) flight.Stack
	known map[flight.StackID][]*pprof.Location
	bare  int // that have no names, or some without
}

func newStacks(b *threads.Builder, read func(flight.StackID) flight.Stack) *stacks {
	return &stacks{b: b, read: read, known: map[flight.StackID][]*pprof.Location{}}
}

// of returns the locations of a stack; of none, a word.
func (s *stacks) of(id flight.StackID, word string) []*pprof.Location {
	if id == 0 {
		return s.b.Instead(word)
	}
	if at, ok := s.known[id]; ok {
		return at
	}
	raw := s.read(id)
	var frames []threads.Frame
	for _, f := range raw.Frames {
		name := f.Func
		if name == "" {
			name = fmt.Sprintf("%#x", f.PC)
		}
		frames = append(frames, threads.Frame{Func: name, File: f.File, Line: f.Line, Internal: f.Internal})
	}
	if raw.Unsymbolised > 0 || len(frames) == 0 {
		s.bare++
	}
	at := s.b.Stack(frames, raw.Truncated)
	if len(at) == 0 {
		at = s.b.Instead("stack " + fmt.Sprint(id))
	}
	s.known[id] = at
	return at
}
