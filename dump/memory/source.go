package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A Source has the threads of a process as its memory shows them. It is a [flight.Reader] of what the recorder keeps there; the stacks are
// those of the goroutines, where they can be read, and else those that the threads have recorded. It is a [dump.Source].
type Source struct {
	*flight.Reader
	space   space
	live    bool     // it was when it was opened
	held    string   // see [Source.Held]
	walker  *walker  // nil: only recorded stacks
	missing []string // for ever

	compared map[[2]flight.StackID]bool // see moved
	waits    map[flight.StackID]goroutines.Wait
}

// open makes a source of a space that holds a recorder, of a program that was built with the version of Go that its header tells.
func open(s space, r *flight.Reader) *Source {
	src := &Source{Reader: r, space: s}
	src.live, _ = s.Alive()
	h := r.Header()
	l, known := layoutOf(h.GoVersion)
	switch {
	case !known:
		src.miss("stacks are as they were recorded: those of %s cannot be read in memory yet, only those of %s", orUnknown(h.GoVersion), knownReleases)
		return src
	case h.GoArch != "amd64" && h.GoArch != "arm64":
		src.miss("stacks are as they were recorded: on %s there are no frame pointers to follow in memory", orUnknown(h.GoArch))
		return src
	}
	m, err := findModule(s, l)
	if err != nil {
		src.miss("stacks are as they were recorded: %v", err)
		return src
	}
	r.NamesFrom(func(flight.Executable) flight.Namer { return &executable{module: m} })
	src.walker = &walker{unwinder: unwinder{space: s, stacks: newStackTable(m)}, layout: l, nested: map[flight.StackID]bool{}}
	return src
}

func orUnknown(s string) string {
	if s == "" {
		return "a version that is not known"
	}
	return s
}

func (s *Source) miss(format string, args ...any) {
	s.missing = append(s.missing, fmt.Sprintf(format, args...))
}

// Held tells how the process is held while it is read: "stopped", "mounted" if only OS threads that execute a thread are, one at a time, or "" if it is not.
func (s *Source) Held() string { return s.held }

// Close ends the reading of the process. If it was stopped it runs on.
func (s *Source) Close() error { return errors.Join(s.Reader.Close(), s.space.close()) }

// FlightReader returns the reader of what the recorder keeps.
func (s *Source) FlightReader() *flight.Reader { return s.Reader }

// Threads is that of [flight.Reader], with the stacks that are in memory. Its error matches [flight.ErrIncomplete] also when some stacks are only those
// that were recorded.
func (s *Source) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error) {
	missing := s.missing
	if s.walker == nil {
		torn, err = s.Reader.Threads(ctx, visit)
	} else {
		var moved, outer int
		torn, moved, outer, err = s.walk(ctx, visit)
		if moved > 0 {
			missing = append(missing[:len(missing):len(missing)], dump.Count(moved, "thread")+" with the recorded stack alone: between two states at each look")
		}
		if outer > 0 {
			missing = append(missing[:len(missing):len(missing)], dump.Count(outer, "thread")+" with the recorded stack alone: in a continuation")
		}
	}
	if alive, known := s.space.Alive(); known && !alive && s.live {
		missing = append(missing[:len(missing):len(missing)], "the process ended while it was read")
	}
	if len(missing) == 0 || err != nil && !errors.Is(err, flight.ErrIncomplete) {
		return torn, err
	}
	if err != nil {
		return torn, fmt.Errorf("%w; %s", err, strings.Join(missing, "; "))
	}
	return torn, fmt.Errorf("%w: %s", flight.ErrIncomplete, strings.Join(missing, "; "))
}

// walk visits the threads with the stacks that are in memory. moved threads are those whose stacks could not be read, outer ones those of which only a part is there.
func (s *Source) walk(ctx context.Context, visit func([]flight.ThreadRow)) (torn, moved, outer int, err error) {
	w := s.walker
	var rows []flight.ThreadRow
	w.holds, w.blocks = map[flight.CarrierID]flight.Hold{}, map[flight.ThreadID]bool{}
	rings, ringsErr := s.Rings()
	for i := range rings {
		if h := rings[i].Hold; h.Thread != 0 {
			w.holds[rings[i].Carrier] = h
		}
	}
	torn, err = s.LookAtThreads(ctx, w.look, func(block []flight.Look) {
		rows = rows[:0]
		for i := range block {
			k := &block[i]
			switch {
			case !k.Seen && suspended(k.Row.State):
				if !w.onGoroutines {
					moved++
				}
			case k.Stack == 0:
			case !w.whole(k.Stack):
				outer++
			default:
				k.Row.Stack = k.Stack
				if h := w.holdOf(k); h != nil && w.blocks[k.Row.ID] {
					k.Row.State, k.Row.Reason, k.Row.Since = flight.StatePinned, h.Reason, h.Since
					if s.moved(h.Stack, k.Stack) {
						k.Row.Since = h.Seen
					}
				}
				if w.blocks[k.Row.ID] && k.Row.OnGoroutine() {
					s.waitsInGo(&k.Row)
				}
				if k.Row.State == flight.StateMounted {
					k.Row.Flags |= dump.StackHolds
				}
			}
			rows = append(rows, k.Row)
		}
		visit(rows)
	})
	err = errors.Join(err, ringsErr)
	if w.walked > 0 && w.unlike == w.walked {
		s.walker = nil
		s.miss("stacks are as they were recorded: goroutines do not look as those of %s", s.Header().GoVersion)
	}
	return torn, moved, outer, err
}

// waitsInGo makes the row of a thread, whose goroutine waits, one that waits. Since when nobody recorded, but for that it was mounted then.
func (s *Source) waitsInGo(r *flight.ThreadRow) {
	wait, known := s.waits[r.Stack]
	if !known {
		wait = goroutines.WaitIn(s.walker.stacks.untrimmed(r.Stack).Frames)
		if s.waits == nil {
			s.waits = map[flight.StackID]goroutines.Wait{}
		}
		s.waits[r.Stack] = wait
	}
	if wait.State != flight.StateFree {
		r.State, r.Reason, r.After, r.Since, r.Blocker = wait.State, wait.Reason, r.Since, 0, 0
	}
}

// moved reports whether a stack from memory is of another place than one that was recorded.
func (s *Source) moved(recorded, now flight.StackID) bool {
	key := [2]flight.StackID{recorded, now}
	moved, known := s.compared[key]
	if known {
		return moved
	}
	own := func(id flight.StackID) (frames []flight.Frame) {
		stack, err := s.Stack(id)
		if err != nil {
			return nil
		}
		for _, f := range stack.Frames {
			if !f.Internal {
				frames = append(frames, f)
			}
		}
		return frames
	}
	before, after := own(recorded), own(now)
	same := func(a, b flight.Frame) bool { return a.Func == b.Func && a.File == b.File && a.Line == b.Line }
	n := min(len(before), len(after)) // a recorded stack may be cut off
	moved = n == 0 || !slices.EqualFunc(before[:n], after[:n], same)
	if s.compared == nil {
		s.compared = map[[2]flight.StackID]bool{}
	}
	s.compared[key] = moved
	return moved
}

// Stack returns a stack, from memory or recorded.
func (s *Source) Stack(id flight.StackID) (flight.Stack, error) {
	if id < firstStack {
		return s.Reader.Stack(id)
	}
	if s.walker != nil {
		if stack, ok := s.walker.stacks.stack(id); ok {
			return stack, nil
		}
	}
	return flight.Stack{}, fmt.Errorf("memory: no stack %d: %w", id, flight.ErrFormat)
}
